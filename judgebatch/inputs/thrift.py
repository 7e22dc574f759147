"""What Parquet says in Thrift's compact protocol: row groups, their columns, page headers.

Arrow reads page headers and shows them to nobody. Row groups and their columns it shows, but where
a footer contradicts itself (an unknown codec, a histogram of another length) asking it for one
ends the process.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple

DATA, DICTIONARY, DATA_V2 = 0, 2, 3
PLAIN, PLAIN_DICTIONARY, DELTA_BYTE_ARRAY, RLE_DICTIONARY = 0, 2, 7, 8
"""Types of pages and encodings of values, as the format numbers them."""

_FIRST_READ = 1 << 10
_LARGEST = 16 << 20
"""Bytes of a header; Arrow's own limit."""
_DEEPEST = 8
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_I64 = 6
_INTEGERS = (4, 5, _I64)


class Page(NamedTuple):
    """A page: where its bytes start, how many they are packed and unpacked, and its values.

    ``values`` counts nulls and the elements of lists. It is 0 for pages without values.
    """

    kind: int
    start: int
    packed: int
    unpacked: int
    values: int
    encoding: int


class Chunk(NamedTuple):
    """A column in one row group.

    ``packed`` bytes hold its ``values`` (nulls and elements of lists among them); the first page
    of data starts at byte ``data``, and one with a dictionary at ``dictionary``, if there is one.
    """

    codec: int
    values: int
    packed: int
    data: int
    dictionary: int | None


class RowGroup(NamedTuple):
    """A row group: its rows, the bytes they take unpacked, and its columns."""

    rows: int
    unpacked: int
    columns: list[Chunk]


def pages(handle: BinaryIO, start: int, end: int, values: int) -> Iterator[Page]:
    """Yield the pages of a column chunk until they have its ``values``, as Arrow reads them.

    Raises
    ------
    ValueError
        There is no page header where one should be, or a page leaves the chunk.
    OSError
        The file cannot be read.
    """
    seen = 0
    while seen < values and start < end:
        fields, length = _header(handle, start, end)
        page = _page(fields, start + length)
        if min(page.packed, page.unpacked, page.values) < 0 or page.start + page.packed > end:
            raise ValueError(f"the page at byte {start} leaves its column")
        if page.kind in (DATA, DATA_V2):
            seen += page.values
        yield page
        start = page.start + page.packed


def row_groups(footer: bytes, n_columns: int) -> list[RowGroup]:
    """Return the row groups that a footer lists, each with its columns.

    Raises
    ------
    ValueError
        The footer is damaged, or a row group has not the ``n_columns`` of the schema.
    """

    def column(data: bytes, at: int) -> tuple[Chunk, int]:
        found, at = _scan(data, at, {3: (_STRUCT, lambda data, at: _struct(data, at, 2))})
        fields = _wanted(found, 3)
        codec, values, packed, start = (_integer(fields, number) for number in (4, 5, 7, 9))
        dictionary = fields.get(11)
        if not isinstance(dictionary, int):
            dictionary = None
        return Chunk(codec, values, packed, start, dictionary), at

    def group(data: bytes, at: int) -> tuple[RowGroup, int]:
        columns = (_LIST, lambda data, at: _each(data, at, column))
        found, at = _scan(data, at, {1: columns, 2: (_I64, _zigzag), 3: (_I64, _zigzag)})
        one = RowGroup(_wanted(found, 3), _wanted(found, 2), _wanted(found, 1))
        if len(one.columns) != n_columns:
            raise ValueError(
                f"a row group has {len(one.columns):,} columns, and its schema {n_columns:,}"
            )
        return one, at

    try:
        found, _ = _scan(footer, 0, {4: (_LIST, lambda data, at: _each(data, at, group))})
    except IndexError:
        raise ValueError("the footer has no end") from None
    listed: list[RowGroup] = _wanted(found, 4)
    return listed


_Reader = Callable[[bytes, int], tuple[Any, int]]
"""Takes bytes and where a value starts, returns it and where it ends."""


