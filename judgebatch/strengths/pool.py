"""The objective of large groups, pooled: gradient, Hessian and Newton direction.

The formulas are those of half_win.py and davidson.py, which explain them; here the pairs that
met are listed, and the linear systems are solved by conjugate gradients.
"""

import numpy as np
import numpy.typing as npt

from judgebatch.strengths.codes import Ints
from judgebatch.strengths.counts import Pairs
from judgebatch.strengths.davidson import LOG_HALF
from judgebatch.strengths.elementary import Floats, exp, log
from judgebatch.strengths.flows import davidson_flow, half_win_flow
from judgebatch.strengths.large_errors import Hessian
from judgebatch.strengths.objective import PSEUDO_COUNT, RIDGE
from judgebatch.strengths.sparse import Laplacian, Links, Segments

_PAIRS_AT_ONCE = 1 << 14
_PRECISION = 1e-5
_PULL_PRECISION = 1e-12


class Pool:
    """Counts, parameters and Newton direction of n connected groups."""

    def __init__(self, starts: Ints, pairs: Pairs, *, davidson: bool) -> None:
        """Take where each group's items begin, and all their pairs, sorted by (low, high)."""
        self.davidson = davidson
        self.items = Segments(starts)
        pair_starts = np.searchsorted(pairs.low, starts)
        self.pairs = Segments(pair_starts)
        self.low = pairs.low.astype(np.int32)
        self.high = pairs.high.astype(np.int32)
        self.links = Links(self.items, self.low, self.high)
        met = pairs.low_wins + pairs.high_wins + pairs.ties
        comparisons = np.add.reduceat(met, pair_starts[:-1]).astype(np.float64)
        pseudo = PSEUDO_COUNT * (self.items.sizes - 1) / comparisons
        shared: Floats = self.pairs.spread(0.5 * pseudo) * met
        if not davidson:
            shared += 0.5 * pairs.ties
        self.low_wins: Floats = np.add(pairs.low_wins, shared)
        self.high_wins: Floats = np.add(pairs.high_wins, shared)
        self.ties = pairs.ties.astype(np.float64) if davidson else np.empty(0)
        n_groups = starts.size - 1
        self.n_items = int(starts[-1])
        draws = 0.5 * self.ties if davidson else 0.0
        wins, losses = self.low_wins + draws, self.high_wins + draws
        odds = log(self.links.net(wins, losses) / self.links.net(losses, wins))
        self.parameters: Floats = np.concatenate(
            [self.items.centre(odds), np.full(n_groups, LOG_HALF)]
        )
        self.gradient = np.zeros_like(self.parameters)
        self.step = np.zeros_like(self.parameters)
        self.weights = np.empty(self.low.size)
        self.curvature = np.ones(n_groups)
        self.pull = np.zeros(self.n_items)
        self.solved: npt.NDArray[np.bool_] = np.ones(n_groups, np.bool_)

    def evaluate(self) -> None:
        """Compute the gradient and the Hessian at the parameters."""
        strengths, log_nu = self.parameters[: self.n_items], self.parameters[self.n_items :]
        if self.davidson:
            flow = self._evaluate_davidson(strengths, log_nu)
        else:
            flow = self._evaluate_half_win(strengths)
        self.gradient[: self.n_items] = self.links.net(flow, -flow) - RIDGE * strengths

    def _evaluate_half_win(self, strengths: Floats) -> Floats:
        flow = np.empty(self.low.size)
        for part in _parts(flow.size):
            lead = strengths[self.low[part]] - strengths[self.high[part]]
            low, high = self.low_wins[part], self.high_wins[part]
            flow[part], self.weights[part] = half_win_flow(lead, low, high)
        return flow

    def _evaluate_davidson(self, strengths: Floats, log_nu: Floats) -> Floats:
        flow, slope = np.empty(self.low.size), np.empty(self.low.size)
        tie_gradient, own_curvature = np.empty(self.low.size), np.empty(self.low.size)
        nu_of_pair = self.pairs.spread(exp(log_nu))
        for part in _parts(flow.size):
            lead = strengths[self.low[part]] - strengths[self.high[part]]
            found = davidson_flow(
                lead, nu_of_pair[part], self.low_wins[part], self.high_wins[part], self.ties[part]
            )
            flow[part], tie_gradient[part] = found.flow, found.tie_gradient
            self.weights[part], slope[part] = found.stiffness, found.slope
            own_curvature[part] = found.curvature
        self._slope = slope
        self._own_curvature = 1.0 + self.pairs.sum(own_curvature)
        self.gradient[self.n_items :] = (LOG_HALF - log_nu) + self.pairs.sum(tie_gradient)
        return flow

    def hush(self, groups: npt.NDArray[np.bool_]) -> None:
        """Set the gradient of some groups to zero, so that solving leaves them out."""
        if groups.any():
            self.gradient[: self.n_items][self.items.spread(groups)] = 0.0
            self.gradient[self.n_items :][groups] = 0.0

    def direct(self) -> None:
        """Compute the Newton direction ``step`` from the last evaluation."""
        n = self.n_items
        matrix = Laplacian(self.links, self.weights)
        self.step[:n], self.solved = matrix.solve(self.gradient[:n], _PRECISION)
        if not self.davidson:
            return
        drawn = self.weights * self._slope
        force = self.links.net(drawn, -drawn)
        # The curvature of ln nu depends on its pull, so this solve is as exact as can be.
        self.pull, solved = matrix.solve(force, _PULL_PRECISION)
        self.solved &= solved
        follows = self.pull[self.low] - self.pull[self.high]
        rest = self._slope - follows
        bent = self.pairs.sum(self.weights * rest * rest)
        self.curvature = self._own_curvature + bent + RIDGE * self.items.sum(self.pull * self.pull)
        driven = self.items.sum(force * self.step[:n])
        self.step[n:] = (self.gradient[n:] - driven) / self.curvature
        self.step[:n] -= self.pull * self.items.spread(self.step[n:])

    def reach(self) -> Floats:
        """Return the range of each group's step."""
        reach = self.items.range(self.step[: self.n_items])
        return np.maximum(reach, np.abs(self.step[self.n_items :]))

    def rise(self) -> Floats:
        """Return each group's slope of the objective along its step."""
        product = self.gradient * self.step
        return self.items.sum(product[: self.n_items]) + product[self.n_items :]

    def place(self, base: Floats, length: Floats) -> None:
        """Put each group ``length`` steps from ``base``; a length of 0 changes no bit."""
        lengths = np.concatenate([self.items.spread(length), length])
        moved = base + lengths * self.step
        moved[: self.n_items] = self.items.centre(moved[: self.n_items])
        self.parameters = np.where(lengths == 0.0, base, moved)

    def hessian(self, group: int) -> Hessian:
        """Return one group's Hessian at the last evaluation and direction."""
        pairs = slice(self.pairs.starts[group], self.pairs.starts[group + 1])
        items = slice(self.items.starts[group], self.items.starts[group + 1])
        return Hessian(
            int(self.items.sizes[group]),
            self.low[pairs] - np.int32(items.start),
            self.high[pairs] - np.int32(items.start),
            self.weights[pairs].copy(),
            self.pull[items].copy() if self.davidson else None,
            float(self.curvature[group]),
        )


def _parts(size: int) -> list[slice]:
    """Return the pairs a cache's worth at a time."""
    return [slice(begin, begin + _PAIRS_AT_ONCE) for begin in range(0, size, _PAIRS_AT_ONCE)]
