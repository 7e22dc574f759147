"""Judgments that cannot be reduced: set aside with a reason, never read as something else."""

import math
from typing import Any

import pytest

from judgebatch.juries import Cascade, Tier, reduce_judgments, verdicts_of
from tests.juries.made import judgments, simple, votes

GOOD = {"name": "a", "status": "pass"}


@pytest.mark.parametrize(
    ("row", "reason", "said"),
    [
        ({"status": None}, "missing_value", "status is missing"),
        ({"tenant_id": None}, "missing_value", "tenant_id"),
        ({"verdict_id": None}, "missing_value", "verdict_id"),
        ({"stage": None}, "missing_value", "stage"),
        ({"position": None}, "missing_value", "position"),
        ({"outcome": "vanished"}, "unknown_outcome", "vanished.*returned, raised, nothing"),
        ({"status": "passed"}, "unknown_status", "'passed'.*pass, fail, abstain"),
        ({"status": "PASS"}, "unknown_status", "'PASS'"),
        ({"position": -1}, "bad_position", "-1"),
        ({"score": 1.5}, "bad_score", "1.5"),
        ({"score": math.nan}, "bad_score", "NaN"),
        ({"score": math.inf}, "bad_score", "inf"),
        ({"status": "abstain", "score": 0.5}, "bad_score", "on status abstain"),
        ({"weight": math.inf}, "bad_weight", "inf"),
        ({"weight": math.nan}, "bad_weight", "NaN"),
        ({"weight": -0.5}, "bad_weight", "-0.5"),
        ({"label": "\t"}, "bad_label", "blank"),
        ({"status": "error", "label": "x"}, "bad_label", "on status error"),
        ({"reason_code": "judge_failed"}, "bad_reason_code", "on status pass"),
        ({"status": "error", "reason_code": "subject_empty"}, "bad_reason_code", "error"),
        ({"status": "fail", "reason_code": "judge_failed"}, "bad_reason_code", "fail"),
        ({"status": "error", "reason_code": "broke"}, "bad_reason_code", "allowed: judge_failed"),
        ({"status": "error", "reason_code": "errors_propagated"}, "bad_error_code_counts", "miss"),
        ({"error_code_counts": '{"judge_failed":1}'}, "bad_error_code_counts", "not errors_prop"),
        ({"checks": "{}"}, "bad_checks", "array of objects"),
        ({"checks": "["}, "bad_checks", "cannot be read"),
        ({"checks": '[{"name":"","passed":true}]'}, "bad_checks", "blank"),
        ({"checks": '[{"name":"a","passed":1}]'}, "bad_checks", "true or false"),
    ],
)
def test_a_fault_is_named_and_takes_its_verdict_with_it(
    row: dict[str, Any], reason: str, said: str
):
    frame = judgments(
        {"verdict_id": "good", **GOOD},
        {"verdict_id": "bad", **GOOD, **row},
        {"verdict_id": "bad", "name": "b", "status": "pass"},
    )
    judged = reduce_judgments(frame, simple("a"))
    rows = judged.quarantine.filter(judged.quarantine["reason"] != "same_verdict").to_dicts()
    assert [(one["source_row"], one["reason"]) for one in rows] == [(1, reason)]
    assert judged.quarantine["message"].str.contains(said).any()
    gone = {"bad"} - ({"bad"} if row.get("verdict_id", "") is None or "tenant_id" in row else set())
    assert not gone & set(judged.verdicts["verdict_id"])
    assert "good" in judged.verdicts["verdict_id"]
    if gone:
        assert judged.quarantine["reason"].to_list()[1:] == ["same_verdict"]


@pytest.mark.parametrize(
    "counts", ["[]", "{}", "{", '{"judge_failed":0}', '{"broke":1}', '{"judge_failed":1.5}']
)
def test_causes_that_cannot_be_read_are_a_fault(counts: str):
    row = {"status": "error", "reason_code": "errors_propagated", "error_code_counts": counts}
    judged = reduce_judgments(judgments({**GOOD, **row}), simple("a"))
    assert judged.quarantine["reason"].to_list() == ["bad_error_code_counts"]


def test_two_judgments_for_one_seat_are_a_fault():
    frame = judgments(
        {"verdict_id": "1", "name": "a", "status": "pass"},
        {"verdict_id": "2", "name": "a", "status": "pass"},
        {"verdict_id": "2", "name": "a", "status": "fail"},
        {"verdict_id": "2", "name": "b", "status": "fail"},
    )
    judged = reduce_judgments(frame, simple("a", "b"))
    assert judged.verdicts["verdict_id"].to_list() == ["1"]
    assert judged.quarantine.select("source_row", "reason").rows() == [
        (1, "two_judgments"),
        (2, "two_judgments"),
        (3, "same_verdict"),
    ]


def test_two_judgments_at_one_recorded_place_are_a_fault():
    frame = judgments(
        {"name": "a", "status": "pass", "position": 0},
        {"name": "b", "status": "pass", "position": 0},
    )
    judged = reduce_judgments(frame, simple("a", "b"))
    assert judged.quarantine["reason"].to_list() == ["two_judgments"] * 2


def test_two_judgments_at_the_root_are_a_fault_where_a_tier_takes_them():
    frame = judgments({"name": "a", "status": "pass"}, {"name": "a", "status": "fail"})
    jury = Cascade((Tier("t", "FINAL_TIER", simple("a")),))
    assert reduce_judgments(frame, jury).quarantine.height == 2
    staged = judgments(
        {"name": "a", "status": "pass", "stage": "/t"},
        {"name": "a", "status": "pass"},
        {"name": "a", "status": "fail"},
    )
    judged = reduce_judgments(staged, jury)
    assert judged.quarantine.is_empty()
    assert judged.unseated.height == 2


def test_what_a_broken_judge_left_behind_is_not_looked_at():
    row = {"name": "a", "status": None, "score": 7.0, "label": " ", "checks": "{"}
    for outcome, said in (("raised", "the judge raised"), ("nothing", "returned nothing")):
        frame = judgments({**row, "outcome": outcome, "reasoning": None})
        judged = reduce_judgments(frame, simple("a"))
        assert judged.quarantine.is_empty()
        (verdict,) = verdicts_of(judged)
        assert verdict.individual[0].reason_code == "judge_failed"
        assert said in verdict.individual[0].reasoning


def test_a_missing_reasoning_is_said_to_be_missing():
    frame = votes("pass", "abstain", reasoning=None)
    (verdict,) = verdicts_of(reduce_judgments(frame, simple("a", "b")))
    assert [one.reasoning for one in verdict.individual] == ["", "no reasoning recorded"]
