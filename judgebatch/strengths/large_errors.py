"""Standard errors of groups too large for lanes.

Up to ``EXACT_UP_TO`` items they are exact, by the elimination of graph.py. Above, they are
approximate, and say so:

- ``local``: the first terms of the random walk's series, which is all there is where everybody
  met many others at random. Checked against exact solves of a sample that holds the items for
  which it must be worst; where one of them is off by more than a hundredth, not used.
- ``projected``: the diagonal from random projections (Spielman & Srivastava 2011), whatever the
  graph; relative error about ``1 / sqrt(2 PROJECTIONS)`` of a standard error. The signs come
  from a counter, so that a group has the same ones always.
"""

from collections import defaultdict
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from judgebatch.strengths.codes import Ints
from judgebatch.strengths.elementary import Floats
from judgebatch.strengths.graph import centred_variances, eliminate
from judgebatch.strengths.objective import RIDGE
from judgebatch.strengths.sparse import Laplacian, Links, Segments
from judgebatch.vocabulary import SeMethod

EXACT_UP_TO = 1000
PROJECTIONS = 200

_PACKED_UP_TO = 100
_CACHE_CELLS = 1 << 18
_LOCAL_TOLERANCE = 0.01
# Where crowds hang together by few comparisons, that weak mode holds most of the variance and
# next to nothing of the right-hand side: a coarse solve would not see it.
_CHECK_PRECISION = 1e-5
_PROJECTION_PRECISION = 1e-8
_COLUMNS_AT_ONCE = 8


class Hessian(NamedTuple):
    """A fitted group's pair weights, and what a free tie parameter adds."""

    size: int
    low: npt.NDArray[np.int32]
    high: npt.NDArray[np.int32]
    weights: Floats
    pull: Floats | None
    """Davidson: how the strengths follow ``ln nu``."""
    curvature: float


class Variances(NamedTuple):
    """Per item, and how they were computed."""

    values: Floats
    method: SeMethod


