"""A member of another type reads as null, but it is there: it is no absent one."""

from typing import Any

import pytest

from judgebatch.verdicts import interpret
from tests.verdicts.documents import aggregated, judgment, verdict


def cascade(basis: str, root: dict[str, Any], inner: dict[str, Any], **attempt: Any) -> Any:
    plain = {"name": "t", "relation": "cascade_tier", "policy": "FINAL_TIER", "disposition": "used"}
    return verdict(
        root,
        *inner["individual"],
        decision={"kind": "tier", "tier": "t", "basis": basis},
        compositeAttempts=[plain | {"verdict": inner} | attempt],
    )


def outcome(**attempt: Any) -> Any:
    root = aggregated("pass", passes=1, fails=0)
    return cascade("tier_outcome", root, verdict(root, judgment("pass")), **attempt)


def rejection(**attempt: Any) -> Any:
    root = judgment("error", reasonCode="aggregation_failed")
    inner = verdict(root, judgment("fail"), decision={"kind": "undecided"})
    failed = {
        "policy": "REJECT_ON_ANY_FAIL",
        "disposition": "stage_failed",
        "dispositionReason": "child_undecided",
    }
    return cascade("individual_rejection", root, inner, **failed | attempt)


@pytest.mark.parametrize(
    ("attempt", "support"),
    [
        ({}, "SUPPORTED"),
        ({"disposition": None}, "UNDETERMINED"),
        ({"disposition": 3}, "CONTRADICTED"),
        ({"policy": 3}, "SUPPORTED"),
        ({"policy": "odd"}, "SUPPORTED"),
        ({"relation": None}, "SUPPORTED"),
        ({"relation": 3}, "CONTRADICTED"),
    ],
)
def test_a_tier_that_decided(attempt: dict[str, Any], support: str) -> None:
    assert interpret(outcome(**attempt)).reading_support == support


@pytest.mark.parametrize(
    ("attempt", "support"),
    [
        ({}, "SUPPORTED"),
        ({"disposition": None}, "UNDETERMINED"),
        ({"disposition": 3}, "CONTRADICTED"),
        ({"dispositionReason": None}, "UNDETERMINED"),
        ({"dispositionReason": 3}, "UNDETERMINED"),
        ({"dispositionReason": 3, "disposition": "used"}, "CONTRADICTED"),
        ({"policy": None}, "UNDETERMINED"),
        ({"policy": 3}, "CONTRADICTED"),
        ({"relation": 3}, "CONTRADICTED"),
    ],
)
def test_a_tier_that_rejected(attempt: dict[str, Any], support: str) -> None:
    read = interpret(rejection(**attempt))
    assert read.reading == "REJECTED"
    assert read.reading_support == support
