"""The scenarios that grading must show, each on real files through the whole pipeline."""

import hashlib
from itertools import combinations

import pytest

from judgebatch.contracts import grading as g
from judgebatch.vocabulary import UngradedReason, is_reducible
from tests.conformance.nights import Nights
from tests.scenarios.rows import at, comparison, episode

REFERENCE = {"mode": "reference", "judging_window": "24h"}
TOURNAMENT = {
    "mode": "tournament",
    "quorum": 3,
    "min_group_size": 2,
    "group_timeout": "12h",
    "judging_window": "24h",
}


def everything(nights: Nights) -> dict[str, dict]:
    """Return each ended episode's row by id."""
    rows = nights.table(g.Graded).to_dicts() + nights.table(g.Ungraded).to_dicts()
    assert len(rows) == len({row["episode_id"] for row in rows})
    return {row["episode_id"]: row for row in rows}


def test_novel_task_has_no_reference_and_keeps_its_dimensions(nights):
    nights.configure({"acme": REFERENCE})
    nights.deliver("n1", [episode("first", 1)])
    nights.run(at(3))
    (row,) = nights.table(g.Ungraded).to_dicts()
    assert row["ungraded_reason"] == "no_reference"
    assert (row["cost_usd"], row["latency_ms"], row["tool_efficiency"]) == (0.25, 1200.0, 0.75)
    assert row["is_reference"]
    assert nights.table(g.References)["episode_id"].to_list() == ["first"]


def test_second_run_on_a_task_is_relative_in_the_same_batch(nights):
    nights.configure({"acme": REFERENCE})
    nights.deliver(
        "n1",
        [episode("first", 1), episode("second", 2, cost_usd=0.5)],
        [comparison("second", "first", 3, "left")],
    )
    nights.run(at(4))
    (row,) = nights.table(g.Graded).to_dicts()
    assert (row["episode_id"], row["score_kind"], row["score"]) == ("second", "relative", 1.0)
    assert row["reference_episode_id"] == "first"
    assert (row["cost_ratio"], row["latency_ratio"], row["tool_efficiency_ratio"]) == (2, 1, 1)
    assert row["score_low"] < row["score_high"] <= 1.0


def test_second_run_on_a_task_is_relative_in_a_later_run(nights):
    nights.configure({"acme": REFERENCE})
    nights.deliver("n1", [episode("first", 1)])
    nights.run(at(3))
    nights.deliver("n2", [episode("second", 4)], [comparison("first", "second", 5, "left")])
    nights.run(at(6))
    (row,) = nights.table(g.Graded).to_dicts()
    assert (row["episode_id"], row["score_kind"], row["score"]) == ("second", "relative", 0.0)


def test_zero_ceiling_spends_nothing_and_scores_nothing(nights):
    nights.configure({"acme": {**REFERENCE, "grading_ceiling_usd": 0}})
    nights.deliver(
        "n1",
        [episode("first", 1), episode("second", 2)],
        [comparison("second", "first", 3, "left")],
    )
    nights.run(at(4))
    assert everything(nights)["second"]["ungraded_reason"] == "budget_exhausted"
    assert nights.table(g.Ledger).is_empty()
    assert nights.table(g.Graded).is_empty()
    assert nights.table(g.Strengths).is_empty()
    assert nights.table(g.Comparisons)["disposition"].to_list() == ["over_budget"]
    assert nights.table(g.ComparisonRequests).is_empty()


def test_group_that_never_fills_closes_on_timeout_with_its_real_size(nights):
    nights.configure({"acme": {**TOURNAMENT, "min_group_size": 3}})
    nights.deliver("n1", [episode("a", 1), episode("b", 2)])
    nights.run(at(6))
    assert nights.table(g.OpenEpisodes)["waits_for"].to_list() == ["closing", "closing"]
    nights.run(at(20))
    (group,) = nights.table(g.Groups).to_dicts()
    assert (group["close_reason"], group["group_size"]) == ("timeout", 2)
    assert group["closed_at"] == at(13)
    for row in everything(nights).values():
        assert (row["ungraded_reason"], row["group_size"]) == ("insufficient_group", 2)


