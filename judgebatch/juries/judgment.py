"""One judgment: what a judge, or a jury as a whole, answered."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Self, TypeVar

from judgebatch.errors import VerdictConstructionError
from judgebatch.juries.text import is_blank
from judgebatch.vocabulary import TERMINAL_CODES, ReasonCode, Status, Token, UnknownTokenError

LARGEST_COUNT = 2**53 - 1
"""The largest count that every reader of JSON takes exactly."""

_SCORED = (Status.PASS, Status.FAIL)
_REASONED = (Status.ABSTAIN, Status.NOT_APPLICABLE, Status.ERROR)


_TokenT = TypeVar("_TokenT", bound=Token)


def read_token(vocabulary: type[_TokenT], value: object, fact: str) -> _TokenT:
    """Return the member of ``vocabulary`` that ``value`` names; ``fact`` stands in the error."""
    try:
        return vocabulary.parse(value)
    except UnknownTokenError as error:
        raise VerdictConstructionError(f"{fact}: {error}") from None


def freeze(value: Any) -> Any:
    """Return a JSON value as an immutable copy."""
    if isinstance(value, Mapping):
        return MappingProxyType({str(key): freeze(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return tuple(freeze(item) for item in value)
    return value


def thaw(value: Any) -> Any:
    """Return a frozen JSON value as plain dictionaries and lists."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [thaw(item) for item in value]
    return value


