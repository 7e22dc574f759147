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


def add_rows(rows: npt.NDArray[_N], out: npt.NDArray[_N]) -> None:
    """Write the sum of ``rows`` over its first axis into ``out``, first row first."""
    out[...] = rows[0]
    for row in rows[1:]:
        np.add(out, row, out=out)


def eliminate(weights: Floats, inverse_pivots: Floats, scratch: Floats) -> None:
    """Eliminate all nodes but the last, in place.

    Parameters
    ----------
    weights
        (P, L) positive pair weights; on return row (k, l) holds ``u_kl = a_kl / d_k`` of the
        graph in which nodes 0..k-1 are gone.
    inverse_pivots
        (G - 1, L), filled with ``1 / d_k``, ``d_k`` the sum of node k's remaining weights.
    scratch
        (2, G - 1, L) work array.
    """
    last = inverse_pivots.shape[0]
    rows = blocks(last + 1)
    for k in range(last):
        mine = weights[rows[k]]
        inverse = inverse_pivots[k]
        add_rows(mine, inverse)
        np.divide(1.0, inverse, out=inverse)
        shares = scratch[0, : last - k]
        np.multiply(mine, inverse, out=shares)
        for node in range(k + 1, last):
            change = scratch[1, : last - node]
            np.multiply(mine[node - k :], shares[node - k - 1], out=change)
            other = weights[rows[node]]
            np.add(other, change, out=other)
        mine[...] = shares


def solve(shares: Floats, inverse_pivots: Floats, right: Floats, scratch: Floats) -> None:
    """Solve with an eliminated graph, in place; the last node's value becomes 0.

    Parameters
    ----------
    shares, inverse_pivots
        What :func:`eliminate` left.
    right
        (G, L) right-hand side, summing to zero in each lane; on return the solution.
    scratch
        (G - 1, L) work array.
    """
    last = inverse_pivots.shape[0]
    rows = blocks(last + 1)
    for k in range(last):
        change = scratch[: last - k]
        np.multiply(shares[rows[k]], right[k], out=change)
        later = right[k + 1 :]
        np.add(later, change, out=later)
    right[last] = 0.0
    for k in range(last - 1, -1, -1):
        np.multiply(right[k], inverse_pivots[k], out=right[k])
        change = scratch[: last - k]
        np.multiply(shares[rows[k]], right[k + 1 :], out=change)
        for row in change[:-1]:
            np.add(right[k], row, out=right[k])


def centred_variances(shares: Floats, inverse_pivots: Floats) -> Floats:
    """Return the diagonal of the Laplacian's pseudo-inverse, (G, L).

    The inverse of the Laplacian without its last node follows from the elimination backwards
    (Takahashi's equations), again without a subtraction: ``S_kj = sum_l u_kl S_lj`` and
    ``S_kk = 1 / d_k + sum_l u_kl S_lk``. Centring subtracts twice the row's mean and adds the
    overall mean.
    """
    last, lanes = inverse_pivots.shape
    rows = blocks(last + 1)
    inverse = np.zeros((last, last, lanes))
    change = np.empty((last, lanes))
    for k in range(last - 1, -1, -1):
        share = shares[rows[k]]
        mine = inverse[k, k + 1 :]
        for node in range(k + 1, last):
            np.multiply(share[node - k - 1], inverse[node, k + 1 :], out=change[k + 1 :])
            np.add(mine, change[k + 1 :], out=mine)
        inverse[k + 1 :, k] = mine
        diagonal = inverse[k, k]
        diagonal[...] = inverse_pivots[k]
        for node in range(k + 1, last):
            np.multiply(share[node - k - 1], inverse[node, k], out=change[0])
            np.add(diagonal, change[0], out=diagonal)
    means = np.zeros((last + 1, lanes))
    overall = np.zeros(lanes)
    for k in range(last):
        add_rows(inverse[k], means[k])
        means[k] /= last + 1
        overall += means[k]
    overall /= last + 1
    variances = np.empty((last + 1, lanes))
    for k in range(last):
        variances[k] = (inverse[k, k] - 2.0 * means[k]) + overall
    variances[last] = overall
    return variances
