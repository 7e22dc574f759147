"""Reference mode: the first episode of a task becomes what later ones are compared with."""

from typing import NamedTuple

import polars as pl

from judgebatch.contracts.state import KnownReferences
from judgebatch.contracts.table import conform
from judgebatch.grading.epochs import MEMBER_ORDER

TASK = ["tenant_id", "task_id"]


class Registered(NamedTuple):
    """New episodes in reference mode, split by what they are."""

    novel: pl.DataFrame
    """Episodes that become their task's reference, decided on arrival."""
    compared: pl.DataFrame
    """Episodes to be compared with their task's reference."""
    references: pl.DataFrame
    """KnownReferences after the run."""


def register(episodes: pl.DataFrame, references: pl.DataFrame) -> Registered:
    """Register the first of each novel task, by effective arrival, arrival and id.

    Parameters
    ----------
    episodes
        New episodes in reference mode.
    references
        KnownReferences left by the previous run; they are write-once.
    """
    episodes = episodes.sort(*TASK, *MEMBER_ORDER).join(
        references.select(*TASK, pl.lit(True).alias("has_reference")),
        on=TASK,
        how="left",
        maintain_order="left",
    )
    first = pl.col("has_reference").is_null() & pl.struct(TASK).is_first_distinct()
    novel = episodes.filter(first).drop("has_reference")
    added = conform(novel, KnownReferences)
    return Registered(
        novel,
        episodes.filter(~first).drop("has_reference"),
        pl.concat([references, added]).sort(TASK) if added.height else references,
    )


def tool_efficiency() -> pl.Expr:
    """Return (tool_calls - tool_errors) / tool_calls, null without calls."""
    return pl.when(pl.col("tool_calls") > 0).then(
        (pl.col("tool_calls") - pl.col("tool_errors")) / pl.col("tool_calls")
    )


def ratio(value: pl.Expr, reference: pl.Expr) -> pl.Expr:
    """Return ``value / reference``, null where the reference's is 0 or null.

    The divisor is made a column: what a join takes from a single row is a scalar to Polars, which
    then multiplies with its rounded reciprocal.
    """
    return pl.when(reference != 0).then(value / (reference + value * 0))
