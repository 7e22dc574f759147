import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from judgebatch.contracts.grading import Graded, References, Ungraded
from judgebatch.contracts.table import Table
from judgebatch.errors import WarehouseDamagedError
from judgebatch.vocabulary import RunKind
from judgebatch.warehouse import (
    Conservation,
    RunFacts,
    Warehouse,
    init,
    open_warehouse,
    publish,
    verify,
    write_table,
)
from judgebatch.warehouse.durable import files_below
from judgebatch.warehouse.layout import Layout
from tests.warehouse.nights import as_of, rows_of, run_night

NIGHTS = 2


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    warehouse = init(tmp_path_factory.mktemp("sound") / "warehouse")
    for _ in range(NIGHTS):
        run_night(warehouse)
    return warehouse


@pytest.fixture
def damaged(sound: Warehouse, tmp_path: Path) -> Warehouse:
    """A copy to damage; its views name the folder it was copied from, so they are left out."""
    shutil.copytree(sound.path, tmp_path / "warehouse")
    copy = open_warehouse(tmp_path / "warehouse")
    shutil.copytree(sound.layout.views, copy.layout.views, dirs_exist_ok=True)
    publish(copy)
    return copy


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def replace_by_link(path: Path) -> None:
    moved = path.with_name(f".moved-{path.name}")
    path.rename(moved)
    path.symlink_to(moved.name)


DAMAGES: list[Callable[[Path], None]] = [
    flip,
    truncate,
    empty,
    Path.unlink,
    replace_by_folder,
    replace_by_link,
]


def test_a_sound_warehouse_has_no_findings(sound: Warehouse) -> None:
    assert verify(sound) == []


def test_a_new_warehouse_has_no_findings(warehouse: Warehouse) -> None:
    assert verify(warehouse) == []


def originals(sound: Warehouse) -> list[Path]:
    """Return the write-once files, by their path inside the warehouse."""
    folders = (sound.layout.runs, sound.layout.settings)
    return [path.relative_to(sound.path) for folder in folders for path in files_below(folder)]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_every_damage_to_every_file_is_named(
    sound: Warehouse, damaged: Warehouse, damage: Callable[[Path], None]
) -> None:
    files = [inside for inside in originals(sound) if inside.name != "manifest.json"]
    assert len(files) > 20
    for inside in files:
        (damaged.path / inside).chmod(0o644)
        damage(damaged.path / inside)
    named = {finding.where for finding in verify(damaged)}
    for inside in files:
        # A text that is gone is known by its hash alone.
        without_suffix = inside.with_suffix("").as_posix()
        assert {str(inside), without_suffix} & named, inside


def test_a_file_with_two_names_is_judged_under_each(damaged: Warehouse) -> None:
    first, second = (
        damaged.layout.run(number) / "tables/graded/part-000.parquet" for number in (1, 2)
    )
    names = [path.relative_to(damaged.path).as_posix() for path in (first, second)]
    first.unlink()
    first.hardlink_to(second)
    assert names[0] in {finding.where for finding in verify(damaged)}
    assert names[1] not in {finding.where for finding in verify(damaged)}
    second.chmod(0o644)
    flip(second)
    assert set(names) <= {finding.where for finding in verify(damaged)}


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("number", range(1, NIGHTS + 1))
def test_every_damage_to_a_manifest_is_named(
    damaged: Warehouse, damage: Callable[[Path], None], number: int
) -> None:
    path = damaged.layout.manifest(number)
    path.chmod(0o644)
    damage(path)
    assert f"runs/00000{number}/manifest.json" in {finding.where for finding in verify(damaged)}


@pytest.mark.parametrize("at", [0.02, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99, 1])
def test_any_changed_letter_of_a_manifest_is_noticed(damaged: Warehouse, at: float) -> None:
    path = damaged.layout.manifest(NIGHTS)
    content = bytearray(path.read_bytes())
    content[int(at * (len(content) - 1))] ^= 1
    path.chmod(0o644)
    path.write_bytes(content)
    assert f"runs/00000{NIGHTS}/manifest.json" in {finding.where for finding in verify(damaged)}


def test_a_missing_run_is_no_mistake_of_the_runs_after_it(warehouse: Warehouse) -> None:
    for _ in range(3):
        run_night(warehouse)
    shutil.rmtree(warehouse.layout.run(1))
    findings = [one for one in verify(warehouse) if not one.where.startswith("views/")]
    assert [one.where for one in findings] == ["runs/000001"]


@pytest.mark.parametrize("name", ["views.sql", "judgebatch.duckdb"])
@pytest.mark.parametrize("damage", DAMAGES[:5], ids=lambda damage: damage.__name__)
def test_damage_to_the_views_is_named_as_derived(
    damaged: Warehouse, name: str, damage: Callable[[Path], None]
) -> None:
    damage(damaged.layout.views / name)
    (finding,) = verify(damaged)
    assert finding.where == f"views/{name}"
    # A folder is in the way of what the next run derives.
    told = "Move it out" if damage is replace_by_folder else "derived"
    assert told in finding.meaning


