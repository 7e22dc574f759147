"""A warehouse in an object store against the same one in a folder."""

import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from judgebatch.contracts.grading import Graded
from judgebatch.errors import UsageError, WarehouseConflictError, WarehouseDamagedError
from judgebatch.objects import bucket as bucket_module
from judgebatch.objects.bucket import Bucket
from judgebatch.objects.url import parse_url
from judgebatch.vocabulary import RunKind
from judgebatch.warehouse import (
    RunFacts,
    Warehouse,
    connect,
    doctor,
    init,
    open_warehouse,
    publish,
    verify,
)
from judgebatch.warehouse.layout import object_name
from judgebatch.warehouse.locks import FileLock
from judgebatch.warehouse.manifest import new_token
from judgebatch.warehouse.sweeping import rubbish, sweep
from tests.cli.running import run as command
from tests.objects.corpora import (
    NIGHTS,
    again,
    bucket_of,
    in_store,
    manifests,
    night,
    without_token,
)
from tests.objects.proxy import Faults
from tests.warehouse.nights import as_of, rows_of


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_module, "_FIRST_PAUSE", 0.01)


def test_runs_are_those_of_a_folder_to_the_byte(
    corpus: Path, local_runs: list[dict[str, Any]], buckets: Callable[[], str], tmp_path: Path
) -> None:
    url = f"{buckets()}/a b/ü"
    settings = in_store(corpus, tmp_path, url, inputs=True)
    for number in range(1, len(NIGHTS) + 1):
        assert night(settings, number).published
    runs = manifests(url)
    assert [without_token(run) for run in runs] == [without_token(run) for run in local_runs]
    bucket = Bucket(parse_url(url) / "warehouse")
    for run in runs:
        for entry in run["files"]:
            written = run["number"] if "run" not in entry else entry["run"]
            name = f"runs/{written:06d}/{object_name(entry['path'], entry['sha256'])}"
            assert bucket.sha256(name) == entry["sha256"]
    assert any("run" in entry for run in runs for entry in run["files"]), "something is carried"
    assert verify(open_warehouse(parse_url(url) / "warehouse")) == []


def test_a_night_puts_what_is_new_and_fetches_what_it_needs(
    corpus: Path, buckets: Callable[[], str], faults: Faults, tmp_path: Path
) -> None:
    url = buckets()
    settings = in_store(corpus, tmp_path, url, scratch=True)
    night(settings, 1)
    faults.seen.clear()
    night(settings, 2)
    methods = Counter(method for method, _, _ in faults.seen)
    second = manifests(url)[1]
    own = [entry for entry in second["files"] if "run" not in entry]
    # Own objects, the manifest, the note, views and the memory of the inputs.
    assert len(own) < methods["PUT"] <= len(own) + 6
    got = [path for method, path, _ in faults.seen if method == "GET" and "/state/" in path]
    assert got == [], "its own checkpoint is here still"
    shutil.rmtree(tmp_path / "scratch")
    faults.seen.clear()
    night(settings, 3)
    got = [path for method, path, _ in faults.seen if method == "GET" and "/state/" in path]
    state = [entry for entry in second["files"] if entry["path"].startswith("state/")]
    assert len(got) == len(set(got)) == len(state), "each file of the checkpoint, once"
    texts = [path for method, path, _ in faults.seen if method == "GET" and "/audit/verd" in path]
    assert texts == [], "and of the tables only what the report shows"


def test_copies_of_another_warehouse_are_not_used(
    corpus: Path, buckets: Callable[[], str], tmp_path: Path
) -> None:
    url = buckets()
    settings = in_store(corpus, tmp_path, url, scratch=True)
    night(settings, 1)
    night(settings, 2)
    bucket = Bucket(parse_url(url) / "warehouse")
    bucket.delete([one.key for one in bucket.below("runs/000002/")])
    there = parse_url(url) / "warehouse"
    assert len(open_warehouse(there, tmp_path / "scratch").runs()) == 1
    assert night(settings, 2).run == 2
    assert verify(open_warehouse(parse_url(url) / "warehouse")) == []


