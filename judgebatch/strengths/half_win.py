"""The Bradley-Terry objective in lanes: gradient, Hessian and Newton direction.

Ties are half a win for each. Arrays have the groups ("lanes") in their last axis; pairs stand
in row-major order (graph.py). Every operation is elementwise over the lanes or adds explicit
rows, so that a lane's bits depend on its own counts only.
"""

import numpy as np

from judgebatch.strengths.codes import Ints
from judgebatch.strengths.elementary import Floats, exp_into
from judgebatch.strengths.graph import (
    add_flow,
    add_rows,
    blocks,
    centre,
    centred_variances,
    eliminate,
    pairs_to_size,
    solve,
    spread,
)
from judgebatch.strengths.objective import PSEUDO_COUNT, RIDGE


class HalfWin:
    """Counts, parameters and Newton direction of L groups of G items."""

    def __init__(self, low: Floats, high: Floats, parameters: Floats, *, careful: bool) -> None:
        """Take what each pair's lower and higher item won, (P, L), and strengths (G, L)."""
        size, lanes = parameters.shape
        self.size = size
        self.careful = careful
        self.low = low
        self.high = high
        self.total = low + high
        self.parameters = parameters
        self.gradient = np.empty((size, lanes))
        self.step = np.empty((size, lanes))
        self._weights = np.empty_like(low)
        self._worth = np.empty((size, lanes))
        self._inverse_pivots = np.empty((size - 1, lanes))
        self._scratch = np.empty((2, size, lanes))

    @classmethod
    def start(cls, counts: Ints, parameters: Floats, *, careful: bool) -> "HalfWin":
        """Take (3, P, L) counts: wins of the lower item, of the higher one, ties."""
        low, high, ties = counts
        size = pairs_to_size(low.shape[0])
        met = low + high + ties
        pseudo = PSEUDO_COUNT * (size - 1) / met.sum(axis=0).astype(np.float64)
        shared = 0.5 * ties + 0.5 * pseudo * met
        return cls(low + shared, high + shared, parameters, careful=careful)

    @staticmethod
    def initial(size: int, lanes: int) -> Floats:
        """Return the parameters to start from."""
        return np.zeros((size, lanes))

    def take(self, lanes: Ints) -> "HalfWin":
        """Return the same for some of the lanes."""
        return HalfWin(
            self.low[:, lanes], self.high[:, lanes], self.parameters[:, lanes], careful=self.careful
        )

    def evaluate(self) -> None:
        """Compute the gradient and the Laplacian's pair weights at the parameters.

        A pair's part of the gradient is ``w_ij p_ji - w_ji p_ij``, not ``w_ij - n_ij p_ij``,
        which would cancel where one of the two hardly ever wins.
        """
        exp_into(self.parameters, self._worth, self._scratch[0], self._scratch[1])
        np.multiply(self.parameters, -RIDGE, out=self.gradient)
        lost = np.zeros_like(self.gradient) if self.careful else None
        # Item by item, so that a pair's numbers stay in cache from first to last.
        for i, rows in enumerate(blocks(self.size)[:-1]):
            mine, theirs = self._worth[i], self._worth[i + 1 :]
            beats, loses = (work[: theirs.shape[0]] for work in self._scratch)
            weights = self._weights[rows]
            np.add(theirs, mine, out=weights)
            np.divide(1.0, weights, out=weights)
            np.multiply(weights, mine, out=beats)
            np.multiply(weights, theirs, out=loses)
            np.multiply(beats, loses, out=weights)
            np.multiply(weights, self.total[rows], out=weights)
            np.add(weights, RIDGE / self.size, out=weights)
            np.multiply(loses, self.low[rows], out=loses)
            np.multiply(beats, self.high[rows], out=beats)
            np.subtract(loses, beats, out=loses)
            add_flow(loses, self.gradient[i:], None if lost is None else lost[i:])
        if lost is not None:
            self.gradient += lost

    def direct(self) -> None:
        """Compute the Newton direction ``step`` from the last evaluation, which it uses up."""
        eliminate(self._weights, self._inverse_pivots, self._scratch)
        np.copyto(self.step, self.gradient)
        solve(self._weights, self._inverse_pivots, self.step, self._scratch)

    def reach(self) -> Floats:
        """Return the size of each step: the range of the strengths' part."""
        return spread(self.step)

    def rise(self) -> Floats:
        """Return the slope of the objective along each step."""
        total = np.empty(self.step.shape[1])
        add_rows(self.gradient * self.step, total)
        return total

    def place(self, base: Floats, length: Floats) -> None:
        """Put the parameters ``length`` steps from ``base``; a length of 0 changes no bit."""
        moved = base + self.step * length
        centre(moved)
        self.parameters = np.where(length == 0.0, base, moved)

    def move(self) -> Floats:
        """Take the step, damped where it is long; return each step's undamped range."""
        reach = self.reach()
        if reach.max() > 1.0:
            self.step *= np.where(reach <= 1.0, 1.0, 2.0 / (1.0 + reach))
        self.parameters += self.step
        centre(self.parameters)
        return reach

    def variance(self, lanes: Ints) -> Floats:
        """Return the strengths' variances, (G, n), at the last direction."""
        return centred_variances(self._weights[:, lanes], self._inverse_pivots[:, lanes])
