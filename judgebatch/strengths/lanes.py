"""Fits of many small groups at once: damped Newton steps in lanes.

A batch holds as many groups as fit a core's cache. A lane stops by itself and is taken out;
when most of a batch have stopped, the rest wait and are batched anew. None of this touches a
lane's numbers, so a group's bits do not depend on its company.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from judgebatch.strengths.codes import Ints
from judgebatch.strengths.davidson import Davidson
from judgebatch.strengths.elementary import Floats, exp, log
from judgebatch.strengths.graph import blocks, centre, pairs_to_size
from judgebatch.strengths.half_win import HalfWin
from judgebatch.strengths.objective import (
    CAREFUL_ABOVE,
    MOST_STEPS,
    PSEUDO_COUNT,
    SETTLED,
    TOLERANCE,
)
from judgebatch.strengths.safeguard import bisect, climb
from judgebatch.vocabulary import TieModel

_MODELS: dict[TieModel, type[HalfWin | Davidson]] = {
    TieModel.HALF_WIN: HalfWin,
    TieModel.DAVIDSON: Davidson,
}
_CACHE_CELLS = 1 << 18
_COMPACT_BELOW = 0.6
_FEWEST_LANES, _MOST_LANES = 16, 1 << 12


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
    """(n,): the gradient's largest component when last evaluated."""
    converged: npt.NDArray[np.bool_]
    """(n,)."""
    tie_parameter: Floats
    """(n,): nu of a Davidson fit, NaN otherwise."""


class _Waiting(NamedTuple):
    """Lanes that have not stopped: who they are and how far they came."""

    lanes: Ints
    parameters: Floats
    steps: Ints
    near: npt.NDArray[np.bool_]


def fit_lanes(cells: Ints, columns: Ints, tie_model: TieModel = TieModel.HALF_WIN) -> LaneFit:
    """Fit n groups of one size, 2 or more items, each connected.

    Parameters
    ----------
    cells
        (3, P, N) counts: wins of the lower item, of the higher one, ties; pairs in row-major
        order.
    columns
        (n,) which of the N groups to fit.
    """
    n, size = columns.size, pairs_to_size(cells.shape[1])
    fit = LaneFit(
        np.empty((n, size)),
        np.empty((n, size)),
        np.empty((3, n, size), np.int64),
        np.zeros(n, np.int64),
        np.empty(n),
        np.zeros(n, np.bool_),
        np.full(n, np.nan),
    )
    large = np.zeros(n, np.bool_)
    if cells.max(initial=0) > CAREFUL_ABOVE:
        large = cells.max(axis=(0, 1))[columns] > CAREFUL_ABOVE
    for careful in (False, True):
        lanes = np.flatnonzero(large == careful)
        if lanes.size:
            _fit_all(cells, columns, lanes, fit, tie_model, careful=careful)
    return fit


def _fit_all(
    cells: Ints, columns: Ints, lanes: Ints, fit: LaneFit, tie_model: TieModel, *, careful: bool
) -> None:
    model_class: type[HalfWin | Davidson] = _MODELS[tie_model]
    size = fit.strength.shape[1]
    waiting = _Waiting(
        lanes,
        model_class.initial(size, lanes.size),
        np.zeros_like(lanes),
        np.zeros(lanes.size, np.bool_),
    )
    for batch, counts in _batches(cells, columns, waiting):
        tally = _tally(counts, size)
        fit.tally[:, batch.lanes] = tally.swapaxes(1, 2)
        batch.parameters[:size] = _first_strengths(tally)
    _newton(cells, columns, waiting, fit, model_class, careful=careful)
    for rescue in (climb, bisect):
        stuck = np.flatnonzero(~fit.converged[waiting.lanes])
        if not stuck.size:
            return
        waiting = _Waiting(
            waiting.lanes[stuck],
            waiting.parameters[:, stuck],
            np.zeros_like(stuck),
            np.zeros(stuck.size, np.bool_),
        )
        for batch, counts in _batches(cells, columns, waiting):
            model = model_class.start(counts, batch.parameters, careful=careful)
            rescue(model)
            batch.parameters[...] = model.parameters
        _newton(cells, columns, waiting, fit, model_class, careful=careful)


