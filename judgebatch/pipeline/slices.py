"""Slices of a shard: consecutive tasks that are graded together.

A shard is cut by (tenant, task), so that every slice fits into memory and several workers can
share one large tenant. Where the cuts lie depends on the rows alone, and what is published does
not depend on where they lie.
"""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from judgebatch.pipeline.arrow_files import mapped_table, one_array

Key = tuple[str, str]
"""A tenant and one of its tasks."""

TASK = ["tenant_id", "task_id"]


@dataclass(frozen=True)
class Slice:
    """Consecutive tasks of a shard; picklable.

    Parameters
    ----------
    number
        Its place among the shard's slices.
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
        """Whether it is the whole shard."""
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

    def stretch(self, path: Path) -> tuple[int, int]:
        """Return where its rows begin and end in an Arrow file that is sorted by TASK."""
        table = mapped_table(path)
        tenants, tasks = (one_array(table, name) for name in TASK)

        def key(row: int) -> Key:
            return tenants[row].as_py(), tasks[row].as_py()

        rows = range(table.num_rows)
        first = 0 if self.first is None else bisect_left(rows, self.first, key=key)
        end = len(rows) if self.end is None else bisect_left(rows, self.end, key=key)
        return first, end


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
