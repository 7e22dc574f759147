"""A damaged checkpoint is refused by name, made again to the byte, and built on as if unharmed."""

import shutil
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from judgebatch.errors import WarehouseConflictError, WarehouseDamagedError
from judgebatch.pipeline.checkpoint import check_files, is_identity_file, is_pending_file
from judgebatch.pipeline.rebuilding import rebuild_state
from judgebatch.pipeline.reinterpreting import reinterpret
from judgebatch.warehouse import Warehouse, open_warehouse, verify
from judgebatch.warehouse.durable import files_below
from judgebatch.warehouse.locks import FileLock
from tests.conformance.nights import Nights
from tests.scenarios.rows import at, comparison, episode

TENANTS = {
    "acme": {"mode": "reference", "judging_window": "36h"},
    "globex": {
        "mode": "tournament",
        "quorum": 3,
        "min_group_size": 2,
        "group_timeout": "48h",
        "grading_ceiling_usd": 0.02,
    },
}
PROMOTION = '[promotion]\nvariant = "new"\nbaseline = "old"\n'
NIGHTS = 6


def deliver(nights: Nights, night: int) -> None:
    """Deliver a night with rows that end, rows that wait, and rows from the day after."""
    hour = 24 * (night - 1)
    many = 12 if night == 1 else 2
    episodes = [
        episode(
            f"{tenant}-{night}-{number}",
            hour + number / 8,
            tenant_id=tenant,
            variant="new" if number % 2 else "old",
            cost_usd=0.1 * number,
            latency_ms=number / 7,
        )
        for tenant in TENANTS
        for number in range(many)
    ]
    episodes.append(episode(f"early-{night}", hour + 30, task_id="tomorrow"))
    judged = [
        comparison(f"globex-{night}-0", f"globex-{night}-1", hour + 3, "tie", tenant_id="globex"),
        comparison(f"acme-{night}-1", "acme-1-0", hour + 3, "left"),
        comparison(f"acme-{night + 1}-0", "acme-1-0", hour + 4, "right"),
        comparison(f"never-{night}", "acme-1-0", hour + 4, "left"),
        comparison(f"early-{night}", f"early-{night}", hour + 4, "left"),
        comparison(f"acme-{night}-1", "acme-1-0", hour + 40, "tie"),
    ]
    nights.deliver(f"n{night}", episodes, judged)


def run(nights: Nights, night: int) -> None:
    nights.run(at(24 * night))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Nights:
    """Six nights, and a re-reading after the third; not to be changed."""
    nights = Nights(tmp_path_factory.mktemp("sound"), shards=2)
    nights.configure(TENANTS, {"unknown_episode_window": "48h"}, extra="")
    nights.settings.write_text(nights.settings.read_text() + PROMOTION)
    for night in range(1, NIGHTS + 1):
        deliver(nights, night)
        run(nights, night)
        if night == 3:
            reinterpret(warehouse_of(nights), at(80))
    return nights


@pytest.fixture
def nights(sound: Nights, tmp_path: Path) -> Nights:
    """A copy to damage, in which files of several runs stay one file."""
    shutil.copytree(sound.folder, tmp_path / "copy", ignore=shutil.ignore_patterns("warehouse"))
    links: dict[int, Path] = {}
    origin = sound.folder / "warehouse"
    for path in (origin, *sorted(origin.rglob("*"))):
        target = tmp_path / "copy" / "warehouse" / path.relative_to(origin)
        if path.is_dir():
            target.mkdir()
        elif path.stat().st_ino in links:
            target.hardlink_to(links[path.stat().st_ino])
        else:
            links[path.stat().st_ino] = Path(shutil.copy2(path, target))
    copied = Nights(tmp_path / "copy", shards=2)
    copied.run(at(24 * NIGHTS))  # its views name where they are
    return copied


def warehouse_of(nights: Nights) -> Warehouse:
    return open_warehouse(nights.folder / "warehouse")


def newest(nights: Nights) -> Path:
    warehouse = warehouse_of(nights)
    return warehouse.layout.run(warehouse.runs().newest)


