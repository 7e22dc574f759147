"""Where a comparison belongs: inside an undecided group, to a decided one, or nowhere.

A comparison waits until both episodes it names have been seen. Then it is inside a unit (both
are members of one group, or one is an episode in reference mode and the other its task's
reference), or it ends at once: across groups, too late, or not needed.
"""

from typing import NamedTuple

import polars as pl

from judgebatch.grading.admission import with_reason
from judgebatch.vocabulary import ComparisonDisposition, QuarantineReason

SIDE_SCHEMA = {
    "tenant_id": pl.String,
    "episode_id": pl.String,
    "member": pl.Int64,
    "unit": pl.Int64,
    "task_hash": pl.Int64,
    "outcome_hash": pl.Int64,
    "group_epoch": pl.Int64,
    "arrived_us": pl.Int64,
    "insufficient": pl.Boolean,
    "is_reference": pl.Boolean,
}
"""One seen episode as a comparison sees it.

``member`` and ``unit`` are null once it has ended; ``group_epoch`` is -1 in reference mode.
"""


class Resolved(NamedTuple):
    """What became of the comparisons considered in a run."""

    inside: pl.DataFrame
    """With ``unit, left_member, right_member``; REFERENCE stands for a task's reference."""
    ended: pl.DataFrame
    """With ``disposition``."""
    waiting: pl.DataFrame
    """An episode has not been seen."""
    refused: pl.DataFrame
    """With ``reason`` and ``message``."""


def split_itself(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return (the other rows, comparisons of an episode with itself with their reason)."""
    itself = (pl.col("episode_id") == pl.col("compared_episode_id")).fill_null(value=False)
    message = pl.format("verdict {} compares an episode with itself", pl.col("verdict_id"))
    return rows.filter(~itself), with_reason(rows.filter(itself), QuarantineReason.ITSELF, message)


def _with_side(rows: pl.DataFrame, sides: pl.DataFrame, name: str, side: str) -> pl.DataFrame:
    renamed = sides.rename(
        {column: f"{side}_{column}" for column in SIDE_SCHEMA if column != "tenant_id"}
    )
    return rows.join(
        renamed,
        left_on=["tenant_id", name],
        right_on=["tenant_id", f"{side}_episode_id"],
        how="left",
        maintain_order="left",
    )


def with_sides(rows: pl.DataFrame, sides: pl.DataFrame) -> pl.DataFrame:
    """Return comparisons with the columns of both episodes, prefixed ``left_``, ``right_``."""
    return _with_side(
        _with_side(rows, sides, "episode_id", "left"), sides, "compared_episode_id", "right"
    )


def _seen(side: str) -> pl.Expr:
    return pl.col(f"{side}_arrived_us").is_not_null()


def resolve(rows: pl.DataFrame, as_of: pl.Expr) -> Resolved:
    """Resolve comparisons.

    Parameters
    ----------
    rows
        Comparisons with ``considered_at``, ``unknown_episode_window_us``, ``released`` (their
        window is no reason against an episode that is there), ``task_hash`` and the columns that
        :func:`with_sides` adds.
    as_of
        The run's logical time as a literal.
    """
    end = pl.col("judged_at") + pl.duration(microseconds="unknown_episode_window_us")
    end_us = end.dt.epoch("us")
    unseen = ~_seen("left") | ~_seen("right")
    too_new = pl.any_horizontal(
        (pl.col(f"{side}_arrived_us") > end_us).fill_null(value=False) for side in ("left", "right")
    )
    unknown = (too_new & ~pl.col("released")) | (unseen & (end <= as_of))
    rows = rows.with_columns(
        place=pl.when(unknown)
        .then(pl.lit("unknown"))
        .when(unseen)
        .then(pl.lit("waiting"))
        .when(
            (pl.col("task_hash") != pl.col("left_task_hash"))
            | (pl.col("task_hash") != pl.col("right_task_hash"))
        )
        .then(pl.lit("two_tasks"))
        .otherwise(pl.lit("seen"))
    )
    named = pl.format(
        "an episode of comparison {} ({} with {}) was not seen within its window",
        "verdict_id",
        "episode_id",
        "compared_episode_id",
    )
    other_task = pl.format(
        "comparison {} is of task {}, its episodes {} and {} are not both",
        "verdict_id",
        "task_id",
        "episode_id",
        "compared_episode_id",
    )
    bad = [
        with_reason(
            rows.filter(pl.col("place") == "unknown"), QuarantineReason.UNKNOWN_EPISODE, named
        ),
        with_reason(
            rows.filter(pl.col("place") == "two_tasks"), QuarantineReason.TWO_TASKS, other_task
        ),
    ]
    seen = _placed(rows.filter(pl.col("place") == "seen"))
    return Resolved(
        inside=seen.filter(pl.col("unit").is_not_null()),
        ended=seen.filter(pl.col("unit").is_null()),
        waiting=rows.filter(pl.col("place") == "waiting"),
        refused=pl.concat(bad),
    )


def _placed(rows: pl.DataFrame) -> pl.DataFrame:
    """Return comparisons of seen episodes with their ``unit``, or else their ``disposition``."""
    in_reference_mode = {side: pl.col(f"{side}_group_epoch") == -1 for side in ("left", "right")}
    same_group = (
        ~in_reference_mode["left"]
        & (pl.col("left_group_epoch") == pl.col("right_group_epoch"))
        & (pl.col("left_outcome_hash") == pl.col("right_outcome_hash"))
    )
    against_reference = (
        in_reference_mode["left"]
        & in_reference_mode["right"]
        & (pl.col("left_is_reference") ^ pl.col("right_is_reference"))
    )
    together = same_group | against_reference
    unit = pl.when(together).then(pl.coalesce("left_unit", "right_unit"))
    return rows.with_columns(
        unit=unit,
        disposition=pl.when(~together)
        .then(pl.lit(ComparisonDisposition.CROSS_GROUP.value))
        .when(pl.col("left_insufficient"))
        .then(pl.lit(ComparisonDisposition.NOT_NEEDED.value))
        .otherwise(pl.lit(ComparisonDisposition.LATE.value)),
    )
