"""What a jury makes of a batch: simple juries, cascades, meta-juries and custom ones.

A jury is evaluated for all verdicts of a batch at once. A tier is evaluated only for the verdicts
that reach it, so that a live judge is asked only where its answer is wanted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
import polars as pl

from judgebatch.juries.definition import (
    Cascade,
    CustomJury,
    Jury,
    MetaJury,
    SeatDefinition,
    SimpleJury,
)
from judgebatch.juries.lanes import (
    CODES,
    FAIL,
    IS_MACHINERY,
    NO_CODE,
    NOT_APPLICABLE,
    PASS,
    STATUSES,
    TERMINAL,
    Aggregates,
    Bools,
    Floats,
    Ints,
    Longs,
    Rulebook,
    Small,
)
from judgebatch.juries.narrowing import narrowed
from judgebatch.juries.outcomes import (
    CHILD_UNDECIDED,
    EXECUTION_FAILED,
    NO_TIER,
    UNDECLARED,
    USED,
    CascadeOutcome,
    CustomOutcome,
    MetaOutcome,
    Outcome,
    Run,
    SimpleOutcome,
)
from judgebatch.juries.pool import Pool
from judgebatch.juries.strategies import aggregate
from judgebatch.juries.text import pointer
from judgebatch.juries.verdict import Verdict
from judgebatch.vocabulary import (
    TERMINAL_CODES,
    DecisionBasis,
    DecisionKind,
    ReasonCode,
    TierPolicy,
)


class Source(Protocol):
    """Where judgments come from: stored ones, or judges that are asked."""

    @property
    def pool(self) -> Pool:
        """The judgments given so far."""

    def seat(self, stage: str, position: int, seat: SeatDefinition, rows: Longs) -> Ints:
        """Return the pool's indices of a seat's judgments for some verdicts of the batch."""

    def batch(self, rows: Longs) -> pl.DataFrame:
        """Return what a custom jury is given for some verdicts of the batch."""


@dataclass
class Seated:
    """The judgments of a simple jury's seats, submitted to its reduction."""

    pool: Pool
    index: Ints
    weight: Floats

    @cached_property
    def status(self) -> Small:
        """Statuses."""
        chosen: Small = self.pool.status[self.index]
        return chosen

    @cached_property
    def code(self) -> Small:
        """Reason codes."""
        chosen: Small = self.pool.code[self.index]
        return chosen

    @cached_property
    def score(self) -> Floats:
        """Explicit scores."""
        chosen: Floats = self.pool.score[self.index]
        return chosen

    def wrapped(self, seat: int, rows: Longs) -> Longs:
        """Return the causes behind the wrappers of a seat."""
        return self.pool.causes(self.index[seat, rows])


@dataclass
class Aggregated:
    """The aggregates of a meta-jury's members, submitted to its reduction."""

    members: Sequence[Aggregates]
    rows: Longs

    @cached_property
    def status(self) -> Small:
        """Statuses."""
        return np.stack([member.status[self.rows] for member in self.members])

    @cached_property
    def code(self) -> Small:
        """Reason codes."""
        return np.stack([member.code[self.rows] for member in self.members])

    @cached_property
    def score(self) -> Floats:
        """Explicit scores."""
        return np.stack([member.score[self.rows] for member in self.members])

    @cached_property
    def weight(self) -> Floats:
        """Weights: every member has the same."""
        return np.ones((len(self.members), len(self.rows)))

    def wrapped(self, seat: int, rows: Longs) -> Longs:
        """Return the causes behind the wrappers of a member."""
        codes = self.members[seat].codes
        if codes is None:
            raise AssertionError("a wrapper has causes")
        chosen: Longs = codes[self.rows[rows]]
        return chosen


