"""The digest of a table's content, whatever file format or library version holds it.

Two files have one content digest exactly when they hold the same columns with the same values
in the same order of rows, however the rows were cut into batches, row groups or pages.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc


class ContentDigest:
    """Hashes a table column by column, batch by batch.

    A column's hash covers the positions of its nulls, and of what is not null the lengths of
    texts and the bytes of values, each as a stream of its own: the cuts between batches leave no
    trace.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._names: Sequence[str] = schema.names
        self._types = [str(field.type) for field in schema]
        self._nulls = [hashlib.sha256() for _ in self._names]
        self._lengths = [hashlib.sha256() for _ in self._names]
        self._values = [hashlib.sha256() for _ in self._names]
        self._rows = 0

    def update(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        for at, column in enumerate(batch.columns):
            self._add(at, column)
        self._rows += batch.num_rows

    def _add(self, at: int, column: "pa.Array[Any]") -> None:
        if column.null_count:
            nulls = null_positions(column) + np.uint64(self._rows)
            self._nulls[at].update(nulls.tobytes())
            column = column.drop_null()
        if pa.types.is_large_string(column.type):
            offsets = text_offsets(column)
            self._lengths[at].update(np.diff(offsets).tobytes())
            self._values[at].update(_buffer(column, 2)[int(offsets[0]) : int(offsets[-1])])
        elif pa.types.is_boolean(column.type):
            self._values[at].update(_buffer(column.cast(pa.uint8()), 1)[: len(column)])
        else:
            width = column.type.bit_width // 8
            first, last = column.offset * width, (column.offset + len(column)) * width
            self._values[at].update(_buffer(column, 1)[first:last])

    def hexdigest(self) -> str:
        """Return the digest of everything added so far."""
        whole = hashlib.sha256(f"{self._rows}\n".encode())
        for at, name in enumerate(self._names):
            parts = (self._nulls[at], self._lengths[at], self._values[at])
            hashes = " ".join(part.hexdigest() for part in parts)
            whole.update(f"{name}\t{self._types[at]}\t{hashes}\n".encode())
        return whole.hexdigest()


def null_positions(column: "pa.Array[Any]") -> npt.NDArray[np.uint64]:
    """Return where an array is null; takes no way through pandas, as ``to_numpy`` does."""
    positions = pc.indices_nonzero(column.is_null())
    return np.frombuffer(_buffer(positions, 1), dtype="<u8", count=len(positions))


def text_offsets(column: "pa.Array[Any]") -> npt.NDArray[np.int64]:
    """Return where each text of a large_string array starts, and where the last one ends."""
    if not len(column):
        return np.zeros(1, dtype=np.int64)
    offsets = np.frombuffer(_buffer(column, 1), dtype="<i8")
    return offsets[column.offset : column.offset + len(column) + 1]


def _buffer(column: "pa.Array[Any]", at: int) -> memoryview:
    buffer = column.buffers()[at]
    return memoryview(b"" if buffer is None else buffer)
