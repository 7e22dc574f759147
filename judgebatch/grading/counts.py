"""How often each episode won, lost, tied, or was failed by the instrument."""

import orjson
import polars as pl

from judgebatch.grading.decisions import PAIR, usable
from judgebatch.grading.pairs import REFERENCE, ordered_pair
from judgebatch.vocabulary import TERMINAL_CODES, Outcome

MEMBER = ["unit", "member"]
COUNTS = ("wins", "losses", "ties", "undecided", "not_applicable", "errors", "unattestable")
_RESULTS = {
    "ties": Outcome.TIE,
    "undecided": Outcome.UNDECIDED,
    "not_applicable": Outcome.NOT_APPLICABLE,
    "errors": Outcome.ERROR,
    "unattestable": Outcome.UNATTESTABLE,
}


def sides(comparisons: pl.DataFrame) -> pl.DataFrame:
    """Return two rows a comparison, one as each member sees it: ``unit, member, won, …``.

    The reference's side is left out.
    """
    common = [pl.col("unit"), pl.col("outcome"), pl.col("error_codes")]
    return pl.concat(
        comparisons.select(
            *common,
            pl.col(f"{side}_member").alias("member"),
            pl.lit(won.value).alias("won_by"),
            pl.lit(lost.value).alias("lost_by"),
        )
        for side, won, lost in (
            ("left", Outcome.LEFT, Outcome.RIGHT),
            ("right", Outcome.RIGHT, Outcome.LEFT),
        )
    ).filter(pl.col("member") != REFERENCE)


def tally(seen: pl.DataFrame) -> pl.DataFrame:
    """Return COUNTS for each (unit, member) that a comparison names."""

    def times(condition: pl.Expr) -> pl.Expr:
        return condition.sum().cast(pl.Int64)

    outcome = pl.col("outcome")
    return seen.group_by(MEMBER).agg(
        times(outcome == pl.col("won_by")).alias("wins"),
        times(outcome == pl.col("lost_by")).alias("losses"),
        *(times(outcome == token.value).alias(name) for name, token in _RESULTS.items()),
    )


def error_code_counts(seen: pl.DataFrame) -> pl.DataFrame:
    """Return ``error_codes`` for each (unit, member) with errors: JSON counts by terminal code."""
    coded = seen.filter(pl.col("error_codes").is_not_null())
    distinct = coded["error_codes"].unique().sort().to_list()
    # One parse per distinct text: there are as many as combinations of codes, not comparisons.
    parsed = [
        (text, code.value, counts[code.value])
        for text in distinct
        for counts in (orjson.loads(text),)
        for code in TERMINAL_CODES
        if counts.get(code.value)
    ]
    codes = pl.DataFrame(
        parsed,
        schema={"error_codes": pl.String, "code": pl.String, "times": pl.Int64},
        orient="row",
    )
    totals = (
        coded.join(codes, on="error_codes", how="inner")
        .group_by(*MEMBER, "code")
        .agg(pl.col("times").sum())
    )
    order = pl.col("code").replace_strict(
        {code.value: place for place, code in enumerate(TERMINAL_CODES)}, return_dtype=pl.Int64
    )
    return (
        totals.sort(*MEMBER, order)
        .with_columns(entry=pl.format('"{}":{}', "code", "times"))
        .group_by(MEMBER, maintain_order=True)
        .agg((pl.lit("{") + pl.col("entry").str.join(",") + pl.lit("}")).alias("error_codes"))
    )


def missing_pairs(pairs: pl.DataFrame, counted: pl.DataFrame) -> pl.DataFrame:
    """Return ``missing`` for each (unit, member): wanted pairs without a counted comparison.

    Parameters
    ----------
    pairs
        Wanted pairs of decided units.
    counted
        Comparisons that count in them.
    """
    present = counted.select(
        "unit",
        *ordered_pair(),
    ).unique()
    lacking = pairs.join(present, on=PAIR, how="anti")
    return (
        pl.concat(
            lacking.select("unit", pl.col(f"{side}_member").alias("member"))
            for side in ("left", "right")
        )
        .filter(pl.col("member") != REFERENCE)
        .group_by(MEMBER)
        .agg(pl.len().cast(pl.Int64).alias("missing"))
    )


def usable_only(comparisons: pl.DataFrame) -> pl.DataFrame:
    """Return the comparisons that are fitted."""
    return comparisons.filter(usable())
