"""Known identities: immutable sorted files, searched without being read.

Each run adds one file per shard with the identities that became known. Files are merged in
tiers, so that there are few of them and each identity is rewritten a logarithmic number of
times; a night carries over by hard link what it doesn't change. A lookup maps the files into
memory and searches the sorted fingerprints, so its cost depends on how many are looked up.

A file is sorted in ranges of fingerprints, one batch each, so that it is written with the rows of
one range in memory, however many it holds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.ipc

from judgebatch.contracts.table import Table, conform, empty
from judgebatch.pipeline.arrow_bytes import same_bytes
from judgebatch.pipeline.arrow_files import mapped, mapped_reader
from judgebatch.warehouse.failpoints import failpoint

ID = ["id_high", "id_low"]
TIER_GROWTH = 4
"""A file is merged with the newer ones once they hold a fourth of what it holds."""
RANGE_ROWS = 1 << 20
"""About how many rows a range has: fingerprints are even, so equal ranges have equal shares."""

Halves = npt.NDArray[np.int64]


class Source(Protocol):
    """Rows of identities that are to be written."""

    @property
    def rows(self) -> int:
        """How many rows there are."""

    def between(self, first: int, last: int) -> Iterator[pl.DataFrame]:
        """Yield the rows whose first half lies between two numbers, both included."""


@dataclass(frozen=True)
class Unsorted:
    """Frames, or files of such, in any order."""

    parts: Sequence[pl.DataFrame | Path]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(frame.height for frame in self._frames())

    def between(self, first: int, last: int) -> Iterator[pl.DataFrame]:
        """Yield the rows whose first half lies between two numbers, both included."""
        for frame in self._frames():
            yield frame.filter(pl.col("id_high").is_between(first, last))

    def _frames(self) -> Iterator[pl.DataFrame]:
        # A file is mapped anew each time, so that the pages of one are held and not those of all.
        for part in self.parts:
            yield mapped(part) if isinstance(part, Path) else part


class _Range:
    """One batch of a file: rows sorted by ID."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch
        self.high: Halves = batch.column("id_high").to_numpy()
        self._low: Halves = batch.column("id_low").to_numpy()

    def take(self, high: Halves, low: Halves) -> pl.DataFrame:
        """Return the rows that have these identities, each once."""
        at = np.searchsorted(self.high, high, side="left")
        found = np.full(len(high), -1, dtype=np.int64)
        open_ = np.ones(len(high), dtype=bool)
        while True:
            # More than one step only where first halves collide.
            open_ &= at < len(self.high)
            open_[open_] = self.high[at[open_]] == high[open_]
            if not open_.any():
                break
            hit = open_.copy()
            hit[open_] = self._low[at[open_]] == low[open_]
            found[hit] = at[hit]
            open_ &= ~hit
            at = at + 1
        return _frame(self._batch.take(np.unique(found[found >= 0])))

    def between(self, first: int, last: int) -> pl.DataFrame:
        """Return the rows whose first half lies between two numbers, both included."""
        begin = int(np.searchsorted(self.high, first, side="left"))
        end = int(np.searchsorted(self.high, last, side="right"))
        return _frame(self._batch.slice(begin, end - begin))


def _frame(batch: pa.RecordBatch) -> pl.DataFrame:
    return pl.DataFrame(pa.Table.from_batches([batch]))


class SortedFile:
    """One file of identities, mapped into memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        reader = mapped_reader(path)
        batches = [reader.get_batch(number) for number in range(reader.num_record_batches)]
        self._ranges = [_Range(batch) for batch in batches if batch.num_rows]
        self._starts: Halves = np.array([one.high[0] for one in self._ranges], dtype=np.int64)
        self.rows: int = sum(len(one.high) for one in self._ranges)

    def lookup(self, high: Halves, low: Halves) -> Iterator[pl.DataFrame]:
        """Yield the rows that have these identities, in the file's order."""
        # Equal first halves are never in two ranges.
        owner = np.searchsorted(self._starts, high, side="right") - 1
        for number in np.unique(owner[owner >= 0]):
            mine = owner == number
            yield self._ranges[number].take(high[mine], low[mine])

    def between(self, first: int, last: int) -> Iterator[pl.DataFrame]:
        """Yield the rows whose first half lies between two numbers, both included."""
        for one in self._ranges:
            if one.high[0] <= last and one.high[-1] >= first:
                yield one.between(first, last)


class Identities:
    """The known identities of a shard.

    Parameters
    ----------
    table
        KnownEpisodes or KnownVerdicts.
    paths
        The files, oldest first.
    """

    def __init__(self, table: type[Table], paths: Sequence[Path]) -> None:
        self.table = table
        self.files = [SortedFile(path) for path in paths]

    def lookup(self, wanted: pl.DataFrame) -> pl.DataFrame:
        """Return the known rows among ``wanted`` (``id_high, id_low``)."""
        wanted = wanted.unique(ID, maintain_order=True)
        high, low = (wanted[name].to_numpy() for name in ID)
        hits = [conform(rows, self.table) for file in self.files for rows in file.lookup(high, low)]
        return pl.concat([empty(self.table), *hits])

    def with_new(self, new: Source, folder: Path, run: int) -> list[Path]:
        """Write what became known, merged with older files where they are due.

        Parameters
        ----------
        new
            Rows of the table whose identities are not known yet.
        folder
            Where the file goes.
        run
            Names the file.

        Returns
        -------
        list[Path]
            The files to carry over unchanged; the new file is in ``folder``.
        """
        rows = new.rows
        if rows == 0:
            return [file.path for file in self.files]
        merged = [new]
        kept = list(self.files)
        while kept and kept[-1].rows <= TIER_GROWTH * rows:
            file = kept.pop()
            merged.append(file)
            rows += file.rows
        write_identities(folder / f"{run:06d}.arrow", self.table, merged)
        failpoint("state.identities")
        return [file.path for file in kept]


def write_identities(path: Path, table: type[Table], sources: Sequence[Source]) -> None:
    """Write one file: equal identities give equal bytes, in whatever order they come."""
    path.parent.mkdir(parents=True, exist_ok=True)
    schema = same_bytes(empty(table)).schema
    ranges = max(-(-sum(one.rows for one in sources) // RANGE_ROWS), 1)
    edges = [(number << 64) // ranges - (1 << 63) for number in range(ranges + 1)]
    with pa.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_file(sink, schema) as writer:
        for begin, end in pairwise(edges):
            parts = [rows for one in sources for rows in one.between(begin, end - 1)]
            ordered = pl.concat([empty(table), *(conform(rows, table) for rows in parts)]).sort(ID)
            if ordered.height:
                writer.write_batch(same_bytes(ordered))
