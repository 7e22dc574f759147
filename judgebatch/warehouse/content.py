"""The digest of a table's content, whatever file format or library version holds it.

Two files have one content digest exactly when they hold the same columns with the same values
in the same order of rows, however the rows were cut into batches, row groups or pages.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa


class ContentDigest:
    """Hashes a table column by column, batch by batch.

    A column's hash covers the positions of its nulls, the lengths of its texts and the bytes of
    its values, each as a stream of its own: so the cuts between batches leave no trace.
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
            nulls = np.flatnonzero(np.asarray(column.is_null())) + self._rows
            self._nulls[at].update(nulls.astype("<i8").tobytes())
            column = column.fill_null(_filler(column.type))
        if pa.types.is_large_string(column.type):
            offsets = np.frombuffer(_buffer(column, 1), dtype="<i8")
            offsets = offsets[column.offset : column.offset + len(column) + 1]
            self._lengths[at].update(np.diff(offsets).tobytes())
            self._values[at].update(_buffer(column, 2)[int(offsets[0]) : int(offsets[-1])])
        elif pa.types.is_boolean(column.type):
            self._values[at].update(np.asarray(column.cast(pa.uint8())).tobytes())
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


def _buffer(column: "pa.Array[Any]", at: int) -> memoryview:
    buffer = column.buffers()[at]
    return memoryview(b"" if buffer is None else buffer)


def _filler(kind: pa.DataType) -> "pa.Scalar[Any]":
    if pa.types.is_large_string(kind):
        return pa.scalar("", kind)
    if pa.types.is_boolean(kind):
        return pa.scalar(False, kind)
    if pa.types.is_floating(kind):
        return pa.scalar(0.0, kind)
    return pa.scalar(0, pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)
