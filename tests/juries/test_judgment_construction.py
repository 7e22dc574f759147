import math
from typing import Any

import pytest

from judgebatch.errors import VerdictConstructionError
from judgebatch.juries import Check, Judgment


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"status": "passed"}, "unknown Status 'passed' .did you mean 'pass'"),
        ({"status": None}, "status"),
        ({"status": "pass", "score": 1.1}, "score"),
        ({"status": "pass", "score": -0.1}, "score"),
        ({"status": "pass", "score": math.nan}, "score"),
        ({"status": "pass", "score": math.inf}, "score"),
        ({"status": "pass", "score": True}, "score"),
        ({"status": "abstain", "reasoning": "r", "score": 0.5}, "score stands on abstain"),
        ({"status": "pass", "label": " "}, "label"),
        ({"status": "pass", "label": "\u2003"}, "label"),
        (
            {"status": "error", "reason_code": "judge_failed", "reasoning": "r", "label": "x"},
            "label stands on an error",
        ),
        ({"status": "abstain"}, "reasoning of abstain"),
        ({"status": "not_applicable", "reasoning": " "}, "reasoning"),
        ({"status": "error", "reason_code": "judge_failed"}, "reasoning"),
        ({"status": "fail", "reason_code": "subject_empty"}, "reasoning"),
        ({"status": "error", "reasoning": "r"}, "reasonCode of an error"),
        ({"status": "error", "reason_code": "subject_empty", "reasoning": "r"}, "reasonCode"),
        ({"status": "fail", "reason_code": "judge_failed", "reasoning": "r"}, "reasonCode"),
        ({"status": "pass", "reason_code": "subject_empty", "reasoning": "r"}, "reasonCode"),
        ({"status": "error", "reason_code": "broke", "reasoning": "r"}, "unknown ReasonCode"),
        (
            {"status": "error", "reason_code": "errors_propagated", "reasoning": "r"},
            "metadata.aggregation.errorCodeCounts",
        ),
        ({"status": "pass", "metadata": []}, "metadata"),
    ],
)
def test_contradicting_facts_are_refused_by_name(given: dict[str, Any], said: str):
    with pytest.raises(VerdictConstructionError, match=said):
        Judgment(**given)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({}, "at least one code"),
        ({"subject_empty": 1}, "names 'subject_empty'"),
        ({"errors_propagated": 1}, "names 'errors_propagated'"),
        ({"judge_failed": 0}, "positive"),
        ({"judge_failed": 1.0}, "positive"),
        ({"judge_failed": True}, "positive"),
        ({"judge_failed": 2**63}, "64 bits"),
    ],
)
def test_a_propagated_error_needs_causes(counts: dict[str, Any], said: str):
    with pytest.raises(VerdictConstructionError, match=said):
        Judgment.propagated_error("r", counts)


def test_a_propagated_error_orders_its_causes():
    made = Judgment.propagated_error("two judges", {"stage_failed": 1, "judge_failed": 2})
    assert list(made.error_code_counts.items()) == [("judge_failed", 2), ("stage_failed", 1)]
    assert made.document()["metadata"] == {
        "aggregation": {"errorCodeCounts": {"judge_failed": 2, "stage_failed": 1}}
    }


def test_a_judgment_is_frozen_down_to_its_metadata():
    metadata = {"notes": [1, {"deep": True}]}
    made = Judgment(status="pass", score=1, metadata=metadata)
    metadata["notes"].append(2)
    assert made.document()["metadata"] == {"notes": [1, {"deep": True}]}
    with pytest.raises(AttributeError):
        made.score = 0.5
    with pytest.raises(TypeError):
        made.metadata["more"] = 1


def test_documents_have_shape_order_and_read_back():
    made = Judgment(
        status="fail",
        score=-0.0,
        label="poor",
        reason_code="subject_empty",
        reasoning="nothing to judge",
        checks=(Check("has text", passed=False, message="empty"),),
    )
    document = made.document()
    assert list(document) == [
        "status", "score", "label", "reasonCode", "reasoning", "checks", "metadata",
    ]  # fmt: skip
    assert math.copysign(1, document["score"]) == -1
    assert Judgment.of_document(document) == made
    assert list(Judgment(status="pass").document()) == [
        "status", "reasoning", "checks", "metadata",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "given", [("", True, ""), ("\t", True, ""), ("a", "yes", ""), ("a", True, 1)]
)
def test_bad_checks_are_refused(given: tuple[Any, ...]):
    with pytest.raises(VerdictConstructionError):
        Check(*given)


def test_a_no_break_space_is_not_blank():
    assert Judgment(status="abstain", reasoning="\u00a0").reasoning == "\u00a0"
