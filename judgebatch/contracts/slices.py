"""Slices of tables: consecutive tasks, whose rows are worked on together.

Tables are cut by (tenant, task), so that every slice fits into memory and several workers can
share one large tenant. Where the cuts lie depends on the rows alone, and what is published does
not depend on where they lie.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

Key = tuple[str, str]
"""A tenant and one of its tasks."""

TASK = ["tenant_id", "task_id"]


@dataclass(frozen=True)
class Slice:
    """Consecutive tasks; picklable.

    Parameters
    ----------
    number
        Its place among the slices.
    first
        The first task; None in the first slice, which begins before all.
    end
        The first task after it; None in the last slice.
    """

    number: int = 0
    first: Key | None = None
    end: Key | None = None

    @property
    def is_whole(self) -> bool:
        """Whether it is everything."""
        return self.first is None and self.end is None

    def within(self) -> pl.Expr | None:
        """Return which rows with TASK belong to it; None for all."""
        bounds = []
        tenant, task = pl.col("tenant_id"), pl.col("task_id")
        if self.first is not None:
            at, begin = self.first
            bounds += [tenant >= at, (tenant > at) | (task >= begin)]
        if self.end is not None:
            at, begin = self.end
            bounds += [tenant <= at, (tenant < at) | (task < begin)]
        return pl.all_horizontal(bounds) if bounds else None

    def take(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the rows that belong to it."""
        within = self.within()
        return rows if within is None else rows.filter(within)


WHOLE = Slice()


def cut(counts: Iterable[tuple[str, str, int]], most_rows: int) -> list[Slice]:
    """Cut tasks into slices.

    Parameters
    ----------
    counts
        Tenant, task and rows, sorted by tenant and task.
    most_rows
        Rows of a slice; a task with more is a slice of its own.
    """
    starts: list[Key] = []
    rows = 0
    for tenant_id, task_id, count in counts:
        if rows and rows + count > most_rows:
            starts.append((tenant_id, task_id))
            rows = 0
        rows += count
    bounds = [None, *starts, None]
    return [Slice(number, bounds[number], bounds[number + 1]) for number in range(len(starts) + 1)]
