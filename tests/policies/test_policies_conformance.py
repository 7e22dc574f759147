"""Every case of the policy rules, through both evaluators."""

import gzip
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from judgebatch import policies as p
from judgebatch.policies.columnar import evaluate_policies
from judgebatch.policies.columns import ANSWER_COLUMNS, is_representable
from tests.conformance import policies as runner

DATA = Path(__file__).parents[1] / "conformance" / "data"


def cases(name: str) -> Iterator[dict[str, Any]]:
    path = DATA / name
    content = path.read_bytes()
    content = gzip.decompress(content) if path.suffix == ".gz" else content
    yield from map(json.loads, content.splitlines())


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("policies-construct.jsonl", 487),
        ("policies-evaluate.jsonl.gz", 2197),
        ("policies-parse.jsonl.gz", 1016),
    ],
)
def test_every_case_agrees(name: str, count: int):
    checked = 0
    for case in cases(name):
        assert runner.matches(case)
        assert runner.check(case) == [], case["id"]
        checked += 1
    assert checked == count


def _double(value: Any) -> float | None:
    number = runner.number(value)
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    return float(number)


def _row(case: dict[str, Any], question: str, answer: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(ANSWER_COLUMNS)
    row |= {"tenant_id": "t", "episode_id": case["id"], "question": question}
    row["answer_type"] = answer["type"]
    for name in ("probability", "confidence", "score"):
        row[name] = _double(answer.get(name))
    choice = answer.get("choice")
    row["choice"] = choice if isinstance(choice, str) and is_representable(choice) else None
    levels = answer.get("probabilities")
    if isinstance(levels, dict):
        row["probabilities"] = [
            {"level": int(level), "probability": _double(value)} for level, value in levels.items()
        ]
    return row


def test_columns_agree_with_every_evaluated_case():
    """Answers in columns are floats: an expected detail of an int prints it as a float there."""
    policies: dict[str, p.ValidatedPolicy] = {}
    assigned, rows, expected, floats = [], [], {}, {}
    for case in cases("policies-evaluate.jsonl.gz"):
        policies[case["id"]] = p.parse_policy(
            case["policy_text"], runner.questions_of(case["questions"])
        )
        assigned.append({"tenant_id": "t", "episode_id": case["id"], "policy": case["id"]})
        of_case = [_row(case, name, one) for name, one in case["answers"].items()]
        rows += of_case
        expected[case["id"]] = case["expect"]
        floats[case["id"]] = all(
            not isinstance(runner.number(one.get(name)), int)
            for one in case["answers"].values()
            for name in ("probability", "confidence", "score")
        )
    frame = pl.DataFrame(rows, schema=ANSWER_COLUMNS)
    results, reports = evaluate_policies(frame, policies, assigned=pl.DataFrame(assigned))
    assert len(results) == len(expected)
    told: dict[str, list[dict[str, Any]]] = {}
    for row in reports.to_dicts():
        told.setdefault(row["episode_id"], []).append(row)
    compared = 0
    for result in results.to_dicts():
        want = expected[result["episode_id"]]
        assert result["policy_passed"] == want.get("passed"), result
        assert (result["error"] is None) == want["ok"], result
        if not want["ok"]:
            continue
        got = [
            {key: row[key] for key in ("question", "passed", "detail")}
            for row in told[result["episode_id"]]
        ]
        if floats[result["episode_id"]]:
            assert got == want["rules"]
            compared += 1
        else:
            assert [one["passed"] for one in got] == [one["passed"] for one in want["rules"]]
    assert compared > 1000


def test_a_nan_in_a_distribution_is_refused_by_both_evaluators():
    questions = {"s": p.Score(criteria=["a", "b"])}
    policy = p.validate_policy(p.Policy([p.ScoreRule("s", level=1)]), questions)
    for levels in ({0: math.nan, 1: 1.0}, {1: 1.0, 0: math.nan}):
        with pytest.raises(p.PolicyAnswerError, match="distribution"):
            p.evaluate_policy(policy, {"s": p.ScoreAnswer(1.0, 0.5, levels)})
        row = {"type": "score", "score": 1.0, "confidence": 0.5, "probabilities": levels}
        frame = pl.DataFrame([_row({"id": "e"}, "s", row)], schema=ANSWER_COLUMNS)
        assert evaluate_policies(frame, {"p": policy}).results["error"].item() == "malformed_answer"
