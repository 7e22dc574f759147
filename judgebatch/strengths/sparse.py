"""Laplacians of large graphs, several in one matrix, and solving with them.

The graphs of a pool stand on the diagonal of one sparse matrix. Products add each row's terms in
the order of its columns, sums over a graph run over its own segment, and each graph has its own
step lengths and its own end, so that no graph's bits depend on the others.
"""

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from judgebatch.strengths.codes import Ints
from judgebatch.strengths.elementary import Floats
from judgebatch.strengths.objective import RIDGE

_MOST_ROUNDS = 20_000


class Segments:
    """Sums over, and values spread over, the consecutive items (or pairs) of each graph."""

    def __init__(self, starts: Ints) -> None:
        """Take where each graph begins, and the end; no graph is empty."""
        self.starts = starts
        self.sizes: Ints = np.diff(starts)

    def sum(self, values: Floats) -> Floats:
        """Return each graph's sum of ``values`` over the first axis."""
        return np.asarray(np.add.reduceat(values, self.starts[:-1], axis=0))

    def spread(self, values: npt.NDArray[np.generic]) -> Floats:
        """Return each graph's value at each of its items."""
        return np.asarray(np.repeat(values, self.sizes, axis=0))

    def range(self, values: Floats) -> Floats:
        """Return each graph's largest value less its smallest."""
        first = self.starts[:-1]
        return np.asarray(np.maximum.reduceat(values, first) - np.minimum.reduceat(values, first))

    def centre(self, values: Floats) -> Floats:
        """Return ``values`` less their graph's mean."""
        sizes = self.sizes if values.ndim == 1 else self.sizes[:, None]
        return np.asarray(values - self.spread(self.sum(values) / sizes))


class Links:
    """Which items met, several graphs side by side, with sums over each item's pairs."""

    def __init__(
        self, items: Segments, low: npt.NDArray[np.int32], high: npt.NDArray[np.int32]
    ) -> None:
        """Take pairs sorted by (low, high), as positions of items."""
        n = int(items.starts[-1])
        row_starts = np.zeros(n + 1, np.int32)
        np.cumsum(np.bincount(low, minlength=n), out=row_starts[1:])
        self.items = items
        self.low = low
        self.high = high
        self._upper = csr_array((np.zeros(low.size), high, row_starts), shape=(n, n))
        self._lower = self._upper.T
        self._ones = np.ones(n)

    def net(self, to_low: Floats, to_high: Floats) -> Floats:
        """Return per item the sum of what its pairs give it, pair after pair."""
        self._upper.data, self._lower.data = to_low, to_high
        return np.asarray(self._upper @ self._ones + self._lower @ self._ones)

    def product(self, weights: Floats, x: Floats) -> Floats:
        """Return per item the sum of ``weights`` times the other's ``x``, a vector or columns."""
        self._upper.data = self._lower.data = weights
        return np.asarray(self._upper @ x + self._lower @ x)


class Laplacian:
    """The matrix ``L + RIDGE I`` of weighted links, with a conjugate gradient solver.

    ``L`` has the weights, negated, beside its diagonal, and rows that add to zero.
    """

    def __init__(self, links: Links, weights: Floats) -> None:
        self.items = links.items
        self.links = links
        self.weights = weights
        self.degree = links.net(weights, weights) + RIDGE

    def times(self, x: Floats) -> Floats:
        """Return the product with a vector, or with the columns of a matrix."""
        degree = self.degree if x.ndim == 1 else self.degree[:, None]
        return np.asarray(degree * x - self.links.product(self.weights, x))

    def solve(self, right: Floats, precision: float) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Solve by conjugate gradients, preconditioned with the diagonal.

        Parameters
        ----------
        right
            (N,) or (N, k) right-hand sides, summing to zero in every graph.
        precision
            Each graph and column ends when its residual, in the preconditioner's norm, has
            shrunk by this factor.

        Returns
        -------
        solution, reached
            The centred solution; for each graph (and column) whether the precision was reached.
        """
        items = self.items
        scale = 1.0 / (self.degree if right.ndim == 1 else self.degree[:, None])
        solution = np.zeros_like(right)
        residual = right.copy()
        direction = scaled = scale * residual
        power = items.sum(residual * scaled)
        goal = precision * precision * power
        active = power > goal
        for _ in range(_MOST_ROUNDS):
            if not active.any():
                break
            image = self.times(direction)
            bend = items.sum(direction * image)
            length = np.divide(power, bend, out=np.zeros_like(power), where=active & (bend > 0.0))
            length_of_item = items.spread(length)
            solution += length_of_item * direction
            residual -= length_of_item * image
            scaled = scale * residual
            before, power = power, items.sum(residual * scaled)
            turn = np.divide(power, before, out=np.zeros_like(power), where=active & (before > 0.0))
            direction = scaled + items.spread(turn) * direction
            active &= power > goal
        return items.centre(solution), ~active
