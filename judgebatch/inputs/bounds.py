"""How much memory a Parquet file can ask for, found out before any of it is unpacked.

A few kilobytes of Parquet can stand for gigabytes: a page that unpacks a thousandfold, a long
text in a dictionary that a million rows point to, a list with as many elements. Neither the size
of a file nor what its footer says bounds them; the headers of its pages do.
"""

import struct
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, BinaryIO, NamedTuple

from judgebatch.inputs.arrow import ParquetFile, pa
from judgebatch.inputs.thrift import (
    DATA,
    DATA_V2,
    DELTA_BYTE_ARRAY,
    DICTIONARY,
    PLAIN_DICTIONARY,
    RLE_DICTIONARY,
    Chunk,
    Page,
    RowGroup,
    pages,
    row_groups,
)

MOST_FOOTER_BYTES = 64 << 20
MOST_COLUMNS = 10_000
MOST_NAME = 4_096
MOST_ROWS = 1_000_000_000
BATCH_BYTES = 256 << 20
"""What the values of one batch may take, all columns together."""
LIST_BYTES = 1 << 30
"""What the elements of one column of lists may take in one row group."""
_TOGETHER_BYTES = 64 << 20
_ROWS = (16_384, 4_096, 1_024, 256, 64, 16, 4, 1)
_WIDTH = 16
"""Bytes of a number, as whatever type (a decimal, at most)."""
_OFFSET = 8
"""Bytes that a text takes beside its own."""
_CODECS = (None, "snappy", "gzip", "lzo", "brotli", "lz4_raw", "zstd", "lz4_raw")
"""As the format numbers them; of the two LZ4 the older has a frame that is not read here."""
_SHORT = 1 << 10
_SLACK = 100
_MIB = 1 << 20


class TooLargeError(Exception):
    """A file asks for more than is given; the message says what and how much."""


def checked_groups(parquet: ParquetFile, handle: BinaryIO, size: int) -> list[RowGroup]:
    """Check what a footer says of the file as a whole, and return the row groups it lists.

    Parameters
    ----------
    parquet
        The open file.
    handle
        The same file, for its bytes.
    size
        Its length in bytes.

    Raises
    ------
    TooLargeError
        It has too many columns or rows.
    ValueError
        It contradicts itself or the file's size.
    OSError
        The file cannot be read.
    """
    meta = parquet.metadata
    if meta.num_columns > MOST_COLUMNS:
        raise TooLargeError(f"has {meta.num_columns:,} columns, and at most {MOST_COLUMNS:,} are")
    longest = max((len(parquet.schema.column(i).path) for i in range(meta.num_columns)), default=0)
    if longest > MOST_NAME:
        raise TooLargeError(
            f"has a column name of {longest:,} characters, and at most {MOST_NAME:,} are"
        )
    if meta.num_rows > MOST_ROWS:
        raise TooLargeError(f"has {meta.num_rows:,} rows, and at most {MOST_ROWS:,} are")
    if meta.num_row_groups > size:
        raise ValueError(f"its footer counts {meta.num_row_groups:,} row groups")
    groups = row_groups(_footer(handle, size), meta.num_columns)
    rows = [group.rows for group in groups]
    if len(groups) != meta.num_row_groups or min(rows, default=0) < 0 or sum(rows) != meta.num_rows:
        raise ValueError(
            f"its footer counts {meta.num_rows:,} rows, and its row groups {sum(rows):,}"
        )
    return groups


def _footer(handle: BinaryIO, size: int) -> bytes:
    handle.seek(size - 8)
    length = int.from_bytes(handle.read(4), "little")
    handle.seek(size - 8 - length)
    return handle.read(length)


def portions(
    parquet: ParquetFile,
    groups: Sequence[RowGroup],
    handle: BinaryIO,
    size: int,
    within: Iterable[int],
) -> Iterator[tuple[list[int], int]]:
    """Yield row groups to read together, in order, and how many of their rows at once.

    The values of so many rows take at most ``BATCH_BYTES``. Small row groups come together.

    Parameters
    ----------
    parquet
        The open file.
    groups
        All that its footer lists.
    handle
        The same file, for its bytes.
    size
        Its length in bytes.
    within
        The row groups to read.

    Raises
    ------
    TooLargeError
        Even a single row may take more.
    ValueError
        The footer or a page header cannot be right.
    OSError
        The file cannot be read.
    """
    handle.seek(size - 8)
    end = size - 8 - int.from_bytes(handle.read(4), "little")
    together: list[int] = []
    taken = packed = 0
    for group in within:
        columns = []
        for index, chunk in enumerate(groups[group].columns):
            packed += chunk.packed
            if packed > end:
                raise ValueError(f"its columns have more bytes than the file, which has {size:,}")
            source = _Source(handle, end, _codec(chunk.codec))
            columns.append(_column(parquet.schema.column(index), chunk, groups[group].rows, source))
        whole = sum(column.held + column.sizes[-1] for column in columns if column.sizes)
        if taken + whole > _TOGETHER_BYTES:
            if together:
                yield together, _ROWS[0]
            together, taken = [], 0
        if whole > _TOGETHER_BYTES:
            yield [group], _rows_at_once(columns)
        else:
            together.append(group)
            taken += whole
    if together:
        yield together, _ROWS[0]


