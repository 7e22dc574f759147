import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from judgebatch.contracts.grading import OpenEpisodes
from judgebatch.errors import WarehouseConflictError
from judgebatch.vocabulary import RunKind
from judgebatch.warehouse import RunFacts, Warehouse, doctor, publish
from judgebatch.warehouse.durable import temporary_beside
from judgebatch.warehouse.sweeping import rubbish, sweep
from tests.warehouse.nights import as_of, rows_of, run_night


def commit_open(warehouse: Warehouse, night: int, deadlines: list[int]) -> None:
    rows = rows_of(OpenEpisodes, night, len(deadlines)).with_columns(
        deadline=pl.Series(
            [as_of(1) + timedelta(hours=hours) for hours in deadlines],
            dtype=pl.Datetime("us", "UTC"),
        ),
        episode_id=pl.Series([f"e{hours}" for hours in deadlines], dtype=pl.String),
    )
    with warehouse.begin(RunKind.GRADING, as_of(night)) as run:
        run.write_piece(OpenEpisodes, 0, rows)
        run.assemble(OpenEpisodes)
        run.commit(RunFacts())
    publish(warehouse)


def test_episodes_past_their_deadline_are_listed_longest_first(warehouse: Warehouse) -> None:
    commit_open(warehouse, 1, [1, 24])
    assert doctor(warehouse) == []
    commit_open(warehouse, 2, [25, 24, 1])
    findings = doctor(warehouse)
    assert ["'e1'" in findings[0].where, "'e24'" in findings[1].where] == [True, True]
    assert len(findings) == 2
    assert "past its deadline 2026-03-01T04:00:00Z" in findings[0].what


def test_an_old_snapshot_is_not_looked_at(warehouse: Warehouse) -> None:
    commit_open(warehouse, 2, [1])
    commit_open(warehouse, 3, [])
    assert doctor(warehouse) == []


def test_a_new_warehouse_is_well(warehouse: Warehouse) -> None:
    assert doctor(warehouse) == []


def test_unfinished_publishing_is_listed(warehouse: Warehouse) -> None:
    run_night(warehouse, count=0)
    (warehouse.layout.views / "views.sql").unlink()
    (finding,) = doctor(warehouse)
    assert finding.where == "views/views.sql"
    assert "publishing was not finished" in finding.meaning


@pytest.fixture
def dead_process() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def leave_rubbish(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, process: int
) -> list[Path]:
    folder = warehouse.layout.staged(9, "0" * 24)
    (folder / "run").mkdir(parents=True)
    (folder / "lock").touch()
    with monkeypatch.context() as patch:
        patch.setattr("os.getpid", lambda: process)
        temporary = [
            temporary_beside(warehouse.layout.settings / "x.toml"),
            temporary_beside(warehouse.layout.views / "judgebatch.duckdb"),
        ]
    for path in temporary:
        path.write_text("")
    return sorted([folder, *temporary])


def test_what_a_crash_left_is_listed_and_swept(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, dead_process: int
) -> None:
    run_night(warehouse)
    left = leave_rubbish(warehouse, monkeypatch, dead_process)
    assert sorted(path for path, _ in rubbish(warehouse)) == [str(path) for path in left]
    assert all(path.exists() for path in left)
    assert sorted(path for path, _ in sweep(warehouse)) == [str(path) for path in left]
    assert not any(path.exists() for path in left)
    assert rubbish(warehouse) == []


def test_a_run_sweeps_what_a_crash_left(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, dead_process: int
) -> None:
    left = leave_rubbish(warehouse, monkeypatch, dead_process)
    run_night(warehouse)
    assert not any(path.exists() for path in left)


def test_a_settings_text_that_no_run_names_is_kept(warehouse: Warehouse) -> None:
    name = warehouse.store_text("stored before the run began", "toml")
    sweep(warehouse)
    assert warehouse.read_text(name, "toml") == "stored before the run began"


def test_nothing_of_a_living_run_is_rubbish(warehouse: Warehouse) -> None:
    with warehouse.begin(RunKind.GRADING, as_of(1)) as run:
        temporary = temporary_beside(warehouse.layout.settings / "x.toml")
        temporary.write_text("")
        assert rubbish(warehouse) == []
        with pytest.raises(WarehouseConflictError, match="is being written"):
            sweep(warehouse)
        assert run.root.exists()
        temporary.unlink()
        run.commit(RunFacts())
