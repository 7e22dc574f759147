"""What ingest leaves for the shards: accepted rows, in uncompressed Arrow files by shard.

Uncompressed, so that a reader maps them into memory and takes single columns or rows without
reading the rest: the verdicts' texts are most of the bytes and are needed once.
"""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from judgebatch.contracts.table import Table, conform, empty
from judgebatch.pipeline.arrow_files import mapped


@dataclass(frozen=True)
class Scratch:
    """Staged rows below a folder; picklable."""

    folder: Path

    def write(
        self, table: type[Table], shard: int, sequence: tuple[int, int], rows: pl.DataFrame
    ) -> None:
        """Write one piece: rows of one batch of one file that belong to one shard.

        ``sequence`` is the file's place and the batch's place in it.

        Written again, by a task that is retried, a piece replaces itself.
        """
        folder = self._folder(table, shard)
        folder.mkdir(parents=True, exist_ok=True)
        self._put(table, folder / f"{sequence[0]:07d}-{sequence[1]:012d}.arrow", rows)

    def replace(self, table: type[Table], path: Path, rows: pl.DataFrame) -> None:
        """Replace a piece by other rows; without rows there is none."""
        if rows.is_empty():
            path.unlink()
        else:
            self._put(table, path, rows)

    @staticmethod
    def _put(table: type[Table], path: Path, rows: pl.DataFrame) -> None:
        temporary = path.with_suffix(".partial")
        conform(rows, table).rechunk().write_ipc(
            temporary, compression="uncompressed", record_batch_size=max(rows.height, 1)
        )
        temporary.replace(path)

    def paths(self, table: type[Table], shard: int) -> list[Path]:
        """Return the shard's pieces in the order of files and batches."""
        return sorted(self._folder(table, shard).glob("*.arrow"))

    def size(self, shard: int) -> int:
        """Return the bytes staged for a shard."""
        return sum(path.stat().st_size for path in self.folder.glob(f"*/{shard:05d}/*.arrow"))

    def read(self, table: type[Table], shard: int) -> pl.DataFrame:
        """Return all rows of a shard."""
        pieces = [mapped(path) for path in self.paths(table, shard)]
        return pl.concat([empty(table), *pieces])

    def _folder(self, table: type[Table], shard: int) -> Path:
        return self.folder / table.name / f"{shard:05d}"
