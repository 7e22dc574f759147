"""Whole nights into an object store, killed at each step, and by many writers at once."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgebatch.objects.bucket import Bucket
from judgebatch.objects.url import parse_url
from judgebatch.warehouse import doctor, open_warehouse, verify
from judgebatch.warehouse.failpoints import FAILPOINTS, OBJECT_FAILPOINTS, VARIABLE
from judgebatch.warehouse.sweeping import rubbish
from tests.objects.corpora import NIGHTS, in_store, manifests, night, without_token
from tests.objects.proxy import Faults
from tests.objects.servers import ACCOUNT, SECRET

SAMPLE = ("objects.put:3", "commit.renamed")
NOT_MET = {
    "staging.sweep",
    "staging.swept",
    "commit.read_only",
    "commit.fsync",
    "commit.durable",
    "views.database",
    "views.rename",
    "views.renamed",
    "metrics.write",
    "metrics.rename",
}
"""What only a warehouse in a folder meets, or a run that finds another one's staging."""
EVERY = [name for name in (*FAILPOINTS, *OBJECT_FAILPOINTS) if name not in NOT_MET]


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    return folder


def start(settings: Path, number: int, temporary: Path, *options: str, **environment: str) -> Any:
    command = [sys.executable, "-m", "judgebatch", "run", "--as-of", NIGHTS[number - 1]]
    return subprocess.Popen(
        [*command, "--settings", str(settings), *options],
        env=os.environ | {"TMPDIR": str(temporary)} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def assert_as_in_a_folder(url: str, local_runs: list[dict[str, Any]], count: int) -> None:
    runs = [without_token(run) for run in manifests(url)]
    assert runs == [without_token(run) for run in local_runs[:count]]
    warehouse = open_warehouse(parse_url(f"{url}/warehouse"))
    assert verify(warehouse) == []
    assert rubbish(warehouse) == []


def killed_and_run_again(
    corpus: Path, url: str, folder: Path, local_runs: list[dict[str, Any]], *failpoints: str
) -> None:
    settings = in_store(corpus, folder, url)
    temporary = folder / "tmp"
    night(settings, 1)
    for failpoint in failpoints:
        process = start(settings, 2, temporary, **{VARIABLE: failpoint})
        said = process.communicate()
        assert process.returncode == -signal.SIGKILL, said
        numbers = [run["number"] for run in manifests(url)]
        assert numbers in ([1], [1, 2])
    process = start(settings, 2, temporary)
    said = process.communicate()
    assert process.returncode == 0, said
    assert_as_in_a_folder(url, local_runs, 2)
    assert not list(temporary.iterdir()), "the dead process's copies are gone too"


@pytest.mark.parametrize(
    "failpoint",
    [*SAMPLE, *(pytest.param(one, marks=pytest.mark.soak) for one in EVERY if one not in SAMPLE)],
)
def test_a_run_killed_at_any_step_is_finished_by_the_next(
    corpus: Path,
    local_runs: list[dict[str, Any]],
    buckets: Callable[[], str],
    tmp_path: Path,
    temporary: Path,
    failpoint: str,
) -> None:
    killed_and_run_again(corpus, buckets(), tmp_path, local_runs, failpoint)


@pytest.mark.soak
@pytest.mark.parametrize("place", ["pieces.write", "commit.rename"])
def test_of_a_run_with_workers_that_was_killed_no_copies_are_left(
    corpus: Path,
    local_runs: list[dict[str, Any]],
    buckets: Callable[[], str],
    tmp_path: Path,
    temporary: Path,
    place: str,
) -> None:
    url = buckets()
    settings = in_store(corpus, tmp_path, url)
    signs = {"pieces.write": "scratch/pieces/*", "commit.rename": "run/manifest.json"}
    paused = {VARIABLE: f"{place}=PAUSE"}
    process = start(settings, 1, temporary, "--processes", "2", **paused)
    while not list(temporary.glob(f"*/.staging/*/{signs[place]}")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.kill()
    process.communicate(timeout=20)
    said = start(settings, 1, temporary).communicate()
    assert [path.name for path in temporary.glob("judgebatch-*")] == [], said
    assert_as_in_a_folder(url, local_runs, 1)


@pytest.mark.soak
@pytest.mark.parametrize("second", ["objects.put:9", "objects.stored", "commit.rename"])
@pytest.mark.parametrize("first", ["objects.put:5", "commit.rename"])
def test_a_run_killed_twice_is_finished_by_the_next(
    corpus: Path,
    local_runs: list[dict[str, Any]],
    buckets: Callable[[], str],
    tmp_path: Path,
    temporary: Path,
    first: str,
    second: str,
) -> None:
    killed_and_run_again(corpus, buckets(), tmp_path, local_runs, first, second)


@pytest.mark.soak
def test_a_backfill_killed_after_its_last_commit_is_published_by_the_same_again(
    corpus: Path, buckets: Callable[[], str], tmp_path: Path, temporary: Path
) -> None:
    url = buckets()
    settings = in_store(corpus, tmp_path, url)
    command = [sys.executable, "-m", "judgebatch", "backfill", "--settings", str(settings)]
    command += ["--from", NIGHTS[0], "--to", NIGHTS[-1]]
    environment = os.environ | {"TMPDIR": str(temporary)}
    place = f"commit.renamed:{len(NIGHTS)}"
    done = subprocess.run(command, env=environment | {VARIABLE: place}, check=False)
    assert done.returncode == -signal.SIGKILL
    again = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert "nothing to do" in again.stdout
    warehouse = open_warehouse(parse_url(f"{url}/warehouse"))
    assert len(warehouse.runs()) == len(NIGHTS)
    assert verify(warehouse) == []
    assert doctor(warehouse) == []
    assert not list(temporary.iterdir())


def of_many_writers_one_commits(
    corpus: Path, url: str, folder: Path, local_runs: list[dict[str, Any]], count: int
) -> None:
    settings = in_store(corpus, folder, url)
    night(settings, 1)
    processes = [start(settings, 2, folder / "tmp") for _ in range(count)]
    ended = [(*process.communicate(), process.returncode) for process in processes]
    assert {code for _, _, code in ended} <= {0, 4}, ended
    committed = [out for out, _, code in ended if code == 0 and "already" not in out]
    assert len(committed) == 1, ended
    losers = [" ".join(err.split()) for _, err, code in ended if code == 4]
    assert all("was committed by process" in err or "somebody else" in err for err in losers)
    assert_as_in_a_folder(url, local_runs, 2)


@pytest.mark.parametrize("count", [4, pytest.param(20, marks=pytest.mark.soak)])
def test_of_many_writers_one_commits(
    corpus: Path,
    local_runs: list[dict[str, Any]],
    buckets: Callable[[], str],
    tmp_path: Path,
    temporary: Path,
    count: int,
) -> None:
    of_many_writers_one_commits(corpus, buckets(), tmp_path, local_runs, count)


@pytest.mark.soak
def test_twenty_writers_on_one_machine_with_a_shared_scratch(
    corpus: Path,
    local_runs: list[dict[str, Any]],
    buckets: Callable[[], str],
    tmp_path: Path,
    temporary: Path,
) -> None:
    url = buckets()
    settings = in_store(corpus, tmp_path, url, scratch=True)
    night(settings, 1)
    processes = [start(settings, 2, temporary) for _ in range(20)]
    ended = [(*process.communicate(), process.returncode) for process in processes]
    assert {code for _, _, code in ended} <= {0, 4}, ended
    assert all("by process" in err for _, err, code in ended if code == 4), ended
    assert_as_in_a_folder(url, local_runs, 2)


def test_no_secret_is_written_or_said_anywhere(
    corpus: Path, buckets: Callable[[], str], faults: Faults, tmp_path: Path, temporary: Path
) -> None:
    url = buckets()
    settings = in_store(corpus, tmp_path, url, inputs=True, scratch=True)
    told = []
    for number, fault in ((1, "slow_down"), (1, ""), (2, "conflict"), (2, "denied"), (3, "")):
        if fault:
            faults.add(fault, "PUT", "manifest", times=1 if fault != "denied" else 1000)
        process = start(settings, number, temporary, RUST_LOG="trace")
        told += process.communicate()
        faults.rules.clear()
    commands = (["verify"], ["gc", "--json"], ["doctor"], ["check", "--json"], ["history"])
    for arguments in commands:
        command = [sys.executable, "-m", "judgebatch", *arguments, "--settings", str(settings)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        told += [done.stdout, done.stderr]
    secrets = (SECRET, ACCOUNT)
    assert any("published" in text or "Run" in text for text in told)
    assert not [text for text in told for secret in secrets if secret in text]
    root = parse_url(url)
    bucket = Bucket(root)
    objects = bucket.below()
    assert objects
    for one in objects:
        content = bucket.read(one.key)
        assert not [secret for secret in secrets if secret.encode() in content], one.key
    for path in tmp_path.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert not [secret for secret in secrets if secret.encode() in content], path