def test_copies_that_no_process_holds_are_removed_whatever_is_in_them(
    buckets: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = parse_url(f"{buckets()}/w")
    temporary, elsewhere = tmp_path / "tmp", tmp_path / "mine"
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    names = ("empty", "half", "dead", "living")
    empty, half, dead, living = (temporary / f"judgebatch-copies-{name}" for name in names)
    (half / ".staging/000001-00/scratch").mkdir(parents=True)
    for folder in (empty, dead, living, elsewhere):
        folder.mkdir()
    (dead / "held").touch()
    link = temporary / "judgebatch-copies-link"
    link.symlink_to(elsewhere)
    lock = FileLock.take(living / "held")
    assert lock is not None
    with lock:
        own = init(url).path
        assert set(temporary.iterdir()) == {living, link, own}
    assert list(elsewhere.iterdir()) == []


def test_a_folder_for_copies_that_is_removed_before_it_is_held_is_made_again(
    buckets: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = parse_url(f"{buckets()}/w")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    make = tempfile.mkdtemp
    made: list[Path] = []

    def and_lose_it(prefix: str) -> str:
        made.append(Path(make(prefix=prefix)))
        if len(made) == 1:
            made[0].rmdir()
        return str(made[-1])

    monkeypatch.setattr(tempfile, "mkdtemp", and_lose_it)
    assert init(url).path == made[1]
    assert len(made) == 2


def test_a_prefix_that_holds_something_else_is_refused(buckets: Callable[[], str]) -> None:
    url = parse_url(f"{buckets()}/x")
    with pytest.raises(UsageError, match="is not a warehouse"):
        open_warehouse(url)
    Bucket(url).create("other", b"")
    with pytest.raises(UsageError, match="holds files that are no warehouse's"):
        init(url)
    init(url / "inside")
    with pytest.raises(UsageError, match="is a warehouse already"):
        init(url / "inside")
    Bucket(url / "inside").create("runs/000001/manifest.json", b"{}")
    Bucket(url / "inside").delete(["warehouse.json"])
    with pytest.raises(WarehouseDamagedError, match="restore that file"):
        init(url / "inside")


@pytest.fixture
def warehouse(buckets: Callable[[], str]) -> Warehouse:
    return init(parse_url(f"{buckets()}/w"))


def small_run(warehouse: Warehouse, number: int) -> None:
    with warehouse.begin(RunKind.GRADING, as_of(number)) as staging:
        staging.write_piece(Graded, 0, rows_of(Graded, number, 3))
        staging.assemble(Graded)
        (staging.state_dir / "file").write_text(f"state {number}")
        staging.commit(RunFacts())
        publish(warehouse)


DAMAGES: dict[str, tuple[Callable[[Bucket, str], None], str]] = {
    "missing": (lambda bucket, key: bucket.delete([key]), "is missing"),
    "cut": (
        lambda bucket, key: bucket.replace(key, bucket.read(key)[:-1]),
        "bytes instead of",
    ),
    "changed": (
        lambda bucket, key: bucket.replace(key, bytes(reversed(bucket.read(key)))),
        "other bytes than were written|is not a manifest",
    ),
    "more": (lambda bucket, key: bucket.replace(f"{key}.x", b""), "is in no manifest"),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize(
    "part",
    [
        "tables/graded/",
        *(pytest.param(one, marks=pytest.mark.soak) for one in ("state/", "manifest")),
    ],
)
def test_verify_finds_damage_that_no_copy_hides(
    warehouse: Warehouse, damage: str, part: str
) -> None:
    small_run(warehouse, 1)
    small_run(warehouse, 2)
    assert verify(warehouse) == []
    bucket = bucket_of(warehouse)
    (key,) = (one.key for one in bucket.below("runs/000001/") if part in one.key)
    make, told = DAMAGES[damage]
    if part == "manifest" and damage == "cut":
        told = "changed after the commit|is not a manifest"
    make(bucket, key)
    findings = verify(warehouse)
    assert findings
    assert re.search(told, findings[0].what), findings


def test_objects_that_nobody_committed_are_found_and_removed(warehouse: Warehouse) -> None:
    small_run(warehouse, 1)
    bucket = bucket_of(warehouse)
    bucket.create("runs/000001/tables/graded/part-000.dead.parquet", b"x")
    bucket.create("runs/000002/tables/graded/part-000.alive.parquet", b"x")
    (winner,) = (one.key for one in bucket.below(".staging/"))
    other = new_token()
    bucket.create(f".staging/000001-{other}", b"who lost")
    bucket.create(f".staging/000002-{other}", b"who may live")
    assert [(where.rpartition("/")[2], why) for where, why in rubbish(warehouse)] == [
        ("part-000.dead.parquet", "an object of a run that did not commit"),
        (f"000001-{other}", "a note of a run that can commit no more"),
    ]
    sweep(warehouse)
    assert rubbish(warehouse) == []
    assert bucket.find("runs/000001/tables/graded/part-000.dead.parquet") is None
    assert bucket.find("runs/000002/tables/graded/part-000.alive.parquet") is not None
    assert [one.key for one in bucket.below(".staging/")] == [
        winner,
        f".staging/000002-{other}",
    ]
    assert verify(warehouse) == []
    small_run(warehouse, 2)
    assert bucket.find("runs/000002/tables/graded/part-000.alive.parquet") is None, "swept by it"
    assert verify(warehouse) == []


def test_nothing_is_removed_by_what_a_damaged_manifest_says(warehouse: Warehouse) -> None:
    small_run(warehouse, 1)
    bucket = bucket_of(warehouse)
    document = json.loads(bucket.read("runs/000001/manifest.json"))
    document["files"] = []
    bucket.replace("runs/000001/manifest.json", json.dumps(document).encode())
    other = again(warehouse)
    assert rubbish(other) == []
    sweep(other)
    assert [one for one in bucket.below("runs/000001/") if "graded" in one.key]


def test_a_living_runs_objects_are_not_removed_by_others(warehouse: Warehouse) -> None:
    small_run(warehouse, 1)
    with warehouse.begin(RunKind.GRADING, as_of(2)) as staging:
        staging.write_piece(Graded, 0, rows_of(Graded, 2, 3))
        staging.assemble(Graded)
        prepared = staging._storage.prepare

        def prepare(*args: Any) -> None:
            prepared(*args)
            other = again(warehouse)
            sweep(other)
            publish(other)

        object.__setattr__(staging, "_storage", Intercepted(staging._storage, prepare))
        staging.commit(RunFacts())
    assert verify(again(warehouse))[:1] != []  # views are of the run before
    publish(warehouse)
    assert verify(again(warehouse)) == []


class Intercepted:
    """A storage with another ``prepare``."""

    def __init__(self, storage: Any, prepare: Callable[..., None]) -> None:
        self._storage = storage
        self.prepare = prepare

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)


def test_of_two_writers_the_second_is_told_who_won(warehouse: Warehouse) -> None:
    other = again(warehouse)
    with (
        warehouse.begin(RunKind.GRADING, as_of(1)) as one,
        other.begin(RunKind.GRADING, as_of(1)) as two,
    ):
        for run in (one, two):
            run.write_piece(Graded, 0, rows_of(Graded, 1, 3, salt=run.token))
            run.assemble(Graded)
        won = two.commit(RunFacts())
        with pytest.raises(WarehouseConflictError, match=r"committed by process \d+ on .* since"):
            one.commit(RunFacts())
    assert [run.token for run in warehouse.runs()] == [won.token]
    publish(warehouse)
    assert verify(warehouse) == []
    assert rubbish(warehouse) == [], "the loser took its objects along"


def test_answers_of_a_judge_survive_the_machine(warehouse: Warehouse) -> None:
    path, keep = warehouse.storage.journal()
    assert keep is not None
    keep(b"one\n")
    keep(b"two\n")
    path, keep = again(warehouse).storage.journal()
    assert path.read_bytes() == b"one\ntwo\n"
    assert keep is not None
    keep(b"three\n")
    path, _ = again(warehouse).storage.journal()
    assert path.read_bytes() == b"one\ntwo\nthree\n"


def test_a_query_reads_the_columns_that_it_names(warehouse: Warehouse, faults: Faults) -> None:
    with warehouse.begin(RunKind.GRADING, as_of(1)) as staging:
        staging.write_piece(Graded, 0, rows_of(Graded, 1, 60_000))
        staging.assemble(Graded)
        staging.commit(RunFacts())
        publish(warehouse)
    (size,) = (entry.size for entry in warehouse.runs()[0].files if entry.table == "graded")
    with connect(again(warehouse)) as connection:
        faults.seen.clear()
        assert connection.execute("SELECT sum(wins) FROM graded").fetchone() is not None
        read = sum(count for method, path, count in faults.seen if "/graded/" in path)
    assert 0 < read < size / 4


def test_commands_say_the_same_as_over_a_folder(
    corpus: Path,
    local_corpus: Path,
    buckets: Callable[[], str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = buckets()
    settings = in_store(corpus, tmp_path, url)
    for number in (1, 2, 3):
        night(settings, number)
    there, here = f"{url}/warehouse", str(local_corpus / "warehouse")
    graded = pl.read_parquet(f"{here}/runs/*/tables/graded/*.parquet").sort("episode_id")
    tenant, episode = graded.select("tenant_id", "episode_id").row(0)
    monkeypatch.chdir(local_corpus)
    for arguments in (
        ["history"],
        ["show", 2],
        ["sql", "FROM episodes ORDER BY ALL", "--csv"],
        ["sql", "FROM open_episodes ORDER BY ALL", "--json"],
        ["sql", "FROM grading_rates ORDER BY ALL", "--csv"],
        ["doctor"],
        ["verify"],
        ["gc", "--dry-run"],
    ):
        local, remote = (
            command(capsys, *arguments, "--warehouse", place) for place in (here, there)
        )
        assert remote.err == local.err
        assert remote.out.replace(there, here) == local.out
        assert remote.code == local.code
    local, remote = (
        command(capsys, "explain", "--settings", path, "--tenant", tenant, "--episode", episode)
        for path in (local_corpus / "judgebatch.toml", settings)
    )
    assert (remote.out, remote.err) == (local.out, local.err)
    assert doctor(open_warehouse(parse_url(there))) == []


def test_views_name_the_committed_objects(warehouse: Warehouse) -> None:
    small_run(warehouse, 1)
    small_run(warehouse, 2)
    bucket = bucket_of(warehouse)
    text = bucket.read("views/views.sql").decode()
    named = [one.key for one in bucket.below("runs/") if "/graded/" in one.key]
    assert len(named) == 2
    assert all(f"{bucket.url}/{key}" in text for key in named)


def without_hash(key: str) -> str:
    return re.sub(r"\.[0-9a-f]{64}\.", ".", key)


def test_a_damaged_checkpoint_is_made_again_in_its_place(
    corpus: Path, buckets: Callable[[], str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = buckets()
    settings = in_store(corpus, tmp_path, url)
    night(settings, 1)
    night(settings, 2)
    bucket = Bucket(parse_url(url) / "warehouse")
    before = {one.key: one.size for one in bucket.below("runs/")}
    table, identities = (
        next(key for key in before if key.startswith("runs/000002/state/") and part in key)
        for part in ("active_episodes", "known_episodes")
    )
    bucket.replace(table, bucket.read(table)[::-1])
    bucket.delete([identities])
    place = parse_url(url) / "warehouse"
    assert len(verify(open_warehouse(place))) == 2
    # This process has sound copies, and still must not build on what the store has lost.
    moment = ("--as-of", "2026-03-03T12:00:00Z")
    refused = command(capsys, "interpret", "--warehouse", str(place), *moment)
    assert refused.code == 5
    assert "rebuild-state" in refused.err
    told = command(capsys, "rebuild-state", "--settings", settings)
    assert told.code == 0, told
    assert f"{without_hash(table)}: has other bytes than were written" in told.out
    assert f"{without_hash(identities)}: is missing" in told.out
    # Their bytes are compared by verify; a tag may tell one writing from another of the same bytes.
    assert {one.key: one.size for one in bucket.below("runs/")} == before
    assert verify(open_warehouse(place)) == []


def test_a_second_reading_carries_the_checkpoint_over(
    corpus: Path, buckets: Callable[[], str], faults: Faults, tmp_path: Path, capsys: Any
) -> None:
    url = buckets()
    settings = in_store(corpus, tmp_path, url)
    night(settings, 1)
    place = f"{url}/warehouse"
    faults.seen.clear()
    moment = "2026-03-02T12:00:00Z"
    assert command(capsys, "interpret", "--warehouse", place, "--as-of", moment).code == 0
    assert not [path for method, path, _ in faults.seen if method == "PUT" and "/state/" in path]
    night(settings, 2)
    assert verify(open_warehouse(parse_url(place))) == []


def test_no_warehouse_is_made_inside_another(buckets: Callable[[], str]) -> None:
    outer = parse_url(f"{buckets()}/team/outer")
    init(outer)
    for inner in (outer / "inner", outer / "runs" / "inner"):
        with pytest.raises(UsageError, match=f"lies in the warehouse {outer}, and nothing"):
            init(inner)
    init(parse_url(f"{outer}-beside"))
    assert verify(open_warehouse(outer)) == []
