"""The checkpoint on disk: a shard's state as small tables, and its identities as sorted files."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import polars as pl

from judgebatch.contracts.policies import PendingAnswers
from judgebatch.contracts.slices import WHOLE, Slice
from judgebatch.contracts.state import (
    ActiveEpisodes,
    AwaitingComparisons,
    EpochCounters,
    KnownEpisodes,
    KnownReferences,
    KnownVerdicts,
    OpenGroups,
    PendingEpisodes,
    PendingVerdicts,
    WaitingVerdicts,
)
from judgebatch.contracts.table import Table, conform, empty, schema_of
from judgebatch.errors import WarehouseDamagedError
from judgebatch.grading.clock import Clock
from judgebatch.grading.state import STATE_TABLES, ShardState
from judgebatch.pipeline.identities import Identities
from judgebatch.pipeline.pending import Pending, open_pending
from judgebatch.warehouse import Manifest, Warehouse, write_table
from judgebatch.warehouse.durable import files_below
from judgebatch.warehouse.layout import MANIFEST, STATE
from judgebatch.warehouse.parquet import read_facts

IDENTITY_TABLES: tuple[type[Table], ...] = (KnownEpisodes, KnownVerdicts)
PENDING_TABLES: tuple[type[Table], ...] = (PendingEpisodes, PendingVerdicts, PendingAnswers)

TASK_TABLES: tuple[type[Table], ...] = (
    PendingEpisodes,
    WaitingVerdicts,
    ActiveEpisodes,
    OpenGroups,
    EpochCounters,
    KnownReferences,
    AwaitingComparisons,
)
"""The tables whose rows belong to a task; the others are about whole tenants."""


def shard_folder(shard: int) -> str:
    """Return a shard's folder inside ``state/``."""
    return f"shard-{shard:05d}"


@dataclass(frozen=True)
class Checkpoint:
    """A shard's part of the newest checkpoint, as a run sees it.

    Parameters
    ----------
    folder
        None before the first run.
    clock
        The run's logical time: of the rows that were not visible, it sees those that are now.
    """

    folder: Path | None
    clock: Clock

    def state(self, part: Slice = WHOLE) -> ShardState:
        """Read the state, of tasks only those of a slice; a table that has no rows has no file."""
        return ShardState(*(self.read(table, part) for table in STATE_TABLES))

    def read(self, table: type[Table], part: Slice = WHOLE) -> pl.DataFrame:
        """Read one table of the state."""
        rows = self._stored(table, part)
        if table is PendingEpisodes:
            return pl.concat([rows, part.take(self.pending(PendingEpisodes).open())])
        if table is WaitingVerdicts:
            visible = part.take(self.pending(PendingVerdicts).open())
            return pl.concat([rows, conform(visible.with_columns(**_NOT_CONSIDERED), table)])
        return rows

    def pending(self, table: type[Table]) -> Pending:
        """Open the rows of a table that were not visible in earlier runs."""
        return open_pending(table, self.folder, self.clock.previous, self.clock.as_of)

    def visible(self) -> int:
        """Return how many rows become visible."""
        opened = (self.pending(table) for table in PENDING_TABLES)
        return sum(stretch.height for one in opened for stretch in one.visible)

    def _stored(self, table: type[Table], part: Slice) -> pl.DataFrame:
        path = None if self.folder is None else self.folder / f"{table.name}.parquet"
        if path is None or not path.exists():
            return empty(table)
        rows = pl.scan_parquet(path, hive_partitioning=False)
        within = part.within() if table in TASK_TABLES else None
        if within is not None:
            rows = rows.filter(within)
        return conform(rows.collect(), table)

    def files(self) -> list[str]:
        """Return every file of the shard, relative to its folder."""
        if self.folder is None:
            return []
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return sorted(path.relative_to(self.folder).as_posix() for path in files)

    def identities(self, table: type[Table]) -> Identities:
        """Open the known identities."""
        folder = None if self.folder is None else self.folder / table.name
        return Identities(table, sorted(folder.glob("*.arrow")) if folder else [])


_NOT_CONSIDERED = {
    name: pl.lit(None, dtype=dtype)
    for name, dtype in schema_of(WaitingVerdicts).items()
    if name not in schema_of(PendingVerdicts)
}


def is_pending_file(inside: str) -> bool:
    """Return whether a file of a checkpoint holds rows that were not visible."""
    return PurePosixPath(inside).parent.name in {table.name for table in PENDING_TABLES}


def is_identity_file(inside: str) -> bool:
    """Return whether a file of a checkpoint, named inside its run, holds known identities."""
    return PurePosixPath(inside).parent.name in {table.name for table in IDENTITY_TABLES}


def check_files(warehouse: Warehouse, parent: Manifest | None) -> None:
    """Refuse to build on a damaged checkpoint.

    Every file is hashed, but for identities and pending rows, which are most of the bytes and
    are carried over from night to night: of those only the ones that were written to since their
    run was committed.

    Raises
    ------
    WarehouseDamagedError
        A file is missing, not what the newest run wrote, or in no manifest.
    """
    if parent is None:
        return
    folder = warehouse.layout.run(parent.number)
    listed = [entry for entry in parent.files if entry.path.startswith(f"{STATE}/")]
    warehouse.sound(parent, listed, check=False)
    committed = _changed_at(folder / MANIFEST)
    touched = [
        entry
        for entry in listed
        if not (is_identity_file(entry.path) or is_pending_file(entry.path))
        or _changed_at(folder / entry.path) > committed
    ]
    warehouse.sound(parent, touched)
    there = {path.relative_to(folder).as_posix() for path in files_below(folder / STATE)}
    for inside in sorted(there - {entry.path for entry in listed}):
        raise WarehouseDamagedError(
            f"{folder / inside} is in the checkpoint of run {parent.number}, but that run did not "
            "write it, so no run can build on it. Nothing was published; move it out of the "
            "warehouse. `judgebatch verify` lists all damage."
        )


def _changed_at(path: Path) -> int:
    """Return when a file was last written to, 0 where it is not there."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def write_state(
    parts: Mapping[type[Table], Iterable[pl.DataFrame]], before: Checkpoint, folder: Path
) -> list[str]:
    """Write a shard's state; return the files that did not change and are to be carried over.

    Parameters
    ----------
    parts
        Every table of the state as frames in its order. One without rows has no file. Pending
        rows have files of their own.
    before
        The checkpoint before.
    folder
        The shard's folder in the new one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    unchanged = []
    for table in parts:
        path = folder / f"{table.name}.parquet"
        facts = write_table(path, table, parts[table])
        if facts.rows == 0:
            path.unlink()
        elif before.folder is not None and (before.folder / path.name).exists():
            old = read_facts(before.folder / path.name)
            if old is not None and old.content == facts.content:
                path.unlink()
                unchanged.append(path.name)
    return unchanged
