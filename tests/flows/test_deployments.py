"""Deployments on a real server and worker: late, repeated, killed and cancelled runs."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import FlowRun
from prefect.states import Cancelling, Scheduled

from judgebatch.synthesis import synthesize
from judgebatch.warehouse import open_warehouse, verify
from judgebatch.warehouse.failpoints import VARIABLE
from judgebatch.warehouse.locks import FileLock
from judgebatch.warehouse.sweeping import rubbish
from tests.conformance.nights import Nights
from tests.flows.conftest import PATIENCE_SECONDS, ROOT, prefect, started, stop

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

NIGHTS = [datetime(2026, 3, 2, 3, tzinfo=UTC) + timedelta(days=night) for night in range(3)]
POOL = "judgebatch"


def environment(api: str) -> dict[str, str]:
    settings = {"PREFECT_API_URL": api, "PYTHONPATH": str(ROOT), "PWD": str(ROOT)}
    fast = {"PREFECT_WORKER_QUERY_SECONDS": "1", "PREFECT_WORKER_HEARTBEAT_SECONDS": "5"}
    return os.environ | settings | fast


@pytest.fixture(scope="module")
def client(api: str) -> Iterator[SyncPrefectClient]:
    with get_client(sync_client=True) as client:
        yield client


@pytest.fixture(scope="module")
def deployed(api: str, client: SyncPrefectClient) -> dict[str, Any]:
    """Make the work pool, deploy everything from prefect.yaml; return deployments by name."""
    httpx.post(f"{api}/work_pools/", json={"name": POOL, "type": "process"}).raise_for_status()
    subprocess.run(
        prefect("--no-prompt", "deploy", "--all"),
        cwd=ROOT,
        env=environment(api),
        check=True,
        capture_output=True,
        timeout=PATIENCE_SECONDS,
    )
    return {one.name: one for one in client.read_deployments()}


@pytest.fixture(scope="module")
def worker(
    api: str, deployed: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[subprocess.Popen[bytes]]:
    command = prefect("worker", "start", "--pool", POOL, "--limit", "4")
    log = tmp_path_factory.mktemp("worker") / "worker.log"
    process = started(command, log, environment(api))
    try:
        yield process
    finally:
        stop(process)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Nights:
    """A corpus graded night by night by the command line's own function."""
    made = synthesize(
        tmp_path_factory.mktemp("corpus") / "c", episodes=90, tenants=3, nights=3, seed=11
    )
    nights = copied(made.settings.parent, tmp_path_factory.mktemp("by-hand"))
    for moment in NIGHTS:
        nights.run(moment)
    return nights


def copied(source: Path, folder: Path) -> Nights:
    nights = Nights(folder, 2)
    for name in ("episodes", "verdicts"):
        (folder / name).rmdir()
        (folder / name).symlink_to((source / name).resolve())
    nights.settings.write_text((source / "judgebatch.toml").read_text())
    return nights


@pytest.fixture
def nights(corpus: Nights, tmp_path: Path) -> Nights:
    """The corpus, not graded yet."""
    return copied(corpus.folder, tmp_path)


def of_first(nights: Nights, runs: int) -> dict[str, bytes]:
    return {
        name: content for name, content in nights.published_bytes().items() if int(name[:6]) <= runs
    }


class Slots:
    """Runs of the nightly deployment, each scheduled for a slot in the past: they start late."""

    def __init__(self, client: SyncPrefectClient, deployment: UUID, nights: Nights) -> None:
        self._client = client
        self._deployment = deployment
        self._settings = str(nights.settings)

    def schedule(self, slot: datetime, failpoint: str = "", **more: Any) -> UUID:
        variables = {"env": {VARIABLE: failpoint}} if failpoint else {}
        run = self._client.create_flow_run_from_deployment(
            self._deployment,
            parameters={"night": {"settings": self._settings, **more}},
            state=Scheduled(scheduled_time=slot),
            job_variables=variables,
        )
        return run.id

    def ended(self, run: UUID) -> FlowRun:
        return self.until(run, lambda found: found.state is not None and found.state.is_final())

    def until(self, run: UUID, holds: Callable[[FlowRun], bool]) -> FlowRun:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            found = self._client.read_flow_run(run)
            if holds(found):
                return found
            assert time.monotonic() < deadline, found.state
            time.sleep(0.3)


@pytest.fixture
def slots(
    client: SyncPrefectClient,
    deployed: dict[str, Any],
    worker: subprocess.Popen[bytes],
    nights: Nights,
) -> Slots:
    return Slots(client, deployed["nightly"].id, nights)


def state_of(run: FlowRun) -> str:
    assert run.state is not None
    return run.state.type.value


def committed(nights: Nights) -> int:
    return len(open_warehouse(nights.folder / "warehouse").runs())


def of_run(client: SyncPrefectClient, run: UUID) -> dict[str, Any]:
    return {
        str(one.key): one.data
        for one in client.read_artifacts()
        if one.flow_run_id is not None and str(one.flow_run_id) == str(run)
    }