def _batches(cells: Ints, columns: Ints, waiting: _Waiting) -> Iterator[tuple[_Waiting, Ints]]:
    """Yield lanes a cache's worth at a time, with their counts (3, P, L)."""
    fitting = _CACHE_CELLS // cells.shape[1]
    at_once = min(max(_FEWEST_LANES, fitting), _MOST_LANES)
    for begin in range(0, waiting.lanes.size, at_once):
        part = slice(begin, begin + at_once)
        batch = _Waiting(
            waiting.lanes[part],
            waiting.parameters[:, part],
            waiting.steps[part],
            waiting.near[part],
        )
        yield batch, _counts_of(cells, columns[batch.lanes])


def _newton(
    cells: Ints,
    columns: Ints,
    waiting: _Waiting,
    fit: LaneFit,
    model_class: type[HalfWin | Davidson],
    *,
    careful: bool,
) -> None:
    """Take damped steps until every lane has stopped; ``waiting`` keeps its parameters."""
    while waiting.lanes.size:
        left = []
        for batch, counts in _batches(cells, columns, waiting):
            whole = batch.lanes.size == waiting.lanes.size
            model = model_class.start(counts, batch.parameters.copy(), careful=careful)
            left.append(_run(model, batch, fit, until=0 if whole else batch.lanes.size // 4))
        waiting = _Waiting(
            np.concatenate([each.lanes for each in left]),
            np.concatenate([each.parameters for each in left], axis=1),
            np.concatenate([each.steps for each in left]),
            np.concatenate([each.near for each in left]),
        )


def _counts_of(cells: Ints, columns: Ints) -> Ints:
    """Return (3, P, L) counts of some groups, without a copy if they are adjacent."""
    if columns[-1] - columns[0] + 1 == columns.size:
        return cells[:, :, columns[0] : columns[-1] + 1]
    return np.asarray(cells[:, :, columns])


def _tally(counts: Ints, size: int) -> Ints:
    """Return wins, losses and ties of each item, (3, G, L); integer sums have no order."""
    low, high, ties = counts
    tally = np.zeros((3, size, low.shape[1]), np.int64)
    for i, rows in enumerate(blocks(size)[:-1]):
        for slot, (mine, theirs) in enumerate(((low, high), (high, low), (ties, ties))):
            tally[slot, i] += mine[rows].sum(axis=0)
            tally[slot, i + 1 :] += theirs[rows]
    return tally


def _first_strengths(tally: Ints) -> Floats:
    """Return each item's log-odds of a win as if all opponents were alike, centred, (G, L)."""
    wins, losses, ties = tally
    met = wins + losses + ties
    pseudo = PSEUDO_COUNT * (met.shape[0] - 1) / met.sum(axis=0)
    shared = 0.5 * ties + pseudo * met
    strengths = log((wins + shared) / (losses + shared))
    centre(strengths)
    return strengths


def _run(model: HalfWin | Davidson, batch: _Waiting, fit: LaneFit, *, until: int) -> _Waiting:
    """Step until no more than ``until`` lanes have not stopped; return those.

    A lane stops when its step is below ``SETTLED``, so that the factors at hand are those of
    its result, or below ``TOLERANCE`` for the second time, where rounding leaves no more. Its
    result is taken there and then; it leaves the arrays with the next compaction.
    """
    lanes, steps, near = batch.lanes, batch.steps.copy(), batch.near
    running = np.ones(lanes.size, np.bool_)
    while True:
        model.evaluate()
        model.direct()
        reach = model.move()
        steps += 1
        small = reach < TOLERANCE
        done = (reach < SETTLED) | (small & near)
        near = small
        stopped = np.flatnonzero(running & (done | (steps >= MOST_STEPS)))
        if not stopped.size:
            continue
        who = lanes[stopped]
        parameters = model.parameters[:, stopped] + 0.0  # no negative zero
        fit.strength[who] = parameters[: model.size].T
        if isinstance(model, Davidson):
            fit.tie_parameter[who] = exp(parameters[-1])
        fit.variance[who] = model.variance(stopped).T
        fit.gradient[who] = np.abs(model.gradient[:, stopped]).max(axis=0)
        fit.iterations[who] += steps[stopped]
        fit.converged[who] = done[stopped]
        running[stopped] = False
        left = np.flatnonzero(running)
        if left.size <= until:
            return _Waiting(lanes[left], model.parameters[:, left], steps[left], near[left])
        if left.size < _COMPACT_BELOW * lanes.size:
            model = model.take(left)
            lanes, steps, near = lanes[left], steps[left], near[left]
            running = np.ones(left.size, np.bool_)