@dataclass
class Evaluation:
    """One pass of a jury over a batch."""

    source: Source
    rules: Rulebook = field(default_factory=Rulebook)
    foreign: list[Verdict] = field(default_factory=list)

    def of(self, jury: Jury, rows: Longs, stage: str = "") -> Outcome:
        """Return what ``jury``, which stands at ``stage``, makes of some verdicts."""
        if isinstance(jury, SimpleJury):
            return self._simple(jury, rows, stage)
        if isinstance(jury, MetaJury):
            return self._meta(jury, rows, stage)
        if isinstance(jury, Cascade):
            return self._cascade(jury, rows, stage)
        return self._custom(jury, rows, stage)

    def _simple(self, jury: SimpleJury, rows: Longs, stage: str) -> SimpleOutcome:
        answers = [
            self.source.seat(stage, position, seat, rows)
            for position, seat in enumerate(jury.seats)
        ]
        pool = self.source.pool
        index = np.stack(
            [pool.settle(given, seat) for given, seat in zip(answers, jury.seats, strict=True)]
        )
        seated = Seated(pool, index, _weights(jury, pool, index))
        aggregates = aggregate(
            seated, jury.reduction, self.rules.add(jury.reduction), entitled=jury.may_exclude
        )
        status = seated.status
        return SimpleOutcome(
            jury=jury,
            stage=stage,
            aggregates=aggregates,
            undecided=_is_machinery(aggregates),
            missing=np.zeros(len(rows), np.bool_),
            any_failed=(status == FAIL).any(axis=0),
            all_passed=(status == PASS).all(axis=0),
            rejection=np.zeros(len(rows), np.bool_),
            index=index,
            weight=seated.weight,
        )

    def _meta(self, jury: MetaJury, rows: Longs, stage: str) -> MetaOutcome:
        n = len(rows)
        everywhere = np.arange(n)
        runs = []
        for member in jury.members:
            outcome = self.of(member.jury, rows, pointer(stage, member.name))
            runs.append(Run(member.name, everywhere, outcome, _stage_failure(outcome)))
        failed = np.stack([run.reason != USED for run in runs])
        broken = np.logical_or.reduce(failed)
        bits = np.zeros(n, np.int64)
        for ordinal in range(len(runs)):
            bits |= failed[ordinal].astype(np.int64) << ordinal

        aggregates = Aggregates.blank(n)
        whole = np.flatnonzero(~broken)
        if len(whole):
            reduced = aggregate(
                Aggregated([run.outcome.aggregates for run in runs], whole),
                jury.reduction,
                self.rules.add(jury.reduction),
                entitled=jury.may_exclude,
            )
            aggregates.put(whole, reduced, np.arange(len(whole)))
        aggregates.fail(broken, ReasonCode.STAGE_FAILED, bits, self.rules.add(jury))
        status = np.stack([run.outcome.aggregates.status for run in runs])
        return MetaOutcome(
            jury=jury,
            stage=stage,
            aggregates=aggregates,
            undecided=_is_machinery(aggregates),
            missing=np.zeros(n, np.bool_),
            any_failed=((status == FAIL) & ~failed).any(axis=0),
            all_passed=((status == PASS) | failed).all(axis=0),
            rejection=np.zeros(n, np.bool_),
            runs=runs,
        )

    def _cascade(self, jury: Cascade, rows: Longs, stage: str) -> CascadeOutcome:
        n = len(rows)
        rule = self.rules.add(jury)
        out = CascadeOutcome(
            jury=jury,
            stage=stage,
            aggregates=Aggregates.blank(n),
            undecided=np.zeros(n, np.bool_),
            missing=np.zeros(n, np.bool_),
            any_failed=np.zeros(n, np.bool_),
            all_passed=np.ones(n, np.bool_),
            rejection=np.zeros(n, np.bool_),
            runs=[],
            tier=np.full(n, NO_TIER, np.int8),
            rejected=np.zeros(n, np.bool_),
        )
        undeclared = np.zeros(n, np.int64)
        active = np.arange(n)
        for ordinal, tier in enumerate(jury.tiers):
            outcome = self.of(tier.jury, rows[active], pointer(stage, tier.name))
            reason = _stage_failure(outcome)
            out.runs.append(Run(tier.name, active, outcome, reason))
            undeclared[active[reason == UNDECLARED]] |= 1 << ordinal

            stopped, rejected = _stops(tier.policy, outcome, reason == USED)
            decided = np.flatnonzero(stopped | rejected)
            to = active[decided]
            out.aggregates.put(to, outcome.aggregates, decided)
            out.any_failed[to] = outcome.any_failed[decided]
            out.all_passed[to] = outcome.all_passed[decided]
            out.tier[to] = ordinal
            out.rejected[active[rejected]] = True
            out.rejection[active[rejected | (stopped & outcome.rejection)]] = True
            excluded = np.zeros(n, np.bool_)
            excluded[active[rejected & (reason == UNDECLARED)]] = True
            out.aggregates.fail(excluded, ReasonCode.STAGE_FAILED, undeclared, rule)

            if tier.policy is TierPolicy.FINAL_TIER:
                break
            active = active[~(stopped | rejected)]
        out.undecided = out.tier == NO_TIER
        out.aggregates.fail(out.undecided, ReasonCode.NO_TIER_DECIDED, undeclared, rule)
        return out

    def _custom(self, jury: CustomJury, rows: Longs, stage: str) -> CustomOutcome:
        n = len(rows)
        verdicts = self._votes(jury, stage, rows)
        aggregates = Aggregates.blank(n)
        any_failed = np.zeros(n, np.bool_)
        all_passed = np.ones(n, np.bool_)
        undecided = np.zeros(n, np.bool_)
        rejection = np.zeros(n, np.bool_)
        for row, verdict in enumerate(verdicts):
            if verdict is None:
                continue
            _adopt(aggregates, row, verdict, len(self.foreign))
            self.foreign.append(verdict)
            statuses = [judgment.status for judgment in verdict.individual]
            any_failed[row] = STATUSES[FAIL] in statuses
            all_passed[row] = all(status is STATUSES[PASS] for status in statuses)
            undecided[row] = verdict.decision.kind is DecisionKind.UNDECIDED
            rejection[row] = _ends_in_rejection(verdict)
        missing = np.array([verdict is None for verdict in verdicts], np.bool_)
        # Inside another jury a missing verdict is a failed attempt; alone it is this error.
        aggregates.fail(missing, ReasonCode.STAGE_FAILED, 0, self.rules.add(jury))
        undecided |= missing
        return CustomOutcome(
            jury=jury,
            stage=stage,
            aggregates=aggregates,
            undecided=undecided,
            missing=missing,
            any_failed=any_failed,
            all_passed=all_passed,
            rejection=rejection,
            verdicts=verdicts,
        )

    def _votes(self, jury: CustomJury, stage: str, rows: Longs) -> list[Verdict | None]:
        """Ask a custom jury; where it raises or answers nothing usable there is no verdict."""

        def ask(start: int, stop: int) -> list[Verdict | None]:
            given = list(jury.vote(self.source.batch(rows[start:stop]), stage))
            if len(given) != stop - start or not all(
                verdict is None or isinstance(verdict, Verdict) for verdict in given
            ):
                raise TypeError("a custom jury gives one verdict, or None, for each asked")
            return given

        verdicts: list[Verdict | None] = []
        for _, _, given in narrowed(ask, 0, len(rows)):
            verdicts += [None] if isinstance(given, Exception) else given
        return verdicts


