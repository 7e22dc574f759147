"""Damaged files of every make: rows of the contract, or a refusal by name, and nothing else."""

import select
import signal
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.inputs.fuzz_damage import damaged
from tests.inputs.fuzz_seeds import Seed, seeds
from tests.inputs.fuzz_worker import file_of

SECONDS = 10
"""What reading one small file twice may take of a processor."""
HANGS = 120
"""Seconds after which a worker that says nothing hangs, on a busy machine too."""
MIB = 700
"""Memory that a small file may take, whatever it says."""


class Worker:
    """A process that reads damaged files, started again when one kills it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.outcomes: Counter[str] = Counter()
        self._process: subprocess.Popen[str] | None = None
        self._last: deque[Seed] = deque(maxlen=50)

    def fares(self, file: Seed) -> dict[str, Any]:
        """Return how a file fares; of one that kills the worker, how the worker ended."""
        path = self.folder / file_of(file.kind)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(file.content)
        self._last.append(file)
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{file.kind}\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], HANGS)
        answer = process.stdout.readline() if ready else ""
        if answer:
            found: dict[str, Any] = orjson.loads(answer)
            self.outcomes[found["outcome"]] += 1
            return found
        how = self.stop()
        return {"outcome": "hangs" if not ready else "dies", "what": how}

    def keep(self, file: Seed) -> Path:
        """Write a file where it outlives the test, with those before it: memory that one of them
        damaged may fail later."""
        kept = self.folder.parent / "kept"
        kept.mkdir(exist_ok=True)
        for number, before in enumerate(self._last):
            (kept / f"{number:02}-{file_of(before.kind).replace('/', '-')}").write_bytes(
                before.content
            )
        path = kept / f"this-{file_of(file.kind).replace('/', '-')}"
        path.write_bytes(file.content)
        return path

    def stop(self) -> str:
        """End the process and return how it ended."""
        if self._process is None:
            return ""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            code = self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process = None
        said = (self.folder / "stderr").read_text(errors="replace")[-2000:]
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return f"{name}: {said}"

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            command = [sys.executable, "-W", "error", "-m", "tests.inputs.fuzz_worker"]
            with (self.folder / "stderr").open("w") as stderr:
                self._process = subprocess.Popen(
                    [*command, str(self.folder)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    text=True,
                )
        return self._process


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    started = Worker(tmp_path_factory.mktemp("fuzz"))
    yield started
    started.stop()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Seed]:
    return dict(seeds(tmp_path_factory.mktemp("seeds")))


def test_the_whole_files_are_read(worker: Worker, whole: dict[str, Seed]) -> None:
    fared = {name: worker.fares(file)["outcome"] for name, file in whole.items()}
    assert fared == dict.fromkeys(whole, "read")


def assert_fares_well(worker: Worker, name: str, file: Seed) -> None:
    found = worker.fares(file)
    well = found["outcome"] in ("read", "refused") and found["seconds"] < SECONDS
    if not well or found["mib"] > MIB:
        kept = worker.keep(file)
        pytest.fail(f"{name}: {orjson.dumps(found).decode()}\nThe file is kept as {kept}.")


def of(examples: int) -> settings:
    return settings(
        max_examples=examples,
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        database=None,
    )


def fuzzed(worker: Worker, whole: dict[str, Seed], examples: int) -> None:
    @of(examples)
    @given(damaged(whole))
    def fares_well(example: tuple[str, Seed]) -> None:
        assert_fares_well(worker, *example)

    fares_well()
    assert worker.outcomes["refused"] > worker.outcomes["read"] > examples // 50


def test_a_damaged_file_is_read_or_refused_by_name(worker: Worker, whole: dict[str, Seed]) -> None:
    fuzzed(worker, whole, 300)


@pytest.mark.soak
def test_many_damaged_files_are_read_or_refused_by_name(
    worker: Worker, whole: dict[str, Seed]
) -> None:
    fuzzed(worker, whole, 20_000)
