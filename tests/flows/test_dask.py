"""A night whose tasks run in the workers of a Dask cluster publishes the same bytes.

Over a shared folder and over an object store, and when workers are killed while they work.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flows.parameters import Runner
from flows.tasks import task_mapper
from judgebatch.errors import JudgebatchError
from judgebatch.objects.url import parse_url
from judgebatch.warehouse import open_warehouse, verify
from judgebatch.warehouse.sweeping import rubbish
from tests.flows.conftest import ROOT
from tests.objects.corpora import in_store, manifests, night, without_token
from tests.objects.servers import ACCOUNT, SECRET
from tests.pipeline.passing import MOST_BYTES

pytestmark = pytest.mark.soak

PATIENCE_SECONDS = 1_200
PLACES = ("folder", "s3")


class Nights:
    """Nights over one warehouse, whose tasks run in a cluster of two workers."""

    def __init__(self, settings: Path, warehouse: str, folder: Path) -> None:
        self.settings = settings
        self.warehouse = warehouse
        self.folder = folder
        self.told: list[str] = []
        for name in ("tmp", "deaths", "prefect"):
            (folder / name).mkdir()

    def run(
        self, number: int, *deadly: str, deaths: tuple[str, ...] = (), slice_rows: int = 400_000
    ) -> int:
        """Do a night, with workers that die as told; return the exit code."""
        for name in deaths:
            (self.folder / "deaths" / name).touch()
        told = [str(number), str(self.folder / "deaths"), str(slice_rows), *deadly]
        log = self.folder / f"log-{len(self.told)}"
        with log.open("wb") as sink:
            done = subprocess.run(
                [sys.executable, "-m", "tests.flows.dask_night", str(self.settings), *told],
                cwd=ROOT,
                env=os.environ
                | {
                    "PYTHONPATH": str(ROOT),
                    "TMPDIR": str(self.folder / "tmp"),
                    "PREFECT_HOME": str(self.folder / "prefect"),
                    "PREFECT_LOGGING_LEVEL": "DEBUG",
                },
                stdout=sink,
                stderr=subprocess.STDOUT,
                timeout=PATIENCE_SECONDS,
                check=False,
            )
        self.told.append(log.read_text())
        return done.returncode

    def passed(self) -> dict[str, Any]:
        """Return what passed between the flow and its tasks."""
        return dict(json.loads((self.folder / "deaths" / "passed.json").read_text()))

    def runs(self) -> list[dict[str, Any]]:
        """Return the manifests of the committed runs, but for what is random."""
        if self.warehouse.startswith("s3://"):
            found = manifests(self.warehouse.removesuffix("/warehouse"))
        else:
            paths = sorted(Path(self.warehouse).glob("runs/*/manifest.json"))
            found = [json.loads(path.read_bytes()) for path in paths]
        return [without_token(run) for run in found]

    def left(self) -> list[str]:
        """Return what is left that no run names, in the warehouse and on the machine."""
        remote = self.warehouse.startswith("s3://")
        place = parse_url(self.warehouse) if remote else Path(self.warehouse)
        warehouse = open_warehouse(place)
        staged = [str(path) for path in warehouse.layout.staging.iterdir()]
        copies = [str(path) for path in (self.folder / "tmp").glob("judgebatch-*")]
        return [*(what for what, _ in rubbish(warehouse)), *staged, *copies]

    def assert_same_bytes(self, local_runs: list[dict[str, Any]]) -> None:
        remote = self.warehouse.startswith("s3://")
        place = parse_url(self.warehouse) if remote else Path(self.warehouse)
        assert self.runs() == [without_token(run) for run in local_runs[: len(self.runs())]]
        assert verify(open_warehouse(place)) == []
        assert self.left() == []


@pytest.fixture(params=PLACES)
def nights(
    request: pytest.FixtureRequest,
    corpus: Path,
    buckets: Callable[[], str],
    tmp_path: Path,
    api: str,
) -> Nights:
    """A place for a warehouse, and its inputs."""
    monkeypatch = request.getfixturevalue("monkeypatch")
    monkeypatch.setenv("PREFECT_API_URL", api)
    if request.param == "s3":
        url = buckets()
        settings = in_store(corpus, tmp_path, url, inputs=True)
        return Nights(settings, f"{url}/warehouse", tmp_path)

    shutil.copytree(corpus, tmp_path / "corpus")
    settings = tmp_path / "corpus" / "judgebatch.toml"
    return Nights(settings, str(tmp_path / "corpus" / "warehouse"), tmp_path)


def assert_paths_alone_are_passed(passed: dict[str, Any], stages: set[str]) -> None:
    assert passed["frames"] == {}
    assert set(passed["most_bytes"]) == {stage.replace("_", "-") for stage in stages} | {"results"}
    assert max(passed["most_bytes"].values()) < MOST_BYTES, passed


def test_two_workers_publish_the_same_bytes(
    nights: Nights, local_runs: list[dict[str, Any]]
) -> None:
    assert nights.run(1) == 0, nights.told
    assert_paths_alone_are_passed(nights.passed(), {"ingest", "grade_shard"})
    assert nights.run(2) == 0, nights.told
    assert len(nights.runs()) == 2
    nights.assert_same_bytes(local_runs)
    assert not [text for text in nights.told if SECRET in text or ACCOUNT in text]


SLICE_ROWS = 40
"""A shard of the corpus has some hundred rows."""


def test_two_workers_share_slices(nights: Nights, local_runs: list[dict[str, Any]]) -> None:
    assert nights.run(1, slice_rows=SLICE_ROWS) == 0, nights.told
    assert_paths_alone_are_passed(
        nights.passed(),
        {"ingest", "cut_shard", "consider_slice", "admit_shard", "fit_slice", "conclude_slice"}
        | {"finish_shard", "grade_shard"},
    )
    nights.assert_same_bytes(local_runs)


@pytest.mark.parametrize(
    ("number", "stage", "place", "slice_rows"),
    [
        (1, "ingest", "end", 400_000),
        (1, "conclude_slice", "pieces.write:2", SLICE_ROWS),
        (2, "grade_shard", "pieces.write:3", 400_000),
        (2, "grade_shard", "end", 400_000),
    ],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_what_a_killed_worker_did_is_done_again(
    nights: Nights,
    local_runs: list[dict[str, Any]],
    workers: int,
    number: int,
    stage: str,
    place: str,
    slice_rows: int,
) -> None:
    for earlier in range(1, number):
        night(nights.settings, earlier)
    deaths = tuple(f"die-{one}" for one in range(workers))
    assert nights.run(number, stage, place, deaths=deaths, slice_rows=slice_rows) == 0, nights.told
    assert not list((nights.folder / "deaths").glob("die-*")), "they did die"
    assert len(nights.runs()) == number
    nights.assert_same_bytes(local_runs)


def test_a_task_that_no_worker_survives_is_a_named_error(
    nights: Nights, local_runs: list[dict[str, Any]]
) -> None:
    night(nights.settings, 1)
    assert nights.run(2, "grade_shard", "pieces.write:3", deaths=("die",)) == 1
    assert "JudgebatchError: 4 workers of the Dask cluster died" in nights.told[-1]
    assert len(nights.runs()) == 1
    assert nights.left() == []
    (nights.folder / "deaths" / "die").unlink()
    assert nights.run(2) == 0, nights.told
    nights.assert_same_bytes(local_runs)


def given_back(task: str) -> str:
    return task


def test_a_cluster_without_workers_is_a_named_error() -> None:
    import dask  # noqa: PLC0415 - an extra
    import distributed  # noqa: PLC0415

    with (
        dask.config.set({"distributed.scheduler.no-workers-timeout": "2s"}),
        distributed.LocalCluster(n_workers=0, dashboard_address=None) as cluster,
        pytest.raises(JudgebatchError, match="had no worker for 2 seconds"),
        task_mapper(Runner.DASK, 2, cluster.scheduler_address) as mapper,
    ):
        list(mapper(given_back, ["task"]))
