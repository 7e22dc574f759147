"""The one Parquet writer: equal rows give equal bytes, however they arrive in batches."""

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from judgebatch.contracts.table import Table, conform, schema_of
from judgebatch.errors import WarehouseDamagedError
from judgebatch.warehouse.content import ContentDigest, null_positions, text_offsets
from judgebatch.warehouse.durable import writing
from judgebatch.warehouse.failpoints import failpoint

GROUP_ROWS = 125_000
"""Rows of a full row group."""
GROUP_TEXT_BYTES = 64 << 20
"""A row group also ends with the row that brings its texts to this size: memory stays bounded."""
PART_ROWS = 4_000_000
"""Rows of a full file: 32 full row groups."""

_DICTIONARY_BYTES = 64 << 10
"""Columns of ids outgrow any dictionary: giving up early halves time and saves a third of space."""

_TABLE, _VERSION, _CONTENT = "judgebatch.table", "judgebatch.version", "judgebatch.content"

_ARROW_TYPES: dict[pl.DataType, pa.DataType] = {
    pl.Int64(): pa.int64(),
    pl.Float64(): pa.float64(),
    pl.String(): pa.large_string(),
    pl.Boolean(): pa.bool_(),
    pl.Date(): pa.date32(),
    pl.Datetime("us", "UTC"): pa.timestamp("us", "UTC"),
}


@dataclass(frozen=True)
class FileFacts:
    """What a file of the warehouse says about itself in its footer."""

    table: str
    version: int
    rows: int
    content: str


def arrow_schema(table: type[Table]) -> pa.Schema:
    """Return the Arrow schema that a table is written with."""
    columns = table.columns()
    return pa.schema(
        [
            pa.field(name, _ARROW_TYPES[dtype], nullable=columns[name].nullable)
            for name, dtype in schema_of(table).items()
        ]
    )


def record_batches(frame: pl.DataFrame, table: type[Table]) -> list[pa.RecordBatch]:
    """Return a frame as batches of the table's Arrow schema."""
    arrow = conform(frame, table).to_arrow(compat_level=pl.CompatLevel.oldest())
    return arrow.to_batches()


class TableWriter:
    """Writes one Parquet file of a table, row group by row group.

    Options are fixed here and nowhere else: zstd, statistics, no Arrow schema and no pandas
    metadata in the footer, but the table's name, contract version and content digest.
    """

    def __init__(self, path: Path, table: type[Table]) -> None:
        failpoint("tables.write")
        self._table = table
        self._schema = arrow_schema(table)
        self._text_columns = [
            at for at, field in enumerate(self._schema) if field.type == pa.large_string()
        ]
        self._float_columns = [
            at for at, field in enumerate(self._schema) if field.type == pa.float64()
        ]
        self._digest = ContentDigest(self._schema)
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = 0
        self._pending_bytes = 0
        self.rows = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        self._writer = pq.ParquetWriter(
            path,
            self._schema,
            compression="zstd",
            compression_level=1,
            version="2.6",
            data_page_version="1.0",
            write_statistics=True,
            dictionary_pagesize_limit=_DICTIONARY_BYTES,
            store_schema=False,
        )
        # The digest of a row group is made beside the encoding of the same row group.
        self._hashing = ThreadPoolExecutor(1)
        self._hashed: Future[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._writer.is_open:
            self._writer.close()
        self._hashing.shutdown()

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows; a row group is written whenever one is full."""
        while batch.num_rows:
            sizes = self._text_bytes(batch)
            full = int(np.searchsorted(sizes, GROUP_TEXT_BYTES - self._pending_bytes)) + 1
            take = min(full, GROUP_ROWS - self._pending_rows)
            taken = batch.slice(0, take)
            self._pending.append(taken)
            self._pending_rows += taken.num_rows
            self._pending_bytes += int(sizes[taken.num_rows - 1])
            if take <= batch.num_rows:
                self._write_group()
            batch = batch.slice(take)
        # An empty batch adds nothing.

    def _text_bytes(self, batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
        """Return the running total of the bytes of the rows' texts."""
        total = np.zeros(batch.num_rows, dtype=np.int64)
        for at in self._text_columns:
            column = batch.column(at)
            lengths = np.diff(text_offsets(column))
            if column.null_count:
                # What lies under a null is nobody's text.
                lengths[null_positions(column)] = 0
            total += lengths
        return np.cumsum(total)

    def _write_group(self) -> None:
        if not self._pending_rows:
            return
        failpoint("tables.group")
        group = pa.Table.from_batches(self._pending).combine_chunks()
        # Batches may come from frames whose fields are all nullable: the contract decides.
        group = pa.Table.from_arrays(group.columns, schema=self._schema)
        batch = group.to_batches()[0]
        self._refuse_not_finite(batch)
        self._await_hash()
        self._hashed = self._hashing.submit(self._digest.update, batch)
        self._writer.write_table(group, row_group_size=group.num_rows)
        self.rows += group.num_rows
        self._pending, self._pending_rows, self._pending_bytes = [], 0, 0

    def _refuse_not_finite(self, batch: pa.RecordBatch) -> None:
        for at in self._float_columns:
            if pc.all(pc.is_finite(batch.column(at))).as_py() is False:
                name = self._schema.names[at]
                raise ValueError(
                    f"table {self._table.name} got a number that is not finite in {name}"
                )

    def _await_hash(self) -> None:
        if self._hashed is not None:
            self._hashed.result()

    def close(self) -> FileFacts:
        """Write what is left and the footer."""
        self._write_group()
        self._await_hash()
        facts = FileFacts(
            self._table.name, self._table.version, self.rows, self._digest.hexdigest()
        )
        self._writer.add_key_value_metadata(
            {
                _TABLE: facts.table,
                _VERSION: str(facts.version),
                _CONTENT: facts.content,
            }
        )
        self._writer.close()
        failpoint("tables.written")
        return facts


def write_table(
    path: Path, table: type[Table], rows: pl.DataFrame | Iterable[pl.DataFrame | pa.RecordBatch]
) -> FileFacts:
    """Write rows, which must be in the table's order already, as one Parquet file.

    Parameters
    ----------
    path
        The file; folders above it are made.
    table
        The contract: its columns, in its order, are what the file has, also without rows.
    rows
        A frame, or frames and Arrow batches in order.

    Raises
    ------
    TypeError
        A frame has not the table's columns.
    ValueError
        A number is NaN or infinite, or a null stands where the contract has none.
    WarehouseWriteError
        There is no room or no permission.
    """
    batches = [rows] if isinstance(rows, pl.DataFrame) else rows
    with writing(f"table {table.name}", path), TableWriter(path, table) as writer:
        for given in batches:
            if isinstance(given, pl.DataFrame):
                for batch in record_batches(given, table):
                    writer.add(batch)
            else:
                writer.add(given)
        return writer.close()


def read_facts(path: Path) -> FileFacts | None:
    """Return what a file's footer says, or None where it is not a file of this writer.

    Raises
    ------
    WarehouseDamagedError
        The file is not readable Parquet.
    """
    try:
        footer = pq.read_metadata(path)
    except (pa.ArrowException, OSError) as error:
        raise WarehouseDamagedError(
            f"{path} cannot be read as Parquet ({error}): restore it from a backup. "
            "`judgebatch verify` lists everything that is damaged."
        ) from error
    said = {key.decode(): value.decode() for key, value in (footer.metadata or {}).items()}
    if not {_TABLE, _VERSION, _CONTENT} <= said.keys():
        return None
    return FileFacts(
        table=said[_TABLE],
        version=int(said[_VERSION]),
        rows=footer.num_rows,
        content=said[_CONTENT],
    )
