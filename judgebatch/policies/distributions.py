"""The most probable level of many distributions at once."""

import numpy as np
import polars as pl


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
    filled = np.flatnonzero(lengths)
    if not len(filled):
        return pl.Series(distributions.name, [None] * len(distributions), dtype=pl.Int64)
    entries = distributions.gather(pl.Series(filled)).explode(empty_as_null=False).struct.unnest()
    sizes = lengths[filled]
    starts = np.concatenate(([0], np.cumsum(sizes[:-1])))
    broken = np.logical_or.reduceat(_unusable(entries), starts)
    level = entries["level"].fill_null(0).to_numpy()
    weight = entries["probability"].fill_null(0.0).fill_nan(0.0).to_numpy()
    broken |= _repeats(level, sizes, starts)
    largest = np.repeat(np.maximum.reduceat(weight, starts), sizes)
    candidates = np.where(weight == largest, level, np.iinfo(np.int64).max)
    lowest = pl.Series(np.minimum.reduceat(candidates, starts))
    known = np.full(len(distributions), -1)
    usable = np.flatnonzero(~broken)
    known[filled[usable]] = usable
    positions = pl.select(pl.when(pl.lit(pl.Series(known)) >= 0).then(pl.Series(known)))
    return lowest.gather(positions.to_series()).rename(distributions.name)


def _unusable(entries: pl.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    level, probability = entries["level"], entries["probability"]
    bad = level.is_null() | probability.is_null() | probability.is_nan().fill_null(value=False)
    return bad.to_numpy()


def _repeats(
    level: np.ndarray[tuple[int], np.dtype[np.int64]],
    sizes: np.ndarray[tuple[int], np.dtype[np.int64]],
    starts: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Say which distributions name a level twice."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    rising = np.ones(len(level), dtype=np.bool_)
    rising[1:] = (level[1:] > level[:-1]) | (owner[1:] != owner[:-1])
    unsorted = ~np.logical_and.reduceat(rising, starts)
    repeats = np.zeros(len(sizes), dtype=np.bool_)
    if not unsorted.any():
        return repeats
    chosen = unsorted[owner]
    owners, levels = owner[chosen], level[chosen]
    order = np.lexsort((levels, owners))
    owners, levels = owners[order], levels[order]
    same = (levels[1:] == levels[:-1]) & (owners[1:] == owners[:-1])
    repeats[owners[1:][same]] = True
    return repeats
