"""Result files with stored verdicts become episodes with their verdicts unchanged."""

import errno
import json
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from tests.imports.commands import imported, judgebatch, published, run_on
from tests.verdicts.documents import accepted, errored

AT = ("--at", "2026-03-02T03:00:00Z")


def test_items_become_episodes_and_the_text_stays(tmp_path: Path) -> None:
    odd = '{ "aggregated" : {"status":"pass","reasoning":"\\u00fc"},"individual":[] }'
    text = (
        '{"runId": "nightly-7", "items": [{"itemId": "ü/1", "passed": true, "verdict": '
        + odd
        + ', "costUsd": 0.5, "latencyMs": 1200, "toolCalls": 3, "toolErrors": 1, "model": "m"},'
        + json.dumps({"itemId": 2, "success": False, "verdict": errored(), "timestamp": 1.7e9})
        + ',{"itemId": "bare", "passed": false}, 5, {"passed": true}]}'
    )
    (tmp_path / "r.json").write_text(text)
    counts = imported("results", tmp_path / "r.json", tmp_path / "o", *AT)
    assert (counts["episodes"], counts["verdicts"], counts["quarantine"]) == (3, 2, 3)
    verdicts = pl.read_parquet(tmp_path / "o/verdicts/*.parquet")
    assert verdicts["verdict"][0] == odd
    assert verdicts["recorded_passed"].to_list() == [True, False]
    episodes = pl.read_parquet(tmp_path / "o/episodes/*.parquet")
    assert episodes["episode_id"].to_list() == ["nightly-7/ü/1", "nightly-7/2", "nightly-7/bare"]
    assert episodes["task_id"].to_list() == ["ü/1", "2", "bare"]
    assert episodes["cost_known"].to_list() == [True, False, False]
    assert episodes["arrived_at"].dt.year().to_list() == [2026, 2023, 2026]
    run_on(tmp_path / "o")
    restated = published(tmp_path / "o", "audit/restatements")
    assert restated["recorded_passed"].to_list() == [False]


def test_lines_and_files_without_times(tmp_path: Path) -> None:
    lines = [json.dumps({"itemId": f"i{n}", "verdict": accepted()}) for n in range(3)]
    (tmp_path / "r.jsonl").write_text("\n".join([*lines, "", "{broken"]) + "\n")
    done = judgebatch("import", "results", tmp_path / "r.jsonl", "-o", tmp_path / "o")
    assert done.code == 2
    assert "--at" in done.err
    counts = imported("results", tmp_path / "r.jsonl", tmp_path / "o", *AT)
    assert (counts["episodes"], counts["verdicts"], counts["quarantine"]) == (3, 3, 1)
    assert imported("results", tmp_path / "r.jsonl", tmp_path / "o", *AT)["known"] == 1


def test_a_file_that_is_no_json_does_not_stop_the_others(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "a.json").write_text("{")
    (folder / "b.json").write_text(json.dumps({"items": [{"itemId": "x", "verdict": accepted()}]}))
    done = judgebatch("import", "results", folder, "-o", tmp_path / "o", *AT)
    assert done.code == 3
    assert "a.json is no JSON document" in done.err
    assert pl.read_parquet(tmp_path / "o/episodes/*.parquet").height == 1
    assert judgebatch("import", "results", "nowhere", "-o", tmp_path / "o").code == 3


def test_no_room_is_said_of_the_folder_and_not_of_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "r.jsonl").write_text(json.dumps({"itemId": "i", "verdict": accepted()}))

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    done = judgebatch("import", "results", tmp_path / "r.jsonl", "-o", tmp_path / "o", *AT)
    assert done.code == 1
    assert f"{tmp_path / 'o'} cannot be written: No space left" in " ".join(done.err.split())
    assert not list((tmp_path / "o").rglob("*.part"))
