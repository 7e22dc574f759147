"""Bradley-Terry fits of many small groups at once: damped Newton steps in lanes.

Arrays have the groups in their last axis and are small enough to stay in a core's cache. Every
operation is elementwise over the lanes or adds explicit rows, and a lane stops by itself, so a
group's bits do not depend on its company, the batch's size or the CPU.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from judgebatch.strengths.codes import Ints
from judgebatch.strengths.elementary import Floats, exp_into
from judgebatch.strengths.graph import add_rows, blocks, centred_variances, eliminate, solve
from judgebatch.strengths.objective import MOST_STEPS, PSEUDO_COUNT, RIDGE, TOLERANCE

_CACHE_CELLS = 1 << 15


class LaneFit(NamedTuple):
    """Fits of n groups of G items."""

    strength: Floats
    """(n, G), centred."""
    variance: Floats
    """(n, G)."""
    tally: Ints
    """(3, n, G): wins, losses, ties of each item."""
    iterations: Ints
    """(n,)."""
    gradient: Floats
    """(n,): the largest component of the gradient at ``strength``."""
    converged: npt.NDArray[np.bool_]
    """(n,)."""
    tie_parameter: Floats | None
    """(n,), of a Davidson fit."""


class _Block:
    """The counts of L groups of G items and the work arrays of their Newton steps."""

    def __init__(self, cells: Ints, size: int) -> None:
        """Take (L, 3P) cells: wins of the lower item, wins of the higher one, ties."""
        n_pairs = size * (size - 1) // 2
        lanes = cells.shape[0]
        self.size = size
        low, high, ties = np.ascontiguousarray(cells.T.reshape(n_pairs, 3, lanes).swapaxes(0, 1))
        self.tally = _tally(low, high, ties, size)
        met = low + high + ties
        comparisons = np.empty(lanes, np.int64)
        add_rows(met, comparisons)
        pseudo = PSEUDO_COUNT * (size - 1) / comparisons.astype(np.float64)
        shared = 0.5 * ties + 0.5 * pseudo * met
        self.low = low + shared
        self.high = high + shared
        self.total = self.low + self.high
        self.theta = np.zeros((size, lanes))
        self.weights = np.empty((n_pairs, lanes))
        self.beats = np.empty((n_pairs, lanes))
        self.loses = np.empty((n_pairs, lanes))
        self.step = np.empty((size, lanes))
        self.worth = np.empty((size, lanes))
        self.inverse_pivots = np.empty((size - 1, lanes))
        self.scratch = np.empty((2, size, lanes))
        self.mean = np.empty(lanes)

    def evaluate(self) -> None:
        """Fill ``weights`` with the Laplacian's pair weights, ``step`` with the gradient.

        A pair's part of the gradient is ``w_ij p_ji - w_ji p_ij``, not ``w_ij - n_ij p_ij``,
        which would cancel where one of the two hardly ever wins.
        """
        rows = blocks(self.size)
        exp_into(self.theta, self.worth, self.scratch[0], self.scratch[1])
        worth, beats, loses, weights = self.worth, self.beats, self.loses, self.weights
        for i in range(self.size - 1):
            np.add(worth[i + 1 :], worth[i], out=weights[rows[i]])
        np.divide(1.0, weights, out=weights)
        for i in range(self.size - 1):
            np.multiply(weights[rows[i]], worth[i], out=beats[rows[i]])
            np.multiply(weights[rows[i]], worth[i + 1 :], out=loses[rows[i]])
        np.multiply(beats, loses, out=weights)
        np.multiply(weights, self.total, out=weights)
        np.add(weights, RIDGE / self.size, out=weights)
        np.multiply(loses, self.low, out=loses)
        np.multiply(beats, self.high, out=beats)
        np.subtract(loses, beats, out=loses)
        np.multiply(self.theta, -RIDGE, out=self.step)
        for i in range(self.size - 1):
            mine = loses[rows[i]]
            for row in mine:
                np.add(self.step[i], row, out=self.step[i])
            later = self.step[i + 1 :]
            np.subtract(later, mine, out=later)

    def newton(self, active: Floats) -> Floats:
        """Take one damped step in the lanes where ``active`` is 1; return the steps' ranges."""
        self.evaluate()
        eliminate(self.weights, self.inverse_pivots, self.scratch)
        solve(self.weights, self.inverse_pivots, self.step, self.scratch[0])
        reach = _range(self.step)
        scale = np.where(reach <= 1.0, 1.0, 2.0 / (1.0 + reach))
        self.step *= scale * active
        self.theta += self.step
        add_rows(self.theta, self.mean)
        self.mean *= active / self.size
        self.theta -= self.mean
        return reach


def _tally(low: Ints, high: Ints, ties: Ints, size: int) -> Ints:
    """Return wins, losses and ties of each item, (3, G, L), of pair counts (P, L)."""
    tally = np.zeros((3, size, low.shape[1]), np.int64)
    for i, rows in enumerate(blocks(size)[:-1]):
        for slot, (mine, theirs) in enumerate(((low, high), (high, low), (ties, ties))):
            for row in mine[rows]:
                tally[slot, i] += row
            tally[slot, i + 1 :] += theirs[rows]
    return tally


def _range(values: Floats) -> Floats:
    """Return largest less smallest over the first axis; order does not matter to either."""
    return np.asarray(values.max(axis=0) - values.min(axis=0))


def fit_lanes(cells: Ints, size: int) -> LaneFit:
    """Fit n groups of ``size`` items, 2 or more, each connected.

    Parameters
    ----------
    cells
        (n, 3P) counts, for each pair in row-major order wins of the lower item, wins of the
        higher one, ties.
    """
    n = cells.shape[0]
    fit = LaneFit(
        np.empty((n, size)),
        np.empty((n, size)),
        np.empty((3, n, size), np.int64),
        np.zeros(n, np.int64),
        np.empty(n),
        np.zeros(n, np.bool_),
        None,
    )
    at_once = max(16, _CACHE_CELLS // (size * (size - 1) // 2))
    for begin in range(0, n, at_once):
        part = slice(begin, begin + at_once)
        _fit_block(_Block(cells[part], size), fit, part)
    return fit


def _fit_block(block: _Block, fit: LaneFit, part: slice) -> None:
    lanes = block.theta.shape[1]
    active = np.ones(lanes)
    iterations = np.zeros(lanes, np.int64)
    for step in range(1, MOST_STEPS + 1):
        reach = block.newton(active)
        iterations[active > 0.0] = step
        active[reach < TOLERANCE] = 0.0
        if not active.any():
            break
    block.theta += 0.0  # no negative zeros
    block.evaluate()
    fit.gradient[part] = np.abs(block.step).max(axis=0)
    eliminate(block.weights, block.inverse_pivots, block.scratch)
    fit.strength[part] = block.theta.T
    fit.variance[part] = centred_variances(block.weights, block.inverse_pivots).T
    fit.tally[:, part] = block.tally.swapaxes(1, 2)
    fit.iterations[part] = iterations
    fit.converged[part] = active == 0.0
