"""Typed columns from decoded members, with what does not have the type told apart.

Null stands for absent everywhere. A column is null where a member is absent or has another type,
and knows where it has another type.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
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


_MANY_TEXTS = 1 << 12
"""Texts that are converted at once: few enough to be in a processor's cache still."""
_MANY = 1 << 16
"""Other members that are converted at once."""

_NOWHERE = -1
"""The part of a span in which no object has the member."""

Repair = Callable[[list[Json]], list[Json]]
"""Reads members one by one: None where one does not have the type."""


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
    """All members of one type, which are converted together: one conversion, not one per column."""

    def __init__(
        self,
        dtype: pl.DataType,
        types: frozenset[object],
        repair: Repair,
        limits: tuple[int, int] | None = None,
    ) -> None:
        self._dtype = dtype
        self._types = types
        self._repair = repair
        self._limits = limits
        self._nothing = pl.Series([None], dtype=dtype)
        self._columns: list[Members] = []
        self.parts: list[pl.Series] = []
        self.wrong: list[list[int]] = []

    def column(self) -> Members:
        """Return a new column of this type."""
        column = Members(self)
        self._columns.append(column)
        return column

    def pending(self) -> int:
        """Return how many members are pending."""
        return sum(len(column.pending) for column in self._columns)

    def seal(self) -> None:
        """Read what is pending."""
        pending: list[Members] = []
        for column in self._columns:
            size = len(column.pending)
            # Many members are nowhere in a chunk: comparing stops at the first one that is there.
            if size and column.pending == [None] * size:
                column.spans.append((_NOWHERE, 0, size))
                column.pending = []
            elif size:
                pending.append(column)
        if not pending:
            return
        joined: list[Json] = []
        wrong: list[int] = []
        for column in pending:
            column.spans.append((len(self.parts), len(joined), len(column.pending)))
            if self._types.issuperset(map(type, column.pending)):
                joined += column.pending
            else:
                joined += self._repaired(column.pending, len(joined), wrong)
        values = self._converted(joined)
        if values is None:
            joined, wrong = [], []
            for column in pending:
                joined += self._repaired(column.pending, len(joined), wrong)
            values = pl.Series(joined, dtype=self._dtype)
        for column in pending:
            column.pending = []
        self.parts.append(values)
        self.wrong.append(wrong)

    def _converted(self, members: list[Json]) -> pl.Series | None:
        """Return members of the right types as a column, or None if one is out of range."""
        if self._limits is None:
            return pl.Series(members, dtype=self._dtype)
        try:
            values = pl.Series(members, dtype=self._dtype)
        except TypeError:
            return None  # beyond 64 bits
        low, high = self._limits
        least, most = values.min(), values.max()
        inside = least is None or most is None or (least >= low and most <= high)  # type: ignore[operator]
        return values if inside else None

    def _repaired(self, members: list[Json], first: int, wrong: list[int]) -> list[Json]:
        read = self._repair(members)
        wrong += [
            at
            for at, (member, value) in enumerate(zip(members, read, strict=True), first)
            if value is None and member is not None
        ]
        return read

    def read(self, columns: Sequence[Members]) -> Column:
        """Return columns of this pool, one after the other."""
        self.seal()
        slices: list[pl.Series] = []
        wrong: list[int] = []
        size = nowhere = 0
        for part, offset, length in chain.from_iterable(column.spans for column in columns):
            if part == _NOWHERE:
                nowhere += length
            else:
                if nowhere:
                    slices.append(self._nothing.new_from_index(0, nowhere))
                    nowhere = 0
                slices.append(self.parts[part].slice(offset, length))
                if self.wrong[part]:
                    wrong += [size + at - offset for at in self._wrong_in(part, offset, length)]
            size += length
        if nowhere or not slices:
            slices.append(self._nothing.new_from_index(0, nowhere))
        mask = np.zeros(size, dtype=np.bool_)
        if wrong:
            mask[wrong] = True
        return Column(pl.concat(slices), mask)

    def _wrong_in(self, part: int, offset: int, length: int) -> list[int]:
        found = self.wrong[part]
        return found[bisect_left(found, offset) : bisect_left(found, offset + length)]


class Pools:
    """One pool per type."""

    def __init__(self) -> None:
        self.text = Pool(pl.String(), _TEXTS, _texts)
        self.number = Pool(pl.Float64(), _NUMBERS, _numbers)
        """Numbers of any size as doubles; true and false are none."""
        self.count = Pool(pl.Int64(), _INTEGERS, _counts, (-COUNT_LIMIT, COUNT_LIMIT))
        """Numbers that are whole by value (2.0 is 2) and fit the format's counts."""
        self.position = Pool(pl.Int64(), _INTEGERS, _positions, (_INT_MIN, _INT_MAX))
        """Numbers truncated towards zero and clamped to 32 bits."""
        self.long = Pool(pl.Int64(), _INTEGERS, _longs, (LONG_MIN, LONG_MAX))
        self.truth = Pool(pl.Boolean(), _TRUTHS, _truths)
        self._all = (self.text, self.number, self.count, self.position, self.long, self.truth)

    def seal(self) -> None:
        """Read what is pending where it is much."""
        for pool in self._all:
            if pool.pending() >= (_MANY_TEXTS if pool is self.text else _MANY):
                pool.seal()


def read_all(columns: Iterable[Members]) -> Column:
    """Return columns of one type, one after the other."""
    chosen = list(columns)
    return chosen[0].pool.read(chosen)


_TEXTS = frozenset({str, NoneType})
_NUMBERS = frozenset({float, int, NoneType})
_INTEGERS = frozenset({int, NoneType})
_TRUTHS = frozenset({bool, NoneType})


def _texts(members: list[Json]) -> list[Json]:
    return [m if type(m) is str else None for m in members]


def _numbers(members: list[Json]) -> list[Json]:
    return [float(m) if type(m) is float or type(m) is int else None for m in members]


def _counts(members: list[Json]) -> list[Json]:
    return [
        int(m)
        if (type(m) is int or (type(m) is float and m.is_integer())) and abs(m) <= COUNT_LIMIT
        else None
        for m in members
    ]


def _positions(members: list[Json]) -> list[Json]:
    return [clamped(m, _INT_MIN, _INT_MAX) for m in members]


def _longs(members: list[Json]) -> list[Json]:
    return [clamped(m, LONG_MIN, LONG_MAX) for m in members]


def _truths(members: list[Json]) -> list[Json]:
    return [m if type(m) is bool else None for m in members]


def clamped(number: Json, low: int, high: int) -> int | None:
    """Return a number truncated towards zero and clamped; None for anything else."""
    if type(number) is int or type(number) is float:
        return min(max(int(number), low), high)
    return None


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
        known = values.cast(self._type, strict=False)
        read = known.to_physical().cast(pl.Int64)
        if not known.null_count():
            return read.to_numpy()
        if values.null_count() == len(values):
            return np.full(len(values), self.ABSENT, dtype=np.int64)
        codes = read.fill_null(self.UNKNOWN).to_numpy(writable=True)
        codes[nulls(values)] = self.ABSENT
        return codes
