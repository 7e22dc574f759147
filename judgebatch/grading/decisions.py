"""When a group, or an episode against its reference, is decided.

A *unit* is what is decided at once: a closed group large enough to compare, or one episode in
reference mode. Its decision time is the earlier of its window's end and the moment at which no
wanted pair wanted any more, never before its base time (closing, or effective arrival).
"""

from typing import NamedTuple

import polars as pl

from judgebatch.grading.clock import later
from judgebatch.grading.pairs import ordered_pair
from judgebatch.vocabulary import USABLE_OUTCOMES, Outcome

PAIR = ["unit", "left_member", "right_member"]


class Decisions(NamedTuple):
    """What is known of the units' decisions as of a run."""

    units: pl.DataFrame
    """The units with ``deadline`` (null: none) and ``decided_at`` (null: not yet decided)."""
    pairs: pl.DataFrame
    """The wanted pairs with ``wanted``: usable comparisons still wanted."""


def usable() -> pl.Expr:
    """Return whether a comparison is fitted."""
    return pl.col("outcome").is_in([outcome.value for outcome in USABLE_OUTCOMES])


def _satisfaction(pairs: pl.DataFrame, comparisons: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs with ``satisfied_at`` (null: still wanted) and ``wanted``."""
    asked = pairs.join(
        comparisons.select(
            "unit",
            *ordered_pair(),
            "considered_at",
            "outcome",
        ),
        on=PAIR,
        how="inner",
    )
    enough = (
        asked.filter(usable())
        .sort(*PAIR, "considered_at")
        .with_columns(place=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over(PAIR))
        .group_by(PAIR)
        .agg(
            pl.len().cast(pl.Int64).alias("usable"),
            pl.col("considered_at")
            .filter(pl.col("place") == pl.col("comparisons_per_pair"))
            .first()
            .alias("enough_at"),
        )
    )
    excluded = (
        asked.filter(pl.col("outcome") == Outcome.NOT_APPLICABLE.value)
        .group_by(PAIR)
        .agg(pl.col("considered_at").min().alias("excluded_at"))
    )
    return (
        pairs.join(enough, on=PAIR, how="left", maintain_order="left")
        .join(excluded, on=PAIR, how="left", maintain_order="left")
        .with_columns(
            satisfied_at=pl.min_horizontal("enough_at", "excluded_at"),
            wanted=pl.when(pl.col("excluded_at").is_null())
            .then((pl.col("comparisons_per_pair") - pl.col("usable").fill_null(0)).clip(0))
            .otherwise(0),
        )
    )


def decide(
    units: pl.DataFrame,
    pairs: pl.DataFrame,
    comparisons: pl.DataFrame,
    as_of: pl.Expr,
    *,
    judge_attached: bool,
) -> Decisions:
    """Find the decision time of each unit.

    Parameters
    ----------
    units
        ``unit, base_at, judging_window_us`` (null: decided in the first run, with everything
        judged by its as_of).
    pairs
        Wanted pairs with ``comparisons_per_pair``.
    comparisons
        Inside the units: ``unit, left_member, right_member, considered_at, outcome``.
    as_of
        The run's logical time as a literal.
    judge_attached
        Whether units that begin in this run are decided in it, at as_of: a judge has been, or is
        about to be, asked about them.
    """
    pairs = _satisfaction(pairs, comparisons)
    complete = pairs.group_by("unit").agg(
        pl.col("satisfied_at").max().alias("complete_at"),
        pl.col("satisfied_at").is_null().any().alias("incomplete"),
    )
    deadline = later("base_at", "judging_window_us")
    complete_at = pl.when(~pl.col("incomplete")).then(pl.max_horizontal("complete_at", "base_at"))
    units = units.join(complete, on="unit", how="left", maintain_order="left").with_columns(
        deadline=deadline,
        decided_at=pl.when(pl.col("judging_window_us").is_null())
        .then("base_at")
        .otherwise(pl.min_horizontal(deadline, complete_at)),
    )
    due: pl.Expr = pl.when(pl.col("decided_at") <= as_of).then("decided_at")
    if judge_attached:
        due = pl.when("begins").then(as_of).otherwise(due)
    return Decisions(
        units=units.with_columns(decided_at=due).drop("complete_at", "incomplete"),
        pairs=pairs.drop("enough_at", "excluded_at", "satisfied_at", "usable"),
    )


def counted(comparisons: pl.DataFrame, decided: pl.DataFrame) -> pl.DataFrame:
    """Return the comparisons of decided units with ``counts``: judged by the decision time."""
    return (
        comparisons.join(
            decided.select("unit", "decided_at", "judging_window_us"),
            on="unit",
            how="inner",
            maintain_order="left",
        )
        .with_columns(
            counts=pl.col("judging_window_us").is_null()
            | (pl.col("judged_at") <= pl.col("decided_at"))
        )
        .drop("judging_window_us")
    )