def committed_bytes(nights: Nights) -> dict[str, bytes]:
    """Return every file of every run; of manifests everything but the token."""
    root = warehouse_of(nights).layout.runs
    found = {}
    for path in files_below(root):
        content = path.read_bytes()
        if path.name == "manifest.json":
            document = orjson.loads(content)
            del document["token"]
            content = orjson.dumps(document)
        found[path.relative_to(root).as_posix()] = content
    return found


def overwrite(path: Path, content: bytes) -> None:
    """Write into the file itself: every run that has it by hard link is damaged with it."""
    path.chmod(0o644)
    path.write_bytes(content)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    overwrite(path, bytes(content))


def truncate(path: Path) -> None:
    overwrite(path, path.read_bytes()[:-1])


DAMAGES: list[Callable[[Path], None]] = [flip, truncate, Path.unlink]
SHORT_AND_LONG = [
    pytest.param(damage, id=damage.__name__, marks=[pytest.mark.soak] if place else [])
    for place, damage in enumerate(DAMAGES)
]
"""One kind of damage in every test run; the others take their time."""


def state_files(nights: Nights) -> list[Path]:
    return files_below(newest(nights) / "state")


def test_the_story_has_every_kind_of_state(sound: Nights) -> None:
    names = {
        path.parent.name if is_identity_file(str(path)) or is_pending_file(str(path)) else path.stem
        for path in state_files(sound)
    }
    assert names >= {
        "pending_episodes",
        "waiting_verdicts",
        "active_episodes",
        "open_groups",
        "epoch_counters",
        "known_references",
        "known_tenants",
        "awaiting_comparisons",
        "spend",
        "refusals",
        "sequential_sums",
        "known_episodes",
        "known_verdicts",
    }
    assert len([path for path in state_files(sound) if path.parent.name == "known_verdicts"]) > 1


@pytest.mark.parametrize("damage", SHORT_AND_LONG)
def test_damage_is_refused_by_name_and_made_good_to_the_byte(
    nights: Nights, damage: Callable[[Path], None]
) -> None:
    before = committed_bytes(nights)
    warehouse = warehouse_of(nights)
    files = state_files(nights)
    for path in files:
        damage(path)
        with pytest.raises(WarehouseDamagedError, match="rebuild-state") as caught:
            check_files(warehouse, warehouse.runs().last)
        assert str(path) in str(caught.value)
        rebuilt = rebuild_state(warehouse)
        assert not rebuilt.lost
        assert str(path.relative_to(warehouse.path)) in {one.where for one in rebuilt.restored}
    for path in files:
        damage(path)
    named = {finding.where for finding in verify(warehouse)}
    assert {str(path.relative_to(warehouse.path)) for path in files} <= named
    assert not rebuild_state(warehouse).lost
    assert committed_bytes(nights) == before
    assert verify(warehouse) == []


def test_the_next_nights_are_those_of_an_undamaged_warehouse(
    sound: Nights, nights: Nights, tmp_path: Path
) -> None:
    control = Nights(Path(shutil.copytree(sound.folder, tmp_path / "control")), shards=2)
    shutil.rmtree(newest(nights) / "state")
    deliver(nights, NIGHTS + 1)
    with pytest.raises(WarehouseDamagedError, match="rebuild-state"):
        run(nights, NIGHTS + 1)
    assert not rebuild_state(warehouse_of(nights)).lost
    for own in (control, nights):
        for night in (NIGHTS + 1, NIGHTS + 2):
            deliver(own, night)
            run(own, night)
    assert committed_bytes(nights) == committed_bytes(control)
    assert verify(warehouse_of(nights)) == []


def test_without_any_checkpoint_of_any_run_all_are_made_again(nights: Nights) -> None:
    before = committed_bytes(nights)
    warehouse = warehouse_of(nights)
    for run_folder in warehouse.layout.runs.iterdir():
        shutil.rmtree(run_folder / "state")
    assert not rebuild_state(warehouse).lost
    assert committed_bytes(nights) == before


