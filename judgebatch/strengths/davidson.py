"""Davidson's model in lanes: ties are an outcome of their own.

``P(i beats j) : P(j beats i) : P(tie) = e**t_i : e**t_j : nu sqrt(e**t_i e**t_j)`` with one nu
per group (Davidson 1970), and prior ``ln nu ~ Normal(ln 1/2, 1)``. The parameters are the
strengths and, in the last row, ``ln nu``.

With d = t_i - t_j a pair's negative Hessian in (d, ln nu) is ``h (d + m ln nu)**2 + k
(ln nu)**2``, all of it sums and products of positive numbers but the sign of m. Written so, the
curvature left for ``ln nu`` once the strengths are free is a sum of squares rather than a
difference, and stays accurate where ties say next to nothing about it.
"""

import numpy as np

from judgebatch.strengths.codes import Ints
from judgebatch.strengths.elementary import Floats, exp, exp_into
from judgebatch.strengths.graph import (
    add_exactly,
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

LOG_HALF = -0.6931471805599453
"""Prior mean of ``ln nu``."""


class Davidson:
    """Counts, parameters and Newton direction of L groups of G items."""

    def __init__(
        self, low: Floats, high: Floats, ties: Floats, parameters: Floats, *, careful: bool
    ) -> None:
        """Take what the lower and the higher item won and ties, (P, L); (G + 1, L) parameters."""
        size, lanes = parameters.shape[0] - 1, parameters.shape[1]
        self.size = size
        self.careful = careful
        self.low = low
        self.high = high
        self.ties = ties
        self.total = low + high + ties
        self.parameters = parameters
        self.gradient = np.empty((size + 1, lanes))
        self.step = np.empty((size + 1, lanes))
        self._weights = np.empty_like(low)
        self._stiffness = np.empty_like(low)
        self._slope = np.empty_like(low)
        self._own_curvature = np.empty(lanes)
        self._curvature = np.empty(lanes)
        self._pull = np.empty((size, lanes))
        self._inverse_pivots = np.empty((size - 1, lanes))
        self._worth = np.empty((size, lanes))
        self._scratch = np.empty((2, size, lanes))

    @classmethod
    def start(cls, counts: Ints, parameters: Floats, *, careful: bool) -> "Davidson":
        """Take (3, P, L) counts: wins of the lower item, of the higher one, ties."""
        low, high, ties = counts
        met = low + high + ties
        size = pairs_to_size(low.shape[0])
        pseudo = PSEUDO_COUNT * (size - 1) / met.sum(axis=0).astype(np.float64)
        shared = 0.5 * pseudo * met
        return cls(
            low + shared, high + shared, ties.astype(np.float64), parameters, careful=careful
        )

    @staticmethod
    def initial(size: int, lanes: int) -> Floats:
        """Return the parameters to start from."""
        parameters = np.zeros((size + 1, lanes))
        parameters[size] = LOG_HALF
        return parameters

    def take(self, lanes: Ints) -> "Davidson":
        """Return the same for some of the lanes."""
        return Davidson(
            self.low[:, lanes],
            self.high[:, lanes],
            self.ties[:, lanes],
            self.parameters[:, lanes],
            careful=self.careful,
        )

    def evaluate(self) -> None:
        """Compute gradient and Hessian at the parameters."""
        strengths, log_nu = self.parameters[:-1], self.parameters[-1]
        worth, gradient = self._worth, self.gradient
        np.multiply(strengths, 0.5, out=worth)
        exp_into(worth, worth, self._scratch[0], self._scratch[1])
        nu = exp(log_nu)
        np.multiply(strengths, -RIDGE, out=gradient[:-1])
        np.subtract(LOG_HALF, log_nu, out=gradient[-1])
        lost = np.zeros_like(gradient)
        self._pull[...] = 0.0
        self._own_curvature[...] = 1.0
        for i, rows in enumerate(blocks(self.size)[:-1]):
            mine, theirs = worth[i], worth[i + 1 :]
            wins, losses = mine * mine, theirs * theirs
            ties = (mine * nu) * theirs
            scale = 1.0 / ((wins + losses) + ties)
            wins, losses, ties = wins * scale, losses * scale, ties * scale
            total = self.total[rows]
            decisive, ahead, even = wins + losses, wins - losses, wins * losses
            shape = 0.25 * decisive * ties + even
            stiffness = total * shape
            slope = -0.5 * ties * ahead / shape
            self._stiffness[rows] = stiffness
            self._slope[rows] = slope
            np.add(stiffness, RIDGE / self.size, out=self._weights[rows])
            low, high, tied = self.low[rows], self.high[rows], self.ties[rows]
            flow = (low * (losses + 0.5 * ties) - high * (wins + 0.5 * ties)) - 0.5 * tied * ahead
            add_flow(flow, gradient[i:-1], lost[i:-1] if self.careful else None)
            add_flow(stiffness * slope, self._pull[i:], None)
            for row in tied * decisive - (low + high) * ties:
                add_exactly(gradient[-1], row, lost[-1])
            for row in total * ties * (even / shape):
                np.add(self._own_curvature, row, out=self._own_curvature)
        gradient += lost

    def direct(self) -> None:
        """Compute the Newton direction ``step`` from the last evaluation, which it uses up.

        The strengths that follow ``ln nu`` solve ``L v = pull``; what curvature they leave it is
        ``1 + sum k + sum h (m - (v_i - v_j))**2 + rho/G sum (v_i - v_j)**2``.
        """
        step, pull, curvature = self.step, self._pull, self._curvature
        eliminate(self._weights, self._inverse_pivots, self._scratch)
        np.copyto(step, self.gradient)
        solve(self._weights, self._inverse_pivots, step[:-1], self._scratch)
        drive = pull * step[:-1]
        driven = np.empty_like(curvature)
        add_rows(drive, driven)
        solve(self._weights, self._inverse_pivots, pull, self._scratch)
        centre(pull)
        curvature[...] = self._own_curvature
        for i, rows in enumerate(blocks(self.size)[:-1]):
            follows = pull[i] - pull[i + 1 :]
            rest = self._slope[rows] - follows
            bent = self._stiffness[rows] * rest * rest + RIDGE / self.size * follows * follows
            for row in bent:
                np.add(curvature, row, out=curvature)
        step[-1] = (step[-1] - driven) / curvature
        step[:-1] -= pull * step[-1]

    def reach(self) -> Floats:
        """Return the size of each step: the range of the strengths' part, or that of ln nu."""
        return np.asarray(np.maximum(spread(self.step[:-1]), np.abs(self.step[-1])))

    def rise(self) -> Floats:
        """Return the slope of the objective along each step."""
        total = np.empty(self.step.shape[1])
        add_rows(self.gradient * self.step, total)
        return total

    def place(self, base: Floats, length: Floats) -> None:
        """Put the parameters ``length`` steps from ``base``; a length of 0 changes no bit."""
        moved = base + self.step * length
        centre(moved[:-1])
        self.parameters = np.where(length == 0.0, base, moved)

    def move(self) -> Floats:
        """Take the step, damped where it is long; return each step's undamped range."""
        reach = self.reach()
        if reach.max() > 1.0:
            self.step *= np.where(reach <= 1.0, 1.0, 2.0 / (1.0 + reach))
        self.parameters += self.step
        centre(self.parameters[:-1])
        return reach

    def variance(self, lanes: Ints) -> Floats:
        """Return the strengths' variances, (G, n), at the last direction."""
        fixed = centred_variances(self._weights[:, lanes], self._inverse_pivots[:, lanes])
        pull = self._pull[:, lanes]
        return np.asarray(fixed + pull * pull / self._curvature[lanes])