def test_late_episode_lands_in_the_next_epoch_and_stored_bytes_stay(nights):
    nights.configure({"acme": TOURNAMENT})
    members = ["a", "b", "c"]
    judged = [comparison(x, y, 4, "left") for x, y in combinations(members, 2)]
    nights.deliver("n1", [episode(name, 1 + i) for i, name in enumerate(members)], judged)
    nights.run(at(6))
    root = nights.folder / "warehouse" / "runs"
    stored = {
        path: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in root.glob("*/tables/strengths/*.parquet")
    }
    assert nights.table(g.Strengths)["group_epoch"].to_list() == [0, 0, 0]
    nights.deliver("n2", [episode("late", 1.5), episode("d", 7)])
    nights.run(at(50))
    assert everything(nights)["late"]["group_epoch"] == 1
    assert stored == {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in stored}
    assert len(list(root.glob("*/tables/strengths/*.parquet"))) == len(stored) + 1


@pytest.fixture
def every_reason(nights):
    nights.configure(
        {
            "novel": REFERENCE,
            "broke": {**REFERENCE, "grading_ceiling_usd": 0.0},
            "small": {**TOURNAMENT, "min_group_size": 3},
            "failing": REFERENCE,
        }
    )
    rows = [
        episode("n1", 1, tenant_id="novel"),
        episode("b1", 1, tenant_id="broke"),
        episode("b2", 2, tenant_id="broke"),
        episode("s1", 1, tenant_id="small"),
        episode("f1", 1, tenant_id="failing"),
        episode("f2", 2, tenant_id="failing"),
    ]
    nights.deliver("n1", rows)
    return nights, nights.run(at(60))


def test_every_reason_is_terminal_and_reducible(every_reason):
    nights, _ = every_reason
    rows = nights.table(g.Ungraded)
    assert set(rows["ungraded_reason"]) == {reason.value for reason in UngradedReason}
    assert set(rows["state"]) == {"Ungraded"}
    assert rows["is_reducible"].all()
    assert is_reducible("Ungraded")
    assert is_reducible("Graded")
    assert not is_reducible("Grading")
    assert not is_reducible("Pending")


def test_ungraded_counts_are_separate_series_by_reason(nights, tmp_path):
    textfile = tmp_path / "judgebatch.prom"
    nights.configure({"acme": REFERENCE}, extra=f'metrics.textfile = "{textfile}"\n')
    nights.deliver(
        "n1",
        [episode("first", 1), episode("second", 2), episode("third", 2.5)],
        [comparison("second", "first", 3, "left")],
    )
    nights.run(at(60))
    lines = textfile.read_text().splitlines()
    assert 'judgebatch_graded_episodes{score_kind="relative"} 1.0' in lines
    assert 'judgebatch_ungraded_episodes{reason="no_reference"} 1.0' in lines
    assert 'judgebatch_ungraded_episodes{reason="no_usable_comparison"} 1.0' in lines
    assert 'judgebatch_ungraded_episodes{reason="budget_exhausted"} 0.0' in lines
    assert "acme" not in textfile.read_text()


def test_jury_that_errored_on_every_pair_is_charged_to_nobody(nights):
    nights.configure({"acme": TOURNAMENT})
    members = ["a", "b", "c"]
    codes = ["judge_failed", "judge_reported", "judge_failed"]
    judged = [
        comparison(x, y, 4, "error", code=code)
        for (x, y), code in zip(combinations(members, 2), codes, strict=True)
    ]
    nights.deliver("n1", [episode(name, 1 + i) for i, name in enumerate(members)], judged)
    nights.run(at(60))
    rows = everything(nights)
    assert {row["ungraded_reason"] for row in rows.values()} == {"no_usable_comparison"}
    assert {row["errors"] for row in rows.values()} == {2}
    assert rows["a"]["error_codes"] == '{"judge_failed":1,"judge_reported":1}'
    assert rows["c"]["error_codes"] == '{"judge_failed":1,"judge_reported":1}'
    assert rows["b"]["error_codes"] == '{"judge_failed":2}'
    assert nights.table(g.Strengths).is_empty()
    (group,) = nights.table(g.Groups).to_dicts()
    assert (group["comparisons"], group["usable"], group["comparable_size"]) == (3, 0, 1)
