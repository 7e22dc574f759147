"""Rows not yet visible: immutable files sorted by time, opened where rows become visible.

A corpus read long before its time (a backfill) waits here for its nights. A run adds one file per
shard with the rows whose time lies after its as_of. A file is never written again: a night reads
the rows between the last as_of and its own, found by bisection, and carries the file over by hard
link until its last row is visible. Files that gather are merged in tiers. So a night's cost
depends on what becomes visible in it, not on what still waits.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.ipc

from judgebatch.contracts.table import Table, conform, empty
from judgebatch.pipeline.arrow_bytes import same_bytes
from judgebatch.pipeline.arrow_files import mapped_reader
from judgebatch.pipeline.identities import TIER_GROWTH

BATCH_ROWS = 10_000
"""Rows of a file that are read together."""


@dataclass(frozen=True)
class Stretch:
    """Consecutive rows of a file; picklable, and read only where it is asked to."""

    path: Path
    first: int
    last: int
    """The row after the last one."""

    @property
    def height(self) -> int:
        """How many rows there are."""
        return self.last - self.first

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return the rows, or some columns of them, mapped into memory."""
        at, until = self.first // BATCH_ROWS, -(-self.last // BATCH_ROWS)
        reader = mapped_reader(self.path)
        batches = [reader.get_batch(number) for number in range(at, until)]
        table = pa.Table.from_batches(batches, reader.schema)
        table = table.slice(self.first - at * BATCH_ROWS, self.height)
        frame = pl.from_arrow(table if columns is None else table.select(columns), rechunk=False)
        return pl.DataFrame(frame)


class TimedFile:
    """One file, sorted by time."""

    def __init__(self, path: Path, time: str) -> None:
        self.path = path
        self._time = time
        self._reader = mapped_reader(path)
        self._batches: int = self._reader.num_record_batches
        last = self._reader.get_batch(self._batches - 1)
        self.rows: int = (self._batches - 1) * BATCH_ROWS + last.num_rows

    def after(self, moment: datetime) -> int:
        """Return the place of the first row whose time lies after a moment."""
        starts = range(self._batches)
        at = bisect_right(starts, moment, key=lambda batch: self._times(batch)[0].as_py()) - 1
        if at < 0:
            return 0
        times = self._times(at)
        inside = bisect_right(range(len(times)), moment, key=lambda row: times[row].as_py())
        return at * BATCH_ROWS + inside

    def _times(self, batch: int) -> Any:
        return self._reader.get_batch(batch).column(self._time)

    def comparisons(self, first: int) -> int:
        """Return how many rows from a place on are comparisons; of verdicts only."""
        at, inside = divmod(first, BATCH_ROWS)
        count = 0
        for batch in range(at, self._batches):
            sides = self._reader.get_batch(batch).column("compared_episode_id")
            sides = sides.slice(inside if batch == at else 0)
            count += len(sides) - sides.null_count
        return count


class Pending:
    """What waits of one table in a shard.

    Parameters
    ----------
    table
        A contract whose order starts with the time at which a row becomes visible.
    paths
        The files, oldest first.
    previous
        The last as_of that moved: rows up to it have been considered. None in the first run.
    as_of
        The run's logical time.
    """

    def __init__(
        self,
        table: type[Table],
        paths: Sequence[Path],
        previous: datetime | None,
        as_of: datetime,
    ) -> None:
        self.table = table
        self.visible: list[Stretch] = []
        """The rows that become visible in this run."""
        self._asleep: list[tuple[TimedFile, Stretch]] = []
        for path in paths:
            file = TimedFile(path, table.order[0])
            first = 0 if previous is None else file.after(previous)
            last = file.after(as_of)
            if last > first:
                self.visible.append(Stretch(path, first, last))
            if file.rows > last:
                self._asleep.append((file, Stretch(path, last, file.rows)))

    def open(self) -> pl.DataFrame:
        """Return the rows that become visible."""
        rows = [conform(stretch.read(), self.table) for stretch in self.visible]
        return pl.concat([empty(self.table), *rows])

    @cached_property
    def asleep(self) -> int:
        """How many rows stay unseen in this run."""
        return sum(stretch.height for _, stretch in self._asleep)

    @cached_property
    def asleep_comparisons(self) -> int:
        """How many of them are comparisons; of verdicts only."""
        return sum(file.comparisons(stretch.first) for file, stretch in self._asleep)

    def unseen(self) -> pl.DataFrame:
        """Return the rows that stay unseen in this run."""
        rows = [conform(stretch.read(), self.table) for _, stretch in self._asleep]
        return pl.concat([empty(self.table), *rows])

    def of_files(self, files: Sequence[str]) -> pl.DataFrame:
        """Return the rows of some input files, those that stay unseen as well."""
        stretches = [*self.visible, *(stretch for _, stretch in self._asleep)]
        own = pl.col("source_file").is_in(files)
        rows = [conform(stretch.read().filter(own), self.table) for stretch in stretches]
        return pl.concat([empty(self.table), *rows])

    def with_new(self, new: Sequence[pl.DataFrame], folder: Path, run: int) -> list[str]:
        """Write rows that are not visible yet, merged with older ones where they are due.

        Parameters
        ----------
        new
            Rows of the table; mapped ones stay on disk but for what is being written.
        folder
            The shard's folder of the new checkpoint.
        run
            Names the file.

        Returns
        -------
        list[str]
            The files to carry over unchanged, relative to the shard's folder.
        """
        kept = [stretch for _, stretch in self._asleep]
        rows = sum(frame.height for frame in new)
        if not rows:
            return self._names(kept)
        sources = list(new)
        while kept and kept[-1].height <= TIER_GROWTH * rows:
            stretch = kept.pop()
            sources.append(stretch.read())
            rows += stretch.height
        own = folder / self.table.name
        own.mkdir(parents=True, exist_ok=True)
        _write(own / f"{run:06d}.arrow", self.table, sources)
        return self._names(kept)

    def _names(self, kept: Sequence[Stretch]) -> list[str]:
        return [f"{self.table.name}/{stretch.path.name}" for stretch in kept]


def open_pending(
    table: type[Table], folder: Path | None, previous: datetime | None, as_of: datetime
) -> Pending:
    """Return what waits of a table below a shard's folder; None before the first run."""
    paths = [] if folder is None else sorted((folder / table.name).glob("*.arrow"))
    return Pending(table, paths, previous, as_of)


def _write(path: Path, table: type[Table], sources: Sequence[pl.DataFrame]) -> None:
    """Write rows in the table's order, some rows at a time: only their keys are held."""
    keys = pl.concat(
        rows.select(table.order).with_columns(
            pl.lit(number, dtype=pl.Int64).alias("source"),
            pl.int_range(pl.len(), dtype=pl.Int64).alias("place"),
        )
        for number, rows in enumerate(sources)
    ).sort(*table.order, nulls_last=False)
    schema = same_bytes(empty(table)).schema
    with pa.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_file(sink, schema) as writer:
        for first in range(0, keys.height, BATCH_ROWS):
            chunk = keys.slice(first, BATCH_ROWS).with_columns(
                position=pl.int_range(pl.len(), dtype=pl.Int64)
            )
            gathered = []
            for (number,), part in chunk.partition_by("source", as_dict=True).items():
                rows = conform(sources[number], table).select(pl.all().gather(part["place"]))
                gathered.append(rows.with_columns(part["position"]))
            writer.write_batch(same_bytes(pl.concat(gathered).sort("position").drop("position")))
