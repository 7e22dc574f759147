"""``rebuild-state``, ``export``, ``release`` and ``gc``, killed at each step and called again."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from judgebatch.cli.main import run_command
from judgebatch.warehouse import Warehouse, open_warehouse, publish, verify
from judgebatch.warehouse.durable import files_below, temporary_beside
from judgebatch.warehouse.failpoints import (
    EXPORT_FAILPOINTS,
    FAILPOINTS,
    GC_FAILPOINTS,
    REBUILD_FAILPOINTS,
    VARIABLE,
)
from judgebatch.warehouse.manifest import new_token
from judgebatch.warehouse.sweeping import rubbish
from tests.conformance.nights import Nights
from tests.scenarios.rows import at, comparison, episode
from tests.warehouse.nights import files_of

TENANTS = {
    "acme": {"mode": "reference"},
    "globex": {"mode": "tournament", "quorum": 2, "min_group_size": 2},
    "umbrella": {"mode": "reference"},
}
EXPORTS = {"tenant": ["--tenant", "acme"], "latest": ["--latest"]}
RELEASE = ["release", "--where", "reason = 'unknown_tenant'", "--reason", "configured late"]
RELEASE += ["--who", "me", "--as-of", "2026-03-04T00:00:00Z"]
NOT_OF_A_RELEASE = ("staging.sweep", "staging.swept", "settings.", "metrics.")
OF_A_RELEASE = [name for name in FAILPOINTS if not name.startswith(NOT_OF_A_RELEASE)]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of two nights with a tenant that was not known; not to be changed."""
    nights = Nights(tmp_path_factory.mktemp("sound"), shards=2)
    nights.configure(TENANTS)
    for night in (1, 2):
        hour = 24 * night
        episodes = [
            episode(f"e{night}{number}", hour + number, tenant_id=tenant)
            for tenant in (*TENANTS, "unknown")
            for number in range(3)
        ]
        judged = [
            comparison(f"e{night}1", "e10", hour + 5, "left", tenant_id=tenant)
            for tenant in TENANTS
        ]
        nights.deliver(f"n{night}", episodes, judged)
        nights.run(at(hour + 12))
    return nights.folder / "warehouse"


@pytest.fixture
def warehouse(sound: Path, tmp_path: Path) -> Warehouse:
    shutil.copytree(sound, tmp_path / "warehouse")
    copied = open_warehouse(tmp_path / "warehouse")
    publish(copied)  # its views name where they are
    return copied


def command(warehouse: Warehouse, *arguments: str) -> list[str]:
    return [*arguments, "--warehouse", str(warehouse.path)]


def again(warehouse: Warehouse, *arguments: str) -> int:
    return run_command(command(warehouse, *arguments))


