"""The views of how far judges can be relied on, on a few rows whose answer is plain."""

import krippendorff
import numpy as np
import pytest

from judgebatch.contracts.accounting import AccountingCodes
from judgebatch.contracts.diagnostics import JudgeAgreement, JudgeAnswers
from judgebatch.contracts.grading import AuditVerdicts, Comparisons, Graded, Ungraded
from judgebatch.contracts.interpretations import Interpretations
from judgebatch.strengths import relative_interval
from judgebatch.warehouse import Warehouse
from tests.warehouse.test_derived_views import ask, commit, made, reading, verdict
from tests.warehouse.test_grading_views import graded


def answer(judge: str, said: str, answers: int, code: str = "") -> dict[str, object]:
    row = {"tenant_id": "t", "judge_id": "j", "subject": "comparison", "judge": judge}
    return {**row, "answer": said, "code": code, "answers": answers}


def comparison(
    number: int, left: str, right: str, outcome: str, judge_id: str | None = "j"
) -> dict[str, object]:
    return {
        "tenant_id": "t",
        "verdict_id": f"v{number}",
        "left": left,
        "right": right,
        "outcome": outcome,
        "judge_id": judge_id,
        "cost_usd": 0.25,
    }


def test_rates_of_a_judge_have_counts_and_intervals(warehouse: Warehouse) -> None:
    nights = (
        [answer("", "left", 3), answer("", "tie", 1), answer("", "error", 1)],
        [answer("", "right", 2), answer("", "undecided", 3), answer("x", "pass", 1)],
    )
    for run, rows in enumerate(nights, start=1):
        commit(warehouse, (JudgeAnswers, made(JudgeAnswers, rows, run)))
    query = """
        SELECT judge, answers, passes, left_wins, right_wins, ties, undecided, errors, error_rate,
               error_rate_low, error_rate_high, undecided_rate, exclusion_rate, tie_rate
        FROM judge_reliability ORDER BY judge
    """
    whole, seated = ask(warehouse, query)
    _, low, high = relative_interval([1], [0], [10])
    assert whole[:9] == ("", 10, 0, 3, 2, 1, 3, 1, 0.1)
    assert whole[9:11] == pytest.approx((low[0], high[0]))
    assert whole[11:] == pytest.approx((0.3, 0.0, 1 / 6))
    assert seated[:3] == ("x", 1, 1)
    assert seated[13] is None


def test_errors_by_code_are_shares_of_all_answers(warehouse: Warehouse) -> None:
    rows = [
        answer("", "error", 2),
        answer("", "left", 2),
        answer("x", "error", 1, "judge_failed"),
        answer("x", "error", 1, ""),
        answer("x", "left", 2),
    ]
    codes = [{"tenant_id": "t", "judge_id": "j", "code": "stage_failed", "instrument_failures": 2}]
    commit(
        warehouse,
        (JudgeAnswers, made(JudgeAnswers, rows)),
        (AccountingCodes, made(AccountingCodes, codes)),
    )
    query = "SELECT judge, code, errors, answers, error_rate FROM judge_errors ORDER BY ALL"
    assert ask(warehouse, query) == [
        ("", "stage_failed", 2, 4, 0.5),
        ("x", "", 1, 4, 0.25),
        ("x", "judge_failed", 1, 4, 0.25),
    ]


def test_position_bias_is_read_off_pairs_seen_in_both_orders(warehouse: Warehouse) -> None:
    rows = [
        comparison(1, "a", "b", "left"),
        comparison(2, "b", "a", "left"),
        comparison(3, "a", "c", "left"),
        comparison(4, "c", "a", "right"),
        comparison(5, "b", "c", "tie"),
        comparison(6, "c", "b", "left"),
        comparison(7, "a", "d", "left"),
        comparison(8, "a", "e", "left"),
        comparison(9, "e", "a", "error"),
        comparison(10, "a", "f", "left", "k"),
        comparison(11, "f", "a", "left", "l"),
    ]
    commit(warehouse, (Comparisons, made(Comparisons, rows)))
    query = "SELECT judge_id, pairs, left_wins, right_wins, ties, left_rate FROM position_bias"
    assert ask(warehouse, query) == [("j", 3, 4, 1, 1, 0.8)]


