import json
import shutil
import time
from datetime import UTC, datetime

import pytest

from judgebatch.errors import WarehouseDamagedError
from judgebatch.vocabulary import RunKind
from judgebatch.warehouse import InputFile, RunFacts, Warehouse
from judgebatch.warehouse.runlog import RunLog
from tests.warehouse.nights import as_of, run_night


def bare_run(warehouse: Warehouse, number: int, kind: RunKind, *paths: str) -> None:
    inputs = tuple(
        InputFile(table="episodes", path=path, size=1, digest=f"{path} in {number}")
        for path in paths
    )
    with warehouse.begin(kind, as_of(number)) as run:
        run.commit(RunFacts(inputs=inputs))


def test_the_last_grading_run_is_the_last_that_moved_as_of(warehouse: Warehouse) -> None:
    assert warehouse.runs().last_as_of is None
    bare_run(warehouse, 1, RunKind.GRADING)
    bare_run(warehouse, 2, RunKind.BACKFILL)
    bare_run(warehouse, 9, RunKind.REINTERPRET)
    log = warehouse.runs()
    assert log.last is not None
    assert log.last.kind == RunKind.REINTERPRET
    assert log.last_grading == log[1]
    assert log.last_as_of == as_of(2)
    assert log.last_as_of.tzinfo is not None
    assert [run.number for run in log.of_kind(RunKind.GRADING)] == [1]


def test_consumed_files_are_remembered_as_they_were_last_read(warehouse: Warehouse) -> None:
    bare_run(warehouse, 1, RunKind.GRADING, "a", "b")
    bare_run(warehouse, 2, RunKind.GRADING, "b", "c")
    consumed = warehouse.runs().consumed()
    assert {path: file.digest for path, file in consumed.items()} == {
        "a": "a in 1",
        "b": "b in 2",
        "c": "c in 2",
    }
    log = warehouse.runs()
    list(log)
    assert log.consumed() == consumed


def test_the_log_is_as_of_when_it_was_read(warehouse: Warehouse) -> None:
    run_night(warehouse)
    log = warehouse.runs()
    run_night(warehouse)
    assert len(log) == 1
    assert [run.number for run in warehouse.runs()[-2:]] == [1, 2]
    with pytest.raises(IndexError):
        log[1]


def test_a_missing_run_is_named(warehouse: Warehouse) -> None:
    for _ in range(3):
        run_night(warehouse)
    shutil.rmtree(warehouse.layout.run(2))
    with pytest.raises(WarehouseDamagedError, match="000002 is missing"):
        warehouse.runs()


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"number": 1}'])
def test_a_damaged_manifest_is_named(warehouse: Warehouse, text: str) -> None:
    run_night(warehouse)
    path = warehouse.layout.manifest(1)
    path.chmod(0o644)
    path.write_text(text)
    with pytest.raises(WarehouseDamagedError, match=r"000001/manifest\.json"):
        _ = warehouse.runs().last
    with pytest.raises(WarehouseDamagedError, match=r"000001/manifest\.json"):
        warehouse.runs().consumed()


def test_another_runs_manifest_is_named(warehouse: Warehouse) -> None:
    run_night(warehouse)
    run_night(warehouse)
    path = warehouse.layout.manifest(2)
    path.chmod(0o644)
    path.write_bytes(warehouse.layout.manifest(1).read_bytes())
    with pytest.raises(WarehouseDamagedError, match="is the manifest of run 1"):
        _ = warehouse.runs().last


def test_a_thousand_runs_cost_little_more_than_reading_their_manifests(
    warehouse: Warehouse,
) -> None:
    manifest = run_night(warehouse)
    for number in range(2, 1001):
        folder = warehouse.layout.run(number)
        folder.mkdir()
        text = manifest.model_copy(update={"number": number}).to_json()
        (folder / "manifest.json").write_bytes(text)

    def timed(work: object) -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    def parse_all() -> None:
        for path in warehouse.layout.runs.glob("*/manifest.json"):
            json.loads(path.read_bytes())

    yardstick = min(timed(parse_all) for _ in range(3))
    assert min(timed(lambda: RunLog(warehouse.layout).last) for _ in range(3)) < yardstick
    assert min(timed(lambda: RunLog(warehouse.layout).consumed()) for _ in range(3)) < 2 * yardstick


def test_as_of_is_in_utc_to_the_microsecond(warehouse: Warehouse) -> None:
    moment = datetime(2026, 3, 1, 3, 0, 0, 123456, tzinfo=UTC)
    with warehouse.begin(RunKind.GRADING, moment) as run:
        run.commit(RunFacts())
    assert warehouse.runs().last_as_of == moment
