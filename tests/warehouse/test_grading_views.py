"""The views of what was graded, on a few rows whose answer is plain."""

import pytest

from judgebatch.contracts.grading import Budgets, Graded, GradingCounts, Ungraded
from judgebatch.contracts.policies import PolicyCounts
from judgebatch.contracts.promotions import Promotions, PromotionSteps
from judgebatch.strengths import relative_interval
from judgebatch.warehouse import Warehouse
from tests.warehouse.test_derived_views import ask, commit, made


def graded(episode: str, score: float, **more: object) -> dict[str, object]:
    row: dict[str, object] = {
        "tenant_id": "t",
        "task_id": "k",
        "episode_id": episode,
        "score_kind": "tournament",
        "verifier_outcome": "passed",
        "group_epoch": 0,
        "score": score,
        "score_low": score - 0.2,
        "score_high": score + 0.2,
        "variant": "v1",
        "wins": 1,
        "losses": 2,
        "ties": 0,
    }
    return row | more


def counts(*rows: tuple[str, str, int]) -> list[dict[str, object]]:
    return [{"tenant_id": one, "outcome": two, "count": three} for one, two, three in rows]


def nights(warehouse: Warehouse, *runs: list[dict[str, object]]) -> None:
    for run, rows in enumerate(runs, start=1):
        commit(warehouse, (GradingCounts, made(GradingCounts, rows, run)))


def test_a_place_is_given_inside_a_group_and_nowhere_else(warehouse: Warehouse) -> None:
    rows = [
        graded("a", 0.9),
        graded("b", 0.6),
        graded("c", 0.6),
        graded("d", 0.2),
        graded("e", 0.1, group_epoch=1),
        graded("f", 0.5, verifier_outcome="failed"),
        graded("g", 0.4, score_kind="relative", group_epoch=None),
        graded("h", 0.3, score_kind="relative", group_epoch=None, verifier_outcome="failed"),
    ]
    commit(warehouse, (Graded, made(Graded, rows)))
    query = "SELECT episode_id, place, episodes, may_be_first FROM leaderboard ORDER BY 1"
    assert ask(warehouse, query) == [
        ("a", 1, 4, True),
        ("b", 2, 4, True),
        ("c", 2, 4, True),
        ("d", 4, 4, False),
        ("e", 1, 1, True),
        ("f", 1, 1, True),
        ("g", 1, 2, True),
        ("h", 2, 2, True),
    ]


def test_variants_are_ranked_by_what_they_won_with_an_interval(warehouse: Warehouse) -> None:
    rows = [
        graded("a", 0.9, wins=7, losses=1, ties=2),
        graded("b", 0.9, wins=1, losses=0, ties=0),
        graded("c", 0.1, wins=1, losses=7, ties=2, variant="v2"),
        graded("d", 0.1, wins=9, losses=0, ties=0, variant=None),
    ]
    without = {"tenant_id": "t", "task_id": "k", "episode_id": "x", "variant": "v3"}
    commit(warehouse, (Graded, made(Graded, rows)), (Ungraded, made(Ungraded, [without])))
    query = """
        SELECT variant, episodes, graded, wins, losses, ties, place,
               win_rate, win_rate_low, win_rate_high
        FROM variant_leaderboard ORDER BY place NULLS LAST
    """
    found = ask(warehouse, query)
    assert [row[:7] for row in found] == [
        ("v1", 2, 2, 8, 1, 2, 1),
        ("v2", 1, 1, 1, 7, 2, 2),
        ("v3", 1, 0, 0, 0, 0, None),
    ]
    expected = relative_interval([8, 1], [2, 2], [11, 10])
    for at, (score, low, high) in enumerate(zip(*expected, strict=True)):
        assert found[at][7:] == pytest.approx((score, low, high))
    assert found[2][7:] == (None, None, None)


def test_nights_and_reasons_over_time_have_their_denominators(warehouse: Warehouse) -> None:
    nights(
        warehouse,
        counts(("a", "relative", 3), ("a", "no_reference", 1), ("b", "no_reference", 0)),
        counts(("a", "relative", 0), ("a", "no_reference", 2), ("b", "no_reference", 4)),
    )
    query = "SELECT run, tenants, graded, ungraded, graded_rate FROM nights ORDER BY run"
    assert ask(warehouse, query) == [(1, 2, 3, 1, 0.75), (2, 2, 0, 6, 0.0)]
    query = """
        SELECT run, tenant_id, episodes, decided, ungraded_rate FROM ungraded_over_time
        ORDER BY run, tenant_id
    """
    assert ask(warehouse, query) == [
        (1, "a", 1, 4, 0.25),
        (1, "b", 0, 0, None),
        (2, "a", 2, 2, 1.0),
        (2, "b", 4, 4, 1.0),
    ]
    assert ask(warehouse, "FROM never_graded") == [("b", 4, "no_reference")]