def test_the_deployments_are_what_the_file_says(
    deployed: dict[str, Any], client: SyncPrefectClient
) -> None:
    assert set(deployed) == {"nightly", "backfill", "reinterpret", "rescore"}
    assert {one.work_pool_name for one in deployed.values()} == {POOL}
    nightly = deployed["nightly"]
    (schedule,) = nightly.schedules
    assert (schedule.schedule.cron, schedule.schedule.timezone) == ("15 3 * * *", "Etc/UTC")
    assert nightly.global_concurrency_limit.limit == 1
    assert all(not deployed[name].schedules for name in ("backfill", "reinterpret", "rescore"))
    for name, model in (("nightly", "Night"), ("backfill", "Nights"), ("rescore", "Rescoring")):
        fields = deployed[name].parameter_openapi_schema["definitions"][model]["properties"]
        assert all(field["description"] and field["title"] for field in fields.values())


def test_wrong_parameters_are_refused_before_a_run_is_made(
    api: str, deployed: dict[str, Any]
) -> None:
    address = f"{api}/deployments/{deployed['nightly'].id}/create_flow_run"
    answer = httpx.post(address, json={"parameters": {"night": {"workers": "many"}}})
    assert answer.status_code == 409
    assert "many" in answer.text


def test_a_late_run_stands_for_its_slot_and_gives_the_same_bytes(
    slots: Slots, nights: Nights, corpus: Nights, client: SyncPrefectClient
) -> None:
    first = slots.schedule(NIGHTS[0])
    assert state_of(slots.ended(first)) == "COMPLETED"
    assert nights.manifest().as_of == NIGHTS[0]
    told = of_run(client, first)
    assert told["judgebatch-nightly"].startswith("# Run 1\n\nAs of 2026-03-02 03:00:00 UTC: **")
    assert "| Ungraded: reason | count |" in told["judgebatch-nightly"]
    assert "tenant" in told["judgebatch-nightly-counts"]
    assert told["judgebatch-nightly-grade"] == 100.0
    parameters = client.read_flow_run(first).parameters
    assert parameters["night"]["settings"] == str(nights.settings)

    # Retried in the UI, the same run stands for the same slot; so does a new one for it.
    again, skipped = slots.schedule(NIGHTS[0]), slots.schedule(NIGHTS[0] - timedelta(days=1))
    for run, said in ((again, "did this as_of already"), (skipped, "superseded by run 1")):
        assert state_of(slots.ended(run)) == "COMPLETED"
        assert said in of_run(client, run)["judgebatch-nightly"]
    assert committed(nights) == 1

    by_name = slots.schedule(datetime.now(UTC), as_of=NIGHTS[1].isoformat())
    assert state_of(slots.ended(by_name)) == "COMPLETED"
    assert nights.published_bytes() == of_first(corpus, 2)


def test_killed_or_cancelled_in_the_middle_nothing_is_published_and_the_next_run_goes_on(
    slots: Slots, nights: Nights, corpus: Nights, client: SyncPrefectClient
) -> None:
    killed = slots.schedule(NIGHTS[0], failpoint="commit.rename")
    assert state_of(slots.ended(killed)) == "CRASHED"
    assert committed(nights) == 0

    cancelled = slots.schedule(NIGHTS[0], failpoint="commit.rename=PAUSE")
    staging = nights.folder / "warehouse" / ".staging"
    slots.until(cancelled, lambda _: any(is_complete(one) for one in staging.glob("*")))
    client.set_flow_run_state(cancelled, Cancelling())
    assert state_of(slots.ended(cancelled)) == "CANCELLED"
    assert committed(nights) == 0

    assert state_of(slots.ended(slots.schedule(NIGHTS[0]))) == "COMPLETED"
    assert nights.published_bytes() == of_first(corpus, 1)
    warehouse = open_warehouse(nights.folder / "warehouse")
    assert verify(warehouse) == []
    assert rubbish(warehouse) == []


def is_complete(staged: Path) -> bool:
    return (staged / "run" / "manifest.json").exists()


def test_a_worker_that_dies_with_its_run_publishes_nothing(
    slots: Slots, nights: Nights, corpus: Nights, worker: subprocess.Popen[bytes]
) -> None:
    """The last of the module: the worker is gone after it."""
    run = slots.schedule(NIGHTS[0], failpoint="commit.rename=PAUSE")
    staging = nights.folder / "warehouse" / ".staging"
    slots.until(run, lambda _: any(is_complete(one) for one in staging.glob("*")))
    lock = nights.folder / "warehouse" / ".lock"
    working = int(lock.read_text().split()[1])
    for process in (worker.pid, working):
        os.kill(process, signal.SIGKILL)
    worker.wait(20)
    slots.until(run, lambda _: not FileLock.is_held(lock))
    assert committed(nights) == 0
    for moment in NIGHTS:
        nights.run(moment)
    assert nights.published_bytes() == corpus.published_bytes()
