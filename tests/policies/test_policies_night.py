from datetime import timedelta

import polars as pl
import pytest

from judgebatch import policies as p
from judgebatch.contracts.policies import (
    AwaitingPolicies,
    HeldAnswers,
    PolicyReports,
    PolicyResults,
)
from judgebatch.contracts.table import conform, schema_of
from judgebatch.policies.assignment import PolicyChoice
from tests.policies.nights import POLICIES, QUESTIONS, Warehouse, answer, episode, hour

BOTH = PolicyChoice(["both"])


def test_an_episode_is_decided_when_its_last_needed_answer_has_arrived():
    house = Warehouse(BOTH)
    night = house.run(10, episodes=[episode("e", 1)], answers=[answer("e", "safe", 2)])
    assert len(night.results) == 0
    assert night.state.awaiting["episode_id"].to_list() == ["e"]
    night = house.run(34, answers=[answer("e", "kind", 20, 0.2)])
    assert night.results.to_dicts() == [
        {
            "tenant_id": "t",
            "task_id": "k",
            "episode_id": "e",
            "policy": "both",
            "policy_digest": night.results["policy_digest"][0],
            "policy_passed": False,
            "error": None,
            "decided_at": hour(20),
        }
    ]
    assert night.reports["detail"].to_list() == [
        "noul 0.9 >= 0.5 -> pass",
        "noul 0.2 >= 0.5 -> fail",
    ]
    assert len(night.state.awaiting) == len(night.state.held) == len(night.state.documents) == 0
    assert house.count("used") == 2


def test_without_its_answers_an_episode_is_decided_when_its_window_ends():
    house = Warehouse(BOTH)
    house.run(10, episodes=[episode("e", 1)], answers=[answer("e", "safe", 2)])
    assert house.run(36).results.is_empty()
    night = house.run(37)
    assert night.results.select("policy_passed", "error", "decided_at").row(0) == (
        None,
        "missing_answer",
        hour(37),
    )
    assert night.reports.select("passed", "error").rows() == [
        (True, None),
        (None, "missing_answer"),
    ]
    assert night.counts.rows() == [("t", "both", 0, 0, 1)]


def test_a_later_answer_is_counted_as_late_and_changes_nothing():
    house = Warehouse(BOTH)
    house.run(10, episodes=[episode("e", 1)], answers=[answer("e", "safe", 2)])
    house.run(40, answers=[answer("e", "kind", 38)])  # the window ended at hour 37
    assert house.passed() == {("e", "both"): None}
    assert (house.count("used"), house.count("late")) == (1, 1)
    house.run(60, answers=[answer("e", "kind", 39), answer("e", "safe", 50, 0.1)])
    assert house.count("late") == 3
    assert len(house.results) == 1
    assert house.quarantined == []


def test_an_answer_delivered_late_takes_its_place_after_the_last_run():
    house = Warehouse(BOTH)
    house.run(10, episodes=[episode("e", 1)])
    night = house.run(34, answers=[answer("e", "safe", 2), answer("e", "kind", 3)])
    assert night.results["decided_at"].item() == hour(10) + timedelta(microseconds=1)


def test_an_answer_of_the_future_waits_until_a_run_reaches_it():
    house = Warehouse()
    night = house.run(10, episodes=[episode("e", 1)], answers=[answer("e", "safe", 12)])
    assert night.state.held["considered_at"].to_list() == [None]
    assert house.run(12).results["policy_passed"].to_list() == [True]


def test_two_different_answers_to_a_question_leave_it_undecided():
    house = Warehouse(BOTH)
    answers = [
        answer("e", "safe", 2, 0.9),
        answer("e", "safe", 3, 0.8, row=1),
        answer("e", "kind", 4),
    ]
    night = house.run(10, episodes=[episode("e", 1)], answers=answers)
    assert night.results.select("policy_passed", "error").rows() == [(None, "conflicting_answer")]
    assert night.reports.select("question", "passed", "detail", "error").rows() == [
        ("safe", None, None, "conflicting_answer"),
        ("kind", True, "noul 0.9 >= 0.5 -> pass", None),
    ]
    row = night.quarantined.row(0, named=True)
    assert (row["reason"], row["input"], row["id"]) == ("conflicting_answer", "answers", "safe")
    assert (row["source_row"], '"probability":0.8' in row["content"]) == (1, True)


def test_a_conflict_is_remembered_until_the_decision():
    house = Warehouse(BOTH)
    house.run(10, episodes=[episode("e", 1)], answers=[answer("e", "safe", 2)])
    house.run(20, answers=[answer("e", "safe", 15, 0.1)])
    assert [one["reason"] for one in house.quarantined] == ["conflicting_answer"]
    house.run(30, answers=[answer("e", "kind", 25)])
    assert house.results[0]["error"] == "conflicting_answer"


def test_a_different_answer_after_the_decision_is_late():
    house = Warehouse()
    answers = [answer("e", "safe", 2), answer("e", "safe", 3, 0.1)]
    house.run(10, episodes=[episode("e", 1)], answers=answers)
    assert house.passed() == {("e", "safety"): True}
    assert (house.count("late"), house.quarantined) == (1, [])


def test_the_same_answer_again_is_already_known():
    house = Warehouse(BOTH)
    levels = [{"level": 1, "probability": 0.5}, {"level": 0, "probability": 0.5}]
    answers = [
        answer("e", "safe", 2, probabilities=levels),
        answer("e", "safe", 3, probabilities=levels[::-1], row=1),
        answer("e", "safe", 2, probabilities=levels, row=2, file="b.parquet"),
    ]
    house.run(10, episodes=[episode("e", 1)], answers=answers)
    assert house.count("already_known") == 2
    assert len(house.state.held) == 1
    house.run(20, answers=[answer("e", "kind", 15, -0.0), answer("e", "kind", 15, 0.0, row=1)])
    assert house.count("already_known") == 3
    assert house.reports[1]["detail"] == "noul -0.0 >= 0.5 -> fail"


