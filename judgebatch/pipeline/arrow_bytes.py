"""Arrow batches of which equal rows give equal bytes.

What an operation leaves where no value is, in the bits after a bitmap's last one and under a null,
is whatever it left there, and a file holds it, too.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from judgebatch.warehouse.content import text_offsets


def same_bytes(rows: pl.DataFrame) -> pa.RecordBatch:
    """Return rows as one batch whose buffers follow from their values alone."""
    arrow = rows.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest()).combine_chunks()
    columns = [_column(arrow.column(name)) for name in arrow.column_names]
    return pa.RecordBatch.from_arrays(columns, schema=arrow.schema)


def _column(column: "pa.ChunkedArray[Any]") -> "pa.Array[Any]":
    none: pa.Array[Any] = pa.nulls(0, column.type)
    array = pa.concat_arrays([none, *column.chunks])
    count = len(array)
    is_there = _flags(array.is_valid())
    present = _bits(is_there) if array.null_count else None
    values = array.drop_null()
    if pa.types.is_large_string(array.type):
        lengths = np.zeros(count + 1, dtype=np.int64)
        offsets = text_offsets(values)
        lengths[1:][is_there] = np.diff(offsets)
        texts = _bytes(values, 2)[int(offsets[0]) : int(offsets[-1])]
        buffers = [present, pa.py_buffer(np.cumsum(lengths).tobytes()), pa.py_buffer(texts)]
    elif pa.types.is_boolean(array.type):
        flags = np.zeros(count, dtype=np.bool_)
        flags[is_there] = _flags(values)
        buffers = [present, _bits(flags)]
    else:
        width = array.type.bit_width // 8
        there = _bytes(values, 1)[values.offset * width : (values.offset + len(values)) * width]
        words = np.zeros(count, dtype=f"V{width}")
        words[is_there] = np.frombuffer(there, dtype=words.dtype)
        buffers = [present, pa.py_buffer(words.tobytes())]
    return pa.Array.from_buffers(array.type, count, buffers, array.null_count)


def _flags(array: "pa.Array[Any]") -> npt.NDArray[np.bool_]:
    return np.frombuffer(_bytes(array.cast(pa.uint8()), 1), dtype=np.bool_, count=len(array))


def _bits(flags: npt.NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little").tobytes())


def _bytes(array: "pa.Array[Any]", at: int) -> memoryview:
    buffer = array.buffers()[at]
    return memoryview(b"" if buffer is None else buffer)
