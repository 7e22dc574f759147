"""``judgebatch backfill`` and lines of JSON, as a user meets them."""

from pathlib import Path

import orjson
import pytest

from judgebatch.cli.console import _left
from judgebatch.cli.main import run_command
from judgebatch.synthesis import synthesize
from judgebatch.warehouse import open_warehouse


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    synthesize(tmp_path / "corpus", episodes=60, tenants=2, nights=2, seed=3)
    return tmp_path / "corpus"


def backfill(corpus: Path, *more: str) -> int:
    return run_command(["backfill", "--settings", str(corpus / "judgebatch.toml"), *more])


NIGHTS = ("--from", "2026-03-02T03:00Z", "--to", "2026-03-04T03:00Z")


def test_a_dry_run_says_what_would_be_read_and_written(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert backfill(corpus, *NIGHTS, "--dry-run") == 0
    said = capsys.readouterr().out
    assert "Would read, once: 2 files of episodes" in said
    assert "Would publish 3 nights, 2026-03-02T03:00:00Z to 2026-03-04T03:00:00Z" in said
    assert "as runs 1 to 3" in said
    assert len(open_warehouse(corpus / "warehouse").runs()) == 0


def test_nights_are_replayed_and_then_skipped(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert backfill(corpus, *NIGHTS, "--json") == 0
    told = orjson.loads(capsys.readouterr().out)
    assert (told["nights"], told["runs"]) == (3, [1, 3])
    assert told["rows_read"]["episodes"] >= 60
    assert backfill(corpus, *NIGHTS) == 0
    assert "3 nights up to the last run's as-of: nothing to do." in capsys.readouterr().out
    assert backfill(corpus, *NIGHTS, "--dry-run") == 0
    assert "Nothing to do." in capsys.readouterr().out


def test_times_without_a_zone_are_those_of_the_zone_named(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    times = ("--from", "2026-03-02", "--to", "2026-03-03", "--timezone", "Asia/Tokyo")
    assert backfill(corpus, *times, "--dry-run", "--json") == 0
    told = orjson.loads(capsys.readouterr().out)
    assert told["nights"] == ["2026-03-01T15:00:00Z", "2026-03-02T15:00:00Z"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--from", "soon", "--to", "2026-03-04"), "--from 'soon' is not a time"),
        (("--from", "2026-03-04", "--to", "2026-03-02"), "Exchange --from and --to"),
        ((*NIGHTS, "--every", "daily"), "--every 'daily': expected a duration"),
        ((*NIGHTS, "--every", "0d"), "longer than zero"),
        ((*NIGHTS, "--timezone", "Mars/Olympus"), "is not a zone"),
    ],
)
def test_wrong_times_are_one_paragraph(
    corpus: Path, more: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert backfill(corpus, *more) == 2
    said = capsys.readouterr().err
    assert message in " ".join(said.split())
    assert "Traceback" not in said


def lines(text: str) -> list[dict[str, object]]:
    return [orjson.loads(line) for line in text.splitlines()]


def test_lines_of_json_carry_time_level_run_stage_and_message(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", "--settings", str(corpus / "judgebatch.toml")]
    when = ["--as-of", "2026-03-02T03:00:00Z"]
    assert run_command([*command, *when, "--log-format", "json", "--json"]) == 0
    told = capsys.readouterr()
    assert orjson.loads(told.out)["run"] == 1
    said = lines(told.err)
    assert {frozenset(line) for line in said} == {
        frozenset({"time", "level", "run", "attempt", "stage", "message"})
    }
    inside = [line for line in said if line["run"] == 1]
    assert [line["stage"] for line in inside] == ["open", "ingest", "grade", "commit"]
    assert len({line["attempt"] for line in inside}) == 1
    assert all(str(line["time"]).endswith("Z") for line in said)

    assert run_command(["--log-format=json", *command, "--as-of", "2026-03-01T03:00:00Z"]) == 0
    said = lines(capsys.readouterr().err)
    assert [(line["level"], line["run"]) for line in said] == [("info", None)]
    assert "superseded by run 1" in str(said[0]["message"])


def test_errors_are_lines_of_json_too(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (corpus / "episodes" / "broken.parquet").write_bytes(b"no")
    command = ["run", "--settings", str(corpus / "judgebatch.toml"), "--log-format", "json"]
    assert run_command(command) == 3
    said = lines(capsys.readouterr().err)
    assert said[-1]["level"] == "error"
    assert "broken.parquet" in str(said[-1]["message"])


def test_an_unknown_log_format_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["history", "--log-format", "xml"]) == 2
    assert "expected text or json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, ""),
        (0.2, "about 1 second left"),
        (42, "about 42 seconds left"),
        (600, "about 10 minutes left"),
        (5400, "about 2 hours left"),
    ],
)
def test_estimates_are_no_more_exact_than_they_are(seconds: float | None, words: str) -> None:
    assert _left(seconds) == words