def test_answers_wait_for_their_episode_and_no_longer_than_its_window():
    house = Warehouse()
    house.run(10, answers=[answer("e", "safe", 2), answer("never", "safe", 2, row=1)])
    assert house.state.held["episode_id"].to_list() == ["e", "never"]
    house.run(20, episodes=[episode("e", 12)])
    assert house.passed() == {("e", "safety"): True}
    assert house.results[0]["decided_at"] == hour(12)  # not before the episode itself
    house.run(169.9)
    assert house.quarantined == []
    house.run(170)
    assert [(one["reason"], one["source_row"]) for one in house.quarantined] == [
        ("unknown_episode", 1)
    ]


def test_an_answer_given_long_before_its_episode_is_of_an_unknown_one():
    house = Warehouse()
    house.run(200, episodes=[episode("e", 190)], answers=[answer("e", "safe", 2)])
    assert [one["reason"] for one in house.quarantined] == ["unknown_episode"]
    assert house.results == []
    house.run(226)
    assert house.results[0]["error"] == "missing_answer"


def test_answers_that_no_policy_asks_are_not_needed():
    house = Warehouse(PolicyChoice(["safety"], by_task={("t", "free"): []}))
    house.run(
        10,
        episodes=[episode("e", 1), episode("f", 1, task="free")],
        answers=[answer("e", "kind", 2), answer("f", "safe", 2), answer("f", "kind", 2)],
    )
    assert (house.count("not_needed"), house.count("late")) == (3, 0)
    assert house.state.awaiting["episode_id"].to_list() == ["e"]
    house.run(50)
    # Later only the tenant's questions are known: "safe" is one of them, "kind" is not.
    house.run(60, answers=[answer("e", "safe", 55), answer("e", "kind", 55)])
    assert (house.count("not_needed"), house.count("late")) == (4, 1)


def test_rows_of_an_unknown_tenant_are_quarantined():
    house = Warehouse()
    house.run(10, answers=[answer("e", "safe", 2, tenant="stranger")])
    assert [one["reason"] for one in house.quarantined] == ["unknown_tenant"]


def test_without_a_window_an_episode_is_decided_at_once_with_what_has_arrived():
    house = Warehouse(BOTH, window=None)
    house.run(10, episodes=[episode("e", 1)], answers=[answer("e", "safe", 9)])
    assert house.results[0]["error"] == "missing_answer"
    assert house.results[0]["decided_at"] == hour(1)
    assert house.count("used") == 1


def test_an_episode_keeps_the_policy_under_which_its_wait_began():
    house = Warehouse()
    house.run(10, episodes=[episode("e", 1)])
    house.policies["safety"] = p.validate_policy(p.Policy([p.NoulRule("safe", 0.95)]), QUESTIONS)
    house.run(20, episodes=[episode("f", 15)])
    assert len(house.state.documents) == 2
    house.run(30, answers=[answer("e", "safe", 21), answer("f", "safe", 21)])
    assert house.passed() == {("e", "safety"): True, ("f", "safety"): False}
    assert len({one["policy_digest"] for one in house.results}) == 2


def test_a_policy_that_is_no_longer_there_still_decides_what_awaits_it():
    house = Warehouse()
    house.run(10, episodes=[episode("e", 1)])
    house.policies, house.choice = {}, PolicyChoice()
    house.run(20, episodes=[episode("f", 15)], answers=[answer("e", "safe", 12)])
    assert house.passed() == {("e", "safety"): True}


def test_tenants_and_tasks_have_policies_of_their_own():
    choice = PolicyChoice(
        ["safety"], {"u": ["both", "manners"]}, {("u", "k2"): ["manners"], ("t", "k2"): []}
    )
    house = Warehouse(choice, tenants=("t", "u"))
    house.run(
        100,
        episodes=[
            episode("a", 1),
            episode("b", 1, task="k2"),
            episode("c", 1, tenant="u"),
            episode("d", 1, tenant="u", task="k2"),
        ],
    )
    assert list(house.passed()) == [
        ("a", "safety"),
        ("c", "both"),
        ("c", "manners"),
        ("d", "manners"),
    ]


def test_a_chosen_policy_that_is_not_there_is_refused():
    house = Warehouse(PolicyChoice(["nowhere"]))
    with pytest.raises(p.PolicyDefinitionError, match="'nowhere' is chosen"):
        house.run(10, episodes=[episode("e", 1)])


def test_empty_nights_keep_the_contracts():
    night = Warehouse().run(1)
    stamp = [pl.lit(1).alias("run"), pl.lit(hour(1)).cast(pl.Datetime("us", "UTC")).alias("as_of")]
    for frame, table in ((night.results, PolicyResults), (night.reports, PolicyReports)):
        conform(frame.with_columns(pl.lit(1, pl.Int64).alias("run"), stamp[1]), table)
    assert night.state.held.schema == schema_of(HeldAnswers)
    assert night.state.awaiting.schema == schema_of(AwaitingPolicies)


def test_published_rows_follow_their_contracts():
    house = Warehouse(BOTH)
    night = house.run(100, episodes=[episode("e", 1)], answers=[answer("e", "safe", 2)])
    stamp = (
        pl.lit(1, pl.Int64).alias("run"),
        pl.lit(hour(100)).cast(pl.Datetime("us", "UTC")).alias("as_of"),
    )
    PolicyResults.validate(conform(night.results.with_columns(stamp), PolicyResults))
    PolicyReports.validate(conform(night.reports.with_columns(stamp), PolicyReports))
    assert set(POLICIES) >= set(night.results["policy"])
