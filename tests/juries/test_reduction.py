"""The population rule and what strategies state, where one case says it best."""

import math
import sys
from typing import Any

import polars as pl
import pytest

from judgebatch.juries import (
    AggregationError,
    Cascade,
    CompositeAttempt,
    CustomJury,
    CustomStrategy,
    Decision,
    Judgment,
    Member,
    MetaJury,
    Reduction,
    SeatDefinition,
    SimpleJury,
    Tier,
    Verdict,
    aggregate_judgments,
    reduce_judgments,
    verdicts_of,
)
from judgebatch.verdicts import interpret
from tests.juries.made import judgments, only, simple, votes

PASS = Judgment(status="pass")


def scored(*scores: float | None) -> list[Judgment]:
    return [Judgment(status="pass", score=score) for score in scores]


@pytest.mark.parametrize(
    ("strategy", "scores", "weights", "expected"),
    [
        ("average", [0.1] * 10, None, 0.1),
        ("average", [1.0, 1e-16, 1e-16], None, (1.0 + 2e-16) / 3),
        ("median", [0.0, -0.0], None, 0.0),
        ("median", [-0.0], None, -0.0),
        ("median", [0.9, 0.1, 0.2], None, 0.2),
        ("median", [0.1, 0.2], None, 0.15000000000000002),
        ("conjunctive", [0.4, 0.2, 0.2], None, 0.2),
        ("weightedAverage", [1.0, 0.0], [1e308, 1e308], 0.5),
        ("weightedAverage", [1.0, 0.5, 0.25], [sys.float_info.max] * 3, 1.75 / 3),
        ("weightedAverage", [0.1] * 10, [0.1] * 10, 0.10000000000000005),
    ],
)
def test_scores_to_the_bit(
    strategy: str, scores: list[float], weights: list[float] | None, expected: float
):
    reduction = Reduction(strategy=strategy, threshold=0.5)
    made = aggregate_judgments(scored(*scores), reduction, weights=weights)
    assert made.score is not None
    assert (made.score, math.copysign(1, made.score)) == (expected, math.copysign(1, expected))


def test_an_infinite_total_is_reported_as_the_largest_double():
    reduction = Reduction(strategy="weightedAverage")
    made = aggregate_judgments(scored(1.0, 0.0), reduction, weights=[1e308, 1e308])
    evidence = made.metadata["aggregation"]
    assert evidence["inputWeight"] == evidence["eligibleWeight"] == sys.float_info.max


@pytest.mark.parametrize(
    ("reduction", "weights", "said"),
    [
        ({"strategy": "weightedAverage"}, [0.0], "all weights are zero"),
        ({"strategy": "weightedAverage"}, [-1.0], "negative or not finite"),
        ({"strategy": "weightedAverage"}, [math.nan], "negative or not finite"),
    ],
)
def test_a_bare_reduction_that_fails_raises(
    reduction: dict[str, Any], weights: list[float], said: str
):
    with pytest.raises(AggregationError, match=said):
        aggregate_judgments([PASS], Reduction(**reduction), weights=weights)
    consensus = Reduction(strategy="consensus")
    assert aggregate_judgments([PASS], consensus, weights=weights).status == "pass"


def test_nobody_submitted_abstains_even_where_exclusion_is_allowed():
    for policy in ("refuse", "exclude"):
        reduction = Reduction(strategy="majority", not_applicable_policy=policy)
        made = aggregate_judgments([], reduction)
        assert made.status == "abstain"
        assert "passCount" not in made.metadata["aggregation"]


def test_counts_that_pass_the_largest_exact_integer_fail():
    largest = Judgment.propagated_error("r", {"judge_failed": 2**53 - 1})
    beyond = Judgment.propagated_error("r", {"judge_failed": 2**63 - 1})
    for policy in ("propagate", "ignore", "treatAsFail", "treatAsAbstain"):
        reduction = Reduction(strategy="consensus", error_policy=policy)
        aggregate_judgments([largest], reduction)
        for broken in ([beyond], [largest, largest], [beyond] * 40):
            with pytest.raises(AggregationError, match="largest that is exact"):
                aggregate_judgments(broken, reduction)


