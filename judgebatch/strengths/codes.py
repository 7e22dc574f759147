"""Ids as integer codes that sort as the ids do.

Integers keep their value less the smallest one; strings become their rank by code point. Both
are undone by :meth:`Codes.decode`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
import numpy.typing as npt
import polars as pl

from judgebatch.strengths.hashes import same_hash
from judgebatch.vocabulary import USABLE_OUTCOMES, Outcome

Ints = npt.NDArray[np.int64]

_LARGEST_DOMAIN = 1 << 62
_ROWS_AT_ONCE = 1 << 17


@dataclass(frozen=True)
class Codes:
    """Columns of ids over one domain; codes lie in ``[0, domain)`` and sort as the ids do."""

    columns: list[Ints]
    domain: int
    ids: pl.Series
    """All ids in order, or, for integers whose codes are offsets, empty."""
    offset: int
    """What integer codes are offset by; 0 where ``ids`` holds the ids."""

    def decode(self, codes: Ints, name: str) -> pl.Series:
        """Return the ids that ``codes`` stand for, in the type they came in."""
        if self.ids.len() > 0:
            return self.ids.gather(codes).alias(name)
        return pl.Series(name, codes + self.offset, dtype=pl.Int64).cast(self.ids.dtype)


def encode(columns: list[pl.Series]) -> Codes:
    """Encode columns of one kind of id, String (also Categorical, Enum) or integer, together.

    Raises
    ------
    ValueError
        A null.
    TypeError
        A column of another type.
    """
    for column in columns:
        if column.null_count():
            raise ValueError(f"column {column.name} of the comparisons holds nulls")
    if all(column.dtype.is_integer() for column in columns):
        return _encode_integers(columns)
    textual = (pl.String, pl.Categorical, pl.Enum)
    for column in columns:
        if not isinstance(column.dtype, textual):
            raise TypeError(
                f"column {column.name} of the comparisons is {column.dtype}; ids are String or "
                "integer, and left and right are alike"
            )
    return _encode_strings(columns)


def _encode_integers(columns: list[pl.Series]) -> Codes:
    dtype = columns[0].dtype
    arrays = [column.cast(pl.Int64).to_numpy() for column in columns]
    filled = [array for array in arrays if array.size]
    if not filled:
        return Codes(arrays, 0, pl.Series(dtype=dtype), 0)
    smallest = min(int(array.min()) for array in filled)
    domain = max(int(array.max()) for array in filled) - smallest + 1
    if domain > _LARGEST_DOMAIN:
        values, inverse = np.unique(np.concatenate(arrays), return_inverse=True)
        ids = pl.Series(values, dtype=pl.Int64).cast(dtype)
        return Codes(_split(inverse.astype(np.int64), arrays), values.size, ids, 0)
    codes = [array - smallest if smallest else array for array in arrays]
    return Codes(codes, domain, pl.Series(dtype=dtype), smallest)


def _encode_strings(columns: list[pl.Series]) -> Codes:
    """Let hashes find equal strings, and rank the distinct ones.

    The strings themselves have the last word on whether they are equal; neither hashes nor seeds
    have a part in the ranks.
    """
    texts = pl.concat([each.cast(pl.String).alias("id") for each in columns], rechunk=False)
    for seed in count():
        same = same_hash(_hashes(texts, seed))
        begins = same == np.arange(same.size)
        found = np.flatnonzero(begins)
        ids = texts.gather(found)
        order = ids.arg_sort().to_numpy()
        rank = np.empty(same.size, np.int64)
        rank[found[order]] = np.arange(found.size)
        codes, ids = rank[same], ids.gather(order)
        if _stand_for(texts, ids, codes):
            break
    return Codes(_split(codes, columns), ids.len(), ids, 0)


def _hashes(texts: pl.Series, seed: int) -> npt.NDArray[np.uint64]:
    return texts.hash(seed).to_numpy()


def _stand_for(texts: pl.Series, ids: pl.Series, codes: Ints) -> bool:
    """Say whether every code stands for its text, which two texts of one hash would spoil."""
    parts = [slice(begin, begin + _ROWS_AT_ONCE) for begin in range(0, codes.size, _ROWS_AT_ONCE)]
    return all((texts[part] == ids.gather(codes[part])).all() for part in parts)


def _split(joined: Ints, like: Sequence[Ints | pl.Series]) -> list[Ints]:
    ends = np.cumsum([len(array) for array in like])
    return np.split(joined, ends[:-1])


def outcome_codes(outcome: pl.Series) -> npt.NDArray[np.int8]:
    """Return 1 where left won, -1 where right won, 0 for ties.

    Raises
    ------
    ValueError
        A null, a text that is not a usable outcome, or an integer that is not 1, 0 or -1.
    TypeError
        A column of another type.
    """
    if outcome.null_count():
        raise ValueError("column outcome of the comparisons holds nulls")
    if outcome.dtype.is_integer():
        if outcome.len() and (outcome.min() < -1 or outcome.max() > 1):  # type: ignore[operator]
            raise ValueError("integer outcomes are 1 (left won), -1 (right won) or 0 (tie)")
        return outcome.cast(pl.Int8).to_numpy()
    if not isinstance(outcome.dtype, pl.String | pl.Categorical | pl.Enum):
        raise TypeError(f"column outcome of the comparisons is {outcome.dtype}, not String")
    text = outcome.cast(pl.String)
    left, right = text == Outcome.LEFT, text == Outcome.RIGHT
    known = left | right | (text == Outcome.TIE)
    if not known.all():
        usable = ", ".join(USABLE_OUTCOMES)
        raise ValueError(f"outcome {text.filter(~known)[0]!r} cannot be fitted; only {usable} can")
    return (left.cast(pl.Int8) - right.cast(pl.Int8)).to_numpy()
