import pytest

from judgebatch.errors import JuryDefinitionError, VerdictConstructionError
from judgebatch.juries import Finding, Requirement, Roster, roll_up

ALWAYS = Requirement("cites")
SOMETIMES = Requirement("runs", applies_when="there is code")
ROSTER = Roster((ALWAYS, SOMETIMES))


def test_an_empty_roster_is_refused_twice():
    with pytest.raises(JuryDefinitionError, match="at least one requirement"):
        Roster(())
    with pytest.raises(VerdictConstructionError, match="over no requirement"):
        roll_up((), {})


@pytest.mark.parametrize(
    ("cites", "runs", "status"),
    [
        (Finding(met=True), Finding(met=True), "pass"),
        (Finding(met=True), Finding(met=False), "fail"),
        (Finding(met=False), Finding(met=None, reason="no code"), "fail"),
        (Finding(met=True), Finding(met=None, reason="no code"), "pass"),
        (Finding(met=True), Finding(met=None, reason=" "), "error"),
        (Finding(met=None, reason="none"), Finding(met=True), "error"),
        (Finding(met=True), None, "error"),
    ],
)
def test_findings_roll_up(cites: Finding, runs: Finding | None, status: str):
    findings = {"cites": cites} | ({} if runs is None else {"runs": runs})
    made = ROSTER.roll_up(findings)
    assert made.status == status
    if status == "error":
        assert made.reason_code == "judge_reported"


def test_a_roster_of_excluded_requirements_does_not_apply():
    made = Roster((SOMETIMES,)).roll_up({"runs": Finding(met=None, reason="no code")})
    assert made.status == "not_applicable"


def test_a_finding_of_no_requirement_is_an_error():
    findings = {"cites": Finding(met=True), "runs": Finding(met=True), "x": Finding(met=True)}
    assert ROSTER.roll_up(findings).status == "error"


def test_requirements_are_named_once():
    with pytest.raises(JuryDefinitionError, match="blank"):
        Requirement(" ")
    with pytest.raises(JuryDefinitionError, match="applicability is blank"):
        Requirement("a", applies_when="")
    with pytest.raises(JuryDefinitionError, match="same name"):
        Roster((ALWAYS, ALWAYS))