def test_agreement_is_krippendorffs_alpha(warehouse: Warehouse) -> None:
    counts = np.array([[2, 0, 0, 0], [1, 1, 0, 0], [0, 3, 0, 0], [1, 1, 1, 1], [0, 0, 2, 0]])
    times = [5, 2, 4, 1, 1]
    rows = [
        {"tenant_id": "t", "judge_id": "j", "subject": "comparison", "first": first}
        | {"second": second, "ties": ties, "undecided": undecided, "verdicts": number}
        for (first, second, ties, undecided), number in zip(counts.tolist(), times, strict=True)
    ]
    commit(warehouse, (JudgeAgreement, made(JudgeAgreement, rows)))
    expected = krippendorff.alpha(
        value_counts=np.repeat(counts, times, axis=0), level_of_measurement="nominal"
    )
    (found,) = ask(warehouse, "SELECT units, answers, krippendorff_alpha FROM judge_agreement")
    assert found == (13, 32, pytest.approx(expected))


def test_judges_that_all_say_the_same_have_no_alpha(warehouse: Warehouse) -> None:
    row = {"tenant_id": "t", "judge_id": "j", "subject": "episode", "first": 2, "second": 0}
    row |= {"ties": 0, "undecided": 0, "verdicts": 9}
    commit(warehouse, (JudgeAgreement, made(JudgeAgreement, [row])))
    assert ask(warehouse, "SELECT units, krippendorff_alpha FROM judge_agreement") == [(9, None)]


def test_judges_of_the_same_pair_agree_whichever_stands_left(warehouse: Warehouse) -> None:
    rows = [
        comparison(1, "a", "b", "left", "j"),
        comparison(2, "b", "a", "right", "k"),
        comparison(3, "a", "c", "left", "j"),
        comparison(4, "c", "a", "left", "k"),
        comparison(5, "b", "c", "tie", "j"),
        comparison(6, "b", "c", "tie", "k"),
        comparison(7, "a", "d", "left", "j"),
        comparison(8, "a", "d", "right", "j"),
        comparison(9, "b", "d", "left", "j"),
        comparison(10, "b", "d", "error", "k"),
    ]
    commit(warehouse, (Comparisons, made(Comparisons, rows)))
    expected = krippendorff.alpha(
        value_counts=np.array([[2, 0, 0], [1, 1, 0], [0, 0, 2]]), level_of_measurement="nominal"
    )
    (found,) = ask(warehouse, "SELECT units, answers, krippendorff_alpha FROM agreement_on_pairs")
    assert found == (3, 6, pytest.approx(expected))


def test_disagreement_with_the_verifier_counts_decided_answers_alone(warehouse: Warehouse) -> None:
    episodes = [graded("p", 0.5), graded("f", 0.5, verifier_outcome="failed")]
    other = {"tenant_id": "t", "task_id": "k", "episode_id": "o", "verifier_outcome": "timed out"}
    says = [
        ("p", "ACCEPTED", None),
        ("p", "REJECTED", None),
        ("f", "ACCEPTED", None),
        ("f", "REJECTED", None),
        ("f", "REJECTED", None),
        ("p", "UNDECIDED", None),
        ("p", "NOT_ASSESSED", None),
        ("o", "ACCEPTED", None),
        ("unknown", "ACCEPTED", None),
        ("p", "REJECTED", "f"),
    ]
    verdicts = [
        verdict(number, episode, compared_episode_id=other, judge_id="j")
        for number, (episode, _, other) in enumerate(says)
    ]
    readings = [reading(number, said) for number, (_, said, _) in enumerate(says)]
    commit(
        warehouse,
        (Graded, made(Graded, episodes)),
        (Ungraded, made(Ungraded, [other])),
        (AuditVerdicts, made(AuditVerdicts, verdicts)),
        (Interpretations, made(Interpretations, readings)),
    )
    query = """
        SELECT both_pass, both_fail, only_judge_passes, only_verifier_passes, compared,
               disagreements, disagreement_rate
        FROM verifier_disagreement
    """
    assert ask(warehouse, query) == [(1, 2, 1, 1, 5, 2, 0.4)]


def test_a_usable_comparison_costs_what_the_useless_ones_cost_too(warehouse: Warehouse) -> None:
    rows = [
        comparison(1, "a", "b", "left"),
        comparison(2, "a", "c", "error"),
        comparison(3, "a", "d", "undecided", None),
    ]
    commit(warehouse, (Comparisons, made(Comparisons, rows)))
    query = """
        SELECT judge_id, comparisons, usable, cost_usd, cost_per_usable_usd
        FROM judge_costs ORDER BY judge_id
    """
    assert ask(warehouse, query) == [("", 1, 0, 0.25, None), ("j", 2, 1, 0.5, 0.5)]
