"""Pieces of tables: what the shards of a run write before they become one file a table.

A piece is an Arrow file in the scratch folder, named by table, shard and sequence number, so
that tasks in any process may write pieces in any order, and write one again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.ipc

from judgebatch.contracts.table import Table, conform
from judgebatch.warehouse.durable import temporary_beside, writing
from judgebatch.warehouse.failpoints import failpoint

_BATCH_ROWS = 32_768
_BATCH_BYTES = 16 << 20
"""About how much of a piece is held at a time when it is read; long texts make small batches."""


@dataclass(frozen=True)
class Pieces:
    """The pieces of one run; picklable, so that other processes can write them."""

    folder: Path

    def write(self, table: type[Table], shard: int, frame: pl.DataFrame, sequence: int = 0) -> None:
        """Write one piece whole; the same piece again replaces it.

        Parameters
        ----------
        table
            The contract that the frame conforms to.
        shard, sequence
            The piece's place: pieces are read in the order (shard, sequence).
        frame
            Rows in the table's order, which must continue over the pieces of the shard.

        Raises
        ------
        WarehouseWriteError
            There is no room or no permission.
        """
        folder = self._folder(table)
        path = folder / f"{shard:05d}-{sequence:010d}.arrow"
        temporary = temporary_beside(path)
        rows = conform(frame, table)
        with writing(f"a piece of table {table.name}", path):
            folder.mkdir(parents=True, exist_ok=True)
            failpoint("pieces.write")
            _write(temporary, rows)
            temporary.replace(path)
        failpoint("pieces.written")

    def batches(self, table: type[Table], shard: int | None = None) -> Iterator[pa.RecordBatch]:
        """Yield all rows of a table, or of one shard of it, in (shard, sequence) order."""
        for path in self.files(table, shard):
            with pa.OSFile(str(path), "rb") as source, pyarrow.ipc.open_file(source) as reader:
                for at in range(reader.num_record_batches):
                    yield reader.get_batch(at)

    def read(self, table: type[Table], shard: int | None = None) -> pl.DataFrame:
        """Return all rows of a table, or of one shard of it, as a frame."""
        frames = [pl.read_ipc(path) for path in self.files(table, shard)]
        return pl.concat(frames) if frames else conform(table.create_empty(), table)

    def files(self, table: type[Table], shard: int | None = None) -> list[Path]:
        """Return the files of a table's pieces in (shard, sequence) order."""
        pattern = "*.arrow" if shard is None else f"{shard:05d}-*.arrow"
        return sorted(
            path for path in self._folder(table).glob(pattern) if not path.name.startswith(".")
        )

    def size(self, table: type[Table]) -> int:
        """Return the bytes of a table's pieces."""
        return sum(path.stat().st_size for path in self.files(table))

    def _folder(self, table: type[Table]) -> Path:
        return self.folder / table.name.replace("/", "~")


def _write(path: Path, rows: pl.DataFrame) -> None:
    """Write an Arrow file, by PyArrow: Polars' has checksums that cost more than the rest."""
    table = rows.to_arrow(compat_level=pl.CompatLevel.oldest())
    options = pyarrow.ipc.IpcWriteOptions(compression="lz4")
    with (
        pa.OSFile(str(path), "wb") as sink,
        pyarrow.ipc.new_file(sink, table.schema, options=options) as writer,
    ):
        writer.write_table(table, _batch_rows(rows))


def _batch_rows(frame: pl.DataFrame) -> int:
    row_bytes = int(frame.estimated_size()) // max(1, len(frame)) + 1
    return max(1, min(_BATCH_ROWS, _BATCH_BYTES // row_bytes))
