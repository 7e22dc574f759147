"""Parquet files that no writer writes: their footers and page headers taken apart and lied in.

A Thrift struct is ``{field: [type, value]}``, a list ``[type of items, items]``.
"""

from collections.abc import Callable
from typing import Any

Struct = dict[int, list[Any]]
I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def read_struct(data: bytes, at: int = 0) -> tuple[Struct, int]:
    fields: Struct = {}
    number = 0
    while head := data[at]:
        assert head >> 4, "writers number fields in small steps"
        number += head >> 4
        value, at = _read(data, at + 1, head & 15)
        fields[number] = [head & 15, value]
    return fields, at + 1


def write_struct(fields: Struct) -> bytes:
    out = bytearray()
    before = 0
    for number in sorted(fields):
        kind, value = fields[number]
        out.append((number - before) << 4 | kind)
        out += _write(kind, value)
        before = number
    return bytes(out) + b"\0"


def _read(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (1, 2):
        return None, at
    if kind == 3:
        return data[at], at + 1
    if kind in (4, I32, I64):
        value, at = _read_varint(data, at)
        return (value >> 1) ^ -(value & 1), at
    if kind == BINARY:
        length, at = _read_varint(data, at)
        return data[at : at + length], at + length
    if kind == LIST:
        head = data[at]
        count, at = _read_varint(data, at + 1) if head >> 4 == 15 else (head >> 4, at + 1)
        items = []
        for _ in range(count):
            item, at = (data[at], at + 1) if head & 15 in (1, 2) else _read(data, at, head & 15)
            items.append(item)
        return [head & 15, items], at
    assert kind == STRUCT
    return read_struct(data, at)


def _write(kind: int, value: Any) -> bytes:
    if kind in (1, 2):
        return b""
    if kind == 3:
        return bytes([value])
    if kind in (4, I32, I64):
        return varint((value << 1) ^ (value >> 63))
    if kind == BINARY:
        return varint(len(value)) + value
    if kind == LIST:
        inner, items = value
        body = b"".join(bytes([i]) if inner in (1, 2) else _write(inner, i) for i in items)
        return bytes([0xF0 | inner]) + varint(len(items)) + body
    return write_struct(value)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def footer_of(content: bytes) -> tuple[Struct, int]:
    """Return a file's footer and where it starts."""
    length = int.from_bytes(content[-8:-4], "little")
    return read_struct(content[-8 - length : -8])[0], len(content) - 8 - length


def with_footer(body: bytes, footer: bytes) -> bytes:
    return body + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def chunk_of(footer: Struct, column: int = 0) -> Struct:
    """Return what a footer says of a column in the first row group."""
    group = footer[4][1][1][0]
    chunk: Struct = group[1][1][1][column][3][1]
    return chunk


def lied(content: bytes, lie: Callable[[Struct], object]) -> bytes:
    """Return a file whose footer was changed in place."""
    footer, start = footer_of(content)
    lie(footer)
    return with_footer(content[:start], write_struct(footer))


def lied_in_a_page(content: bytes, lie: Callable[[Struct], object], column: int = 0) -> bytes:
    """Return a file in which a column's first page has another header."""
    footer, start = footer_of(content)
    chunk = chunk_of(footer, column)
    pages = chunk.get(11, chunk[9])[1]
    header, end = read_struct(content, pages)
    lie(header)
    page = write_struct(header) + content[end : pages + chunk[7][1]]
    shift = start - pages
    chunk[9][1] += shift
    if 11 in chunk:
        chunk[11][1] += shift
        chunk[9][1] += len(write_struct(header)) - (end - pages)
    chunk[7][1] = len(page)
    return with_footer(content[:start] + page, write_struct(footer))