@pytest.mark.parametrize(
    "inside",
    [
        "runs/000001/tables/graded/part-001.parquet",
        "runs/000001/tables/extra/part-000.parquet",
        "runs/000002/note.txt",
        "runs/notes.txt",
        "runs/0000003/manifest.json",
        "runs/7/manifest.json",
        "settings/mine.toml",
        "notes.txt",
        "views/mine.parquet",
        "journal/mine.log",
    ],
)
def test_an_added_file_is_named(damaged: Warehouse, inside: str) -> None:
    path = damaged.path / inside
    path.parent.mkdir(parents=True, exist_ok=True)
    write_table(path, Graded, rows_of(Graded, 1, 1))
    findings = verify(damaged)
    assert any(inside.startswith(finding.where) for finding in findings), findings


def test_swapped_files_are_named(damaged: Warehouse) -> None:
    one, two = (damaged.layout.run(number) / "tables/graded/part-000.parquet" for number in (1, 2))
    one.rename(one.with_name("aside"))
    two.rename(one)
    one.with_name("aside").rename(two)
    assert {finding.where for finding in verify(damaged)} == {
        f"runs/00000{number}/tables/graded/part-000.parquet" for number in (1, 2)
    }


def test_a_run_of_another_warehouse_is_named(damaged: Warehouse, tmp_path: Path) -> None:
    other = init(tmp_path / "other")
    run_night(other, count=7)
    shutil.rmtree(damaged.layout.run(1))
    shutil.copytree(other.layout.run(1), damaged.layout.run(1))
    whats = {finding.what for finding in verify(damaged)}
    assert "was built on another run 1 than the one that is here" in whats


def test_swapped_manifests_are_named(damaged: Warehouse) -> None:
    one, two = (damaged.layout.manifest(number) for number in (1, 2))
    one.rename(one.with_name("aside"))
    two.rename(one)
    one.with_name("aside").rename(two)
    named = {finding.where for finding in verify(damaged)}
    assert {f"runs/00000{number}/manifest.json" for number in (1, 2)} <= named


def test_swapped_runs_are_named(damaged: Warehouse) -> None:
    one, two = (damaged.layout.run(number) for number in (1, 2))
    one.rename(damaged.path / "aside")
    two.rename(one)
    (damaged.path / "aside").rename(two)
    named = {finding.where for finding in verify(damaged)}
    assert {f"runs/00000{number}/manifest.json" for number in (1, 2)} <= named


def test_a_newest_run_that_is_gone_is_named(damaged: Warehouse) -> None:
    shutil.rmtree(damaged.layout.run(NIGHTS))
    findings = {finding.where: finding.meaning for finding in verify(damaged)}
    assert "its rows are in no other run" in findings[f"runs/00000{NIGHTS}"]


@pytest.mark.parametrize("name", [".lock", ".staging", "journal"])
@pytest.mark.parametrize("kind", ["other", "link"])
def test_what_is_not_of_its_kind_is_named(damaged: Warehouse, name: str, kind: str) -> None:
    path = damaged.path / name
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if kind == "link":
        path.symlink_to(damaged.layout.views)
    elif name == ".lock":
        path.mkdir()
    else:
        path.write_text("mine")
    assert name in {finding.where for finding in verify(damaged)}


@pytest.mark.parametrize("number", [1, 2])
def test_a_missing_run_is_named(damaged: Warehouse, number: int) -> None:
    run_night(damaged)
    shutil.rmtree(damaged.layout.run(number))
    findings = verify(damaged)
    assert f"runs/00000{number}" in {finding.where for finding in findings}


@pytest.mark.parametrize("number", [NIGHTS + 1, NIGHTS + 7])
def test_an_empty_folder_beyond_the_newest_run_is_to_be_removed(
    damaged: Warehouse, number: int
) -> None:
    damaged.layout.run(number).mkdir()
    (finding,) = verify(damaged)
    assert (finding.where, finding.what) == (
        f"runs/{number:06d}",
        "is an empty folder, and no run",
    )
    assert "remove it" in finding.meaning
    assert "backup" not in finding.meaning
    with pytest.raises(WarehouseDamagedError, match=rf"{number:06d} is an empty folder.*remove it"):
        damaged.runs()
    damaged.layout.run(number).rmdir()
    assert verify(damaged) == []


def test_a_folder_with_files_and_no_manifest_is_restored_or_moved_out(damaged: Warehouse) -> None:
    folder = damaged.layout.run(NIGHTS + 7)
    folder.mkdir()
    (folder / "mine").touch()
    (finding,) = verify(damaged)
    assert finding.what == "has files, but no manifest.json"
    assert "restore it from a backup; otherwise move it out" in finding.meaning