def test_machinery_failure_never_becomes_rejection_evidence():
    reduction = Reduction(strategy="allMustPass", error_policy="treatAsFail")
    reported = Judgment(status="error", reason_code="judge_reported", reasoning="r")
    assert aggregate_judgments([PASS, reported], reduction).status == "fail"
    for cause in ("stage_failed", "aggregation_failed"):
        broken = Judgment(status="error", reason_code=cause, reasoning="r")
        wrapped = Judgment.propagated_error("r", {"judge_failed": 3, cause: 1})
        for judgment in (broken, wrapped):
            made = aggregate_judgments([PASS, judgment], reduction)
            assert made.reason_code == "errors_propagated"


def test_every_judges_own_result_stays_where_the_reduction_fails():
    frame = judgments(
        {"name": "a", "status": "pass", "weight": 0.0},
        {"name": "b", "status": "fail", "weight": 0.0},
    )
    (verdict,) = verdicts_of(reduce_judgments(frame, simple("a", "b", strategy="weightedAverage")))
    assert verdict.aggregated.reason_code == "aggregation_failed"
    assert verdict.decision.kind == "undecided"
    assert [one.status for one in verdict.individual] == ["pass", "fail"]


def able(name: str) -> SimpleJury:
    reduction = Reduction(strategy="consensus", not_applicable_policy="exclude")
    return SimpleJury(reduction, (SeatDefinition(name=name, not_applicable_when="w"),))


def test_the_tables_of_a_cascade_say_what_its_verdicts_say():
    jury = Cascade(
        (
            Tier("weighed", "REJECT_ON_ANY_FAIL", simple("a", "b", strategy="weightedAverage")),
            Tier("last", "FINAL_TIER", simple("a", threshold=0.5, strategy="conjunctive")),
        )
    )
    frame = pl.concat(
        [
            votes("pass", "pass", weight=1.0, verdict_id="1 on"),
            votes("fail", "pass", weight=0.0, verdict_id="2 rejected"),
            votes("pass", "fail", weight=2.0, verdict_id="3 used"),
            votes("error", "error", weight=0.0, verdict_id="4 nobody"),
        ]
    )
    judged = reduce_judgments(frame, jury)
    columns = (
        "status", "score", "reason_code", "decision_tier", "decision_basis", "reading", "strategy",
        "threshold", "binding_index", "input_weight",
    )  # fmt: skip
    assert judged.verdicts.select(columns).rows() == [
        ("pass", 1.0, None, "last", "tier_outcome", "ACCEPTED", "conjunctive", 0.5, 0, None),
        (
            "error", None, "aggregation_failed", "weighed", "individual_rejection", "REJECTED",
            None, None, None, None,
        ),
        ("pass", 0.5, None, "weighed", "tier_outcome", "ACCEPTED", "weightedAverage", 0.5, None, 4),
        (
            "error", None, "errors_propagated", "last", "tier_outcome", "NOT_ASSESSED",
            "conjunctive", None, None, None,
        ),
    ]  # fmt: skip
    attempts = judged.attempts.select("verdict_id", "ordinal", "path", "disposition_reason")
    assert attempts.rows() == [
        ("1 on", 0, "/weighed", None),
        ("1 on", 1, "/last", None),
        ("2 rejected", 0, "/weighed", "child_undecided"),
        ("3 used", 0, "/weighed", None),
        ("4 nobody", 0, "/weighed", "child_undecided"),
        ("4 nobody", 1, "/last", None),
    ]


def test_attempts_are_listed_depth_first():
    inner = Cascade((Tier("x", "FINAL_TIER", simple("a")),))
    jury = MetaJury(Reduction(strategy="majority"), (Member("m", inner), Member("n", simple("a"))))
    attempts = reduce_judgments(votes("pass"), jury).attempts
    assert attempts["path"].to_list() == ["/m", "/m/x", "/n"]
    assert attempts["relation"].to_list() == ["meta_member", "cascade_tier", "meta_member"]