def test_spare_copies_are_made_again_from_the_checkpoint(nights: Nights) -> None:
    before = committed_bytes(nights)
    warehouse = warehouse_of(nights)
    for run_folder in warehouse.layout.runs.iterdir():
        shutil.rmtree(run_folder / "spare")
    hows = {one.how for one in rebuild_state(warehouse).restored}
    assert hows == {"made from the checkpoint", "copied from a run that has the same file"}
    assert committed_bytes(nights) == before


def test_what_is_damaged_twice_is_lost_and_said_so(nights: Nights) -> None:
    warehouse = warehouse_of(nights)
    flip(newest(nights) / "state/shard-00000/active_episodes.parquet")
    flip(newest(nights) / "spare/shard-00000.tar")
    lost = {
        one.where.partition("/")[2].partition("/")[2]: one.meaning
        for one in rebuild_state(warehouse).lost
    }
    assert list(lost) == ["state/shard-00000/active_episodes.parquet", "spare/shard-00000.tar"]
    assert all("Restore it from a backup" in meaning for meaning in lost.values())


@pytest.mark.parametrize(
    ("inside", "kind"),
    [
        ("state/shard-00000/active_episodes.parquet", "folder"),
        ("spare/shard-00000.tar", "folder"),
        ("state/shard-00000", "file"),
    ],
)
def test_what_is_in_the_way_is_named_and_left_alone(nights: Nights, inside: str, kind: str) -> None:
    warehouse = warehouse_of(nights)
    before = committed_bytes(nights)
    path = newest(nights) / inside
    where = path.relative_to(warehouse.path).as_posix()
    if kind == "folder":
        path.unlink()
        path.mkdir()
        (named,) = [finding for finding in verify(warehouse) if finding.where == where]
        assert named.what == "is a folder"
        assert named.meaning.startswith("Move that folder out of the warehouse first.")
        assert "rebuild-state" in named.meaning
    else:
        shutil.rmtree(path)
        path.write_text("mine")
    rebuilt = rebuild_state(warehouse)
    assert rebuilt.lost
    for one in rebuilt.lost:
        assert f"the {kind} {where} is in the way" in one.meaning
        assert "Move it out" in one.meaning
        assert "spare copy" not in one.meaning
    path.rename(nights.folder / "moved")
    assert not rebuild_state(warehouse).lost
    assert committed_bytes(nights) == before


@pytest.mark.parametrize("damage", SHORT_AND_LONG)
def test_identities_of_damaged_tables_are_lost_not_invented(
    nights: Nights, damage: Callable[[Path], None]
) -> None:
    warehouse = warehouse_of(nights)
    damage(warehouse.layout.run(1) / "tables/audit/verdicts/part-000.parquet")
    for path in files_below(warehouse.layout.runs):
        if path.parent.name.startswith("known_"):
            path.unlink()
    rebuilt = rebuild_state(warehouse)
    assert {one.where.split("/")[4] for one in rebuilt.lost} == {"known_verdicts"}
    assert "verify" in rebuilt.lost[0].meaning
    assert "known_episodes" in {one.where.split("/")[4] for one in rebuilt.restored}


def test_a_file_too_many_in_the_checkpoint_is_refused(nights: Nights) -> None:
    warehouse = warehouse_of(nights)
    own = next(path for path in state_files(nights) if path.parent.name == "known_episodes")
    shutil.copy(own, own.with_name("999999.arrow"))
    with pytest.raises(WarehouseDamagedError, match=r"999999\.arrow .* move it out"):
        check_files(warehouse, warehouse.runs().last)


def test_a_sound_warehouse_is_left_alone(sound: Nights) -> None:
    before = committed_bytes(sound)
    rebuilt = rebuild_state(warehouse_of(sound))
    assert (rebuilt.restored, rebuilt.lost) == ((), ())
    assert rebuilt.checked > 50
    assert committed_bytes(sound) == before


def test_while_a_run_writes_nothing_is_done(nights: Nights) -> None:
    with (
        FileLock.take_patiently(warehouse_of(nights).layout.lock),
        pytest.raises(WarehouseConflictError),
    ):
        rebuild_state(warehouse_of(nights))
