"""Typed columns from lists of decoded members, with what does not have the type told apart.

Null stands for absent everywhere. Each reader returns the column, null where a member is absent or
has another type, and a mask of those that have another type.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from judgebatch.verdicts.flatten import Json

Mask = npt.NDArray[np.bool_]
Index = npt.NDArray[np.int64]

COUNT_LIMIT = 2_147_483_647
"""Counts are 32-bit in the format."""


class Column(NamedTuple):
    """A column, and where a member is there but has another type."""

    values: pl.Series
    wrong: Mask

    @property
    def absent(self) -> Mask:
        """Where there is no member."""
        return nulls(self.values) & ~self.wrong


def nulls(values: pl.Series) -> Mask:
    """Return where a column is null."""
    return values.is_null().to_numpy()


def where(values: pl.Series) -> Mask:
    """Return a Boolean column as a mask; null is false."""
    return values.fill_null(value=False).to_numpy()


def text(members: list[Json]) -> Column:
    """Read texts."""
    try:
        values = pl.Series(pa.array(members, pa.string_view()))
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        wrong = [m is not None and type(m) is not str for m in members]
        values = pl.Series([m if type(m) is str else None for m in members], dtype=pl.String)
        return Column(values, np.array(wrong, dtype=np.bool_))
    return Column(values.cast(pl.String), np.zeros(len(members), dtype=np.bool_))


def number(members: list[Json]) -> Column:
    """Read numbers of any size as doubles; true and false are none."""
    return _numbers(members, float)


def count(members: list[Json]) -> Column:
    """Read numbers that are whole by value (2.0 is 2) and fit the format's counts."""
    if {int, type(None)}.issuperset(map(type, members)):
        try:
            values = pl.Series(members, dtype=pl.Int64, strict=True)
        except TypeError:
            pass  # beyond 64 bits
        else:
            outside = where(values.abs() > COUNT_LIMIT)
            if not outside.any():
                return Column(values, outside)
    read = [
        int(m)
        if (type(m) is int or (type(m) is float and m.is_integer())) and abs(m) <= COUNT_LIMIT
        else None
        for m in members
    ]
    wrong = [m is not None and r is None for m, r in zip(members, read, strict=True)]
    return Column(pl.Series(read, dtype=pl.Int64), np.array(wrong, dtype=np.bool_))


def truncated(members: list[Json], low: int, high: int) -> Column:
    """Read numbers truncated towards zero and clamped to a range."""
    if {int, type(None)}.issuperset(map(type, members)):
        try:
            values = pl.Series(members, dtype=pl.Int64, strict=True)
        except TypeError:
            pass  # beyond 64 bits
        else:
            return Column(values.clip(low, high), np.zeros(len(members), dtype=np.bool_))
    return _integers(members, lambda m: min(max(int(m), low), high))


def _integers(members: list[Json], read: Callable[[Json], int]) -> Column:
    values = [read(m) if type(m) is int or type(m) is float else None for m in members]
    wrong = [m is not None and v is None for m, v in zip(members, values, strict=True)]
    return Column(pl.Series(values, dtype=pl.Int64), np.array(wrong, dtype=np.bool_))


def _numbers(members: list[Json], read: Callable[[Json], float]) -> Column:
    types = set(map(type, members))
    if {float, type(None)}.issuperset(types):
        values = pl.Series(members, dtype=pl.Float64, strict=True)
        return Column(values, np.zeros(len(members), dtype=np.bool_))
    numbers = [read(m) if type(m) is float or type(m) is int else None for m in members]
    wrong = [m is not None and n is None for m, n in zip(members, numbers, strict=True)]
    return Column(pl.Series(numbers, dtype=pl.Float64), np.array(wrong, dtype=np.bool_))


class Vocabulary:
    """A closed set of texts, as small integers: its index, or ``ABSENT`` or ``UNKNOWN``."""

    ABSENT = -1
    UNKNOWN = -2

    def __init__(self, tokens: Sequence[str]) -> None:
        self._type = pl.Enum([str(token) for token in tokens])

    def codes(self, values: pl.Series) -> npt.NDArray[np.int64]:
        """Return the code of each text."""
        known = values.cast(self._type, strict=False).to_physical().cast(pl.Int64)
        codes = known.fill_null(self.UNKNOWN).to_numpy(writable=True)
        codes[nulls(values)] = self.ABSENT
        return codes
