"""The checkpoint on disk: a shard's state as small tables, and its identities as sorted files."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from judgebatch.contracts.state import KnownEpisodes, KnownVerdicts
from judgebatch.contracts.table import Table, conform, empty
from judgebatch.grading.state import STATE_TABLES, ShardState
from judgebatch.pipeline.identities import Identities
from judgebatch.warehouse import Manifest, Warehouse, write_table

IDENTITY_TABLES: tuple[type[Table], ...] = (KnownEpisodes, KnownVerdicts)


def shard_folder(shard: int) -> str:
    """Return a shard's folder inside ``state/``."""
    return f"shard-{shard:05d}"


@dataclass(frozen=True)
class Checkpoint:
    """A shard's part of the newest checkpoint; ``folder`` is None before the first run."""

    folder: Path | None

    def state(self) -> ShardState:
        """Read the state; a table that has no rows has no file."""
        return ShardState(*(self._read(table) for table in STATE_TABLES))

    def _read(self, table: type[Table]) -> pl.DataFrame:
        if self.folder is None:
            return empty(table)
        path = self.folder / f"{table.name}.parquet"
        if not path.exists():
            return empty(table)
        return conform(pl.read_parquet(path, hive_partitioning=False), table)

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


def check_files(warehouse: Warehouse, parent: Manifest | None) -> None:
    """Refuse to build on a damaged checkpoint.

    State tables are hashed; identities, which are most of the bytes, are compared by size here
    and hashed by ``judgebatch verify``.

    Raises
    ------
    WarehouseDamagedError
        A file is missing or not what the newest run wrote.
    """
    for entry in parent.files if parent else ():
        if entry.path.startswith("state/"):
            warehouse.state_file(
                entry.path.removeprefix("state/"), check=entry.path.endswith(".parquet")
            )


def write_state(state: ShardState, before: ShardState, folder: Path) -> list[str]:
    """Write a shard's state; return the files that did not change and are to be carried over.

    Tables without rows are left out.
    """
    folder.mkdir(parents=True, exist_ok=True)
    unchanged = []
    for table, frame, old in zip(STATE_TABLES, state, before, strict=True):
        name = f"{table.name}.parquet"
        if frame.is_empty():
            continue
        if frame.equals(old, null_equal=True):
            unchanged.append(name)
        else:
            write_table(folder / name, table, frame)
    return unchanged
