"""Arrow batches of which equal rows give equal bytes.

What an operation leaves where no value is, in the bits after a bitmap's last one and under a null,
is whatever it left there, and a file holds it, too.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc

from judgebatch.pipeline.arrow_files import one_array
from judgebatch.warehouse.content import text_offsets


def same_bytes(rows: pl.DataFrame) -> pa.RecordBatch:
    """Return rows as one batch whose buffers follow from their values alone."""
    arrow = rows.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    columns = [_canonical(one_array(arrow, name)) for name in arrow.column_names]
    return pa.RecordBatch.from_arrays(columns, schema=arrow.schema)


def write_same_bytes(path: Path, rows: pl.DataFrame) -> None:
    """Write rows as an Arrow file of one batch, compressed with zstd."""
    batch = same_bytes(rows)
    options = pyarrow.ipc.IpcWriteOptions(compression="zstd")
    with (
        pa.OSFile(str(path), "wb") as sink,
        pyarrow.ipc.new_file(sink, batch.schema, options=options) as writer,
    ):
        writer.write_batch(batch)


def _canonical(array: "pa.Array[Any]") -> "pa.Array[Any]":
    """Return an array of which no buffer holds anything but its values."""
    is_there = _flags(array.is_valid())
    buffers = [_bits(is_there) if array.null_count else None]
    children = None
    if pa.types.is_struct(array.type):
        children = [_canonical(child) for child in array.flatten()]  # type: ignore[attr-defined]
    elif pa.types.is_large_list(array.type):
        lengths = pc.list_value_length(array).fill_null(0)
        buffers.append(_offsets(_words(lengths, "<i8")))
        children = [_canonical(array.flatten())]  # type: ignore[attr-defined]
    elif pa.types.is_large_string(array.type):
        values = array.drop_null()
        lengths = np.zeros(len(array), dtype=np.int64)
        offsets = text_offsets(values)
        lengths[is_there] = np.diff(offsets)
        texts = _bytes(values, 2)[int(offsets[0]) : int(offsets[-1])]
        buffers += [_offsets(lengths), pa.py_buffer(texts)]
    elif pa.types.is_boolean(array.type):
        flags = np.zeros(len(array), dtype=np.bool_)
        flags[is_there] = _flags(array.drop_null())
        buffers.append(_bits(flags))
    else:
        words = np.zeros(len(array), dtype=f"V{array.type.bit_width // 8}")
        words[is_there] = _words(array.drop_null(), words.dtype)
        buffers.append(pa.py_buffer(words.tobytes()))
    return pa.Array.from_buffers(array.type, len(array), buffers, array.null_count, 0, children)


def _words(array: "pa.Array[Any]", dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return the values of an array of fixed width that has no nulls."""
    values = np.frombuffer(_bytes(array, 1), dtype=dtype)
    return values[array.offset : array.offset + len(array)]


def _offsets(lengths: npt.NDArray[np.int64]) -> pa.Buffer:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return pa.py_buffer(offsets.tobytes())


def _flags(array: "pa.Array[Any]") -> npt.NDArray[np.bool_]:
    return np.frombuffer(_bytes(array.cast(pa.uint8()), 1), dtype=np.bool_, count=len(array))


def _bits(flags: npt.NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little").tobytes())


def _bytes(array: "pa.Array[Any]", at: int) -> memoryview:
    buffer = array.buffers()[at]
    return memoryview(b"" if buffer is None else buffer)