def test_what_changed_names_both_runs(warehouse: Warehouse) -> None:
    nights(
        warehouse,
        counts(("a", "relative", 9)),
        counts(("a", "relative", 3), ("b", "no_reference", 1)),
        counts(("a", "relative", 5), ("c", "no_reference", 2)),
    )
    query = "FROM changes_since_previous_run ORDER BY tenant_id"
    assert ask(warehouse, query) == [
        (3, 2, "a", "relative", 5, 3, 2),
        (3, 2, "b", "no_reference", 0, 1, -1),
        (3, 2, "c", "no_reference", 2, 0, 2),
    ]


def test_the_first_run_changed_everything(warehouse: Warehouse) -> None:
    nights(warehouse, counts(("a", "relative", 9)))
    found = ask(warehouse, "FROM changes_since_previous_run")
    assert found == [(1, None, "a", "relative", 9, 0, 9)]


def test_spend_stands_against_the_newest_ceiling(warehouse: Warehouse) -> None:
    def budget(tenant: str, ceiling: float | None, spent: float) -> dict[str, object]:
        row = {"tenant_id": tenant, "period": "2026-03", "refused": False}
        return {**row, "ceiling_usd": ceiling, "spent_usd": spent}

    nights = (
        [budget("a", 5.0, 1.0), budget("b", None, 2.0), budget("c", 0.0, 0.0)],
        [budget("a", 4.0, 3.0)],
    )
    for run, rows in enumerate(nights, start=1):
        commit(warehouse, (Budgets, made(Budgets, rows, run)))
    query = """
        SELECT tenant_id, spent_usd, ceiling_usd, left_usd, spent_share
        FROM spend_against_ceiling ORDER BY tenant_id
    """
    assert ask(warehouse, query) == [
        ("a", 3.0, 4.0, 1.0, 0.75),
        ("b", 2.0, None, None, None),
        ("c", 0.0, 0.0, 0.0, None),
    ]


def test_pending_decisions_stand_beside_those_that_fell(warehouse: Warehouse) -> None:
    def test(task: str | None, decision: str, wins: int) -> dict[str, object]:
        key = {"tenant_id": "t", "task_id": task, "variant": "v2", "baseline": "v1"}
        return {**key, "decision": decision, "wins": wins}

    promoted = made(Promotions, [test(None, "accept", 5)], 2)
    first = made(PromotionSteps, [test(None, "continue", 3), test("k", "continue", 1)], 1)
    second = made(PromotionSteps, [test(None, "accept", 6)], 2)
    commit(warehouse, (PromotionSteps, first))
    commit(warehouse, (PromotionSteps, second), (Promotions, promoted))
    query = "SELECT task_id, decision, wins, decided_in_run FROM decisions ORDER BY wins"
    assert ask(warehouse, query) == [("k", "pending", 1, None), (None, "accept", 6, 2)]


def test_policies_that_were_not_evaluated_are_no_failures(warehouse: Warehouse) -> None:
    rows = [
        {"tenant_id": "t", "policy": "p", "met": 3, "unmet": 1, "not_evaluated": 7},
        {"tenant_id": "t", "policy": "q", "met": 0, "unmet": 0, "not_evaluated": 2},
    ]
    commit(warehouse, (PolicyCounts, made(PolicyCounts, rows)))
    query = "SELECT policy, met_rate, not_evaluated FROM policy_pass_rates ORDER BY policy"
    assert ask(warehouse, query) == [("p", 0.75, 7), ("q", None, 2)]


def test_outcomes_that_are_neither_passed_nor_failed_are_in_no_rate(warehouse: Warehouse) -> None:
    rows = [
        graded("a", 0.5),
        graded("b", 0.5, verifier_outcome="failed"),
        graded("c", 0.5, verifier_outcome="timed out"),
    ]
    commit(warehouse, (Graded, made(Graded, rows)))
    query = """
        SELECT verifier_passed, verifier_failed, verifier_other, verifier_pass_rate
        FROM verifier_outcomes
    """
    assert ask(warehouse, query) == [(1, 1, 1, 0.5)]
