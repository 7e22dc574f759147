"""Uncompressed Arrow files, mapped into memory: a page is read when it is used.

Arrow's own memory map asks the system to read ahead everything it hands out, whenever a file is
opened. Files that are opened often, or of which little is used, are mapped here without that.
"""

from bisect import bisect_left
from collections.abc import Sequence
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.ipc

from judgebatch.contracts.slices import TASK, Key, Slice


def mapped_reader(path: Path) -> pyarrow.ipc.RecordBatchFileReader:
    """Return a reader whose batches stay on disk; they keep the file mapped."""
    with path.open("rb") as file:
        pages = mmap(file.fileno(), 0, access=ACCESS_READ)
    return pyarrow.ipc.open_file(pa.py_buffer(pages))


def mapped_table(path: Path) -> pa.Table:
    """Return a file as a table that stays on disk."""
    return mapped_reader(path).read_all()


def mapped(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Return a file, or some columns of it, as a frame that stays on disk.

    Pages are let go with the frame.
    """
    table = mapped_table(path)
    return pl.DataFrame(table if columns is None else table.select(columns))


def one_array(table: pa.Table, name: str) -> "pa.Array[Any]":
    """Return a column of a table as one array, without a copy if it is one batch."""
    column = table.column(name)
    # Putting together copies, also a single one.
    if column.num_chunks == 1:
        return column.chunks[0]
    none: pa.Array[Any] = pa.nulls(0, column.type)
    return pa.concat_arrays([none, *column.chunks])


def stretch(path: Path, part: Slice) -> tuple[int, int]:
    """Return where a slice's rows begin and end in a file that is sorted by TASK."""
    table = mapped_table(path)
    tenants, tasks = (one_array(table, name) for name in TASK)

    def key(row: int) -> Key:
        return tenants[row].as_py(), tasks[row].as_py()

    rows = range(table.num_rows)
    first = 0 if part.first is None else bisect_left(rows, part.first, key=key)
    end = len(rows) if part.end is None else bisect_left(rows, part.end, key=key)
    return first, end
