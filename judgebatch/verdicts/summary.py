"""One paragraph per verdict, made from the other fields alone."""

import polars as pl

from judgebatch.vocabulary import DefectKind, Reading, ReadingSupport, Status

LISTED = 5
"""How many judges or stages a summary names before it says that there are others."""

_READINGS = {
    Reading.ACCEPTED: "Accepted",
    Reading.REJECTED: "Rejected",
    Reading.UNDECIDED: "Undecided",
    Reading.NOT_APPLICABLE: "Not applicable",
    Reading.NOT_ASSESSED: "Not assessed",
}
_SUPPORT = {
    ReadingSupport.SUPPORTED: "supported by what is stored",
    ReadingSupport.CONTRADICTED: "contradicted by what is stored",
    ReadingSupport.UNDETERMINED: "neither supported nor contradicted by what is stored",
}


def summaries(
    interpretations: pl.DataFrame, stages: pl.DataFrame, judges: pl.DataFrame
) -> pl.Series:
    """Return the summary of each row.

    Parameters
    ----------
    interpretations
        One row per verdict, in the order of ``row``; counts of defects by kind included.
    stages, judges
        The child tables, in their order.
    """
    frame = interpretations.select(
        "row",
        "reading",
        "reading_support",
        "status",
        "reason_code",
        "decided_by_stage",
        "decided_by_basis",
        "strategy",
        "input_count",
        "eligible_count",
        *(kind.lower() for kind in DefectKind),
    )
    silent = judges.filter(
        (pl.col("stage_ordinal") == 0)
        & (
            (pl.col("status") == Status.ERROR.value)
            | (pl.col("status") == Status.ABSTAIN.value)
            | (pl.col("status") == Status.NOT_APPLICABLE.value)
        )
    ).select("row", entry=_judge())
    named = stages.filter(pl.col("stage").is_not_null()).select("row", entry=_stage())
    return (
        frame.with_columns(
            _beside(frame, silent).alias("silent"), _beside(frame, named).alias("named")
        )
        .select(_paragraph())
        .to_series()
    )


def _beside(frame: pl.DataFrame, entries: pl.DataFrame) -> pl.Series:
    """Return the entries of each row in one text; null where it has none."""
    if entries.is_empty():
        return pl.Series([None], dtype=pl.String).new_from_index(0, frame.height)
    rows = frame.select("row")
    return rows.join(_joined(entries), on="row", how="left", maintain_order="left")["text"]


def _judge() -> pl.Expr:
    name = (
        pl.when(pl.col("name") == "")
        .then(pl.concat_str(pl.lit("judge "), pl.col("position")))
        .otherwise(pl.col("name"))
    )
    return pl.concat_str(name, pl.lit(" "), pl.col("status"), _in_brackets("reason_code"))


def _stage() -> pl.Expr:
    said = pl.concat_str(pl.lit(" "), pl.col("disposition")).fill_null("")
    return pl.concat_str(pl.col("stage"), said, _in_brackets("reason"))


def _in_brackets(column: str) -> pl.Expr:
    return pl.concat_str(pl.lit(" ("), pl.col(column), pl.lit(")")).fill_null("")


def _joined(entries: pl.DataFrame) -> pl.DataFrame:
    """Return the entries of each row in one text; rows stand together."""
    return entries.group_by("row", maintain_order=True).agg(
        text=pl.col("entry").head(LISTED).str.join(", ")
        + pl.when(pl.len() > LISTED).then(pl.lit(" and others")).otherwise(pl.lit(""))
    )


def _paragraph() -> pl.Expr:
    reading = _worded("reading", _READINGS).fill_null("No reading")
    support = _worded("reading_support", _SUPPORT)
    status = pl.concat_str(
        pl.lit(": the aggregate's status is "), pl.col("status"), _in_brackets("reason_code")
    ).fill_null(": the aggregate has no status that can be read")
    decided = pl.concat_str(
        pl.lit(" Tier "),
        pl.col("decided_by_stage"),
        pl.lit(" decided ("),
        pl.col("decided_by_basis"),
        pl.lit(")."),
    )
    counted = pl.concat_str(
        pl.lit(" By "),
        pl.col("strategy"),
        pl.lit(", inputs "),
        pl.col("input_count"),
        pl.lit(", eligible "),
        pl.col("eligible_count"),
        pl.lit("."),
    )
    defects = [
        pl.when(pl.col(kind.lower()) > 0).then(pl.lit(f" {kind.value}")) for kind in DefectKind
    ]
    any_defect = pl.any_horizontal(pl.col(kind.lower()) > 0 for kind in DefectKind)
    return pl.concat_str(
        reading,
        pl.lit(", "),
        support,
        status,
        pl.lit("."),
        decided,
        counted,
        pl.concat_str(pl.lit(" Judges without a vote: "), pl.col("silent"), pl.lit(".")),
        pl.concat_str(pl.lit(" Stages: "), pl.col("named"), pl.lit(".")),
        pl.when(any_defect).then(
            pl.concat_str(pl.lit(" Defects:"), *defects, pl.lit("."), ignore_nulls=True)
        ),
        ignore_nulls=True,
    )


def _worded(column: str, words: dict[Reading, str] | dict[ReadingSupport, str]) -> pl.Expr:
    return pl.col(column).replace_strict(
        {token.value: text for token, text in words.items()}, default=None, return_dtype=pl.String
    )
