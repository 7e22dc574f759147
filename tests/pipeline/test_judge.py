"""A judge attached to a run: asked after the budget check, once, and never twice for a pair."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from judgebatch.contracts import grading as g
from judgebatch.warehouse import open_warehouse
from judgebatch.warehouse.verify import verify
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
CALLS = "judged_calls.log"


def answer(pairs: pl.DataFrame) -> pl.DataFrame:
    """Prefer the left episode; remember that, and about how many pairs, one was asked."""
    log = Path(os.environ["JUDGED_CALLS"])
    with log.open("a") as calls:
        calls.write(f"{pairs.height}\n")
    return pairs.select("verdict_id", status=pl.lit("pass"))


def raise_on_one(pairs: pl.DataFrame) -> pl.DataFrame:
    """Raise where episode b is asked about."""
    if "b" in pairs["episode_id"].to_list():
        raise RuntimeError("the model is gone")
    return pairs.select("verdict_id", status=pl.lit("fail"))


def judge_settings(function: str, **options: object) -> str:
    listed = {"function": f"tests.pipeline.test_judge:{function}", "cost_usd": 0.02, **options}
    told = "".join(f"{key} = {value!r}\n" for key, value in listed.items())
    return f'[judge]\nname = "callable"\n[judge.options]\n{told}'


@pytest.fixture
def nights(tmp_path, monkeypatch):
    monkeypatch.setenv("JUDGED_CALLS", str(tmp_path / CALLS))
    return Nights(tmp_path)


def calls(nights: Nights) -> list[int]:
    log = nights.folder / CALLS
    return [int(line) for line in log.read_text().split()] if log.exists() else []


def test_group_is_decided_in_the_run_that_closes_it_by_one_batch(nights):
    nights.configure({"acme": TOURNAMENT, "other": REFERENCE}, extra=judge_settings("answer"))
    rows = [episode(name, 1 + i) for i, name in enumerate("abc")]
    rows += [episode(name, 1 + i, tenant_id="other") for i, name in enumerate("xy")]
    nights.deliver("n1", rows, [comparison("a", "b", 4, "right")])
    nights.run(at(5))
    assert calls(nights) == [3]
    graded = nights.table(g.Graded)
    assert set(graded["episode_id"]) == {"a", "b", "c", "y"}
    assert set(graded["decided_at"]) == {at(5)}
    ledger = nights.table(g.Ledger).sort("tenant_id")
    assert ledger["cost_usd"].to_list() == [0.05, 0.02]
    assert ledger["actual_cost_usd"].to_list() == [0.05, 0.02]
    law = nights.manifest().conservation["verdicts"]
    assert (law.read, law.ended["used"], law.waiting_after) == (4, 4, 0)
    assert nights.manifest().summary["judge"]["answered"] == 3
    assert verify(open_warehouse(nights.folder / "warehouse")) == []


def test_tenant_over_its_ceiling_makes_no_call(nights):
    tenant = {**REFERENCE, "grading_ceiling_usd": 0.03}
    nights.configure({"acme": tenant}, extra=judge_settings("answer"))
    nights.deliver("n1", [episode(name, 1 + i) for i, name in enumerate("abcd")])
    nights.run(at(5))
    # The first of three costs 0.02; the second would pass the ceiling, and so ends the period.
    assert calls(nights) == [1]
    nights.deliver("n2", [episode("e", 6)])
    nights.run(at(7))
    assert calls(nights) == [1]
    reasons = dict(nights.table(g.Ungraded).select("episode_id", "ungraded_reason").rows())
    assert reasons == {"a": "no_reference", **dict.fromkeys("cde", "budget_exhausted")}


def test_zero_ceiling_makes_no_call(nights):
    tenant = {**TOURNAMENT, "grading_ceiling_usd": 0}
    nights.configure({"acme": tenant}, extra=judge_settings("answer"))
    nights.deliver("n1", [episode(name, 1 + i) for i, name in enumerate("abc")])
    nights.run(at(5))
    assert calls(nights) == []
    assert nights.table(g.Ledger).is_empty()


def test_pair_on_which_the_judge_raises_is_charged_to_nobody(nights):
    nights.configure({"acme": REFERENCE}, extra=judge_settings("raise_on_one"))
    nights.deliver("n1", [episode("ref", 0), episode("b", 1), episode("c", 2)])
    nights.run(at(5))
    assert nights.table(g.Graded).select("episode_id", "score").rows() == [("c", 0.0)]
    failed = nights.table(g.Ungraded).filter(pl.col("episode_id") == "b").to_dicts()[0]
    assert (failed["ungraded_reason"], failed["errors"]) == ("no_usable_comparison", 1)
    assert failed["error_codes"] == '{"judge_failed":1}'
    assert nights.manifest().summary["judge"]["raised"] == 1


def test_group_that_closed_before_the_judge_came_is_not_asked_about(nights):
    nights.configure({"acme": TOURNAMENT})
    nights.deliver("n1", [episode(name, 1 + i) for i, name in enumerate("abc")])
    nights.run(at(5))
    nights.configure({"acme": TOURNAMENT}, extra=judge_settings("answer"))
    nights.run(at(6))
    assert calls(nights) == []
    assert nights.table(g.ComparisonRequests, 2).height == 3


def test_replay_of_a_judges_verdicts_needs_no_judge(nights, tmp_path):
    nights.configure({"acme": TOURNAMENT}, extra=judge_settings("answer"))
    rows = [episode(name, 1 + i) for i, name in enumerate("abc")]
    nights.deliver("n1", rows)
    nights.run(at(5))
    stored = nights.table("audit/verdicts")
    again = Nights(tmp_path / "replay")
    again.configure({"acme": {**TOURNAMENT, "judging_window": "none"}})
    again.deliver("n1", rows, [dict(row) for row in stored.to_dicts()])
    again.run(at(5))
    own = ["episode_id", "strength", "score", "wins", "losses"]
    assert again.table(g.Graded).select(own).equals(nights.table(g.Graded).select(own))
    assert len(calls(nights)) == 1


def test_run_killed_after_paid_calls_does_not_call_again(nights):
    nights.configure({"acme": TOURNAMENT}, extra=judge_settings("answer"))
    nights.deliver("n1", [episode(name, 1 + i) for i, name in enumerate("abc")])
    command = [
        sys.executable,
        "-m",
        "judgebatch",
        "run",
        "--settings",
        str(nights.settings),
        "--as-of",
        at(5).isoformat(),
    ]
    environment = {**os.environ, "PYTHONPATH": "."}
    killed = subprocess.run(
        command, check=False, env={**environment, "JUDGEBATCH_FAILPOINT": "commit.begin"}
    )
    assert killed.returncode == -signal.SIGKILL
    assert calls(nights) == [3]
    subprocess.run(command, check=True, env=environment, capture_output=True)
    assert calls(nights) == [3]
    assert nights.table(g.Graded).height == 3