def variances(hessians: list[Hessian]) -> list[Variances]:
    """Return the strengths' variances of each group, centred as the strengths are."""
    found: list[Variances | None] = [None] * len(hessians)
    packed: dict[int, list[int]] = defaultdict(list)
    for at, hessian in enumerate(hessians):
        if hessian.size <= _PACKED_UP_TO:
            packed[hessian.size].append(at)
        elif hessian.size <= EXACT_UP_TO:
            found[at] = Variances(_dense(hessian), SeMethod.EXACT)
        else:
            found[at] = _approximate(hessian)
    for size, members in packed.items():
        at_once = max(1, _CACHE_CELLS // (size * (size - 1) // 2))
        for begin in range(0, len(members), at_once):
            batch = members[begin : begin + at_once]
            values = _packed([hessians[at] for at in batch], size)
            for at, column in zip(batch, values.T, strict=True):
                found[at] = Variances(column, SeMethod.EXACT)
    return [
        _with_ties(each, hessian) for each, hessian in zip(found, hessians, strict=True) if each
    ]


def _with_ties(fixed: Variances, hessian: Hessian) -> Variances:
    if hessian.pull is None:
        return fixed
    return fixed._replace(values=fixed.values + hessian.pull * hessian.pull / hessian.curvature)


def _packed(hessians: list[Hessian], size: int) -> Floats:
    """Return (G, L) variances of groups of one size, eliminated side by side."""
    weights = np.full((size * (size - 1) // 2, len(hessians)), RIDGE / size)
    for lane, hessian in enumerate(hessians):
        low, high = hessian.low.astype(np.int64), hessian.high
        weights[low * (2 * size - low - 1) // 2 + high - low - 1, lane] += hessian.weights
    inverse_pivots = np.empty((size - 1, len(hessians)))
    eliminate(weights, inverse_pivots, np.empty((2, size, len(hessians))))
    return centred_variances(weights, inverse_pivots)


def _dense(hessian: Hessian) -> Floats:
    """Return the variances of one group: the same elimination on a square matrix."""
    size = hessian.size
    last = size - 1
    weights = np.full((size, size), RIDGE / size)
    weights[hessian.low, hessian.high] += hessian.weights
    weights[hessian.high, hessian.low] += hessian.weights
    inverse_pivots = np.empty(last)
    change = np.empty((size, size))
    for k in range(last):
        mine = weights[k, k + 1 :]
        inverse_pivots[k] = 1.0 / np.add.reduce(mine)
        rest = change[k + 1 :, k + 1 :]
        np.multiply((mine * inverse_pivots[k])[:, None], mine, out=rest)
        np.add(weights[k + 1 :, k + 1 :], rest, out=weights[k + 1 :, k + 1 :])
    inverse = np.zeros((last, last))
    for k in range(last - 1, -1, -1):
        mine = weights[k, k + 1 : last]
        rest = change[k + 1 : last, k + 1 : last]
        np.multiply(mine[:, None], inverse[k + 1 :, k + 1 :], out=rest)
        row = np.add.reduce(rest, axis=0) * inverse_pivots[k]
        inverse[k, k + 1 :] = row
        inverse[k + 1 :, k] = row
        inverse[k, k] = (1.0 + np.add.reduce(mine * row)) * inverse_pivots[k]
    means = np.append(np.add.reduce(inverse, axis=1) / size, 0.0)
    overall = np.add.reduce(means) / size
    return np.asarray(np.append(np.diagonal(inverse), 0.0) - 2.0 * means + overall)


def _approximate(hessian: Hessian) -> Variances:
    items = Segments(np.array([0, hessian.size], np.int64))
    links = Links(items, hessian.low, hessian.high)
    matrix = Laplacian(links, hessian.weights)
    local, returning = _local(links, hessian.weights)
    sample = _sample(matrix.degree, returning)
    exact = _solved(matrix, sample)
    if (np.abs(np.sqrt(local[sample] / exact) - 1.0) <= _LOCAL_TOLERANCE).all():
        return Variances(local, SeMethod.LOCAL)
    return Variances(_projected(matrix, hessian), SeMethod.PROJECTED)


def _local(links: Links, weights: Floats) -> tuple[Floats, Floats]:
    """Return the variances by the walk's first two steps, and the chance to be back after two.

    With the walk ``P = D^-1 A``, ``D^-1 sum_k (P^k - pi)`` is an inverse of the Laplacian up to
    centring; of its diagonal 1, 0 and the chance of return are the first terms.
    """
    degree = links.net(weights, weights)
    n = degree.size
    stay = 1.0 / degree
    returning = links.product(weights * weights, stay) * stay
    once = links.product(weights, stay) * stay
    twice = links.product(weights, once) * stay
    volume = np.add.reduce(degree)
    rows = (stay + once + twice) / n - 3.0 / volume
    diagonal = (1.0 + returning) * stay - 3.0 / volume
    return diagonal - 2.0 * rows + np.add.reduce(rows) / n, returning


def _sample(degree: Floats, returning: Floats) -> Ints:
    """Return items with least, most and middling weight, and those most among themselves."""
    by_degree = np.argsort(degree, kind="stable")
    spread = by_degree[np.linspace(0, degree.size - 1, 5).astype(np.int64)]
    return np.unique(np.concatenate([spread, np.argsort(-returning, kind="stable")[:3]]))


def _solved(matrix: Laplacian, sample: Ints) -> Floats:
    """Return the sample's variances; a conjugate gradient's own error counts squared in them."""
    right = np.full((matrix.degree.size, sample.size), -1.0 / matrix.degree.size)
    columns = np.arange(sample.size)
    right[sample, columns] += 1.0
    solution, _ = matrix.solve(right, _CHECK_PRECISION)
    return np.asarray(solution[sample, columns])


def _projected(matrix: Laplacian, hessian: Hessian) -> Floats:
    """Return the variances as mean squares of random strengths with the right covariance."""
    n = hessian.size
    root = np.sqrt(hessian.weights)
    total = np.zeros(n)
    for begin in range(0, PROJECTIONS, _COLUMNS_AT_ONCE):
        right = np.empty((n, _COLUMNS_AT_ONCE))
        for column in range(_COLUMNS_AT_ONCE):
            signs = _signs(root.size + n, begin + column)
            flow = root * signs[n:]
            right[:, column] = matrix.links.net(flow, -flow) + np.sqrt(RIDGE) * signs[:n]
        solution, _ = matrix.solve(matrix.items.centre(right), _PROJECTION_PRECISION)
        for column in range(_COLUMNS_AT_ONCE):
            total += solution[:, column] * solution[:, column]
    return total / PROJECTIONS


def _signs(count: int, stream: int) -> Floats:
    """Return +1 or -1 for each of ``count`` places (splitmix64 of a counter)."""
    state = np.arange(count, dtype=np.uint64) + np.uint64(stream) * np.uint64(1 << 40)
    state = (state + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.where((state ^ (state >> np.uint64(31))) & np.uint64(1), 1.0, -1.0)
