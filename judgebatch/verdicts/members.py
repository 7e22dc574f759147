"""Typed columns from decoded members, with what does not have the type told apart.

Null stands for absent everywhere. A column is null where a member is absent or has another type,
and knows where it has another type.
"""

from collections.abc import Callable, Sequence
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
_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1


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
    """One member of many objects, collected as decoded and read chunk by chunk.

    ``pending`` takes what the walk finds; ``seal`` reads it, so that decoded values live for one
    chunk only.
    """

    def __init__(self, reader: Reader) -> None:
        self.pending: list[Json] = []
        self._reader = reader
        self._parts: list[pl.Series] = []
        self._wrong: list[int] = []
        self._size = 0

    def seal(self) -> None:
        """Read what is pending."""
        if not self.pending:
            return
        values, wrong = self._reader(self.pending)
        if wrong:
            self._wrong += [self._size + at for at in wrong]
        self._parts.append(values)
        self._size += len(values)
        self.pending = []

    def read(self) -> Column:
        """Return the whole column."""
        self.seal()
        wrong = np.zeros(self._size, dtype=np.bool_)
        wrong[self._wrong] = True
        if not self._parts:
            return Column(self._reader([])[0], wrong)
        return Column(pl.concat(self._parts), wrong)


def concat(columns: Sequence[Column]) -> Column:
    """Return columns one after the other."""
    return Column(
        pl.concat([column.values for column in columns]),
        np.concatenate([column.wrong for column in columns]),
    )


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
    if _INTEGERS.issuperset(map(type, members)):
        found = [m for m in members if m is not None]
        if not found or (max(found) <= COUNT_LIMIT and min(found) >= -COUNT_LIMIT):
            return pl.Series(members, dtype=pl.Int64), []
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
    return _truncated(members, _LONG_MIN, _LONG_MAX)


def _truncated(members: list[Json], low: int, high: int) -> tuple[pl.Series, list[int]]:
    if _INTEGERS.issuperset(map(type, members)):
        found = [m for m in members if m is not None]
        if not found or (max(found) <= high and min(found) >= low):
            return pl.Series(members, dtype=pl.Int64), []
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
