"""The most probable level of many distributions at once."""

import numpy as np
import numpy.typing as npt
import polars as pl

_Ints = npt.NDArray[np.int64]
_Bools = npt.NDArray[np.bool_]


def most_probable_levels(distributions: pl.Series) -> pl.Series:
    """Return the level of each distribution's largest probability; of equal ones the lowest.

    Parameters
    ----------
    distributions
        List of struct (level: Int64, probability: Float64), in any order of levels.

    Returns
    -------
    pl.Series
        Int64; null where the list is null or empty, holds a null, a NaN, or a level twice: no
        mapping from level to probability in which one is the largest.
    """
    lengths = distributions.list.len().fill_null(0).to_numpy().astype(np.int64)
    known = lengths > 0
    whole = bool(known.all())
    filled = distributions if whole else distributions.filter(pl.Series(known))
    if not len(filled):
        return pl.Series(distributions.name, [None] * len(distributions), dtype=pl.Int64)
    sizes = lengths if whole else lengths[known]
    starts = np.cumsum(sizes) - sizes
    entries = filled.explode(empty_as_null=False).struct.unnest()
    level, weight = entries["level"], entries["probability"]
    highest, broken = _largest(
        level.fill_null(0).to_numpy(), weight.fill_null(np.nan).to_numpy(), sizes, starts
    )
    if level.null_count():
        broken |= np.logical_or.reduceat(level.is_null().to_numpy(), starts)
    levels = np.zeros(len(distributions), np.int64)
    levels[known] = highest
    known[known] = ~broken
    found = pl.Series(distributions.name, levels)
    if known.all():
        return found
    return pl.select(pl.when(pl.Series(known)).then(found)).to_series().rename(distributions.name)


def _largest(
    level: _Ints, weight: npt.NDArray[np.float64], sizes: _Ints, starts: _Ints
) -> tuple[_Ints, _Bools]:
    """Return each distribution's level, and whether it has none.

    The largest of numbers with a NaN among them is NaN.
    """
    largest = np.maximum.reduceat(weight, starts)
    candidates = np.where(weight == np.repeat(largest, sizes), level, np.iinfo(np.int64).max)
    broken = np.isnan(largest) | _repeats(level, sizes, starts)
    return np.minimum.reduceat(candidates, starts), broken


def _repeats(level: _Ints, sizes: _Ints, starts: _Ints) -> _Bools:
    """Say which distributions name a level twice."""
    rising = np.ones(level.size, np.bool_)
    np.greater(level[1:], level[:-1], out=rising[1:])
    rising[starts] = True
    repeats = np.zeros(sizes.size, np.bool_)
    if rising.all():
        return repeats
    unsorted = ~np.logical_and.reduceat(rising, starts)
    chosen = np.repeat(unsorted, sizes)
    owners, levels = np.repeat(np.arange(sizes.size), sizes)[chosen], level[chosen]
    order = np.lexsort((levels, owners))
    owners, levels = owners[order], levels[order]
    same = (levels[1:] == levels[:-1]) & (owners[1:] == owners[:-1])
    repeats[owners[1:][same]] = True
    return repeats
