from typing import Any

import pytest

from judgebatch.errors import VerdictConstructionError
from judgebatch.juries import CompositeAttempt, Decision, Judgment, Seat, Verdict

PASS = Judgment(status="pass")
FAIL = Judgment(status="fail")
BROKEN = Judgment(status="error", reason_code="aggregation_failed", reasoning="r")
EXCLUDED = Judgment(status="not_applicable", reasoning="r")
STAGE_FAILED = Judgment(status="error", reason_code="stage_failed", reasoning="r")
UNDECIDED = Decision("undecided")


def attempt(verdict: Verdict | None, **more: Any) -> CompositeAttempt:
    given = {"name": "t", "relation": "cascade_tier", "policy": "FINAL_TIER", "disposition": "used"}
    return CompositeAttempt(**{**given, "verdict": verdict, **more})


def broken(*individuals: Judgment) -> Verdict:
    named = {str(i): one for i, one in enumerate(individuals)}
    seats = tuple(Seat(i, str(i)) for i in range(len(individuals)))
    return Verdict(
        aggregated=BROKEN,
        individual=individuals,
        individual_by_name=named,
        seats=seats,
        decision=UNDECIDED,
    )


def test_ordinary_verdicts_are_built_in_one_step():
    made = Verdict.of(PASS, {"a": PASS, "b": FAIL})
    assert [seat.document() for seat in made.seats] == [
        {"position": 0, "verdictKey": "a", "keySource": "DECLARED"},
        {"position": 1, "verdictKey": "b", "keySource": "DECLARED"},
    ]
    assert list(made.document()) == [
        "aggregated", "individual", "individualByName", "weights", "seats", "decision",
        "compositeAttempts",
    ]  # fmt: skip
    assert Verdict.single("a", PASS).individual == (PASS,)
    assert Verdict.of_document(made.document()) == made


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"individual": (PASS,)}, "0 for 1 individuals"),
        ({"individual": (PASS,), "seats": (Seat(0, "a"),)}, "individualByName"),
        (
            {
                "individual": (PASS, FAIL),
                "seats": (Seat(1, "a"), Seat(1, "b")),
                "individual_by_name": {"a": PASS, "b": FAIL},
            },
            "increase",
        ),
        (
            {
                "individual": (PASS, FAIL),
                "seats": (Seat(0, "a"), Seat(1, "b")),
                "individual_by_name": {"b": FAIL, "a": PASS},
            },
            "individualByName",
        ),
        ({"decision": UNDECIDED}, "machinery"),
        ({"decision": Decision("tier", "t", "tier_outcome")}, "'t', which has no verdict"),
    ],
)
def test_parts_that_do_not_match_are_refused(given: dict[str, Any], said: str):
    with pytest.raises(VerdictConstructionError, match=said):
        Verdict(aggregated=PASS, **given)


def test_a_repeated_key_keeps_the_last_judgment_at_the_first_place():
    made = Verdict(
        aggregated=PASS,
        individual=(PASS, FAIL, PASS),
        individual_by_name={"a": PASS, "b": FAIL},
        seats=(Seat(0, "a"), Seat(1, "b"), Seat(2, "a")),
    )
    assert list(made.individual_by_name) == ["a", "b"]


@pytest.mark.parametrize(
    ("aggregated", "basis", "child", "said"),
    [
        (FAIL, "tier_outcome", attempt(Verdict.of(PASS, {})), "own aggregate"),
        (BROKEN, "tier_outcome", attempt(broken()), "undecided tier"),
        (
            PASS,
            "tier_outcome",
            attempt(Verdict.of(PASS, {"a": PASS}), policy="REJECT_ON_ANY_FAIL"),
            "nobody failed",
        ),
        (
            PASS,
            "tier_outcome",
            attempt(Verdict.of(PASS, {"a": FAIL}), policy="ACCEPT_ON_ALL_PASS"),
            "not all passed",
        ),
        (PASS, "individual_rejection", attempt(Verdict.of(PASS, {})), "failed stage"),
        (
            BROKEN,
            "individual_rejection",
            attempt(broken(FAIL), disposition="stage_failed", disposition_reason="child_undecided"),
            "needs REJECT_ON_ANY_FAIL",
        ),
        (
            BROKEN,
            "individual_rejection",
            attempt(
                broken(PASS),
                disposition="stage_failed",
                disposition_reason="child_undecided",
                policy="REJECT_ON_ANY_FAIL",
            ),
            "failing individual",
        ),
        (
            BROKEN,
            "individual_rejection",
            attempt(
                Verdict.of(EXCLUDED, {"a": FAIL}),
                disposition="stage_failed",
                disposition_reason="undeclared_not_applicable",
                policy="REJECT_ON_ANY_FAIL",
            ),
            "stage_failed",
        ),
    ],
)
def test_a_decision_that_its_attempts_do_not_carry_is_refused(
    aggregated: Judgment, basis: str, child: CompositeAttempt, said: str
):
    with pytest.raises(VerdictConstructionError, match=said):
        Verdict(
            aggregated=aggregated,
            decision=Decision("tier", "t", basis),
            composite_attempts=(child,),
        )


def test_a_rejection_is_carried_by_the_decision_alone():
    child = attempt(
        Verdict.of(EXCLUDED, {"a": FAIL}),
        disposition="stage_failed",
        disposition_reason="undeclared_not_applicable",
        policy="REJECT_ON_ANY_FAIL",
    )
    made = Verdict(
        aggregated=STAGE_FAILED,
        decision=Decision("tier", "t", "individual_rejection"),
        composite_attempts=(child,),
    )
    assert made.aggregated.score is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"policy": None}, "policy"),
        ({"relation": "meta_member"}, "policy"),
        ({"disposition_reason": "child_undecided"}, "dispositionReason"),
        ({"disposition": "stage_failed"}, "dispositionReason"),
        ({"failure": "jury_execution_failed"}, "either a verdict or a failure"),
        ({"verdict": None}, "either a verdict or a failure"),
        (
            {"disposition": "stage_failed", "disposition_reason": "execution_failed"},
            "failure stands",
        ),
        ({"name": " t"}, "white space"),
        ({"relation": "tier"}, "unknown Relation"),
    ],
)
def test_attempts_whose_parts_contradict_are_refused(given: dict[str, Any], said: str):
    with pytest.raises(VerdictConstructionError, match=said):
        attempt(**{"verdict": Verdict.of(PASS, {}), **given})


@pytest.mark.parametrize(
    "given", [("tier",), ("tier", "t"), ("own", "t", "tier_outcome"), ("own", None, "tier_outcome")]
)
def test_tier_and_basis_stand_exactly_on_a_tier_decision(given: tuple[Any, ...]):
    with pytest.raises(VerdictConstructionError):
        Decision(*given)


@pytest.mark.parametrize("given", [(-1, "a"), (True, "a"), (0, None), (0, "a", "GIVEN")])
def test_bad_seats_are_refused(given: tuple[Any, ...]):
    with pytest.raises(VerdictConstructionError):
        Seat(*given)