def _rows_at_once(columns: list["_Column"]) -> int:
    for count in _ROWS:
        if sum(column.at_most(count) for column in columns) <= BATCH_BYTES:
            return count
    worst = max(columns, key=lambda column: column.at_most(1))
    raise TooLargeError(
        f"has a row whose values may take {worst.at_most(1) // _MIB:,} MiB in column "
        f"{worst.name!r}, and at most {BATCH_BYTES // _MIB} MiB in all columns together are"
    )


class _Column(NamedTuple):
    """What the values of a column may take.

    ``held`` bytes stay for as long as the row group is read; page ``i`` ends with value
    ``ends[i]``, and the values up to there take ``sizes[i]`` bytes, no row more than ``per_row``.
    """

    name: str
    held: int
    ends: list[int]
    sizes: list[int]
    per_row: int

    def at_most(self, rows: int) -> int:
        """Return the bytes that any ``rows`` rows next to each other take at most."""
        before = spanned = 0
        for end, size in zip(self.ends, self.sizes, strict=True):
            last = min(bisect_left(self.ends, end - 1 + rows), len(self.ends) - 1)
            spanned = max(spanned, self.sizes[last] - before)
            before = size
        return self.held + min(spanned, rows * self.per_row)


class _Source(NamedTuple):
    """Where pages end in a file, and how a column's are packed; no codec where they are not."""

    handle: BinaryIO
    end: int
    codec: str | None


def _codec(number: int) -> str | None:
    if number not in range(len(_CODECS)):
        raise ValueError(f"its columns are packed with the unknown codec {number}")
    return _CODECS[number]


def _column(leaf: Any, chunk: Chunk, n_rows: int, source: _Source) -> _Column:
    """Return what the values of a column may take in one row group."""
    name = str(leaf.path)
    start, end = _span(name, chunk, source.end)
    repeated = leaf.max_repetition_level > 0
    if chunk.values != n_rows and not repeated:
        raise ValueError(f"{n_rows:,} rows have {chunk.values:,} values of column {name!r}")
    found = list(pages(source.handle, start, end, chunk.values))
    if source.codec is None and any(one.packed != one.unpacked for one in found):
        raise ValueError(f"a page of column {name!r} is not as long as it says")
    per_value = _per_value(leaf, found, source)
    data = [page for page in found if page.kind in (DATA, DATA_V2)]
    largest = [_most(page, leaf, per_value) for page in data]
    held = max((page.unpacked for page in found), default=0)
    if repeated:
        # Where rows begin is known only once the page is unpacked: one may have all elements.
        if sum(largest) > LIST_BYTES:
            raise TooLargeError(
                f"has lists whose elements may take {sum(largest) // _MIB:,} MiB of one row group "
                f"in column {name!r}, and at most {LIST_BYTES // _MIB:,} MiB are"
            )
        average = -(-sum(largest) // max(1, n_rows))
        return _Column(name, held, [n_rows], [sum(largest)], average)
    ends = list(accumulate(page.values for page in data))
    return _Column(name, held, ends, list(accumulate(largest)), max(per_value.values(), default=0))


def _span(name: str, chunk: Chunk, last: int) -> tuple[int, int]:
    """Return where a column's pages start and end, as Arrow reads them."""
    start = chunk.data
    if chunk.dictionary is not None and 0 < chunk.dictionary < start:
        start = chunk.dictionary
    if min(start, chunk.packed, chunk.values) < 0 or start + chunk.packed > last:
        raise ValueError(f"column {name!r} lies outside the file")
    # Some old writers leave out the header of the dictionary; Arrow allows for that, too.
    return start, min(last, start + chunk.packed + _SLACK)


def _per_value(leaf: Any, found: list[Page], source: _Source) -> dict[int, int]:
    """Return the bytes of the largest value, by the encodings of a column's pages."""
    data = [page for page in found if page.kind in (DATA, DATA_V2)]
    if leaf.physical_type != "BYTE_ARRAY":
        width = _WIDTH + max(0, leaf.length or 0)
        return {page.encoding: width for page in data}
    widest = {}
    for encoding in {page.encoding for page in data}:
        if encoding in (PLAIN_DICTIONARY, RLE_DICTIONARY):
            own = [page for page in found if page.kind == DICTIONARY]
            longest = max((_longest(page, source) for page in own), default=0)
        else:
            longest = max(page.unpacked for page in data if page.encoding == encoding)
        widest[encoding] = longest + _OFFSET
    return widest


def _most(page: Page, leaf: Any, per_value: dict[int, int]) -> int:
    """Return the bytes that the values of a page take at most."""
    amplified = (PLAIN_DICTIONARY, RLE_DICTIONARY, DELTA_BYTE_ARRAY)
    if leaf.physical_type != "BYTE_ARRAY" or page.encoding in amplified:
        return page.values * per_value[page.encoding]
    return page.unpacked + page.values * _OFFSET


def _longest(page: Page, source: _Source) -> int:
    """Return the length of the longest text of a dictionary; its page's where it is not known."""
    if page.unpacked <= _SHORT or page.unpacked > BATCH_BYTES:
        return page.unpacked
    source.handle.seek(page.start)
    content: Any = source.handle.read(page.packed)
    try:
        if source.codec is not None:
            content = pa.Codec(source.codec).decompress(content, page.unpacked)
        texts = memoryview(content)
        longest = at = 0
        for _ in range(page.values):
            (length,) = struct.unpack_from("<I", texts, at)
            longest = max(longest, length)
            at += 4 + length
    except (pa.ArrowException, OSError, ValueError, struct.error):
        return page.unpacked
    return min(longest, page.unpacked)