def test_one_stage_failure_stops_a_meta_jury_whatever_the_error_policy():
    broken = simple("a", strategy="weightedAverage")
    seats = MetaJury(
        Reduction(strategy="majority", error_policy="ignore"),
        (Member("broken", broken), Member("good", simple("a"))),
    )
    (verdict,) = verdicts_of(reduce_judgments(votes("pass", weight=0.0), seats))
    assert verdict.aggregated.reason_code == "stage_failed"
    assert '"broken"' in verdict.aggregated.reasoning
    assert [(seat.position, seat.verdict_key) for seat in verdict.seats] == [(1, "good")]
    assert verdict.composite_attempts[0].verdict is not None


def test_an_excluding_cascade_reads_not_applicable():
    jury = Cascade((Tier("t", "FINAL_TIER", able("a")),))
    row = only(reduce_judgments(votes("not_applicable"), jury))
    assert (row["status"], row["reading"]) == ("not_applicable", "NOT_APPLICABLE")


def test_a_rejection_inside_a_tier_is_a_rejection_outside():
    weightless = simple("a", "b", strategy="weightedAverage")
    inner = Cascade(
        (Tier("x", "REJECT_ON_ANY_FAIL", weightless), Tier("y", "FINAL_TIER", simple("a")))
    )
    jury = Cascade((Tier("outer", "FINAL_TIER", inner),))
    row = only(reduce_judgments(votes("fail", "pass", weight=0.0), jury))
    assert (row["status"], row["decision_basis"], row["reading"]) == (
        "error", "tier_outcome", "REJECTED",
    )  # fmt: skip
    (verdict,) = verdicts_of(reduce_judgments(votes("fail", "pass", weight=0.0), jury))
    assert interpret(verdict).reading == "REJECTED"


def test_a_custom_jury_may_stand_alone():
    failed = Judgment(status="fail")
    broken = Judgment(status="error", reason_code="aggregation_failed", reasoning="r")
    child = Verdict.single("x", failed)
    given = {
        "1": Verdict.of(Judgment(status="pass", score=0.5), {"x": failed}),
        "2": None,
        "3": Verdict(
            aggregated=failed,
            decision=Decision("tier", "t", "tier_outcome"),
            composite_attempts=(
                CompositeAttempt(
                    name="t",
                    relation="cascade_tier",
                    policy="REJECT_ON_ANY_FAIL",
                    disposition="used",
                    verdict=child,
                ),
            ),
        ),
        "4": Verdict(aggregated=broken, decision=Decision("undecided")),
    }

    def own(frame: pl.DataFrame, stage: str) -> list[Verdict | None]:
        assert stage == ""
        return [given[key] for key in frame["verdict_id"]]

    frame = pl.concat([votes("pass", verdict_id=key) for key in given])
    judged = reduce_judgments(frame, CustomJury(own))
    columns = ("status", "score", "reason_code", "decision_kind", "decision_tier", "reading")
    assert judged.verdicts.select(columns).rows() == [
        ("pass", 0.5, None, "own", None, "ACCEPTED"),
        ("error", None, "stage_failed", "undecided", None, "NOT_ASSESSED"),
        ("fail", None, None, "tier", "t", "REJECTED"),
        ("error", None, "aggregation_failed", "undecided", None, "NOT_ASSESSED"),
    ]
    verdicts = verdicts_of(judged)
    assert verdicts[1].aggregated.reasoning == "the jury raised or returned nothing"
    assert [verdicts[0], *verdicts[2:]] == [given["1"], given["3"], given["4"]]


def best(frame: pl.DataFrame) -> pl.DataFrame:
    if (frame["score"] == 0.13).any():
        raise ValueError("unlucky")
    return frame.group_by("verdict").agg(
        status=pl.when(pl.col("score").max() >= 0.9).then(pl.lit("pass")).otherwise(pl.lit("fail")),
        score=pl.col("score").max(),
    )


