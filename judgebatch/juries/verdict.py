"""A complete verdict of seven components, and its parts; strict and frozen."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Self

import orjson

from judgebatch.errors import VerdictConstructionError
from judgebatch.juries.judgment import Judgment, read_token
from judgebatch.juries.text import fault_of_stage_name
from judgebatch.vocabulary import (
    MACHINERY_CODES,
    DecisionBasis,
    DecisionKind,
    Disposition,
    DispositionReason,
    FailureCode,
    KeySource,
    ReasonCode,
    Relation,
    Status,
    TierPolicy,
)


@dataclass(frozen=True, slots=True)
class Seat:
    """Where a verdict's individual judgment comes from."""

    position: int
    verdict_key: str
    key_source: KeySource = KeySource.DECLARED

    def __post_init__(self) -> None:
        position = self.position
        if isinstance(position, bool) or not isinstance(position, int) or position < 0:
            raise VerdictConstructionError(f"position {position!r} of a seat must count from 0")
        if not isinstance(self.verdict_key, str):
            raise VerdictConstructionError("verdictKey of a seat must be a text")
        source = read_token(KeySource, self.key_source, "keySource")
        object.__setattr__(self, "key_source", source)

    def document(self) -> dict[str, Any]:
        """Return the seat as JSON values."""
        return {
            "position": self.position,
            "verdictKey": self.verdict_key,
            "keySource": self.key_source.value,
        }


@dataclass(frozen=True, slots=True)
class Decision:
    """Who decided a verdict; ``tier`` and ``basis`` exactly where a tier did."""

    kind: DecisionKind
    tier: str | None = None
    basis: DecisionBasis | None = None

    def __post_init__(self) -> None:
        kind = read_token(DecisionKind, self.kind, "kind")
        object.__setattr__(self, "kind", kind)
        if (kind is DecisionKind.TIER) != (self.tier is not None and self.basis is not None) or (
            (self.tier is None) != (self.basis is None)
        ):
            raise VerdictConstructionError("tier and basis stand exactly where kind is tier")
        if self.basis is not None:
            object.__setattr__(self, "basis", read_token(DecisionBasis, self.basis, "basis"))

    def document(self) -> dict[str, Any]:
        """Return the decision as JSON values."""
        document: dict[str, Any] = {"kind": self.kind.value}
        if self.tier is not None and self.basis is not None:
            document |= {"tier": self.tier, "basis": self.basis.value}
        return document


