"""Commands with several processes whose main process is killed: nobody is left at work."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from judgebatch.cli.main import run_command
from judgebatch.warehouse import open_warehouse, verify
from judgebatch.warehouse.failpoints import VARIABLE
from judgebatch.warehouse.sweeping import rubbish

NIGHT = "2026-03-02T03:00:00Z"
RUN = ["run", "--as-of", NIGHT]
BACKFILL = ["backfill", "--from", NIGHT, "--to", NIGHT]
INTERPRET = ["interpret", "verdicts", "--out", "readings"]
REINTERPRET = ["interpret", "--warehouse", "warehouse", "--as-of", "2026-03-05T03:00:00Z"]
READING = ".readings.reading/pieces/*"
AT_WORK = {
    "pieces.write": "warehouse/.staging/*/scratch/pieces/*",
    "commit.begin": "warehouse/.staging/*/run/tables/*",
}
"""What is there once a worker, or the main process, waits at a place."""
PATIENCE_SECONDS = 120.0
"""For processes to start, on a busy machine too."""
ENDED_SECONDS = 20.0
"""For them to end: it takes less than one where the machine has nothing else to do."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus that nothing has read; not to be changed."""
    corpus = tmp_path_factory.mktemp("orphans") / "corpus"
    size = ["--episodes", "150", "--tenants", "4", "--nights", "2", "--seed", "5"]
    assert run_command(["synth", str(corpus), *size]) == 0
    return corpus


@pytest.fixture
def corpus(sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    shutil.copytree(sound, tmp_path / "corpus")
    monkeypatch.chdir(tmp_path / "corpus")
    monkeypatch.delenv(VARIABLE, raising=False)
    return tmp_path / "corpus"


def family(process: subprocess.Popen[bytes], signs: str) -> list[psutil.Process]:
    """Return all that a process has started once it has two workers and a file shows its work."""
    main = psutil.Process(process.pid)
    patience = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < patience:
        children = main.children()
        workers = [worker for child in children for worker in child.children()]
        if len(workers) == 2 and (not signs or list(Path().glob(signs))):
            return [*children, *workers]
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    raise AssertionError(f"no two workers at work: {main.children(recursive=True)}")


def killed(arguments: list[str], place: str, signs: str, number: int = signal.SIGKILL) -> None:
    """Start a command with two workers, end its main process, and see all others end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "judgebatch", *arguments, "--processes", "2"],
        env=os.environ | {VARIABLE: f"{place}=PAUSE"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    others = family(process, signs)
    try:
        assert len(others) >= 4, "a tracker, a server and the workers"
        process.send_signal(number)
        # Whoever lives on holds these pipes open.
        process.communicate(timeout=ENDED_SECONDS)
        assert not psutil.wait_procs(others, timeout=ENDED_SECONDS)[1]
    finally:
        for one in others:
            with suppress(psutil.NoSuchProcess):
                one.kill()
    assert process.returncode == -number


def assert_recovered(corpus: Path, *arguments: str) -> None:
    """See that the same command does its work, and that nothing is left."""
    assert run_command(arguments) == 0
    warehouse = open_warehouse(corpus / "warehouse")
    assert not list(warehouse.layout.staging.iterdir())
    assert rubbish(warehouse) == []
    assert verify(warehouse) == []


@pytest.mark.parametrize(
    ("place", "signs", "number"),
    [
        *((place, signs, signal.SIGKILL) for place, signs in AT_WORK.items()),
        *(
            pytest.param(place, signs, signal.SIGTERM, marks=pytest.mark.soak)
            for place, signs in AT_WORK.items()
        ),
        pytest.param("pieces.write", "", signal.SIGKILL, marks=pytest.mark.soak, id="starting"),
    ],
)
def test_workers_end_with_the_run(corpus: Path, place: str, signs: str, number: int) -> None:
    killed(RUN, place, signs, number)
    assert_recovered(corpus, *RUN)


@pytest.mark.soak
@pytest.mark.parametrize(("place", "signs"), AT_WORK.items())
def test_workers_end_with_the_backfill(corpus: Path, place: str, signs: str) -> None:
    killed(BACKFILL, place, signs)
    assert_recovered(corpus, *BACKFILL)


@pytest.mark.soak
def test_workers_end_with_the_reading_of_files(corpus: Path) -> None:
    killed(INTERPRET, "pieces.write", READING)
    assert run_command(INTERPRET) == 0
    assert not list(corpus.glob(".*"))


@pytest.mark.soak
@pytest.mark.parametrize(("place", "signs"), AT_WORK.items())
def test_workers_end_with_the_reading_of_a_warehouse(corpus: Path, place: str, signs: str) -> None:
    assert run_command(RUN) == 0
    killed(REINTERPRET, place, signs)
    assert_recovered(corpus, *REINTERPRET)
