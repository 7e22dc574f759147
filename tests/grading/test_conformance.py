"""Whole nights with what each must publish: a sample always, all of them in the soak."""

from pathlib import Path

import pytest

from tests.conformance import grading
from tests.conformance.__main__ import cases

SCENARIOS = list(cases(Path(__file__).parents[1] / "conformance/data/grading-scenarios.jsonl.gz"))
SAMPLE = SCENARIOS[::18]


@pytest.mark.parametrize("case", SAMPLE, ids=[case["id"] for case in SAMPLE])
def test_a_sample_of_scenarios_agrees(case):
    assert grading.check(case) == []


@pytest.mark.soak
@pytest.mark.parametrize("case", SCENARIOS, ids=[case["id"] for case in SCENARIOS])
def test_every_scenario_agrees(case):
    assert grading.check(case) == []