OWN = Decision(DecisionKind.OWN)
UNDECIDED = Decision(DecisionKind.UNDECIDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeAttempt:
    """What became of one tier or member; it has a verdict or a failure, never both."""

    name: str
    relation: Relation
    disposition: Disposition
    policy: TierPolicy | None = None
    disposition_reason: DispositionReason | None = None
    verdict: "Verdict | None" = None
    failure: FailureCode | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        fault = fault_of_stage_name(self.name)
        if fault:
            raise VerdictConstructionError(f"name {self.name!r} of an attempt {fault}")
        put(self, "relation", read_token(Relation, self.relation, "relation"))
        put(self, "disposition", read_token(Disposition, self.disposition, "disposition"))
        for name, vocabulary in (
            ("policy", TierPolicy),
            ("disposition_reason", DispositionReason),
            ("failure", FailureCode),
        ):
            if getattr(self, name) is not None:
                put(self, name, read_token(vocabulary, getattr(self, name), name))
        if (self.policy is not None) != (self.relation is Relation.CASCADE_TIER):
            raise VerdictConstructionError("policy stands exactly on a cascade_tier")
        failed = self.disposition is Disposition.STAGE_FAILED
        if failed != (self.disposition_reason is not None):
            raise VerdictConstructionError("dispositionReason stands exactly on stage_failed")
        if (self.verdict is None) == (self.failure is None):
            raise VerdictConstructionError("an attempt has either a verdict or a failure")
        crashed = self.disposition_reason is DispositionReason.EXECUTION_FAILED
        if crashed != (self.failure is not None):
            raise VerdictConstructionError("failure stands exactly where the execution failed")

    def document(self) -> dict[str, Any]:
        """Return the attempt as JSON values, keys in shape order."""
        document: dict[str, Any] = {"name": self.name, "relation": self.relation.value}
        if self.policy is not None:
            document["policy"] = self.policy.value
        document["disposition"] = self.disposition.value
        if self.disposition_reason is not None:
            document["dispositionReason"] = self.disposition_reason.value
        if self.verdict is not None:
            document["verdict"] = self.verdict.document()
        if self.failure is not None:
            document["failure"] = {"code": self.failure.value}
        return document

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> Self:
        """Return the attempt that JSON values state."""
        child = document.get("verdict")
        failure = document.get("failure")
        return cls(
            name=document.get("name"),  # type: ignore[arg-type]
            relation=document.get("relation"),  # type: ignore[arg-type]
            policy=document.get("policy"),
            disposition=document.get("disposition"),  # type: ignore[arg-type]
            disposition_reason=document.get("dispositionReason"),
            verdict=None if child is None else Verdict.of_document(child),
            failure=None if failure is None else failure.get("code"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a jury answered, with every judgment behind it.

    Raises
    ------
    VerdictConstructionError
        Seats, individuals and map do not match, or the decision does not agree with the
        attempts.
    """

    aggregated: Judgment
    individual: tuple[Judgment, ...] = ()
    individual_by_name: Mapping[str, Judgment] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    seats: tuple[Seat, ...] = ()
    decision: Decision = OWN
    composite_attempts: tuple[CompositeAttempt, ...] = ()

    def __post_init__(self) -> None:
        put = object.__setattr__
        for name in ("individual", "seats", "composite_attempts"):
            put(self, name, tuple(getattr(self, name)))
        for name in ("individual_by_name", "weights"):
            put(self, name, MappingProxyType(dict(getattr(self, name))))
        if len(self.seats) != len(self.individual):
            raise VerdictConstructionError(
                f"seats: {len(self.seats)} for {len(self.individual)} individuals"
            )
        positions = [seat.position for seat in self.seats]
        if any(a >= b for a, b in pairwise(positions)):
            raise VerdictConstructionError("seats: positions must increase strictly")
        last = {
            seat.verdict_key: judgment
            for seat, judgment in zip(self.seats, self.individual, strict=True)
        }
        if list(last.items()) != list(self.individual_by_name.items()):
            raise VerdictConstructionError("individualByName must hold the seats' judgments by key")
        _check_decision(self)

    @classmethod
    def of(cls, aggregated: Judgment, individual_by_name: Mapping[str, Judgment]) -> Self:
        """Return the verdict of judges with declared names, decided by the jury itself."""
        return cls(
            aggregated=aggregated,
            individual=tuple(individual_by_name.values()),
            individual_by_name=individual_by_name,
            seats=tuple(Seat(i, name) for i, name in enumerate(individual_by_name)),
        )

    @classmethod
    def single(cls, name: str, judgment: Judgment) -> Self:
        """Return the verdict of a single judge."""
        return cls.of(judgment, {name: judgment})

    def document(self) -> dict[str, Any]:
        """Return the verdict as JSON values, keys in shape order."""
        return {
            "aggregated": self.aggregated.document(),
            "individual": [judgment.document() for judgment in self.individual],
            "individualByName": {
                name: judgment.document() for name, judgment in self.individual_by_name.items()
            },
            "weights": dict(self.weights),
            "seats": [seat.document() for seat in self.seats],
            "decision": self.decision.document(),
            "compositeAttempts": [attempt.document() for attempt in self.composite_attempts],
        }

    def portable(self) -> str:
        """Return the verdict as portable JSON text."""
        return orjson.dumps(self.document()).decode()

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> Self:
        """Return the verdict that JSON values state; strict, unlike the reading of verdicts."""
        decision = document.get("decision", {})
        return cls(
            aggregated=Judgment.of_document(document["aggregated"]),
            individual=tuple(Judgment.of_document(entry) for entry in document["individual"]),
            individual_by_name={
                name: Judgment.of_document(entry)
                for name, entry in document["individualByName"].items()
            },
            weights=document.get("weights", {}),
            seats=tuple(
                Seat(seat["position"], seat["verdictKey"], seat["keySource"])
                for seat in document["seats"]
            ),
            decision=Decision(decision.get("kind"), decision.get("tier"), decision.get("basis")),
            composite_attempts=tuple(
                CompositeAttempt.of_document(entry) for entry in document["compositeAttempts"]
            ),
        )


def _check_decision(verdict: Verdict) -> None:
    decision, aggregated = verdict.decision, verdict.aggregated
    if decision.kind is DecisionKind.UNDECIDED:
        if aggregated.reason_code not in MACHINERY_CODES:
            raise VerdictConstructionError("decision undecided needs an error of the machinery")
    elif decision.kind is DecisionKind.TIER:
        attempt = next(
            (
                attempt
                for attempt in verdict.composite_attempts
                if attempt.name == decision.tier and attempt.relation is Relation.CASCADE_TIER
            ),
            None,
        )
        if attempt is None or attempt.verdict is None:
            raise VerdictConstructionError(
                f"decision names {decision.tier!r}, which has no verdict"
            )
        if decision.basis is DecisionBasis.TIER_OUTCOME:
            _check_outcome(aggregated, attempt, attempt.verdict)
        else:
            _check_rejection(aggregated, attempt, attempt.verdict)


def _check_outcome(aggregated: Judgment, attempt: CompositeAttempt, child: Verdict) -> None:
    statuses = [judgment.status for judgment in child.individual]
    if attempt.disposition is not Disposition.USED:
        raise VerdictConstructionError("decision tier_outcome needs a used attempt")
    if child.aggregated != aggregated:
        raise VerdictConstructionError("decision tier_outcome needs the tier's own aggregate")
    if child.decision.kind is DecisionKind.UNDECIDED:
        raise VerdictConstructionError("decision tier_outcome names an undecided tier")
    if attempt.policy is TierPolicy.REJECT_ON_ANY_FAIL and Status.FAIL not in statuses:
        raise VerdictConstructionError("decision: nobody failed in a tier that rejects on a fail")
    if attempt.policy is TierPolicy.ACCEPT_ON_ALL_PASS and set(statuses) - {Status.PASS}:
        raise VerdictConstructionError("decision: not all passed in a tier that accepts on that")


def _check_rejection(aggregated: Judgment, attempt: CompositeAttempt, child: Verdict) -> None:
    if attempt.disposition is not Disposition.STAGE_FAILED:
        raise VerdictConstructionError("decision individual_rejection needs a failed stage")
    if attempt.policy is not TierPolicy.REJECT_ON_ANY_FAIL:
        raise VerdictConstructionError("decision individual_rejection needs REJECT_ON_ANY_FAIL")
    if all(judgment.status is not Status.FAIL for judgment in child.individual):
        raise VerdictConstructionError("decision individual_rejection needs a failing individual")
    if attempt.disposition_reason is DispositionReason.CHILD_UNDECIDED:
        if child.aggregated != aggregated:
            raise VerdictConstructionError("decision needs the undecided tier's own aggregate")
    elif (
        child.aggregated.status is not Status.NOT_APPLICABLE
        or aggregated.reason_code is not ReasonCode.STAGE_FAILED
    ):
        raise VerdictConstructionError("decision needs an undeclared exclusion and stage_failed")
