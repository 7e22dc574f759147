"""Known identities: immutable sorted files, searched without being read.

Each run adds one file per shard with the identities that became known. Files are merged in
tiers, so that there are few of them and each identity is rewritten a logarithmic number of
times; a night carries over by hard link what it doesn't change. A lookup maps the files into
memory and searches the sorted fingerprints, so its cost depends on how many are looked up.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from judgebatch.contracts.table import Table, conform, empty
from judgebatch.pipeline.arrow_files import mapped_table, one_array
from judgebatch.warehouse.failpoints import failpoint

ID = ["id_high", "id_low"]
TIER_GROWTH = 4
"""A file is merged with the newer ones once they hold a fourth of what it holds."""


class SortedFile:
    """One file of identities, mapped into memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        table = mapped_table(path)
        self.rows: int = table.num_rows
        self._table = table
        self._high: npt.NDArray[np.int64] = one_array(table, "id_high").to_numpy()
        self._low: npt.NDArray[np.int64] = one_array(table, "id_low").to_numpy()

    def find(
        self, high: npt.NDArray[np.int64], low: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Return where each identity stands, -1 where it doesn't."""
        at = np.searchsorted(self._high, high, side="left")
        found = np.full(len(high), -1, dtype=np.int64)
        open_ = np.ones(len(high), dtype=bool)
        while True:
            # More than one step only where first halves collide.
            open_ &= at < self.rows
            open_[open_] = self._high[at[open_]] == high[open_]
            if not open_.any():
                return found
            hit = open_.copy()
            hit[open_] = self._low[at[open_]] == low[open_]
            found[hit] = at[hit]
            open_ &= ~hit
            at = at + 1

    def take(self, at: npt.NDArray[np.int64]) -> pl.DataFrame:
        """Return rows."""
        return pl.DataFrame(self._table.take(at))

    def all(self) -> pl.DataFrame:
        """Return every row."""
        return self.take(np.arange(self.rows))


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
        found = [empty(self.table)]
        for file in self.files:
            at = file.find(high, low)
            hits = at[at >= 0]
            if len(hits):
                found.append(conform(file.take(np.sort(hits)), self.table))
        return pl.concat(found)

    def with_new(self, new: pl.DataFrame, folder: Path, run: int) -> list[Path]:
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
        if new.is_empty():
            return [file.path for file in self.files]
        merged = [conform(new, self.table)]
        kept = list(self.files)
        rows = new.height
        while kept and kept[-1].rows <= TIER_GROWTH * rows:
            file = kept.pop()
            merged.append(conform(file.all(), self.table))
            rows += file.rows
        write_identities(folder / f"{run:06d}.arrow", pl.concat(merged))
        failpoint("state.identities")
        return [file.path for file in kept]


def write_identities(path: Path, identities: pl.DataFrame) -> None:
    """Write one file: equal identities give equal bytes, in whatever order they come."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ordered = identities.sort(ID).rechunk()
    # The bits after a column of flags are whatever an operation left there, and are written too.
    flags = [pl.Series(one.name, one.to_numpy()) for one in ordered.select(pl.col(pl.Boolean))]
    ordered.with_columns(flags).write_ipc(
        path,
        compression="uncompressed",
        compat_level=pl.CompatLevel.oldest(),
        record_batch_size=max(identities.height, 1),
    )
