"""What ``explain`` says of one episode, from nights on disk."""

import json

import pytest

from tests.cli.running import run
from tests.conformance.nights import Nights
from tests.scenarios.rows import at, comparison, episode


@pytest.fixture
def nights(tmp_path):
    nights = Nights(tmp_path)
    nights.configure({"acme": {"mode": "reference", "judging_window": "24h"}})
    return nights


def told(capsys, nights, episode_id, *more, tenant="acme"):
    asked = ["--tenant", tenant, "--episode", episode_id, *more]
    return run(capsys, "explain", *asked, "--settings", nights.settings)


def alone(episode_id, hours, outcome):
    row = comparison(episode_id, "x", hours, outcome, verdict_id=f"alone {episode_id}")
    return row | {"compared_episode_id": None}


def test_verdicts_and_what_comparisons_wait_for(capsys, nights):
    nights.deliver(
        "n1",
        [episode("first", 1), episode("second", 1.5)],
        [
            alone("second", 2, "left"),
            comparison("second", "never", 2, "left", verdict_id="v"),
            comparison("second", "second", 2, "left", verdict_id="with itself"),
            comparison("second", "first", 9, "left", verdict_id="later"),
        ],
    )
    nights.run(at(3))
    ran = told(capsys, nights, "second")
    assert ran.code == 0, ran.err
    assert "verdict 'alone second' by 'jury'" in ran.out
    assert "read in version 1: ACCEPTED (SUPPORTED)" in ran.out
    assert "waits for 'never', not seen so far, until 2026-03-" in ran.out
    assert "'later'" in ran.out
    assert "after the last run's as-of" in ran.out
    assert "run 1 quarantined verdict 'with itself'" in ran.out
    story = json.loads(told(capsys, nights, "second", "--json").out)
    unseen = {row["verdict_id"]: row["unseen"] for row in story["comparisons"]}
    assert unseen == {"v": ["never"], "later": []}
    assert [row["reading"] for row in story["verdicts"]] == ["ACCEPTED"]
    # An episode that only verdicts name has a story too.
    assert told(capsys, nights, "never").out.startswith("Episode 'never' of tenant 'acme': unknown")


def test_nobody_knows_the_episode(capsys, nights):
    ran = told(capsys, nights, "nobody")
    assert (ran.code, "No tenant has rows yet." in ran.err) == (2, True)
    nights.deliver("n1", [episode("first", 1)])
    nights.run(at(3))
    assert "Tenants with rows: acme." in told(capsys, nights, "nobody", tenant="acne").err
