"""Solving with a weighted graph Laplacian, many graphs of one size at once.

With centred strengths the negative Hessian of the fit is the Laplacian of the complete graph
with weights ``a_ij = n_ij p_ij p_ji + rho / G``. Eliminating a node of a Laplacian (the
star-mesh transform) adds ``a_ik a_jk / sum(a_k)`` to every remaining pair: sums, products and
quotients of positive numbers and no subtraction, so that pivots and inverse are accurate to a
few units in the last place however ill-conditioned the graph is (Grassmann, Taksar & Heyman
1985).

Arrays have the graphs ("lanes") in their last axis. Pairs stand in row-major order: pair
(i, j), i < j, is row ``offset(i) + j - i - 1``. Sums run over explicit rows, in order, because
NumPy's reductions choose their order by shape. So a lane's bits depend on its own numbers only.
"""

from functools import lru_cache
from math import isqrt
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from judgebatch.strengths.elementary import Floats

_N = TypeVar("_N", np.float64, np.int64)


@lru_cache(maxsize=64)
def blocks(size: int) -> tuple[slice, ...]:
    """Return for each item i the rows of its pairs (i, i+1), ..., (i, size-1)."""
    result, begin = [], 0
    for i in range(size):
        result.append(slice(begin, begin + size - 1 - i))
        begin += size - 1 - i
    return tuple(result)


def pairs_to_size(pairs: int) -> int:
    """Return G of ``G (G - 1) / 2`` pairs."""
    return (1 + isqrt(1 + 8 * pairs)) // 2


def add_rows(rows: npt.NDArray[_N], out: npt.NDArray[_N]) -> None:
    """Write the sum of ``rows`` over its first axis into ``out``, first row first."""
    out[...] = rows[0]
    for row in rows[1:]:
        np.add(out, row, out=out)


def centre(strengths: Floats) -> None:
    """Subtract the mean over the first axis, in place."""
    mean = np.empty(strengths.shape[1])
    add_rows(strengths, mean)
    mean /= strengths.shape[0]
    strengths -= mean


def spread(values: Floats) -> Floats:
    """Return largest less smallest over the first axis; neither depends on an order."""
    return np.asarray(values.max(axis=0) - values.min(axis=0))


def add_flow(flow: Floats, into: Floats, lost: Floats | None) -> None:
    """Add one item's ``flow`` to each later item, (n, L), to that item and take it from those.

    Parameters
    ----------
    into
        (n + 1, L), the item and all later ones; changed in place.
    lost
        Where given, of the shape of ``into``: gathers what rounding loses (Ogita, Rump & Oishi
        2005). Needed where large flows cancel in an item that hangs on few comparisons.
    """
    mine, later = into[0], into[1:]
    if lost is None:
        for row in flow:
            np.add(mine, row, out=mine)
        np.subtract(later, flow, out=later)
        return
    for row in flow:
        add_exactly(mine, row, lost[0])
    add_exactly(later, -flow, lost[1:])


def add_exactly(total: Floats, term: Floats, lost: Floats) -> None:
    """Add ``term`` to ``total`` and what rounding loses to ``lost`` (Knuth's TwoSum)."""
    rounded = total + term
    added = rounded - total
    lost += (total - (rounded - added)) + (term - added)
    total[...] = rounded


def eliminate(weights: Floats, inverse_pivots: Floats, scratch: Floats) -> None:
    """Eliminate all nodes but the last, in place.

    Parameters
    ----------
    weights
        (P, L) positive pair weights; on return row (k, l) holds the weight ``a_kl`` of the
        graph in which nodes 0..k-1 are gone.
    inverse_pivots
        (G - 1, L), filled with ``1 / d_k``, ``d_k`` the sum of node k's remaining weights.
    scratch
        (2, G, L) work array.
    """
    last = inverse_pivots.shape[0]
    rows = blocks(last + 1)
    for k in range(last):
        mine = weights[rows[k]]
        inverse = inverse_pivots[k]
        add_rows(mine, inverse)
        np.divide(1.0, inverse, out=inverse)
        for node in range(k + 1, last):
            share = scratch[0, 0]
            np.multiply(mine[node - k - 1], inverse, out=share)
            change = scratch[1, : last - node]
            np.multiply(mine[node - k :], share, out=change)
            other = weights[rows[node]]
            np.add(other, change, out=other)


def solve(weights: Floats, inverse_pivots: Floats, right: Floats, scratch: Floats) -> None:
    """Solve with an eliminated graph, in place; the last node's value becomes 0.

    Parameters
    ----------
    weights, inverse_pivots
        What :func:`eliminate` left.
    right
        (G, L) right-hand side, summing to zero in each lane; on return the solution.
    scratch
        (2, G, L) work array.
    """
    last = inverse_pivots.shape[0]
    rows = blocks(last + 1)
    for k in range(last):
        np.multiply(right[k], inverse_pivots[k], out=right[k])
        change = scratch[0, : last - k]
        np.multiply(weights[rows[k]], right[k], out=change)
        later = right[k + 1 :]
        np.add(later, change, out=later)
    right[last] = 0.0
    for k in range(last - 2, -1, -1):
        change = scratch[0, : last - 1 - k]
        np.multiply(weights[rows[k]][:-1], right[k + 1 : last], out=change)
        total = scratch[1, 0]
        add_rows(change, total)
        np.multiply(total, inverse_pivots[k], out=total)
        np.add(right[k], total, out=right[k])


def centred_variances(weights: Floats, inverse_pivots: Floats) -> Floats:
    """Return the diagonal of the Laplacian's pseudo-inverse, (G, L), of an eliminated graph.

    The inverse of the Laplacian without its last node follows from the elimination backwards
    (Takahashi's equations), again without a subtraction: ``S_kj = sum_l a_kl S_lj / d_k`` and
    ``S_kk = (1 + sum_l a_kl S_lk) / d_k``. Centring subtracts twice the row's mean and adds the
    overall mean.
    """
    last, lanes = inverse_pivots.shape
    rows = blocks(last + 1)
    inverse = np.zeros((last, last, lanes))
    change = np.empty((last, lanes))
    for k in range(last - 1, -1, -1):
        weight = weights[rows[k]]
        mine = inverse[k, k + 1 :]
        for node in range(k + 1, last):
            np.multiply(weight[node - k - 1], inverse[node, k + 1 :], out=change[k + 1 :])
            np.add(mine, change[k + 1 :], out=mine)
        np.multiply(mine, inverse_pivots[k], out=mine)
        inverse[k + 1 :, k] = mine
        diagonal = inverse[k, k]
        diagonal[...] = 1.0
        for node in range(k + 1, last):
            np.multiply(weight[node - k - 1], inverse[node, k], out=change[0])
            np.add(diagonal, change[0], out=diagonal)
        np.multiply(diagonal, inverse_pivots[k], out=diagonal)
    means = np.empty((last + 1, lanes))
    for k in range(last):
        add_rows(inverse[k], means[k])
    means[:last] /= last + 1
    overall = means[last]
    add_rows(means[:last], overall)
    overall /= last + 1
    for k in range(last):
        means[k] = (inverse[k, k] - 2.0 * means[k]) + overall
    return means