def die(warehouse: Warehouse, failpoint: str, *arguments: str) -> None:
    """Run a command in a process of its own until it is killed."""
    done = subprocess.run(
        [sys.executable, "-m", "judgebatch", *command(warehouse, *arguments)],
        env=os.environ | {VARIABLE: failpoint},
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == -signal.SIGKILL, (failpoint, done.stdout, done.stderr)


def assert_clean(warehouse: Warehouse, expected: dict[str, bytes]) -> None:
    assert files_of(warehouse) == expected
    assert not list(warehouse.layout.staging.iterdir())
    assert not [
        path for path in warehouse.path.glob(".*") if path.name not in {".staging", ".lock"}
    ]
    assert rubbish(warehouse) == []
    assert verify(warehouse) == []


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(content)


def damage(warehouse: Warehouse) -> list[Path]:
    """Damage a state table, a file of identities and a spare copy of another shard's state."""
    run = warehouse.layout.run(2)
    state = run / "state/shard-00000/known_references.parquet"
    identities = run / "state/shard-00000/known_episodes/000002.arrow"
    spare = run / "spare/shard-00001.tar"
    flip(state)
    identities.unlink()
    content = spare.read_bytes()
    spare.chmod(0o644)
    spare.write_bytes(content[:-1])
    return [state, identities, spare]


REBUILDS = list(product(REBUILD_FAILPOINTS, (1, 2, 3)))


def killed_rebuild(warehouse: Warehouse, *places: str) -> None:
    expected = files_of(warehouse)
    damaged = damage(warehouse)
    for place in places:
        before = files_of(warehouse)
        die(warehouse, place, "rebuild-state")
        # A file is as it was before, or as its run wrote it.
        now = files_of(warehouse)
        assert all(now[name] in (before.get(name), expected[name]) for name in now)
    assert again(warehouse, "rebuild-state") == 0
    assert all(path.stat().st_mode & 0o777 == 0o444 for path in damaged)
    assert_clean(warehouse, expected)


@pytest.mark.parametrize("place", ["rebuild.made:2", "rebuild.renamed"])
def test_a_killed_rebuild_is_finished_by_the_next(warehouse: Warehouse, place: str) -> None:
    killed_rebuild(warehouse, place)


@pytest.mark.soak
@pytest.mark.parametrize(("failpoint", "nth"), [*REBUILDS, ("spares.write", 1)])
def test_a_rebuild_killed_at_any_step_is_finished_by_the_next(
    warehouse: Warehouse, failpoint: str, nth: int
) -> None:
    killed_rebuild(warehouse, f"{failpoint}:{nth}")


@pytest.mark.soak
@pytest.mark.parametrize("second", REBUILD_FAILPOINTS)
def test_a_rebuild_killed_twice_is_finished_by_the_next(warehouse: Warehouse, second: str) -> None:
    killed_rebuild(warehouse, "rebuild.synced:2", second)


def bytes_below(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files_below(folder)}


@pytest.fixture(scope="module")
def exported(sound: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return what an export of a kind gives in which nothing happens."""
    folder = tmp_path_factory.mktemp("exported")

    def export(kind: str) -> Path:
        out = folder / kind
        if not out.exists():
            assert again(open_warehouse(sound), "export", *EXPORTS[kind], "-o", str(out)) == 0
        return out

    return export


def killed_export(warehouse: Warehouse, kind: str, place: str, whole: Path) -> None:
    expected = files_of(warehouse)
    out = warehouse.path.parent / "exports" / "out"
    arguments = ["export", *EXPORTS[kind], "-o", str(out)]
    die(warehouse, place, *arguments)
    renamed = place == "export.renamed"
    assert out.exists() is renamed
    # What is there under the final name is whole, and is not written over.
    assert again(warehouse, *arguments) == (2 if renamed else 0)
    assert bytes_below(out) == bytes_below(whole)
    assert [path.name for path in out.parent.iterdir()] == ["out"]
    assert files_of(warehouse) == expected


@pytest.mark.parametrize(
    ("kind", "place"), [("tenant", "tables.group:2"), ("latest", "export.table:9")]
)
def test_a_killed_export_leaves_nothing_half_written(
    warehouse: Warehouse, exported: Callable[[str], Path], kind: str, place: str
) -> None:
    killed_export(warehouse, kind, place, exported(kind))


@pytest.mark.soak
@pytest.mark.parametrize(
    ("kind", "place"),
    [
        *product(EXPORTS, EXPORT_FAILPOINTS),
        *product(EXPORTS, ["export.table:2", "export.table:12"]),
        *product(["tenant"], ["tables.write:3", "tables.group", "tables.written:7"]),
    ],
)
def test_an_export_killed_at_any_step_leaves_nothing_half_written(
    warehouse: Warehouse, exported: Callable[[str], Path], kind: str, place: str
) -> None:
    killed_export(warehouse, kind, place, exported(kind))


@pytest.fixture(scope="module")
def released(sound: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return what is under ``runs/`` after a release in which nothing happened."""
    folder = tmp_path_factory.mktemp("released")
    shutil.copytree(sound, folder / "warehouse")
    warehouse = open_warehouse(folder / "warehouse")
    assert again(warehouse, *RELEASE) == 0
    assert len(warehouse.runs()) == 3
    return files_of(warehouse)


def killed_release(
    warehouse: Warehouse, released: dict[str, bytes], failpoint: str, *others: str
) -> None:
    before = set(files_of(warehouse))
    for place in (failpoint, *others):
        die(warehouse, place, *RELEASE)
        assert set(files_of(warehouse)) in (before, set(released))
    assert again(warehouse, *RELEASE) == 0
    assert_clean(warehouse, released)
    assert again(warehouse, *RELEASE) == 0
    assert_clean(warehouse, released)


def test_a_killed_release_is_finished_by_the_next(
    warehouse: Warehouse, released: dict[str, bytes]
) -> None:
    killed_release(warehouse, released, "commit.manifest", "views.rename")


@pytest.mark.soak
@pytest.mark.parametrize("place", OF_A_RELEASE)
def test_a_release_killed_at_any_step_is_finished_by_the_next(
    warehouse: Warehouse, released: dict[str, bytes], place: str
) -> None:
    killed_release(warehouse, released, place)


@pytest.mark.soak
@pytest.mark.parametrize(
    "second", ["staging.sweep", "staging.swept", "state.linked", "views.renamed"]
)
def test_a_release_killed_twice_is_finished_by_the_next(
    warehouse: Warehouse, released: dict[str, bytes], second: str
) -> None:
    killed_release(warehouse, released, "commit.read_only", second)


@pytest.mark.soak
@pytest.mark.parametrize(("failpoint", "nth"), list(product(GC_FAILPOINTS, (1, 2, 3))))
def test_a_killed_gc_is_finished_by_the_next(
    warehouse: Warehouse, failpoint: str, nth: int
) -> None:
    expected = files_of(warehouse)
    die(warehouse, "commit.read_only", *RELEASE)
    (staged,) = warehouse.layout.staging.iterdir()
    shutil.copytree(staged, warehouse.layout.staged(3, new_token()))
    with subprocess.Popen(["true"]) as dead:
        pass
    left = temporary_beside(warehouse.layout.views / "judgebatch.duckdb")
    left = left.with_name(left.name.replace(f"-{os.getpid()}-", f"-{dead.pid}-"))
    left.write_bytes(b"half")
    assert len(rubbish(warehouse)) == 3
    die(warehouse, f"{failpoint}:{nth}", "gc")
    assert again(warehouse, "gc") == 0
    assert_clean(warehouse, expected)


@pytest.mark.parametrize(
    ("place", "arguments", "said"),
    [
        ("export.table", ["export", "--tenant", "acme", "-o"], "Nothing was exported."),
        ("export.written", ["export", "--latest", "-o"], "Nothing was exported."),
        ("rebuild.made", ["rebuild-state"], "What was made again until then is in place."),
        ("rebuild.renamed", ["rebuild-state"], "What was made again until then is in place."),
        ("gc.remove", ["gc"], "cannot write the warehouse"),
        ("pieces.write", RELEASE, "Nothing was published."),
    ],
)
def test_a_command_that_cannot_write_says_so_and_finishes_with_room(
    warehouse: Warehouse,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    place: str,
    arguments: list[str],
    said: str,
) -> None:
    expected = files_of(warehouse)
    out = warehouse.path.parent / "exports" / "out"
    whole = [*arguments, str(out)] if arguments[-1] == "-o" else arguments
    if "rebuild-state" in whole:
        damage(warehouse)
    if "gc" in whole:
        warehouse.layout.staged(3, new_token()).mkdir()
    monkeypatch.setenv(VARIABLE, f"{place}=ENOSPC")
    assert again(warehouse, *whole) == 1
    told = " ".join(capsys.readouterr().err.split())
    assert "there is no room left" in told
    assert said in told
    assert not out.exists()
    monkeypatch.delenv(VARIABLE)
    assert again(warehouse, *whole) == 0
    if whole is RELEASE:
        assert len(warehouse.runs()) == 3
    else:
        assert_clean(warehouse, expected)