def test_a_file_under_the_number_of_a_run_is_to_be_moved_out(damaged: Warehouse) -> None:
    damaged.layout.run(NIGHTS + 1).write_text("mine")
    (finding,) = verify(damaged)
    assert (finding.where, finding.what) == (f"runs/00000{NIGHTS + 1}", "is not a run")
    assert finding.meaning == "Move it out of the warehouse."


def test_a_newest_run_that_was_emptied_is_to_be_restored(damaged: Warehouse) -> None:
    folder = damaged.layout.run(NIGHTS)
    shutil.rmtree(folder)
    folder.mkdir()
    (finding,) = verify(damaged)
    assert finding.where == f"runs/00000{NIGHTS}"
    assert finding.what == "is empty, although the views were made for it"
    assert finding.meaning == "Restore it from a backup."


def test_an_unreadable_folder_of_runs_is_named(damaged: Warehouse) -> None:
    shutil.rmtree(damaged.layout.runs)
    assert "runs" in {finding.where for finding in verify(damaged)}


def commit(
    warehouse: Warehouse, frames: dict[type[Table], pl.DataFrame], facts: RunFacts, night: int
) -> None:
    with warehouse.begin(RunKind.GRADING, as_of(night)) as run:
        for table, frame in frames.items():
            run.write_piece(table, 0, frame)
        run.assemble(*frames)
        run.commit(facts)


def whats(warehouse: Warehouse) -> list[str]:
    return [f"{finding.where}: {finding.what}" for finding in verify(warehouse)]


def test_an_identity_published_twice_is_named(warehouse: Warehouse) -> None:
    rows = rows_of(References, 1, 2)
    commit(warehouse, {References: rows}, RunFacts(), 1)
    again = rows.tail(1).with_columns(run=pl.lit(2, pl.Int64))
    commit(warehouse, {References: again}, RunFacts(), 2)
    found = [line for line in whats(warehouse) if not line.startswith("views")]
    tenant, task = rows["tenant_id"][1], rows["task_id"][1]
    assert found == [f"references (tenant_id={tenant!r}, task_id={task!r}): has 2 rows"]


def test_an_episode_graded_and_ungraded_is_named(warehouse: Warehouse) -> None:
    same = {"tenant_id": pl.lit("t"), "episode_id": pl.lit("e")}
    frames: dict[type[Table], pl.DataFrame] = {
        table: rows_of(table, 1, 1).with_columns(**same) for table in (Graded, Ungraded)
    }
    commit(warehouse, frames, RunFacts(), 1)
    assert "graded and ungraded (tenant_id='t', episode_id='e'): has 2 rows" in whats(warehouse)


def test_a_row_stamped_with_another_run_is_named(warehouse: Warehouse) -> None:
    commit(warehouse, {References: rows_of(References, 5, 2)}, RunFacts(), 1)
    assert "has rows of runs 5 to 5 in run 1" in " ".join(whats(warehouse))


def test_waiting_that_does_not_carry_over_is_named(warehouse: Warehouse) -> None:
    commit(
        warehouse, {}, RunFacts(conservation={"verdicts": Conservation(read=5, waiting_after=5)}), 1
    )
    law = Conservation(waiting_before=4, waiting_after=4)
    commit(warehouse, {}, RunFacts(conservation={"verdicts": law}), 2)
    assert "4 verdicts waited before it, but 5 after the run before" in " ".join(whats(warehouse))


def test_counts_that_are_not_the_rows_are_named(warehouse: Warehouse) -> None:
    law = Conservation(read=3, ended={"graded": 3})
    commit(warehouse, {Graded: rows_of(Graded, 1, 2)}, RunFacts(conservation={"episodes": law}), 1)
    assert "3 ended, but graded has 2 rows" in " ".join(whats(warehouse))


def test_an_as_of_that_does_not_move_forward_is_named(warehouse: Warehouse) -> None:
    commit(warehouse, {}, RunFacts(), 2)
    commit(warehouse, {}, RunFacts(), 2)
    assert "its as_of is not later than run 1's" in " ".join(whats(warehouse))


def test_missing_settings_are_named(warehouse: Warehouse) -> None:
    commit(warehouse, {}, RunFacts(settings="0" * 64), 1)
    assert f"settings/{'0' * 64}: is missing, although run 1 used it" in whats(warehouse)


def test_a_living_run_is_no_finding(sound: Warehouse, damaged: Warehouse) -> None:
    with damaged.begin(RunKind.GRADING, as_of(9)) as run:
        run.write_piece(Graded, 0, rows_of(Graded, 3, 2))
        (damaged.layout.views / "views.sql").unlink()
        assert verify(damaged) == []
    assert Layout(damaged.path) == damaged.layout
