"""Logs written by Inspect itself become episodes, verdicts and answers."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from judgebatch.imports import inspect_logs
from judgebatch.verdicts import interpret_texts
from tests.imports.commands import imported, judgebatch, published, run_on

MODEL = "mockllm/model"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # In a process of its own: Inspect sets up logging and threads, and warns of itself.
    folder = tmp_path_factory.mktemp("logs")
    subprocess.run(
        [sys.executable, "-m", "tests.imports.made_logs", str(folder)],
        check=True,
        capture_output=True,
    )
    return folder


@pytest.fixture(params=["eval", "json"])
def log(request: Any, logs: Path) -> Path:
    return next(logs.glob(f"*.{request.param}"))


def table(out: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(out / name / "*.parquet")


def test_samples_scores_and_errors_keep_their_meaning(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    counts = imported("inspect", log, out, "--verifier", "match")
    assert counts["episodes"] == 6
    episodes = table(out, "episodes").sort("sample_id")
    assert dict(episodes.select("sample_id", "verifier_outcome").rows()) == {
        "7": "passed",
        "s0": "failed",
        "s1": "passed",
        "s2": "failed",
        "s3": "error",
        "s4": "failed",
    }
    calls = episodes.select("sample_id", "tool_calls", "tool_errors").rows()
    assert ("7", 1, 1) in calls
    assert ("s0", 1, 0) in calls
    assert episodes["cost_known"].to_list() == [False] * 4 + [True, False]  # s3 asked no model
    assert episodes["variant"].unique().to_list() == [MODEL]
    assert (episodes["latency_ms"] > 0).all()

    verdicts = table(out, "verdicts")
    read = interpret_texts(verdicts["verdict"])
    said = verdicts.with_columns(read.interpretations.select("reading", "reading_support"))
    said = said.join(episodes.select("episode_id", "sample_id"), on="episode_id")
    by = {
        (judge, sample): (reading, support)
        for judge, sample, reading, support in said.select(
            "judge_id", "sample_id", "reading", "reading_support"
        ).rows()
    }
    assert by["grader", "7"] == ("ACCEPTED", "SUPPORTED")
    assert by["grader", "s0"] == ("REJECTED", "SUPPORTED")
    assert by["grader", "s1"] == ("REJECTED", "SUPPORTED")
    for broken in ("s2", "s3", "s4"):
        assert by["grader", broken] == ("NOT_ASSESSED", "SUPPORTED")
    assert by["measures", "s3"] == by["match", "s3"] == ("NOT_ASSESSED", "SUPPORTED")
    assert read.defects.height == 0

    answers = table(out, "answers").join(
        episodes.select("episode_id", "sample_id"), on="episode_id"
    )
    quality = answers.filter(pl.col("question") == "measures/quality")
    assert dict(quality.select("sample_id", "probability").rows()) == {
        "7": 0.5,
        "s0": 1.0,
        "s1": 0.25,
        "s2": 0.5,
    }
    aside = table(out, "quarantine")
    assert aside.height == 1
    assert "--scale measures/quality" in aside["message"][0]


def test_numbers_on_a_scale_and_a_threshold_for_them(log: Path, tmp_path: Path) -> None:
    counts = imported(
        "inspect", log, tmp_path / "o", "--scale", "measures/quality", "--pass-at", "0.5"
    )
    assert counts["quarantine"] == 0
    answers = table(tmp_path / "o", "answers").filter(pl.col("answer_type") == "score")
    assert answers["score"].max() == 7.5
    accepted = table(tmp_path / "o", "verdicts").filter(pl.col("judge_id") == "measures/quality")
    assert accepted.height == 5


def test_prices_make_costs(log: Path, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text(f'["{MODEL}"]\ninput = 2.0\noutput = 10.0\n')
    imported("inspect", log, tmp_path / "o", "--prices", prices)
    episodes = table(tmp_path / "o", "episodes").filter(pl.col("sample_id") == "s0")
    assert episodes["cost_usd"].to_list() == [2 * (1000 * 2.0 + 100 * 10.0) / 1_000_000]
    prices.write_text('["x"]\ninput = "dear"\n')
    done = judgebatch("import", "inspect", log, "-o", tmp_path / "p", "--prices", prices)
    assert done.code == 2
    assert "USD per million tokens" in done.err


def test_a_run_works_on_what_was_imported_and_twice_is_once(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    imported("inspect", log, out)
    before = {path: path.read_bytes() for path in out.rglob("*.parquet")}
    again = imported("inspect", log, out)
    assert (again["known"], again["episodes"]) == (1, 0)
    assert {path: path.read_bytes() for path in out.rglob("*.parquet")} == before
    run_on(out, "--as-of", "9000-01-01T00:00:00Z")
    assert published(out, "ungraded")["ungraded_reason"].to_list() == ["no_reference"] * 6
    assert published(out, "audit/quarantine").height == 0


def test_a_scorer_that_is_not_there_and_a_damaged_log(log: Path, tmp_path: Path) -> None:
    done = judgebatch("import", "inspect", log, "-o", tmp_path / "o", "--verifier", "mach")
    assert done.code == 3
    assert "did you mean 'match'" in done.err
    folder = tmp_path / "logs"
    folder.mkdir()
    whole = log.read_bytes()
    (folder / f"good{log.suffix}").write_bytes(whole)
    (folder / f"cut{log.suffix}").write_bytes(whole[: len(whole) // 2])
    (folder / f"empty{log.suffix}").write_bytes(b"")
    done = judgebatch("import", "inspect", folder, "-o", tmp_path / "p")
    assert done.code == 3
    assert "2 files could not be imported" in done.err
    assert "Traceback" not in done.err
    assert table(tmp_path / "p", "episodes").height == 6
    assert not list((tmp_path / "p").rglob("*.part"))


def test_prices_are_checked_before_anything_is_read(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text('["m"]\ninput = 1.0\noutput = 2\ncache_read = 0.1\n')
    assert inspect_logs.read_prices(path)["m"]["cache_read"] == 0.1
