"""The one population rule: what is counted, what exits, and what is left to reduce.

Judgments stand in (seats, n) arrays, in the order of the seats; sums run seat by seat, so that
they are the same to the bit however many verdicts are reduced at once.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from judgebatch.juries.definition import Reduction
from judgebatch.juries.judgment import LARGEST_COUNT
from judgebatch.juries.lanes import (
    ABSTAIN,
    ERROR,
    FAIL,
    IS_MACHINERY,
    MACHINERY_COLUMNS,
    NOT_APPLICABLE,
    PASS,
    TERMINAL,
    TERMINAL_COLUMN,
    WRAPPER,
    Aggregates,
    Bools,
    Count,
    Evidence,
    Floats,
    Ints,
    Longs,
    Note,
    Small,
    code_index,
)
from judgebatch.vocabulary import ErrorPolicy, NotApplicablePolicy, ReasonCode, Strategy


class Submitted(Protocol):
    """Judgments submitted to a reduction, as (seats, n) arrays."""

    @property
    def status(self) -> Small:
        """Statuses."""

    @property
    def code(self) -> Small:
        """Reason codes; -1 for none."""

    @property
    def score(self) -> Floats:
        """Explicit scores; NaN for none."""

    @property
    def weight(self) -> Floats:
        """Weights."""

    def wrapped(self, seat: int, rows: Longs) -> Longs:
        """Return the (rows, 8) causes behind the wrappers of a seat."""


@dataclass
class Population:
    """The judgments of n verdicts under one reduction, sorted into what becomes of them.

    ``failed`` holds a :class:`Note` where the reduction cannot be made at all; ``exited`` where
    a policy answers before anything is reduced.
    """

    submitted: Submitted
    reduction: Reduction

    def __post_init__(self) -> None:
        status = self.submitted.status
        self.seats, self.n = status.shape
        self.passed = status == PASS
        self.failed = np.zeros(self.n, np.int8)
        self.errors = status == ERROR
        self.exclusions = status == NOT_APPLICABLE
        self.error_count = self.errors.sum(axis=0, dtype=np.int32)
        self.exclusion_count = self.exclusions.sum(axis=0, dtype=np.int32)
        self.abstain_count = (status == ABSTAIN).sum(axis=0, dtype=np.int32)
        self.codes, self.machinery = self._causes()
        self._check_weights()
        refused, propagated = self._exits()
        self.refused, self.propagated = refused, propagated
        self.exited = refused | propagated

    def _causes(self) -> tuple[Longs | None, Bools]:
        """Count the errors by terminal code; a wrapper adds its causes, never itself."""
        machinery = np.zeros(self.n, np.bool_)
        if not self.error_count.any():
            return None, machinery
        codes = np.zeros((self.n, len(TERMINAL)), np.int64)
        for seat in range(self.seats):
            rows = np.flatnonzero(self.errors[seat])
            if not len(rows):
                continue
            code = self.submitted.code[seat, rows]
            plain = code != WRAPPER
            codes[rows[plain], TERMINAL_COLUMN[code[plain]]] += 1
            machinery[rows[plain]] |= IS_MACHINERY[code[plain]]
            wrapped = rows[~plain]
            if len(wrapped):
                causes = self.submitted.wrapped(seat, wrapped)
                # One above the largest count is all that overflowing has to remember.
                codes[wrapped] += np.minimum(causes, LARGEST_COUNT + 1)
                np.minimum(codes, LARGEST_COUNT + 1, out=codes)
                machinery[wrapped] |= causes[:, MACHINERY_COLUMNS].any(axis=1)
        self.failed[(codes > LARGEST_COUNT).any(axis=1)] = Note.COUNT_TOO_LARGE
        return codes, machinery

    def _check_weights(self) -> None:
        if self.reduction.strategy is not Strategy.WEIGHTED_AVERAGE:
            return
        weight = self.submitted.weight
        bad = (~np.isfinite(weight) | (weight < 0)).any(axis=0)
        total = sum_in_order(weight)
        self.failed[(self.failed == 0) & bad] = Note.BAD_WEIGHT
        self.failed[(self.failed == 0) & (total == 0)] = Note.NO_WEIGHT
        self.input_weight = total

    def _exits(self) -> tuple[Bools, Bools]:
        nobody = np.zeros(self.n, np.bool_)
        refused = nobody
        if self.reduction.not_applicable_policy is NotApplicablePolicy.REFUSE:
            refused = self.exclusion_count > 0
        if self.reduction.error_policy is ErrorPolicy.PROPAGATE:
            propagated = (self.error_count > 0) & ~refused
        elif self.reduction.error_policy is ErrorPolicy.TREAT_AS_FAIL:
            propagated = self.machinery & ~refused
        else:
            propagated = nobody
        return refused, propagated

    @cached_property
    def eligible(self) -> Bools:
        """(seats, n): the judgments that are reduced."""
        eligible: Bools = self.passed | (self.submitted.status == FAIL)
        if self.reduction.not_applicable_policy is NotApplicablePolicy.TREAT_AS_FAIL:
            eligible |= self.exclusions
        if self.reduction.error_policy is ErrorPolicy.TREAT_AS_FAIL:
            eligible |= self.errors
        return eligible

    @cached_property
    def eligible_count(self) -> Ints:
        """(n,): how many are reduced."""
        count: Ints = self.eligible.sum(axis=0, dtype=np.int32)
        return count

    @cached_property
    def pass_count(self) -> Ints:
        """(n,): how many of those passed."""
        count: Ints = self.passed.sum(axis=0, dtype=np.int32)
        return count

    @cached_property
    def effective_score(self) -> Floats:
        """(seats, n): the explicit score, else 1 for a pass and 0 for anything else."""
        score = self.submitted.score
        return np.where(np.isnan(score), self.passed.astype(np.float64), score)

    def counted(self, rule: int) -> Aggregates:
        """Return the aggregates with their common evidence, exits and empty reductions decided.

        What is left, ``evidence`` FULL, is for a strategy to fill in.
        """
        out = Aggregates.blank(self.n)
        out.rule[:] = rule
        out.codes = self.codes
        counts = out.counts
        counts[Count.INPUT] = self.seats
        counts[Count.ABSTAIN] = self.abstain_count
        counts[Count.NOT_APPLICABLE] = self.exclusion_count
        counts[Count.ERROR] = self.error_count
        counts[Count.ELIGIBLE] = self.eligible_count
        treatment = {
            ErrorPolicy.IGNORE: Count.IGNORED,
            ErrorPolicy.TREAT_AS_ABSTAIN: Count.AS_ABSTAIN,
            ErrorPolicy.TREAT_AS_FAIL: Count.AS_FAIL,
        }.get(self.reduction.error_policy)
        if treatment is not None:
            counts[treatment] = self.error_count
        if self.reduction.not_applicable_policy is NotApplicablePolicy.TREAT_AS_FAIL:
            counts[Count.NOT_APPLICABLE_AS_FAIL] = self.exclusion_count
        out.evidence[:] = Evidence.FULL

        empty = self.eligible_count == 0
        out.status[empty] = ABSTAIN
        out.evidence[empty] = Evidence.COMMON
        if self.reduction.excludes and self.seats:
            out.status[empty & (self.exclusion_count == self.seats)] = NOT_APPLICABLE

        exited = self.exited
        if exited.any():
            out.status[exited] = ERROR
            out.code[self.refused] = code_index(ReasonCode.NOT_APPLICABLE_REFUSED)
            out.code[self.propagated] = WRAPPER
            out.evidence[exited] = Evidence.COMMON
            for lane in (
                Count.ELIGIBLE,
                Count.IGNORED,
                Count.AS_ABSTAIN,
                Count.AS_FAIL,
                Count.NOT_APPLICABLE_AS_FAIL,
            ):
                counts[lane, exited] = 0
        return out


def sum_in_order(values: Floats, where: Bools | None = None) -> Floats:
    """Return the sums over the first axis, added naively from left to right."""
    total = np.zeros(values.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for seat in range(len(values)):
            if where is None:
                total += values[seat]
            else:
                np.add(total, values[seat], out=total, where=where[seat])
    return total
