"""Fits of any number of groups through one call."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from judgebatch.strengths.codes import Ints
from judgebatch.strengths.components import Components, LargeFits, find_components
from judgebatch.strengths.counts import Counted, count_comparisons
from judgebatch.strengths.elementary import Floats
from judgebatch.strengths.lanes import fit_lanes
from judgebatch.strengths.large import fit_large
from judgebatch.strengths.quantile import two_sided
from judgebatch.vocabulary import FitStatus, SeMethod, TieModel, Token


class FittedGroups(NamedTuple):
    """Fitted groups, both frames sorted by their ids.

    ``strengths``, one row per item: ``group``, ``item`` (types as they came), ``strength``,
    ``strength_se``, ``strength_low``, ``strength_high`` (null outside the fitted component and
    in a group that is not ``converged``), ``wins``, ``losses``, ``ties`` (over all comparisons),
    ``never_won`` (neither won nor tied), ``never_lost``, ``isolated`` (met nobody),
    ``component`` (ordinal in the group, by smallest item), ``in_component`` (the fitted one),
    ``se_method``.

    ``groups``, one row per group: ``group``, ``size``, ``comparable_size`` (of the fitted
    component), ``comparisons`` (all usable ones), ``fit_status``, ``iterations``,
    ``gradient_norm``, ``tie_parameter`` (null unless Davidson).
    """

    strengths: pl.DataFrame
    groups: pl.DataFrame


class _Results(NamedTuple):
    """What the solvers fill in, per item and per group."""

    strength: Floats
    variance: Floats
    tally: Ints
    method: npt.NDArray[np.int8]
    comparable: Ints
    status: npt.NDArray[np.int8]
    iterations: Ints
    gradient: Floats
    tie_parameter: Floats


_STATUSES = list(FitStatus)
_METHODS = list(SeMethod)


def fit_groups(
    comparisons: pl.DataFrame,
    *,
    tie_model: TieModel | Literal["half_win", "davidson"] = TieModel.HALF_WIN,
    level: float = 0.95,
) -> FittedGroups:
    """Fit the strengths of every group's largest connected component.

    The result for a group is a function of that group's counts alone, to the bit.

    Parameters
    ----------
    comparisons
        One row per comparison: ``group``, ``left``, ``right`` (String or integer; left and
        right alike), ``outcome`` (``left``, ``right``, ``tie``, or integer 1, -1, 0), optional
        ``count``. A row with count 0 only says that its items belong to the group.
    tie_model
        ``half_win``: a tie is half a win for each. ``davidson``: ties are an outcome of their
        own with one parameter per group.
    level
        Of the intervals.

    Raises
    ------
    ValueError, TypeError
        Comparisons that cannot be counted, or a level outside (0, 1).
    UnknownTokenError
        An unknown tie model.

    Notes
    -----
    Maximises ``sum_{i<j} [w_ij ln s(t_i - t_j) + w_ji ln s(t_j - t_i)] - rho/2 sum t_i**2``
    with the logistic function s, ``w_ij = wins + ties/2 + c n_ij/2``,
    ``c = lambda (G - 1) / m`` for G items and m comparisons of the fitted component: Bradley
    and Terry (1952) with the pseudo-counts of Rigon and Aliverti (2022). Standard errors are
    the square roots of the diagonal of ``C H^-1 C``, H the negative Hessian, C the centring.
    """
    model = TieModel.parse(tie_model)
    z = two_sided(level)
    counted = count_comparisons(comparisons)
    components = find_components(counted)
    results = _solve(counted, components, model)
    return FittedGroups(
        _strengths_frame(counted, components, results, z),
        _groups_frame(counted, results),
    )


def _solve(counted: Counted, components: Components, tie_model: TieModel) -> _Results:
    n_groups, n_items = counted.ids.group_ids.len(), counted.ids.item_ids.len()
    results = _Results(
        strength=np.full(n_items, np.nan),
        variance=np.full(n_items, np.nan),
        tally=np.zeros((3, n_items), np.int64),
        method=np.full(n_items, _METHODS.index(SeMethod.EXACT), np.int8),
        comparable=np.ones(n_groups, np.int64),
        status=np.full(n_groups, _STATUSES.index(FitStatus.NO_COMPARISONS), np.int8),
        iterations=np.zeros(n_groups, np.int64),
        gradient=np.full(n_groups, np.nan),
        tie_parameter=np.full(n_groups, np.nan),
    )
    searched = components.searched
    for items, columns in (
        (searched.low, (searched.low_wins, searched.high_wins, searched.ties)),
        (searched.high, (searched.high_wins, searched.low_wins, searched.ties)),
    ):
        for slot, column in enumerate(columns):
            np.add.at(results.tally[slot], items, column)
    for groups, items, counts, lanes in components.small:
        fit = fit_lanes(counts, lanes, tie_model)
        good = fit.converged
        results.strength[items[good]] = fit.strength[good]
        results.variance[items[good]] = fit.variance[good]
        results.tally[:, items] = fit.tally
        results.comparable[groups] = items.shape[1]
        results.status[groups] = _statuses(good)
        results.iterations[groups] = fit.iterations
        results.gradient[groups] = fit.gradient
        results.tie_parameter[groups] = fit.tie_parameter
    large = components.large
    if large.groups.size:
        _solve_large(large, tie_model, results)
    return results


def _solve_large(large: LargeFits, tie_model: TieModel, results: _Results) -> None:
    fit = fit_large(large, tie_model)
    sizes = np.diff(large.starts)
    methods = np.array([_METHODS.index(method) for method in fit.methods], np.int8)
    good = np.repeat(fit.converged, sizes)
    results.strength[large.items[good]] = fit.strength[good]
    results.variance[large.items[good]] = fit.variance[good]
    results.method[large.items] = np.repeat(methods, sizes)
    results.comparable[large.groups] = sizes
    results.status[large.groups] = _statuses(fit.converged)
    results.iterations[large.groups] = fit.iterations
    results.gradient[large.groups] = fit.gradient
    results.tie_parameter[large.groups] = fit.tie_parameter


def _statuses(converged: npt.NDArray[np.bool_]) -> npt.NDArray[np.int8]:
    yes, no = (_STATUSES.index(s) for s in (FitStatus.CONVERGED, FitStatus.NOT_CONVERGED))
    return np.where(converged, yes, no).astype(np.int8)


def _strengths_frame(
    counted: Counted, components: Components, results: _Results, z: float
) -> pl.DataFrame:
    sizes = np.diff(counted.ids.starts)
    error = np.sqrt(results.variance)
    wins, losses, ties = results.tally
    fitted = ~np.isnan(results.strength)
    frame = pl.DataFrame(
        {
            "group": counted.ids.group_ids.gather(np.repeat(np.arange(sizes.size), sizes)),
            "item": counted.ids.item_ids,
            "strength": results.strength,
            "strength_se": error,
            "strength_low": results.strength - z * error,
            "strength_high": results.strength + z * error,
            "wins": wins,
            "losses": losses,
            "ties": ties,
            "never_won": wins + ties == 0,
            "never_lost": losses + ties == 0,
            "isolated": components.isolated,
            "component": components.component,
            "in_component": components.fitted,
            "se_method": _tokens(_METHODS, results.method),
        }
    )
    if fitted.all():
        return frame
    numbers = ("strength", "strength_se", "strength_low", "strength_high", "se_method")
    return frame.with_columns(pl.when(pl.Series(fitted)).then(pl.col(numbers)))


def _tokens(tokens: Sequence[Token], codes: npt.NDArray[np.int8]) -> pl.Series:
    return pl.Series([str(token) for token in tokens]).gather(codes)


def _groups_frame(counted: Counted, results: _Results) -> pl.DataFrame:
    starts = counted.ids.starts
    totals = np.cumsum(np.concatenate([np.zeros(1, np.int64), results.tally.sum(axis=0)]))
    status = _tokens(_STATUSES, results.status)
    fitted = status != FitStatus.NO_COMPARISONS
    published = status == FitStatus.CONVERGED
    return pl.DataFrame(
        {
            "group": counted.ids.group_ids,
            "size": np.diff(starts),
            "comparable_size": results.comparable,
            "comparisons": (totals[starts[1:]] - totals[starts[:-1]]) // 2,
            "fit_status": status,
            "iterations": results.iterations,
            "gradient_norm": results.gradient,
            "tie_parameter": results.tie_parameter,
        }
    ).with_columns(
        pl.when(fitted).then(pl.col("iterations", "gradient_norm")),
        pl.when(published).then(pl.col("tie_parameter").fill_nan(None)),
    )
