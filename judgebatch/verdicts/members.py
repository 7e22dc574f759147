"""Typed columns from decoded members, with what does not have the type told apart.

Null stands for absent everywhere. A column is null where a member is absent or has another type,
and knows where it has another type.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from types import NoneType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

Json = Any
"""A decoded JSON value."""

Mask = npt.NDArray[np.bool_]
Index = npt.NDArray[np.int64]

COUNT_LIMIT = 2_147_483_647
"""Counts are 32-bit in the format."""

_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1
LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1
"""Counts of error codes are clamped to 64 bits."""


class Column(NamedTuple):
    """A column, and where a member is there but has another type."""

    values: pl.Series
    wrong: Mask

    @property
    def absent(self) -> Mask:
        """Where there is no member."""
        return nulls(self.values) & ~self.wrong


Reader = Callable[[list[Json]], tuple[pl.Series, list[int]]]
"""Reads members into a column; also returns where they have another type."""


class Members:
    """One member of many objects: ``pending`` takes what the walk finds, as decoded."""

    def __init__(self, pool: "Pool") -> None:
        self.pending: list[Json] = []
        self.spans: list[tuple[int, int, int]] = []
        """Where the column lies in the pool: part, offset and length."""
        self.pool = pool

    def read(self) -> Column:
        """Return the whole column."""
        return read_all([self])


class Pool:
    """All members of one type, read together chunk by chunk.

    Decoded values live for one chunk only, and a chunk costs one conversion, not one per column.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._columns: list[Members] = []
        self.parts: list[pl.Series] = []
        self.wrong: list[list[int]] = []

    def column(self) -> Members:
        """Return a new column of this type."""
        column = Members(self)
        self._columns.append(column)
        return column

    def seal(self) -> None:
        """Read what is pending."""
        joined: list[Json] = []
        for column in self._columns:
            if column.pending:
                column.spans.append((len(self.parts), len(joined), len(column.pending)))
                joined += column.pending
                column.pending = []
        if joined:
            values, wrong = self._reader(joined)
            self.parts.append(values)
            self.wrong.append(wrong)

    def read(self, columns: Sequence[Members]) -> Column:
        """Return columns of this pool, one after the other."""
        slices, wrong, size = [], [], 0
        for column in columns:
            for part, offset, length in column.spans:
                slices.append(self.parts[part].slice(offset, length))
                wrong += [size + at - offset for at in self._wrong_in(part, offset, length)]
                size += length
        mask = np.zeros(size, dtype=np.bool_)
        if wrong:
            mask[wrong] = True
        return Column(pl.concat(slices) if slices else self._reader([])[0], mask)

    def _wrong_in(self, part: int, offset: int, length: int) -> list[int]:
        found = self.wrong[part]
        return found[bisect_left(found, offset) : bisect_left(found, offset + length)]


class Pools:
    """One pool per type."""

    def __init__(self) -> None:
        self.text = Pool(text)
        self.number = Pool(number)
        self.count = Pool(count)
        self.position = Pool(position)
        self.long = Pool(long)
        self.truth = Pool(truth)

    def seal(self) -> None:
        """Read what is pending in all of them."""
        for pool in (self.text, self.number, self.count, self.position, self.long, self.truth):
            pool.seal()


def read_all(columns: Iterable[Members]) -> Column:
    """Return columns of one type, one after the other."""
    chosen = list(columns)
    return chosen[0].pool.read(chosen)


_TEXTS = frozenset({str, NoneType})
_NUMBERS = frozenset({float, NoneType})
_INTEGERS = frozenset({int, NoneType})


def text(members: list[Json]) -> tuple[pl.Series, list[int]]:
    """Read texts."""
    if _TEXTS.issuperset(map(type, members)):
        return pl.Series(members, dtype=pl.String), []
    return _repair(members, [m if type(m) is str else None for m in members], pl.String())


def number(members: list[Json]) -> tuple[pl.Series, list[int]]:
    """Read numbers of any size as doubles; true and false are none."""
    if _NUMBERS.issuperset(map(type, members)):
        return pl.Series(members, dtype=pl.Float64), []
    read = [float(m) if type(m) is float or type(m) is int else None for m in members]
    return _repair(members, read, pl.Float64())


def count(members: list[Json]) -> tuple[pl.Series, list[int]]:
    """Read numbers that are whole by value (2.0 is 2) and fit the format's counts."""
    values = _integers(members, -COUNT_LIMIT, COUNT_LIMIT)
    if values is not None:
        return values, []
    read = [
        int(m)
        if (type(m) is int or (type(m) is float and m.is_integer())) and abs(m) <= COUNT_LIMIT
        else None
        for m in members
    ]
    return _repair(members, read, pl.Int64())


def position(members: list[Json]) -> tuple[pl.Series, list[int]]:
    """Read numbers truncated towards zero and clamped to 32 bits."""
    return _truncated(members, _INT_MIN, _INT_MAX)


def long(members: list[Json]) -> tuple[pl.Series, list[int]]:
    """Read numbers truncated towards zero and clamped to 64 bits."""
    return _truncated(members, LONG_MIN, LONG_MAX)


def _integers(members: list[Json], low: int, high: int) -> pl.Series | None:
    """Return integers as a column, or None if a member is none or one is outside the range."""
    if not _INTEGERS.issuperset(map(type, members)):
        return None
    try:
        values = pl.Series(members, dtype=pl.Int64)
    except TypeError:
        return None  # beyond 64 bits
    least, most = values.min(), values.max()
    if least is None or most is None or (least >= low and most <= high):  # type: ignore[operator]
        return values
    return None


def _truncated(members: list[Json], low: int, high: int) -> tuple[pl.Series, list[int]]:
    values = _integers(members, low, high)
    if values is not None:
        return values, []
    read = [
        min(max(int(m), low), high) if type(m) is int or type(m) is float else None
        for m in members
    ]
    return _repair(members, read, pl.Int64())


def truth(members: list[Json]) -> tuple[pl.Series, list[int]]:
    """Read true and false."""
    read = [m if type(m) is bool else None for m in members]
    return _repair(members, read, pl.Boolean())


def _repair(
    members: list[Json], read: list[Json], dtype: pl.DataType
) -> tuple[pl.Series, list[int]]:
    wrong = [
        at
        for at, (member, value) in enumerate(zip(members, read, strict=True))
        if value is None and member is not None
    ]
    return pl.Series(read, dtype=dtype), wrong


def nulls(values: pl.Series) -> Mask:
    """Return where a column is null."""
    if not values.null_count():
        return np.zeros(len(values), dtype=np.bool_)
    return values.is_null().to_numpy()


def where(values: pl.Series) -> Mask:
    """Return a Boolean column as a mask; null is false."""
    if values.null_count():
        values = values.fill_null(value=False)
    return values.to_numpy()


class Vocabulary:
    """A closed set of texts, as small integers: its index, or ``ABSENT`` or ``UNKNOWN``."""

    ABSENT = -1
    UNKNOWN = -2

    def __init__(self, tokens: Sequence[str]) -> None:
        self._type = pl.Enum([str(token) for token in tokens])

    def codes(self, values: pl.Series) -> Index:
        """Return the code of each text."""
        known = values.cast(self._type, strict=False).to_physical().cast(pl.Int64)
        if not known.null_count():
            return known.to_numpy()
        codes = known.fill_null(self.UNKNOWN).to_numpy(writable=True)
        codes[nulls(values)] = self.ABSENT
        return codes