def custom(reduce: Any, **more: Any) -> SimpleJury:
    seats = tuple(SeatDefinition(name=name) for name in "ab")
    return SimpleJury(Reduction(strategy=CustomStrategy("best", reduce), **more), seats)


def test_a_custom_strategy_fails_only_where_it_fails():
    frame = pl.concat(
        [
            votes("pass", "fail", score=0.13 if i in {3, 17} else 0.95, verdict_id=f"{i:02}")
            for i in range(20)
        ]
    )
    verdicts = reduce_judgments(frame, custom(best)).verdicts
    failed = verdicts.filter(pl.col("status") == "error")
    assert failed["verdict_id"].to_list() == ["03", "17"]
    assert set(failed["reason_code"]) == {"aggregation_failed"}
    assert set(verdicts.filter(pl.col("status") != "error")["score"]) == {0.95}
    assert set(verdicts["strategy"].drop_nulls()) == {"best"}


def test_the_population_rule_stands_before_a_custom_strategy():
    seen = []

    def record(frame: pl.DataFrame) -> pl.DataFrame:
        seen.append(frame.to_dicts())
        return best(frame)

    frame = pl.concat(
        [
            votes("error", "pass", verdict_id="1"),
            votes("abstain", "abstain", verdict_id="2"),
            votes("fail", "pass", verdict_id="3"),
        ]
    )
    verdicts = reduce_judgments(frame, custom(record)).verdicts
    assert verdicts["status"].to_list() == ["error", "abstain", "pass"]
    assert seen == [
        [
            {"verdict": 0, "index": 0, "status": "fail", "score": 0.0, "weight": 1.0},
            {"verdict": 0, "index": 1, "status": "pass", "score": 1.0, "weight": 1.0},
        ]
    ]


def constantly(**columns: Any) -> Any:
    return lambda frame: frame.select(pl.col("verdict").unique()).with_columns(
        **{name: pl.lit(value) for name, value in columns.items()}
    )


@pytest.mark.parametrize(
    ("reduce", "said"),
    [
        (lambda _: None, "returned nothing"),
        (lambda frame: frame.clear(), "returned nothing"),
        (lambda _: "pass", "no judgment"),
        (lambda frame: frame, "no judgment"),
        (constantly(status="passed"), "no judgment"),
        (constantly(status="pass", score=2.0), "no judgment"),
        (constantly(status="abstain", score=0.5), "no judgment"),
        (constantly(status="pass", reason_code="judge_failed"), "no judgment"),
        (constantly(status="not_applicable"), "may not"),
        (constantly(status="error", reason_code="judge_failed"), "not its to give"),
        (constantly(status="error"), "not its to give"),
        (constantly(status="error", reason_code="errors_propagated"), "not its to give"),
    ],
)
def test_what_a_custom_strategy_may_not_return_is_contained(reduce: Any, said: str):
    (verdict,) = verdicts_of(reduce_judgments(votes("pass", "fail"), custom(reduce)))
    assert verdict.aggregated.reason_code == "aggregation_failed"
    assert said in verdict.aggregated.reasoning
    assert dict(verdict.aggregated.metadata) == {}
    assert [one.status for one in verdict.individual] == ["pass", "fail"]


def test_a_custom_strategy_may_refuse():
    refuse = constantly(status="error", reason_code="not_applicable_refused")
    row = only(reduce_judgments(votes("pass", "fail"), custom(refuse)))
    assert (row["reason_code"], row["decision_kind"]) == ("not_applicable_refused", "undecided")


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, MemoryError])
def test_what_says_nothing_of_a_verdict_is_not_contained(raised: type[BaseException]):
    def stop(frame: pl.DataFrame) -> pl.DataFrame:
        raise raised

    with pytest.raises(raised):
        reduce_judgments(votes("pass", "fail"), custom(stop)).verdicts  # noqa: B018
