"""How stored judgments find their seats."""

import polars as pl
import pytest

from judgebatch.errors import InputError
from judgebatch.juries import (
    Cascade,
    Member,
    MetaJury,
    Reduction,
    SeatDefinition,
    SimpleJury,
    Tier,
    reduce_judgments,
    verdicts_of,
)
from tests.juries.made import judgments, only, simple, status_of, votes


def test_a_seat_without_a_judgment_is_a_failed_judge():
    (verdict,) = verdicts_of(reduce_judgments(votes("pass"), simple("a", "b")))
    missing = verdict.individual_by_name["b"]
    assert (missing.reason_code, missing.reasoning) == ("judge_failed", "no judgment recorded")
    assert verdict.aggregated.reason_code == "errors_propagated"


def test_judgments_without_a_seat_are_listed():
    frame = judgments(
        {"name": "a", "status": "pass"},
        {"name": "z", "status": "fail"},
        {"name": "a", "status": "fail", "stage": "/elsewhere"},
    )
    judged = reduce_judgments(frame, simple("a"))
    assert only(judged)["status"] == "pass"
    listed = judged.unseated.select("stage", "position", "name", "status").rows()
    assert listed == [("", 1, "z", "fail"), ("/elsewhere", 2, "a", "fail")]


def test_names_go_before_positions():
    frame = judgments({"name": "b", "status": "fail"}, {"name": "a", "status": "pass"})
    (verdict,) = verdicts_of(reduce_judgments(frame, simple("a", "b")))
    assert [one.status for one in verdict.individual] == ["pass", "fail"]


def test_a_positional_seat_takes_what_stands_at_its_position():
    frame = judgments({"name": "a", "status": "pass"}, {"status": "fail"})
    (verdict,) = verdicts_of(reduce_judgments(frame, simple("a", None)))
    assert [seat.verdict_key for seat in verdict.seats] == ["a", "Judge#2"]
    assert [seat.key_source for seat in verdict.seats] == ["DECLARED", "POSITIONAL"]
    assert verdict.individual[1].status == "fail"


def test_a_shared_name_is_told_apart_by_position():
    frame = judgments({"name": "a", "status": "pass"}, {"name": "a", "status": "fail"})
    (verdict,) = verdicts_of(reduce_judgments(frame, simple("a", "a", strategy="majority")))
    assert [one.status for one in verdict.individual] == ["pass", "fail"]
    assert verdict.individual_by_name["a"].status == "fail"


def two_tiers(first: SimpleJury, second: SimpleJury) -> Cascade:
    return Cascade((Tier("x/y", "REJECT_ON_ANY_FAIL", first), Tier("z", "FINAL_TIER", second)))


def test_stages_are_found_by_pointer():
    frame = judgments(
        {"name": "a", "status": "pass", "stage": "/x~1y"},
        {"name": "a", "status": "fail", "stage": "/z"},
    )
    row = only(reduce_judgments(frame, two_tiers(simple("a"), simple("a"))))
    assert (row["status"], row["decision_tier"], row["decision_basis"]) == (
        "fail", "z", "tier_outcome",
    )  # fmt: skip


def test_where_the_record_has_no_such_stage_the_root_stands_in():
    jury = two_tiers(simple("a"), simple("a", "b"))
    judged = reduce_judgments(votes("pass", "pass"), jury)
    assert only(judged)["status"] == "pass"
    assert judged.unseated.is_empty()
    mixed = judgments(
        {"name": "a", "status": "fail"},
        {"name": "b", "status": "pass"},
        {"name": "a", "status": "pass", "stage": "/z"},
    )
    judged = reduce_judgments(mixed, jury)
    assert only(judged)["decision_tier"] == "x/y"
    assert judged.unseated["name"].to_list() == ["b"]


def test_the_root_stands_in_verdict_by_verdict():
    frame = judgments(
        {"verdict_id": "1", "name": "a", "status": "pass"},
        {"verdict_id": "2", "name": "a", "status": "fail"},
        {"verdict_id": "2", "name": "a", "status": "pass", "stage": "/m"},
    )
    meta = MetaJury(Reduction(strategy="consensus"), (Member("m", simple("a")),))
    judged = reduce_judgments(frame, meta)
    assert judged.verdicts["status"].to_list() == ["pass", "pass"]
    assert judged.unseated["verdict_id"].to_list() == ["2"]


def test_positional_seats_do_not_look_at_the_root():
    frame = judgments({"status": "pass"})
    judged = reduce_judgments(frame, Cascade((Tier("t", "FINAL_TIER", simple(None)),)))
    assert only(judged)["reason_code"] == "errors_propagated"
    assert judged.unseated.height == 1


def test_rows_may_come_in_any_order_and_keep_tenants_apart():
    rows = [
        {"tenant_id": t, "verdict_id": v, "name": n, "position": p, "status": s}
        for t, v, s in (("b", "1", "pass"), ("a", "1", "fail"), ("a", "0", "pass"))
        for p, n in enumerate("xy")
    ]
    for frame in (judgments(*rows), judgments(*rows[::2], *rows[1::2]), judgments(*rows[::-1])):
        judged = reduce_judgments(frame, simple("x", "y"))
        assert judged.verdicts.select("tenant_id", "verdict_id", "status").rows() == [
            ("a", "0", "pass"),
            ("a", "1", "fail"),
            ("b", "1", "pass"),
        ]


def test_the_jurys_weight_goes_before_the_recorded_one():
    frame = judgments(
        {"name": "a", "status": "pass", "weight": 3.0}, {"name": "b", "status": "fail"}
    )
    reduction = Reduction(strategy="weightedAverage")
    for weight, score in ((None, 0.75), (1.0, 0.5)):
        seats = (SeatDefinition(name="a", weight=weight), SeatDefinition(name="b"))
        assert only(reduce_judgments(frame, SimpleJury(reduction, seats)))["score"] == score


def test_a_capability_is_the_jurys_to_grant_and_the_records_to_deny():
    seat = SeatDefinition(name="a", not_applicable_when="w")
    able = SimpleJury(Reduction(strategy="consensus", not_applicable_policy="exclude"), (seat,))
    for recorded, jury, status in (
        (None, able, "not_applicable"),
        (True, able, "not_applicable"),
        (False, able, "error"),
        (True, simple("a"), "error"),
    ):
        row = {"name": "a", "status": "not_applicable", "may_exclude": recorded}
        assert status_of(judgments(row), jury) == status


def test_optional_columns_may_be_missing_and_types_be_narrower():
    frame = pl.DataFrame(
        {
            "tenant_id": ["t"],
            "verdict_id": ["v"],
            "stage": [""],
            "position": pl.Series([0], dtype=pl.Int32),
            "name": pl.Series(["a"], dtype=pl.Categorical),
            "status": ["pass"],
        }
    )
    assert status_of(frame, simple("a")) == "pass"
    with pytest.raises(InputError, match="no column stage, status"):
        reduce_judgments(frame.drop("stage", "status"), simple("a"))
    with pytest.raises(InputError, match="column position of the judgments is String"):
        reduce_judgments(frame.with_columns(position=pl.lit("first")), simple("a"))


def test_nothing_gives_nothing():
    judged = reduce_judgments(votes("pass").head(0), two_tiers(simple("a"), simple("b")))
    assert judged.verdicts.is_empty()
    assert judged.attempts.is_empty()
    assert judged.portable().is_empty()
