"""One episode against one reference: its score and the tie-corrected Wilson interval."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from judgebatch.strengths.elementary import Floats
from judgebatch.strengths.quantile import two_sided


class RelativeScores(NamedTuple):
    """Arrays of one length: the scores and their intervals, all in [0, 1]."""

    score: Floats
    low: Floats
    high: Floats


def relative_interval(
    wins: pl.Series | npt.ArrayLike,
    ties: pl.Series | npt.ArrayLike,
    n: pl.Series | npt.ArrayLike,
    level: float = 0.95,
) -> RelativeScores:
    """Return scores ``s = (wins + ties/2) / n`` and their intervals, elementwise.

    Parameters
    ----------
    wins, ties, n
        Integer columns: comparisons won, tied, and usable at all (losses are the rest).
    level
        Of the interval.

    Raises
    ------
    ValueError
        A row without a usable comparison (it has no score), a negative count, wins and ties
        that exceed ``n``, or a level outside (0, 1).

    Notes
    -----
    The ends are the roots of ``m**2 (1 + z**2/n) - m (2 s + z**2/n) + s**2 + z**2 t'/(4 n**2)``
    with ``t' = t n / (n + z**2)``: the Wilson (1927) interval for a score whose ties carry less
    variance than wins and losses. With ``t`` in place of ``t'`` nothing but ties would give an
    interval without width. Discriminant and lower root are written without a subtraction.
    """
    z = two_sided(level)
    won, tied, met = (np.asarray(column, dtype=np.int64) for column in (wins, ties, n))
    lost = met - won - tied
    if ((met <= 0) | (won < 0) | (tied < 0) | (lost < 0)).any():
        raise ValueError("a relative score needs usable comparisons, at least wins and ties")
    w, t, v, count = (column.astype(np.float64) for column in (won, tied, lost, met))
    points, lost_points = w + 0.5 * t, v + 0.5 * t
    square = z * z
    root = z * np.sqrt((4.0 * w * v + t * (w + v)) / (4.0 * count) + 0.25 * square)
    shrunk = square * t / (4.0 * (count + square))
    low = (points * points / count + shrunk) / ((points + 0.5 * square) + root)
    below_one = (lost_points * lost_points / count + shrunk) / ((lost_points + 0.5 * square) + root)
    upper = ((points + 0.5 * square) + root) / (count + square)
    high = np.where(points < lost_points, upper, 1.0 - below_one)
    return RelativeScores(points / count, low, high)
