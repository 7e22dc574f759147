"""Fits of groups too large for lanes.

The objective, the damping and the end of a fit are those of the lanes; only the linear algebra
differs. Groups are pooled up to a number of pairs. A group that has stopped keeps its place in
the pool with a zero gradient, so that it takes no further part.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from judgebatch.strengths.codes import Ints
from judgebatch.strengths.components import LargeFits
from judgebatch.strengths.coordinates import bisect_pool
from judgebatch.strengths.counts import Pairs
from judgebatch.strengths.elementary import Floats, exp
from judgebatch.strengths.large_errors import Hessian, variances
from judgebatch.strengths.objective import MOST_STEPS, SETTLED, TOLERANCE
from judgebatch.strengths.pool import Pool
from judgebatch.strengths.safeguard import climb
from judgebatch.vocabulary import SeMethod, TieModel

_PAIRS_IN_POOL = 1 << 20


class LargeFit(NamedTuple):
    """Fits of n groups whose items are concatenated."""

    strength: Floats
    """Per item, centred in its group."""
    variance: Floats
    """Per item."""
    iterations: Ints
    """Per group."""
    gradient: Floats
    """Per group: the gradient's largest component when last evaluated."""
    converged: npt.NDArray[np.bool_]
    """Per group."""
    tie_parameter: Floats
    """Per group: nu of a Davidson fit, NaN otherwise."""
    methods: list[SeMethod]
    """Per group: how its standard errors were computed."""


def fit_large(fits: LargeFits, tie_model: TieModel) -> LargeFit:
    """Fit groups given by their pairs; each is connected."""
    n_groups, n_items = fits.groups.size, fits.items.size
    fit = LargeFit(
        np.zeros(n_items),
        np.zeros(n_items),
        np.zeros(n_groups, np.int64),
        np.zeros(n_groups),
        np.zeros(n_groups, np.bool_),
        np.full(n_groups, np.nan),
        [SeMethod.EXACT] * n_groups,
    )
    for prepare in (_nothing, climb, bisect_pool):
        for groups in _pools(fits, np.flatnonzero(~fit.converged)):
            _fit_pool(fits, groups, tie_model, fit, prepare)
    return fit


def _nothing(pool: Pool) -> None:
    """Leave the parameters where a fit begins."""


def _pools(fits: LargeFits, groups: Ints) -> Iterator[Ints]:
    """Yield groups together until their pairs fill a pool."""
    pair_ends = np.searchsorted(fits.pairs.low, fits.starts)
    sizes = np.diff(pair_ends)[groups]
    pool = np.cumsum(sizes) // _PAIRS_IN_POOL
    for number in np.unique(pool):
        yield groups[pool == number]


def _fit_pool(
    fits: LargeFits,
    groups: Ints,
    tie_model: TieModel,
    fit: LargeFit,
    prepare: Callable[[Pool], None],
) -> None:
    sizes = np.diff(fits.starts)[groups]
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    items = np.repeat(fits.starts[groups] - starts[:-1], sizes) + np.arange(starts[-1])
    pool = Pool(starts, _pairs_of(fits, groups, starts), davidson=tie_model is TieModel.DAVIDSON)
    prepare(pool)
    running = np.ones(groups.size, np.bool_)
    near = np.zeros(groups.size, np.bool_)
    hessians: list[Hessian] = []
    owners: list[tuple[int, Ints]] = []
    for _ in range(MOST_STEPS):
        pool.evaluate()
        largest = np.maximum.reduceat(np.abs(pool.gradient[: pool.n_items]), starts[:-1])
        pool.hush(~running)
        pool.direct()
        reach = pool.reach()
        pool.place(pool.parameters, np.where(running, _damping(reach), 0.0))
        small = reach < TOLERANCE
        done = running & pool.solved & ((reach < SETTLED) | (small & near))
        near = small
        fit.iterations[groups[running]] += 1
        fit.gradient[groups[running]] = largest[running]
        for at in np.flatnonzero(done):
            group, mine = groups[at], slice(starts[at], starts[at + 1])
            strength = pool.parameters[mine] + 0.0
            fit.strength[items[mine]] = strength
            fit.converged[group] = True
            if tie_model is TieModel.DAVIDSON:
                fit.tie_parameter[group] = exp(pool.parameters[pool.n_items + at])
            hessians.append(pool.hessian(int(at)))
            owners.append((group, items[mine]))
        running &= ~done
        if not running.any():
            break
    for (group, where), (values, method) in zip(owners, variances(hessians), strict=True):
        fit.variance[where] = values
        fit.methods[group] = method


def _damping(reach: Floats) -> Floats:
    return np.where(reach <= 1.0, 1.0, 2.0 / (1.0 + reach))


def _pairs_of(fits: LargeFits, groups: Ints, starts: Ints) -> Pairs:
    """Return the pairs of some groups, as positions in the pool whose groups begin at starts."""
    if groups.size == fits.groups.size:
        return fits.pairs
    ends = np.searchsorted(fits.pairs.low, fits.starts)
    counts = np.diff(ends)[groups]
    begins = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    chosen = np.repeat(ends[groups] - begins[:-1], counts) + np.arange(begins[-1])
    shift = np.repeat(starts[:-1] - fits.starts[groups], counts)
    low, high, low_wins, high_wins, ties = (column[chosen] for column in fits.pairs)
    return Pairs(low + shift, high + shift, low_wins, high_wins, ties)
