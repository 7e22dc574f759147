"""The nightly flow against a real Prefect server: same bytes as the command line."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.sorting import ArtifactSort
from prefect.states import State

from flows import nightly as flow_module
from flows import tasks
from flows.artifacts import escaped
from flows.nightly import nightly as nightly_flow
from flows.parameters import Night, Runner
from judgebatch.errors import InputError
from judgebatch.pipeline import grading_stage, shard
from judgebatch.pipeline.grading_stage import SLICE_ROWS
from judgebatch.pipeline.shard import ShardGraded, ShardTask
from judgebatch.synthesis import synthesize
from judgebatch.warehouse import open_warehouse
from tests.conformance.nights import Nights
from tests.flows.conftest import ROOT
from tests.scenarios.rows import at, comparison, episode

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def nightly(settings: Path, as_of: datetime | None = None, **more: Any) -> Any:
    own = {name: more.pop(name) for name in list(more) if name in Night.model_fields}
    return nightly_flow(Night(settings=settings, as_of=as_of, **own), **more)


def copy_of(corpus, folder) -> Nights:
    nights = Nights(folder, 4)
    for name in ("episodes", "verdicts"):
        (folder / name).rmdir()
        (folder / name).symlink_to(corpus.settings.parent / name)
    nights.settings.write_text(corpus.settings.read_text())
    return nights


@pytest.mark.parametrize(
    ("runner", "slice_rows"),
    [(Runner.THREADS, SLICE_ROWS), (Runner.IN_PROCESS, SLICE_ROWS), (Runner.THREADS, 40)],
)
def test_flow_publishes_the_same_bytes_as_the_command_line(tmp_path, runner, slice_rows):
    corpus = synthesize(tmp_path / "corpus", episodes=200, tenants=5, nights=2, seed=11)
    by_hand = copy_of(corpus, tmp_path / "by-hand")
    by_flow = copy_of(corpus, tmp_path / "by-flow")
    for moment in corpus.as_of:
        by_hand.run(moment)
        told = nightly(by_flow.settings, as_of=moment, runner=runner, slice_rows=slice_rows)
        assert told["published"]
    assert by_hand.published_bytes() == by_flow.published_bytes()
    digests = [
        [run.digest for run in open_warehouse(nights.folder / "warehouse").runs()]
        for nights in (by_hand, by_flow)
    ]
    assert digests[0] == digests[1]


def test_flow_repeated_for_the_same_slot_does_nothing(tmp_path):
    nights = Nights(tmp_path)
    nights.configure({"acme": {"mode": "reference"}})
    nights.deliver("n1", [episode("a", 1), episode("b", 2)], [comparison("b", "a", 3, "left")])
    assert nightly(nights.settings, as_of=at(4))["published"]
    before = nights.published_bytes()
    assert not nightly(nights.settings, as_of=at(4))["published"]
    assert nights.published_bytes() == before


def test_flow_stands_for_its_scheduled_start(tmp_path):
    nights = Nights(tmp_path)
    nights.configure({"acme": {"mode": "reference"}})
    before = datetime.now(UTC).replace(microsecond=0)
    nightly(nights.settings)
    as_of = nights.manifest().as_of
    assert before <= as_of <= datetime.now(UTC)
    assert as_of.microsecond == 0


def test_bad_input_fails_the_flow_with_its_message_and_publishes_nothing(tmp_path):
    nights = Nights(tmp_path)
    nights.configure({"acme": {"mode": "reference"}})
    (tmp_path / "episodes" / "broken.parquet").write_bytes(b"no parquet")
    state: State = nightly(nights.settings, as_of=at(4), return_state=True)
    assert state.is_failed()
    with pytest.raises(InputError, match=r"broken\.parquet"):
        state.result()
    assert len(open_warehouse(tmp_path / "warehouse").runs()) == 0


def failing(times: int) -> Any:
    """Return the grading stage, that fails so many times and then works."""
    left = [times]

    def grade_shard(task: ShardTask) -> ShardGraded:
        if left[0]:
            left[0] -= 1
            raise OSError("the disk is away")
        return shard.grade_shard(task)

    return grade_shard


@pytest.fixture
def disturbed(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    monkeypatch.setattr(tasks, "RETRY_DELAY_SECONDS", 0)
    return lambda times: monkeypatch.setattr(grading_stage, "grade_shard", failing(times))


def one_night(tmp_path: Path) -> Nights:
    nights = Nights(tmp_path, 1)
    nights.configure({"acme": {"mode": "reference"}})
    nights.deliver("n1", [episode("a", 1), episode("b", 2)], [comparison("b", "a", 3, "left")])
    return nights


def test_a_task_that_fails_twice_and_then_works_gives_the_same_bytes(tmp_path, disturbed):
    undisturbed = one_night(tmp_path / "undisturbed")
    undisturbed.run(at(4))
    nights = one_night(tmp_path / "disturbed")
    disturbed(2)
    assert nightly(nights.settings, as_of=at(4))["published"]
    assert nights.published_bytes() == undisturbed.published_bytes()


def test_a_task_that_keeps_failing_publishes_nothing_and_the_next_run_goes_on(tmp_path, disturbed):
    nights = one_night(tmp_path)
    disturbed(3)
    state: State = nightly(nights.settings, as_of=at(4), return_state=True)
    assert state.is_failed()
    assert len(open_warehouse(tmp_path / "warehouse").runs()) == 0
    assert nightly(nights.settings, as_of=at(4))["published"]


def test_a_flow_run_that_is_retried_stands_for_the_same_night(tmp_path, monkeypatch):
    nights = one_night(tmp_path)
    asked = []
    original = flow_module.run

    def once_broken(settings: Any, as_of: datetime, **more: Any) -> Any:
        asked.append(as_of)
        if len(asked) == 1:
            time.sleep(1.1)
            raise OSError("the disk is away")
        return original(settings, as_of, **more)

    monkeypatch.setattr(flow_module, "run", once_broken)
    retried = nightly_flow.with_options(retries=1, retry_delay_seconds=1)
    assert retried(Night(settings=nights.settings))["published"]
    assert asked[0] == asked[1] == nights.manifest().as_of


def test_flow_leaves_a_summary_of_everything_worth_knowing(tmp_path):
    nights = Nights(tmp_path, 1)
    nights.configure({"acme": {"mode": "reference"}, "a*b": {"mode": "reference"}}, report=True)
    nights.deliver(
        "n1",
        [episode("a", 1), episode("b", 2), episode("c", 1, tenant_id="a*b")],
        [
            comparison("b", "a", 3, "left") | {"recorded_passed": False},
            comparison("a", "b", 3, "error") | {"recorded_passed": False},
        ],
    )
    nightly(nights.settings, as_of=at(4))
    with get_client(sync_client=True) as client:
        found = client.read_artifacts(sort=ArtifactSort.CREATED_DESC)
    by_key = {one.key: one.data for one in reversed(found)}
    told = by_key["judgebatch-nightly"]
    assert "# Run 1" in told
    assert r"none was graded: a\*b. The report" in told
    assert "1 of 2 runs had a jury that errored or abstained" in told
    assert json.loads(by_key["judgebatch-nightly-counts"]) == [
        {"tenant": "a*b", "outcome": "no_reference", "episodes": 1},
        {"tenant": "acme", "outcome": "no_reference", "episodes": 1},
        {"tenant": "acme", "outcome": "relative", "episodes": 1},
    ]
    assert "report.html" in str(by_key["judgebatch-nightly-report"])


def test_markdown_shows_ids_as_they_are():
    assert escaped("a|b`c\n<i>*x*") == r"a\|b\`c \<i\>\*x\*"


def test_a_flow_without_a_server_brings_its_own_quietly(tmp_path):
    nights = one_night(tmp_path / "nights")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")
    }
    environment |= {"PREFECT_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "flows.nightly"],
        cwd=nights.folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=400,
    )
    assert nights.manifest().number == 1
    said = done.stdout + done.stderr
    assert "published run 1" in said
    assert "Traceback" not in said
    assert "ERROR" not in said
