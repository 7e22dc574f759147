"""The seven strategies: what a reduction makes of the eligible judgments."""

from collections.abc import Callable

import numpy as np

from judgebatch.juries.custom import CustomStrategy, apply_custom
from judgebatch.juries.definition import Reduction
from judgebatch.juries.lanes import (
    ABSTAIN,
    FAIL,
    PASS,
    Aggregates,
    Bools,
    Count,
    Evidence,
    Floats,
    Ints,
)
from judgebatch.juries.population import Population, Submitted, sum_in_order
from judgebatch.vocabulary import ReasonCode, Strategy, TiePolicy

_TIES = {TiePolicy.PASS: PASS, TiePolicy.FAIL: FAIL, TiePolicy.ABSTAIN: ABSTAIN}
_RESCALE = 2.0**-64
_LARGEST = np.finfo(np.float64).max


def aggregate(
    submitted: Submitted, reduction: Reduction, rule: int, *, entitled: bool
) -> Aggregates:
    """Reduce the judgments of n verdicts.

    Parameters
    ----------
    submitted
        (seats, n) judgments.
    reduction
        Strategy and policies.
    rule
        Number of the reduction in the rulebook.
    entitled
        Whether the jury may be not applicable; asked of custom strategies only.

    Returns
    -------
    Aggregates
        n aggregates; a reduction that fails is an ``aggregation_failed`` without evidence.
    """
    population = Population(submitted, reduction)
    out = population.counted(rule)
    failed = population.failed
    if isinstance(reduction.strategy, CustomStrategy):
        failed = apply_custom(population, reduction.strategy, out, entitled=entitled)
    else:
        _STRATEGIES[reduction.strategy](population, out)
    broken = failed > 0
    if broken.any():
        out.fail(broken, ReasonCode.AGGREGATION_FAILED, failed.astype(np.int64), rule)
    return out


def _open(population: Population, out: Aggregates) -> Bools:
    """Return where there is something to reduce."""
    rows: Bools = (out.evidence == Evidence.FULL) & (population.failed == 0)
    return rows


def _counted_votes(population: Population, out: Aggregates) -> tuple[Bools, Ints, Ints]:
    rows = _open(population, out)
    passed = population.pass_count
    failed = population.eligible_count - passed
    out.counts[Count.PASSED] = passed
    out.counts[Count.FAILED] = failed
    return rows, passed, failed


def _consensus(population: Population, out: Aggregates) -> None:
    rows, passed, failed = _counted_votes(population, out)
    status = np.where(failed == 0, PASS, np.where(passed == 0, FAIL, ABSTAIN))
    np.copyto(out.status, status.astype(np.int8), where=rows)


def _majority(population: Population, out: Aggregates) -> None:
    rows, passed, failed = _counted_votes(population, out)
    tie = _TIES[population.reduction.tie_policy]
    status = np.where(passed > failed, PASS, np.where(passed < failed, FAIL, tie))
    np.copyto(out.status, status.astype(np.int8), where=rows)


def _all_must_pass(population: Population, out: Aggregates) -> None:
    rows, _, failed = _counted_votes(population, out)
    np.copyto(out.status, np.where(failed == 0, PASS, FAIL).astype(np.int8), where=rows)


def _score(population: Population, out: Aggregates, rows: Bools, score: Floats) -> None:
    threshold = population.reduction.threshold
    if threshold is None:
        raise AssertionError("a reduction by score has a threshold")
    status = np.where(score >= threshold, PASS, FAIL).astype(np.int8)
    np.copyto(out.status, status, where=rows)
    np.copyto(out.score, score, where=rows)


def _average(population: Population, out: Aggregates) -> None:
    """Mean by Kahan summation, as Java's ``DoubleStream.average``.

    The published algorithm also carries a simple sum, for totals that are not finite; scores lie
    in [0, 1], so it cannot come to matter.
    """
    score, eligible = population.effective_score, population.eligible
    total = np.zeros(population.n)
    compensation = np.zeros(population.n)
    for seat in range(population.seats):
        where = eligible[seat]
        value = score[seat] - compensation
        raised = total + value
        np.copyto(compensation, (raised - total) - value, where=where)
        np.copyto(total, raised, where=where)
    rows = _open(population, out)
    mean = (total - compensation) / np.maximum(population.eligible_count, 1)
    _score(population, out, rows, mean)


def _weighted_average(population: Population, out: Aggregates) -> None:
    score, weight = population.effective_score, population.submitted.weight
    eligible = population.eligible
    total = sum_in_order(weight, eligible)
    rows = (population.failed == 0) & ~population.exited
    reported = np.minimum(population.input_weight, _LARGEST)
    np.copyto(out.input_weight, reported, where=rows)
    np.copyto(out.eligible_weight, np.minimum(total, _LARGEST), where=rows)

    weightless = rows & (total == 0)
    decided = out.evidence == Evidence.COMMON
    out.status[weightless & ~decided] = ABSTAIN
    # All seats excluded is not applicable whatever they weigh; that is decided by the counts.
    out.evidence[weightless] = Evidence.WEIGHTS
    rows &= ~weightless

    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        scaled = np.where(np.isinf(total), weight * _RESCALE, weight)
        total = sum_in_order(scaled, eligible)
        mean = sum_in_order(score * scaled, eligible) / total
    _score(population, out, rows, mean)


def _median(population: Population, out: Aggregates) -> None:
    """Median in the total order of doubles, in which -0.0 stands before 0.0."""
    bits = population.effective_score.view(np.int64)
    # Two's complement orders the bits of non-negative doubles; of the negative ones only -0.0
    # occurs, and its bits are the smallest integer there is.
    ordered = np.where(population.eligible, bits, np.iinfo(np.int64).max)
    ordered = np.sort(ordered, axis=0).view(np.float64)
    count = np.maximum(population.eligible_count, 1)
    columns = np.arange(population.n)
    upper = ordered[count // 2, columns]
    lower = ordered[count // 2 - (count % 2 == 0), columns]
    median = np.where(count % 2 == 1, upper, (lower + upper) / 2)
    _score(population, out, _open(population, out), median)


def _conjunctive(population: Population, out: Aggregates) -> None:
    score = np.where(population.eligible, population.effective_score, np.inf)
    binding = np.argmin(score, axis=0)
    smallest = score[binding, np.arange(population.n)]
    out.counts[Count.BINDING] = binding
    _score(population, out, _open(population, out), smallest)


_STRATEGIES: dict[Strategy, Callable[[Population, Aggregates], None]] = {
    Strategy.CONSENSUS: _consensus,
    Strategy.MAJORITY: _majority,
    Strategy.AVERAGE: _average,
    Strategy.WEIGHTED_AVERAGE: _weighted_average,
    Strategy.MEDIAN: _median,
    Strategy.ALL_MUST_PASS: _all_must_pass,
    Strategy.CONJUNCTIVE: _conjunctive,
}
