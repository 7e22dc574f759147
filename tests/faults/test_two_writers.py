import errno
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from judgebatch.contracts.grading import Graded
from judgebatch.errors import WarehouseConflictError
from judgebatch.vocabulary import RunKind
from judgebatch.warehouse import RunFacts, Warehouse, publish, verify
from judgebatch.warehouse.sweeping import rubbish, sweep
from tests.faults.night import night
from tests.warehouse.nights import as_of, files_of, rows_of


def test_of_twenty_threads_one_commits_and_the_others_are_told_who(
    fresh: Callable[[], Warehouse], undisturbed: dict[str, bytes]
) -> None:
    warehouse = fresh()
    metrics = warehouse.path.parent / "judgebatch.prom"
    start = Barrier(20)

    def attempt(_: int) -> str:
        start.wait()
        try:
            night(warehouse, metrics, 2)
        except WarehouseConflictError as conflict:
            return "told" if f"process {os.getpid()} on" in str(conflict) else str(conflict)
        return "done"

    with ThreadPoolExecutor(20) as pool:
        answers = Counter(pool.map(attempt, range(20)))
    assert answers.keys() <= {"done", "told"}
    assert answers["done"] >= 1
    assert files_of(warehouse) == undisturbed
    assert not list(warehouse.layout.staging.iterdir())
    assert verify(warehouse) == []


@pytest.mark.soak
@pytest.mark.parametrize("attempt", range(3))
def test_of_twenty_processes_one_commits_and_the_others_exit_with_four(
    fresh: Callable[[], Warehouse], undisturbed: dict[str, bytes], attempt: int
) -> None:
    warehouse = fresh()
    command = [sys.executable, "-m", "tests.faults.night", str(warehouse.path)]
    metrics = [str(warehouse.path.parent / f"{number}.prom") for number in range(20)]
    processes = [
        subprocess.Popen([*command, path, "2"], stderr=subprocess.PIPE, text=True)
        for path in metrics
    ]
    ended = [(process.communicate()[1], process.returncode) for process in processes]
    codes = Counter(code for _, code in ended)
    assert codes.keys() <= {0, 4}, ended
    assert codes[0] >= 1
    assert all("is being written by process" in told for told, code in ended if code == 4)
    assert files_of(warehouse) == undisturbed
    assert not list(warehouse.layout.staging.iterdir())
    assert verify(warehouse) == []
    assert rubbish(warehouse) == []


@pytest.fixture
def without_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", flock)


@pytest.mark.usefixtures("without_locks")
def test_without_locks_the_rename_lets_one_run_win(
    fresh: Callable[[], Warehouse],
) -> None:
    warehouse = fresh()
    with (
        warehouse.begin(RunKind.GRADING, as_of(2)) as one,
        warehouse.begin(RunKind.GRADING, as_of(2)) as two,
    ):
        assert one.number == two.number == 2
        for run in (one, two):
            run.write_piece(Graded, 0, rows_of(Graded, 2, 3, salt=run.token))
            run.assemble(Graded)
        won = two.commit(RunFacts())
        with pytest.raises(WarehouseConflictError, match="committed by somebody else"):
            one.commit(RunFacts())
    assert [run.token for run in warehouse.runs()][1] == won.token
    publish(warehouse)
    assert verify(warehouse) == []
    assert not list(warehouse.layout.staging.iterdir())


@pytest.mark.usefixtures("without_locks")
def test_without_locks_an_overtaken_run_may_be_swept_and_says_so(
    fresh: Callable[[], Warehouse],
) -> None:
    warehouse = fresh()

    def be_overtaken() -> None:
        with warehouse.begin(RunKind.GRADING, as_of(2)) as slow:
            for night in (2, 3):
                with warehouse.begin(RunKind.GRADING, as_of(night)) as fast:
                    fast.commit(RunFacts())
            assert not slow.folder.exists()
            (slow.state_dir / "file").read_bytes()

    with pytest.raises(WarehouseConflictError, match="committed by somebody else"):
        be_overtaken()
    assert not list(warehouse.layout.staging.iterdir())
    assert len(warehouse.runs()) == 3


def test_no_living_runs_staging_is_removed(fresh: Callable[[], Warehouse]) -> None:
    warehouse = fresh()
    with warehouse.begin(RunKind.GRADING, as_of(2)) as run:
        publish(warehouse)
        assert rubbish(warehouse) == []
        with pytest.raises(WarehouseConflictError):
            sweep(warehouse)
        with pytest.raises(WarehouseConflictError):
            warehouse.begin(RunKind.GRADING, as_of(2))
        run.write_piece(Graded, 0, rows_of(Graded, 2, 1))
        run.assemble(Graded)
        run.commit(RunFacts())
    assert len(warehouse.runs()) == 2


def test_a_copy_of_the_descriptor_does_not_keep_the_lock(fresh: Callable[[], Warehouse]) -> None:
    warehouse = fresh()
    with warehouse.begin(RunKind.GRADING, as_of(2)) as run:
        assert run._writer._descriptor is not None
        copy = os.dup(run._writer._descriptor)
    try:
        with warehouse.begin(RunKind.GRADING, as_of(2)):
            pass
    finally:
        os.close(copy)


def test_a_killed_writers_lock_is_free(fresh: Callable[[], Warehouse]) -> None:
    warehouse = fresh()
    environment = os.environ | {"JUDGEBATCH_FAILPOINT": "staging.ready"}
    command = [sys.executable, "-m", "tests.faults.night", str(warehouse.path), "unused", "2"]
    assert subprocess.run(command, env=environment, check=False).returncode < 0
    assert Path(warehouse.layout.lock).read_text().startswith("process ")
    assert len(rubbish(warehouse)) == 1
    with warehouse.begin(RunKind.GRADING, as_of(2)):
        assert rubbish(warehouse) == []
