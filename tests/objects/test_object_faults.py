"""Runs into an object store that is busy, breaks off, or lies about what took effect."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from judgebatch.contracts.grading import Graded
from judgebatch.errors import StoreRefusedError, WarehouseConflictError, WarehouseWriteError
from judgebatch.objects import bucket as bucket_module
from judgebatch.objects.bucket import Bucket
from judgebatch.objects.url import parse_url
from judgebatch.vocabulary import RunKind
from judgebatch.warehouse import RunFacts, Warehouse, init, open_warehouse, publish, verify
from judgebatch.warehouse.object_storage import ObjectStorage
from judgebatch.warehouse.sweeping import rubbish
from tests.objects.corpora import again
from tests.objects.proxy import Faults
from tests.warehouse.nights import as_of, rows_of

MANIFEST = "/runs/000001/manifest.json"
PARTS = {
    "an object": ("PUT", "/tables/"),
    "the manifest": ("PUT", MANIFEST),
    "a listing": ("GET", "prefix="),
    "reading": ("GET", "/runs/"),
    "the views": ("PUT", "/views/"),
}
KINDS = ("slow_down", "conflict", "internal", "drop_before", "drop_after", "internal_after")
SAMPLE = [
    ("slow_down", "an object"),
    ("conflict", "an object"),
    ("drop_after", "an object"),
    ("internal", "the manifest"),
    ("drop_before", "the manifest"),
    ("drop_after", "the manifest"),
    ("internal_after", "the manifest"),
    ("slow_down", "a listing"),
    ("drop_before", "reading"),
    ("internal", "the views"),
]
"""Where a fault matters most; all of them together take minutes."""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up soon, so that a store that stays away is not waited for."""
    monkeypatch.setattr(bucket_module, "_FIRST_PAUSE", 0.01)
    retry = {
        "max_retries": 2,
        "retry_timeout": timedelta(seconds=5),
        "backoff": {
            "init_backoff": timedelta(milliseconds=10),
            "max_backoff": timedelta(milliseconds=50),
            "base": 2,
        },
    }
    monkeypatch.setattr(bucket_module, "_RETRY", retry)


@pytest.fixture
def warehouse(buckets: Callable[[], str], impatient: None) -> Warehouse:
    return init(parse_url(f"{buckets()}/w"))


def small_run(warehouse: Warehouse) -> None:
    with warehouse.begin(RunKind.GRADING, as_of(1)) as staging:
        staging.write_piece(Graded, 0, rows_of(Graded, 1, 3))
        staging.assemble(Graded)
        (staging.state_dir / "file").write_text("state")
        staging.commit(RunFacts())
        publish(warehouse)


def assert_committed_once(warehouse: Warehouse) -> None:
    assert len(warehouse.runs()) == 1
    assert verify(warehouse) == []
    assert rubbish(warehouse) == []


@pytest.mark.parametrize(("kind", "part"), SAMPLE)
def test_a_run_commits_through_a_fault(
    warehouse: Warehouse, faults: Faults, kind: str, part: str
) -> None:
    rule = faults.add(kind, *PARTS[part])
    small_run(warehouse)
    assert rule.hits == 1
    faults.rules.clear()
    assert_committed_once(warehouse)


@pytest.mark.soak
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("kind", [*KINDS, "hang", "late", "slow", "too_many", "cut", "unavailable"])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_run_commits_through_more_faults(
    warehouse: Warehouse, faults: Faults, kind: str, part: str, times: int
) -> None:
    faults.add(kind, *PARTS[part], times=times)
    small_run(warehouse)
    faults.rules.clear()
    assert_committed_once(warehouse)


def test_a_refusal_that_is_not_so_is_tried_again(warehouse: Warehouse, faults: Faults) -> None:
    rule = faults.add("precondition", "PUT", MANIFEST, times=2)
    small_run(warehouse)
    assert rule.hits == 2
    assert_committed_once(warehouse)


def test_a_put_that_takes_effect_late_changes_nothing(warehouse: Warehouse, faults: Faults) -> None:
    faults.add("late", "PUT", MANIFEST)
    small_run(warehouse)
    before = warehouse.storage.read(MANIFEST.removeprefix("/"))
    time.sleep(1)
    assert warehouse.storage.read(MANIFEST.removeprefix("/")) == before
    assert_committed_once(warehouse)


@pytest.mark.parametrize("took_effect", [True, False])
def test_an_unknown_outcome_is_said_and_settled_by_the_next_run(
    warehouse: Warehouse, faults: Faults, monkeypatch: pytest.MonkeyPatch, *, took_effect: bool
) -> None:
    faults.add("drop_after" if took_effect else "drop_before", "PUT", MANIFEST)
    faults.add("unavailable", "PUT", MANIFEST, times=1000)
    prepared = ObjectStorage.prepare

    def prepare(*arguments: Any) -> None:
        prepared(*arguments)
        faults.add("unavailable", "GET", MANIFEST, times=1000)

    with monkeypatch.context() as patch:
        patch.setattr(ObjectStorage, "prepare", prepare)
        with pytest.raises(WarehouseWriteError, match="is not known whether run 1 was published"):
            small_run(warehouse)
    faults.clear()
    assert len(open_warehouse(parse_url(str(warehouse.name))).runs()) == int(took_effect)
    if not took_effect:
        small_run(warehouse)
    else:
        publish(warehouse)
    assert_committed_once(warehouse)


def test_nothing_is_published_where_the_store_refuses(warehouse: Warehouse, faults: Faults) -> None:
    faults.add("denied", "PUT", MANIFEST, times=1000)
    with pytest.raises(StoreRefusedError, match="Nothing was published") as refused:
        small_run(warehouse)
    assert "credentials come from the environment (AWS_…)" in str(refused.value)
    faults.clear()
    assert len(warehouse.runs()) == 0
    small_run(warehouse)
    assert_committed_once(warehouse)


def test_a_run_that_may_not_write_ends_before_its_work(
    warehouse: Warehouse, faults: Faults
) -> None:
    faults.add("denied", "PUT", times=1000)
    with (
        pytest.raises(StoreRefusedError, match="refuses it"),
        warehouse.begin(RunKind.GRADING, as_of(1)),
    ):
        pytest.fail("it began")
    assert not list(warehouse.layout.staging.iterdir())


def test_a_loser_in_the_middle_of_its_puts_is_told_so(warehouse: Warehouse, faults: Faults) -> None:
    with warehouse.begin(RunKind.GRADING, as_of(1)) as staging:
        staging.write_piece(Graded, 0, rows_of(Graded, 1, 3))
        staging.assemble(Graded)
        upload = Bucket.upload
        won = []

        def overtaken(bucket: Bucket, *arguments: object) -> None:
            upload(bucket, *arguments)  # type: ignore[arg-type]
            if not won:
                won.append(True)
                winner(warehouse)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Bucket, "upload", overtaken)
            with pytest.raises(WarehouseConflictError, match="was committed by process"):
                staging.commit(RunFacts())
    assert_committed_once(warehouse)


def winner(warehouse: Warehouse) -> None:
    """Commit run 1 from another machine, whose sweep removes what the loser has put."""
    small_run(again(warehouse))
