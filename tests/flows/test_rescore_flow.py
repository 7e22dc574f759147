"""What the rescore flow does around its one stage; the stage itself is tested with the command."""

import logging
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows import rescore as module
from flows.parameters import Rescoring
from tests.juries.made import votes


def test_the_flow_writes_and_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    votes("pass").write_parquet(tmp_path / "judgments.parquet")
    jury = tmp_path / "jury.toml"
    jury.write_text('strategy = "consensus"\nseats = [{ name = "a" }]')
    artifacts: list[Any] = []
    monkeypatch.setattr(module, "as_task", lambda stage: stage)
    monkeypatch.setattr(module, "get_run_logger", lambda: logging.getLogger("flow"))
    monkeypatch.setattr(module, "create_table_artifact", lambda **given: artifacts.append(given))
    report = module.rescore.fn(
        Rescoring(inputs=[tmp_path / "judgments.parquet"], jury=jury, out=tmp_path / "out")
    )
    assert (report["verdicts"], report["changed"]) == (1, 0)
    assert artifacts[0]["table"] == report["matrix"]
    assert pl.read_parquet(tmp_path / "out" / "jury_verdicts.parquet")["status"].item() == "pass"
