"""Every case of the strength rules."""

from pathlib import Path

import pytest

from tests.conformance import strengths as runner
from tests.conformance.__main__ import cases, failures

DATA = Path(__file__).parents[1] / "conformance" / "data"


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("strengths-fit.jsonl", 131),
        ("strengths-relative.jsonl", 158),
        ("strengths-sequential.jsonl.gz", 150),
    ],
)
def test_all_cases_agree(name, count):
    found = list(failures(DATA / name))
    assert len(found) == count
    assert [(case, messages) for case, messages in found if messages] == []


def test_a_wrong_expectation_fails():
    case = next(cases(DATA / "strengths-fit.jsonl"))
    case["expect"]["strength"][0] = "2.19678556708"
    assert runner.check(case)
