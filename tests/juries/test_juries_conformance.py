"""Every case of juries with fixed answers, through the columns, and read back."""

from pathlib import Path
from typing import Any

import pytest

from tests.conformance import juries as runner
from tests.conformance.__main__ import cases

DATA = Path(__file__).parents[1] / "conformance" / "data"


@pytest.mark.parametrize(
    ("name", "count"), [("juries-corners.jsonl", 60), ("juries.jsonl.gz", 975)]
)
def test_every_case_agrees(name: str, count: int):
    checked = 0
    for case in cases(DATA / name):
        assert runner.matches(case)
        assert runner.check(case) == [], case["id"]
        checked += 1
    assert checked == count


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("aggregated", "score"), 0.1 + 1e-16),
        (("decision", "kind"), "undecided"),
        (("individual",), []),
    ],
)
def test_a_case_that_expects_something_else_fails(path: tuple[str, ...], value: Any):
    case = next(case for case in cases(DATA / "juries-corners.jsonl"))
    part = case["expect"]["verdict"]
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    assert runner.check(case) != []
