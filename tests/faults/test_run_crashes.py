"""The whole run, killed at each step: the next one finishes with the same bytes."""

import os
import shutil
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import polars as pl
import pytest

from judgebatch.cli.main import run_command
from judgebatch.warehouse import Warehouse, open_warehouse, verify
from judgebatch.warehouse.failpoints import FAILPOINTS, GRADING_FAILPOINTS, VARIABLE
from judgebatch.warehouse.sweeping import rubbish
from tests.warehouse.nights import files_of

NIGHTS = ("2026-03-02T03:00:00Z", "2026-03-03T03:00:00Z")
SAMPLE = ("spares.write", "commit.durable")
RECOVERY_ONLY = ("staging.sweep", "staging.swept")
ALWAYS_MET = [name for name in (*FAILPOINTS, *GRADING_FAILPOINTS) if name not in RECOVERY_ONLY]


def night(corpus: Path, number: int) -> int:
    return run_command(
        ["run", "--settings", str(corpus / "judgebatch.toml"), "--as-of", NIGHTS[number - 1]]
    )


@pytest.fixture(scope="module")
def one_night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus with its first night graded; not to be changed."""
    corpus = tmp_path_factory.mktemp("crashes") / "corpus"
    size = ["--episodes", "150", "--tenants", "4", "--nights", "2", "--seed", "5"]
    assert run_command(["synth", str(corpus), *size]) == 0
    settings = corpus / "judgebatch.toml"
    # Without the report, which every killed process would otherwise draw anew.
    more = '\n[metrics]\ntextfile = "judgebatch.prom"\n\n[report]\nwrite = false\n'
    settings.write_text(settings.read_text() + more)
    assert night(corpus, 1) == 0
    return corpus


@pytest.fixture(scope="module")
def undisturbed(one_night: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    corpus = tmp_path_factory.mktemp("undisturbed") / "corpus"
    shutil.copytree(one_night, corpus)
    assert night(corpus, 2) == 0
    return files_of(open_warehouse(corpus / "warehouse"))


@pytest.fixture
def corpus(one_night: Path, tmp_path: Path) -> Path:
    shutil.copytree(one_night, tmp_path / "corpus")
    return tmp_path / "corpus"


def graded(warehouse: Warehouse) -> int:
    return pl.read_parquet(warehouse.path / "runs/*/tables/graded/*.parquet").height


def die(corpus: Path, failpoint: str) -> None:
    """Run the second night until it is killed, reading what is visible all the while."""
    warehouse = open_warehouse(corpus / "warehouse")
    command = [sys.executable, "-m", "judgebatch", "run", "--as-of", NIGHTS[1]]
    process = subprocess.Popen(
        [*command, "--settings", str(corpus / "judgebatch.toml")],
        env=os.environ | {VARIABLE: failpoint},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    seen = {graded(warehouse)}
    while process.poll() is None:
        seen.add(graded(warehouse))
        time.sleep(0.01)
    told = process.communicate()[1].decode()
    assert process.returncode == -signal.SIGKILL, (failpoint, told)
    seen.add(graded(warehouse))
    whole = {sum(run.rows("graded") for run in warehouse.runs()[:count]) for count in (1, 2)}
    assert seen <= whole


def assert_recovered(corpus: Path, undisturbed: dict[str, bytes]) -> None:
    assert night(corpus, 2) == 0
    warehouse = open_warehouse(corpus / "warehouse")
    assert files_of(warehouse) == undisturbed
    assert not list(warehouse.layout.staging.iterdir())
    assert rubbish(warehouse) == []
    assert verify(warehouse) == []
    assert "judgebatch_last_run 2.0" in (corpus / "judgebatch.prom").read_text()
    assert not list(corpus.glob(".*"))


@pytest.mark.parametrize("failpoint", SAMPLE)
def test_a_killed_run_is_finished_by_the_next(
    corpus: Path, undisturbed: dict[str, bytes], failpoint: str
) -> None:
    die(corpus, failpoint)
    assert_recovered(corpus, undisturbed)


@pytest.mark.soak
@pytest.mark.parametrize("failpoint", ALWAYS_MET)
def test_a_run_killed_at_any_step_is_finished_by_the_next(
    corpus: Path, undisturbed: dict[str, bytes], failpoint: str
) -> None:
    die(corpus, failpoint)
    assert_recovered(corpus, undisturbed)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("failpoint", "nth"),
    [
        *product(["pieces.write", "pieces.written", "tables.write"], [2, 7, 15, 30]),
        ("spares.write", 2),
        ("spares.write", 3),
        ("spares.packed", 2),
        ("state.identities", 2),
    ],
)
def test_a_run_killed_at_a_later_piece_or_table_is_finished_by_the_next(
    corpus: Path, undisturbed: dict[str, bytes], failpoint: str, nth: int
) -> None:
    die(corpus, f"{failpoint}:{nth}")
    assert_recovered(corpus, undisturbed)


@pytest.mark.soak
@pytest.mark.parametrize("second", ["staging.sweep", "staging.swept", "commit.manifest"])
@pytest.mark.parametrize("first", ["pieces.written", "spares.write", "commit.read_only"])
def test_a_run_killed_while_it_recovers_from_a_kill_is_finished_by_the_next(
    corpus: Path, undisturbed: dict[str, bytes], first: str, second: str
) -> None:
    die(corpus, first)
    die(corpus, second)
    assert_recovered(corpus, undisturbed)


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(content)


def test_no_run_builds_on_a_damaged_checkpoint(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    warehouse = open_warehouse(corpus / "warehouse")
    path = next((warehouse.layout.run(1) / "state").rglob("active_episodes.parquet"))
    damage(path)
    assert night(corpus, 2) == 5
    told = " ".join(capsys.readouterr().err.split())
    assert path.name in told
    assert "`judgebatch rebuild-state` makes the checkpoint again" in told
    assert len(warehouse.runs()) == 1


@pytest.mark.soak
def test_of_twenty_runs_one_commits_and_the_others_stop_or_have_nothing_to_do(
    corpus: Path, undisturbed: dict[str, bytes]
) -> None:
    command = [sys.executable, "-m", "judgebatch", "run", "--as-of", NIGHTS[1]]
    processes = [
        subprocess.Popen(
            [*command, "--settings", str(corpus / "judgebatch.toml")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(20)
    ]
    ended = [(process.communicate(), process.returncode) for process in processes]
    codes = [code for _, code in ended]
    assert set(codes) <= {0, 4}, ended
    committed = [out for (out, _), code in ended if code == 0 and "already" not in out]
    assert len(committed) == 1, ended
    assert all("by process" in err or "somebody else" in err for (_, err), code in ended if code)
    assert_recovered(corpus, undisturbed)