@dataclass(frozen=True, slots=True)
class Check:
    """One thing a judge looked at.

    Raises
    ------
    VerdictConstructionError
        The name is blank, ``passed`` is not a boolean or ``message`` not a text.
    """

    name: str
    passed: bool
    message: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or is_blank(self.name):
            raise VerdictConstructionError("the name of a check must be a text that is not blank")
        if not isinstance(self.passed, bool):
            raise VerdictConstructionError(f"passed of check {self.name!r} must be true or false")
        if not isinstance(self.message, str):
            raise VerdictConstructionError(f"message of check {self.name!r} must be a text")

    def document(self) -> dict[str, Any]:
        """Return the check as JSON values."""
        return {"name": self.name, "passed": self.passed, "message": self.message}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """What one seat, or a jury as a whole, answered.

    Raises
    ------
    VerdictConstructionError
        A score outside [0, 1] or on a status without scores; a blank label or one on an error;
        a blank reasoning where one is owed; a reason code that does not go with the status;
        ``errors_propagated`` without its causes.
    """

    status: Status
    score: float | None = None
    label: str | None = None
    reason_code: ReasonCode | None = None
    reasoning: str = ""
    checks: tuple[Check, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "status", read_token(Status, self.status, "status"))
        if self.reason_code is not None:
            put(self, "reason_code", read_token(ReasonCode, self.reason_code, "reasonCode"))
        if not isinstance(self.metadata, Mapping):
            raise VerdictConstructionError("metadata must be an object")
        put(self, "metadata", freeze(self.metadata))
        put(self, "checks", tuple(self.checks))
        self._check_score()
        self._check_texts()
        self._check_code()

    def _check_score(self) -> None:
        score = self.score
        if score is None:
            return
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise VerdictConstructionError(f"score must be a number, not {score!r}")
        if not (math.isfinite(score) and 0.0 <= score <= 1.0):
            raise VerdictConstructionError(f"score {score!r} is not in [0, 1]")
        if self.status not in _SCORED:
            raise VerdictConstructionError(f"score stands on {self.status}; only pass and fail")
        object.__setattr__(self, "score", float(score))

    def _check_texts(self) -> None:
        if self.label is not None:
            if not isinstance(self.label, str) or is_blank(self.label):
                raise VerdictConstructionError("label must be a text that is not blank")
            if self.status is Status.ERROR:
                raise VerdictConstructionError("label stands on an error")
        if not isinstance(self.reasoning, str):
            raise VerdictConstructionError("reasoning must be a text")
        owed = self.status in _REASONED or self.reason_code is not None
        if owed and is_blank(self.reasoning):
            raise VerdictConstructionError(f"reasoning of {self.status} must not be blank")
        if not all(isinstance(check, Check) for check in self.checks):
            raise VerdictConstructionError("checks must be Check objects")

    def _check_code(self) -> None:
        code = self.reason_code
        if self.status is Status.ERROR:
            if code is None or code is ReasonCode.SUBJECT_EMPTY:
                raise VerdictConstructionError("reasonCode of an error must be an instrument's")
        elif self.status is Status.FAIL:
            if code not in {None, ReasonCode.SUBJECT_EMPTY}:
                raise VerdictConstructionError("reasonCode of a fail can only be subject_empty")
        elif code is not None:
            raise VerdictConstructionError(f"reasonCode {code} stands on {self.status}")
        if code is ReasonCode.ERRORS_PROPAGATED:
            block = self.metadata.get("aggregation")
            counts = block.get("errorCodeCounts") if isinstance(block, Mapping) else None
            fault = fault_of_counts(counts)
            if fault:
                raise VerdictConstructionError(f"metadata.aggregation.errorCodeCounts {fault}")

    @classmethod
    def propagated_error(cls, reasoning: str, counts: Mapping[str, int]) -> Self:
        """Return the error that stands for other errors, with their causes and counts.

        Raises
        ------
        VerdictConstructionError
            ``counts`` is empty, names an unknown or non-terminal code, or has a count below 1.
        """
        fault = fault_of_counts(counts)
        if fault:
            raise VerdictConstructionError(f"errorCodeCounts {fault}")
        block = {code.value: counts[code] for code in TERMINAL_CODES if code in counts}
        return cls(
            status=Status.ERROR,
            reason_code=ReasonCode.ERRORS_PROPAGATED,
            reasoning=reasoning,
            metadata={"aggregation": {"errorCodeCounts": block}},
        )

    @property
    def error_code_counts(self) -> Mapping[str, int]:
        """The causes an ``errors_propagated`` stands for; empty on anything else."""
        if self.reason_code is not ReasonCode.ERRORS_PROPAGATED:
            return {}
        counts: Mapping[str, int] = self.metadata["aggregation"]["errorCodeCounts"]
        return counts

    def document(self) -> dict[str, Any]:
        """Return the judgment as JSON values, keys in shape order, absent members left out."""
        document: dict[str, Any] = {"status": self.status.value}
        if self.score is not None:
            document["score"] = self.score
        if self.label is not None:
            document["label"] = self.label
        if self.reason_code is not None:
            document["reasonCode"] = self.reason_code.value
        document["reasoning"] = self.reasoning
        document["checks"] = [check.document() for check in self.checks]
        document["metadata"] = thaw(self.metadata)
        return document

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> Self:
        """Return the judgment that JSON values state; strict, unlike the reading of verdicts."""
        checks: Iterable[Mapping[str, Any]] = document.get("checks", ())
        return cls(
            status=document.get("status"),  # type: ignore[arg-type]
            score=document.get("score"),
            label=document.get("label"),
            reason_code=document.get("reasonCode"),
            reasoning=document.get("reasoning", ""),
            checks=tuple(
                Check(check.get("name"), check.get("passed"), check.get("message", ""))  # type: ignore[arg-type]
                for check in checks
            ),
            metadata=document.get("metadata", {}),
        )


def fault_of_counts(counts: object) -> str | None:
    """Return what is wrong with a block of error code counts, or None."""
    if not isinstance(counts, Mapping) or not counts:
        return "must be an object with at least one code"
    for code, number in counts.items():
        if code not in TERMINAL_CODES:
            allowed = ", ".join(TERMINAL_CODES)
            return f"names {code!r}; allowed: {allowed}"
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            return f"counts {code} as {number!r}; a positive integer is wanted"
        if number >= 2**63:
            return f"counts {code} as {number!r}, which does not fit into 64 bits"
    return None