def _ends_in_rejection(verdict: Verdict) -> bool:
    """Return whether following the decisions of a verdict ends at an individual rejection."""
    decision = verdict.decision
    if decision.kind is not DecisionKind.TIER:
        return False
    if decision.basis is DecisionBasis.INDIVIDUAL_REJECTION:
        return True
    return any(
        attempt.verdict is not None and _ends_in_rejection(attempt.verdict)
        for attempt in verdict.composite_attempts
        if attempt.name == decision.tier
    )


def _weights(jury: SimpleJury, pool: Pool, index: Ints) -> Floats:
    """Return (seats, n) weights: the jury's, else the recorded one, else 1."""
    weight = np.empty(index.shape)
    for position, seat in enumerate(jury.seats):
        if seat.weight is not None:
            weight[position] = seat.weight
        elif pool.weightless:
            weight[position] = 1.0
        else:
            recorded = pool.weight[index[position]]
            weight[position] = np.where(np.isnan(recorded), 1.0, recorded)
    return weight


def _is_machinery(aggregates: Aggregates) -> Bools:
    chosen: Bools = IS_MACHINERY[aggregates.code]
    return chosen


def _stops(policy: TierPolicy, outcome: Outcome, used: Bools) -> tuple[Bools, Bools]:
    """Return where a tier decides by its outcome, and where on an individual rejection."""
    nowhere = np.zeros(len(used), np.bool_)
    if policy is TierPolicy.REJECT_ON_ANY_FAIL:
        failed = outcome.any_failed & ~outcome.missing
        return used & failed, ~used & failed
    if policy is TierPolicy.ACCEPT_ON_ALL_PASS:
        return used & outcome.all_passed, nowhere
    return used, nowhere


def _stage_failure(outcome: Outcome) -> Small:
    """Return why a stage cannot be used, by row; 0 where it can."""
    reason = np.zeros(len(outcome.missing), np.int8)
    if not outcome.jury.may_exclude:
        reason[outcome.aggregates.status == NOT_APPLICABLE] = UNDECLARED
    reason[outcome.undecided] = CHILD_UNDECIDED
    reason[outcome.missing] = EXECUTION_FAILED
    return reason


def _adopt(aggregates: Aggregates, row: int, verdict: Verdict, number: int) -> None:
    """Put the aggregate of a verdict that a custom jury made into a row."""
    judgment = verdict.aggregated
    aggregates.status[row] = STATUSES.index(judgment.status)
    code = judgment.reason_code
    aggregates.code[row] = NO_CODE if code is None else CODES.index(code)
    aggregates.score[row] = np.nan if judgment.score is None else judgment.score
    aggregates.foreign[row] = number
    counts = judgment.error_code_counts
    if counts:
        if aggregates.codes is None:
            aggregates.codes = np.zeros((len(aggregates.status), len(TERMINAL)), np.int64)
        aggregates.codes[row] = [counts.get(code, 0) for code in TERMINAL_CODES]