def _scan(
    data: bytes, at: int, wanted: Mapping[int, tuple[int, _Reader]]
) -> tuple[dict[int, Any], int]:
    """Go through a struct, and read some of its fields with readers of their own."""
    found: dict[int, Any] = {}
    number = 0
    while data[at]:
        number, kind, at = _field(data, at, number)
        if number in wanted:
            expected, read = wanted[number]
            if kind != expected:
                raise ValueError(f"field {number} of the footer has the wrong type")
            found[number], at = read(data, at)
        else:
            _, at = _value(data, at, kind, 1)
    return found, at + 1


def _wanted(found: Mapping[int, Any], number: int) -> Any:
    if number not in found:
        raise ValueError(f"the footer lacks field {number} of a row group")
    return found[number]


def _each(data: bytes, at: int, read: _Reader) -> tuple[list[Any], int]:
    """Read every struct of a list."""
    count, kind, at = _list(data, at)
    if count and kind != _STRUCT:
        raise ValueError("a list of the footer has the wrong type")
    items = []
    for _ in range(count):
        item, at = read(data, at)
        items.append(item)
    return items, at


def _page(fields: dict[int, Any], start: int) -> Page:
    kind, unpacked, packed = (_integer(fields, number) for number in (1, 2, 3))
    own = fields.get({DATA: 5, DICTIONARY: 7, DATA_V2: 8}.get(kind, -1))
    if not isinstance(own, dict):
        return Page(kind, start, packed, unpacked, 0, PLAIN)
    encoding = _integer(own, 4 if kind == DATA_V2 else 2)
    return Page(kind, start, packed, unpacked, _integer(own, 1), encoding)


def _integer(fields: dict[int, Any], number: int) -> int:
    value = fields.get(number)
    if not isinstance(value, int):
        raise ValueError(f"a page header or column lacks its field {number}")  # noqa: TRY004
    return value


def _header(handle: BinaryIO, start: int, end: int) -> tuple[dict[int, Any], int]:
    wanted = _FIRST_READ
    while True:
        handle.seek(start)
        data = handle.read(min(wanted, end - start))
        try:
            return _struct(data, 0, 0)
        except IndexError:
            if wanted >= min(_LARGEST, end - start):
                raise ValueError(f"the page header at byte {start} has no end") from None
            wanted *= 4


def _struct(data: bytes, at: int, depth: int) -> tuple[dict[int, Any], int]:
    if depth > _DEEPEST:
        raise ValueError("it is nested too deeply")
    fields: dict[int, Any] = {}
    number = 0
    while data[at]:
        number, kind, at = _field(data, at, number)
        fields[number], at = _value(data, at, kind, depth)
    return fields, at + 1


def _field(data: bytes, at: int, before: int) -> tuple[int, int, int]:
    """Return a field's number, its type, and where its value starts."""
    head = data[at]
    if head >> 4:
        return before + (head >> 4), head & 15, at + 1
    number, at = _zigzag(data, at + 1)
    return number, head & 15, at


def _list(data: bytes, at: int) -> tuple[int, int, int]:
    """Return a list's length, the type of its items, and where they start."""
    head = data[at]
    count, at = _varint(data, at + 1) if head >> 4 == 15 else (head >> 4, at + 1)
    return count, head & 15, at


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:  # noqa: PLR0911
    if kind in _INTEGERS:
        return _zigzag(data, at)
    if kind == _STRUCT:
        return _struct(data, at, depth + 1)
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, at
    if kind == _BYTE:
        return data[at], at + 1
    if kind == _DOUBLE:
        return None, at + 8
    if kind == _BINARY:
        length, at = _varint(data, at)
        return None, at + length
    if kind in (_LIST, _SET):
        count, inner, at = _list(data, at)
        return None, _items(data, at, count, (inner,), depth)
    if kind == _MAP:
        count, at = _varint(data, at)
        if not count:
            return None, at
        return None, _items(data, at + 1, count, (data[at] >> 4, data[at] & 15), depth)
    raise ValueError(f"there is a field of the unknown type {kind}")


def _items(data: bytes, at: int, count: int, kinds: tuple[int, ...], depth: int) -> int:
    for _ in range(count):
        for kind in kinds:
            # In a list a truth value takes a byte of its own.
            if kind in (_TRUE, _FALSE):
                at += 1
            else:
                _, at = _value(data, at, kind, depth + 1)
        if at > len(data):
            raise IndexError
    return at


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise ValueError("there is a number without an end")
