"""Rosters of requirements: what a judge over criteria or constraints goes through."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from judgebatch.errors import JuryDefinitionError, VerdictConstructionError
from judgebatch.juries.judgment import Check, Judgment
from judgebatch.juries.text import is_blank
from judgebatch.vocabulary import ReasonCode, Status


@dataclass(frozen=True, slots=True)
class Requirement:
    """One criterion or constraint; only with ``applies_when`` can it be excluded."""

    name: str
    applies_when: str | None = None

    def __post_init__(self) -> None:
        if is_blank(self.name):
            raise JuryDefinitionError("the name of a requirement is blank")
        if self.applies_when is not None and is_blank(self.applies_when):
            raise JuryDefinitionError(f"requirement {self.name!r}: its applicability is blank")


@dataclass(frozen=True, slots=True)
class Finding:
    """What a judge found of one requirement: met, not met, or None for excluded."""

    met: bool | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Roster:
    """The requirements a judge goes through.

    Raises
    ------
    JuryDefinitionError
        It is empty: all of nothing is met by anything. Or two requirements share a name.
    """

    requirements: tuple[Requirement, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "requirements", tuple(self.requirements))
        if not self.requirements:
            raise JuryDefinitionError("a roster needs at least one requirement")
        names = [requirement.name for requirement in self.requirements]
        if len(set(names)) < len(names):
            raise JuryDefinitionError("two requirements of a roster have the same name")

    def roll_up(self, findings: Mapping[str, Finding]) -> Judgment:
        """Return the judgment that the findings come to; see :func:`roll_up`."""
        return roll_up(self.requirements, findings)


def roll_up(requirements: Sequence[Requirement], findings: Mapping[str, Finding]) -> Judgment:
    """Return the conjunction of findings over requirements.

    A pass needs every applicable requirement met; a fail names those that are not. All excluded
    is not applicable. A missing or unknown finding, and an exclusion without an applicability
    clause or without a reason, are errors of the judge.

    Raises
    ------
    VerdictConstructionError
        There is no requirement: a conjunction over nothing is vacuously true.
    """
    if not requirements:
        raise VerdictConstructionError("a roll-up over no requirement is refused")
    fault = _fault(requirements, findings)
    if fault:
        return Judgment(status=Status.ERROR, reason_code=ReasonCode.JUDGE_REPORTED, reasoning=fault)
    applicable = [r for r in requirements if findings[r.name].met is not None]
    checks = tuple(
        Check(r.name, findings[r.name].met is True, findings[r.name].reason) for r in applicable
    )
    missed = [check.name for check in checks if not check.passed]
    metadata = {"requirementsTotal": len(requirements), "requirementsApplicable": len(applicable)}
    if not applicable:
        status, said = Status.NOT_APPLICABLE, "no requirement applies"
    elif missed:
        status, said = Status.FAIL, f"not met: {', '.join(missed)}"
    else:
        status, said = Status.PASS, f"all {len(applicable)} applicable requirements are met"
    return Judgment(status=status, reasoning=said, checks=checks, metadata=metadata)


def _fault(requirements: Sequence[Requirement], findings: Mapping[str, Finding]) -> str | None:
    unknown = sorted(set(findings) - {requirement.name for requirement in requirements})
    if unknown:
        return f"findings of no requirement: {', '.join(unknown)}"
    for requirement in requirements:
        finding = findings.get(requirement.name)
        if finding is None:
            return f"no finding of requirement {requirement.name}"
        if finding.met is None and requirement.applies_when is None:
            return f"requirement {requirement.name} was excluded and always applies"
        if finding.met is None and is_blank(finding.reason):
            return f"requirement {requirement.name} was excluded without a reason"
    return None
