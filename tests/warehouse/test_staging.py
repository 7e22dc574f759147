import os
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from judgebatch.contracts.grading import Graded, OpenEpisodes, References, Ungraded
from judgebatch.errors import JudgebatchError, WarehouseConflictError, WarehouseDamagedError
from judgebatch.vocabulary import RunKind
from judgebatch.warehouse import Conservation, RunFacts, Warehouse, init, staging, write_table
from judgebatch.warehouse.durable import files_below
from judgebatch.warehouse.parquet import arrow_schema
from tests.warehouse.nights import as_of, files_of, rows_of, run_night

GRADING = RunKind.GRADING


def everything(warehouse: Warehouse) -> set[str]:
    return {path.relative_to(warehouse.path).as_posix() for path in files_below(warehouse.path)}


def test_nothing_is_visible_before_the_commit_and_all_of_it_after(warehouse: Warehouse) -> None:
    with warehouse.begin(GRADING, as_of(1)) as run:
        run.write_piece(Graded, 0, rows_of(Graded, 1, 3))
        run.assemble(Graded)
        assert not list(warehouse.layout.runs.rglob("*"))
        run.commit(RunFacts())
        assert pl.read_parquet(warehouse.path / "runs/*/tables/graded/*.parquet").height == 3
    assert everything(warehouse) == {
        ".lock",
        "warehouse.json",
        "runs/000001/manifest.json",
        "runs/000001/tables/graded/part-000.parquet",
    }


def test_a_run_that_is_not_committed_leaves_nothing(warehouse: Warehouse) -> None:
    before = everything(warehouse)
    with warehouse.begin(GRADING, as_of(1)) as run:
        run.write_piece(Graded, 0, rows_of(Graded, 1, 3))
        run.assemble(Graded)
    with pytest.raises(RuntimeError, match="broken"), warehouse.begin(GRADING, as_of(1)) as run:
        raise RuntimeError("broken")
    assert everything(warehouse) - before <= {".lock"}
    assert not list(warehouse.layout.staging.iterdir())


def test_published_files_are_read_only(warehouse: Warehouse) -> None:
    run_night(warehouse)
    for path in files_below(warehouse.layout.runs):
        assert not path.stat().st_mode & 0o222, path


def test_a_second_writer_is_told_who_writes(warehouse: Warehouse) -> None:
    with (
        warehouse.begin(GRADING, as_of(1)),
        pytest.raises(WarehouseConflictError, match=rf"process {os.getpid()} on") as conflict,
    ):
        warehouse.begin(GRADING, as_of(1))
    assert conflict.value.exit_code == 4
    with warehouse.begin(GRADING, as_of(1)) as run:
        assert run.number == 1


def test_a_run_decided_by_an_older_log_is_refused(warehouse: Warehouse) -> None:
    seen = warehouse.runs()
    run_night(warehouse)
    with pytest.raises(WarehouseConflictError, match=r"run 1 of .* was committed by somebody else"):
        warehouse.begin(GRADING, as_of(2), seen)
    with warehouse.begin(GRADING, as_of(2), warehouse.runs()) as run:
        assert run.number == 2


def test_runs_are_numbered_without_a_gap(warehouse: Warehouse) -> None:
    with warehouse.begin(GRADING, as_of(1)):
        pass
    assert [run_night(warehouse).number for _ in range(3)] == [1, 2, 3]


def test_a_rename_onto_an_existing_run_fails(warehouse: Warehouse) -> None:
    run_night(warehouse)
    before = files_of(warehouse)
    with warehouse.begin(GRADING, as_of(2)) as run:
        # Somebody whose locks do not work takes the same number.
        warehouse.layout.run(1).rename(warehouse.layout.run(2))
        warehouse.layout.run(2).joinpath("x").write_text("theirs")
        with pytest.raises(WarehouseConflictError, match="committed by somebody else"):
            run.commit(RunFacts())
    warehouse.layout.run(2).joinpath("x").unlink()
    warehouse.layout.run(2).rename(warehouse.layout.run(1))
    assert files_of(warehouse) == before
    assert not list(warehouse.layout.staging.iterdir())


def test_an_empty_folder_in_place_of_a_run_is_not_replaced(warehouse: Warehouse) -> None:
    with warehouse.begin(GRADING, as_of(1)) as run:
        warehouse.layout.run(1).mkdir()
        with pytest.raises(WarehouseConflictError):
            run.commit(RunFacts())
    assert list(warehouse.layout.runs.rglob("*")) == [warehouse.layout.run(1)]


def test_pieces_are_read_by_shard_and_sequence_however_they_were_written(
    warehouse: Warehouse,
) -> None:
    with warehouse.begin(GRADING, as_of(1)) as run:
        for shard, sequence in [(10, 0), (2, 11), (2, 2), (0, 0)]:
            rows = rows_of(References, 1, 1, salt=f"{shard}/{sequence} ")
            run.write_piece(References, shard, rows, sequence)
        assert run.assemble(References, Graded) == {"references": 4, "graded": 0}
        path = run.root / "tables/references/part-000.parquet"
        tasks = pl.read_parquet(path)["task_id"].to_list()
    assert tasks == [f"task_id references {at} 1-0" for at in ("0/0", "2/2", "2/11", "10/0")]


def test_a_piece_written_again_replaces_itself(warehouse: Warehouse) -> None:
    with warehouse.begin(GRADING, as_of(1)) as run:
        run.write_piece(References, 0, rows_of(References, 1, 5))
        run.write_piece(References, 0, rows_of(References, 1, 2))
        assert run.pieces.read(References).height == 2
        assert run.assemble(References) == {"references": 2}


def test_one_shards_pieces_can_be_read_back(warehouse: Warehouse) -> None:
    with warehouse.begin(GRADING, as_of(1)) as run:
        one, two = rows_of(Graded, 1, 2, salt="one"), rows_of(Graded, 1, 2, salt="two")
        run.write_piece(Graded, 1, one)
        run.write_piece(Graded, 2, two)
        assert run.pieces.read(Graded, 2).equals(two)
        assert run.pieces.read(Graded).equals(pl.concat([one, two]))
        assert run.pieces.read(Graded, 3).is_empty()
        assert run.pieces.read(Ungraded).is_empty()


def test_snapshots_have_a_folder_of_their_own(warehouse: Warehouse) -> None:
    with warehouse.begin(GRADING, as_of(1)) as run:
        run.assemble(OpenEpisodes)
        assert (run.root / "snapshots/open_episodes/part-000.parquet").exists()


@pytest.mark.parametrize("step", [1, 3, 10, 25])
def test_a_large_table_is_cut_at_the_same_rows_whatever_the_pieces(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    monkeypatch.setattr(staging, "PART_ROWS", 10)
    rows = rows_of(References, 1, 25)
    with warehouse.begin(GRADING, as_of(1)) as run:
        for at in range(0, 25, step):
            run.write_piece(References, 0, rows.slice(at, step), at)
        run.assemble(References)
        parts = sorted((run.root / "tables/references").iterdir())
        assert [path.name for path in parts] == [f"part-00{n}.parquet" for n in range(3)]
        assert [pl.read_parquet(path).height for path in parts] == [10, 10, 5]
        assert pl.read_parquet(parts).equals(rows)


def test_a_table_that_fills_its_file_exactly_has_no_empty_one_after_it(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "PART_ROWS", 10)
    with warehouse.begin(GRADING, as_of(1)) as run:
        batch = pa.Table.from_pylist([], schema=arrow_schema(References)).to_batches()
        run.write_piece(References, 0, rows_of(References, 1, 10))
        run.write_piece(References, 1, rows_of(References, 1, 0))
        run.assemble(References)
        assert len(list((run.root / "tables/references").iterdir())) == 1
        assert batch == []


def test_an_unchanged_checkpoint_file_is_carried_over_as_one_file(warehouse: Warehouse) -> None:
    run_night(warehouse)
    second = run_night(warehouse)
    inside = "state/tiers/first.parquet"
    paths = [warehouse.layout.run(number) / inside for number in (1, 2)]
    assert paths[0].stat().st_ino == paths[1].stat().st_ino
    entries = [
        next(entry for entry in manifest.files if entry.path == inside)
        for manifest in (warehouse.runs()[0], second)
    ]
    assert entries[1] == entries[0].model_copy(update={"run": 1}), "and says who wrote it"


def test_a_checkpoint_file_that_is_not_there_cannot_be_carried_over(warehouse: Warehouse) -> None:
    with warehouse.begin(GRADING, as_of(1)) as run, pytest.raises(WarehouseDamagedError):
        run.link_from_parent("tiers/first.parquet")
    run_night(warehouse)
    (warehouse.layout.run(1) / "state/tiers/first.parquet").unlink()
    with (
        warehouse.begin(GRADING, as_of(2)) as run,
        pytest.raises(WarehouseDamagedError, match="rebuild-state"),
    ):
        run.link_from_parent("tiers/first.parquet")


@pytest.mark.parametrize("check", [True, False])
def test_a_checkpoint_file_is_found_where_it_is_sound(warehouse: Warehouse, *, check: bool) -> None:
    assert warehouse.state_file("night.parquet") is None
    run_night(warehouse)
    path = warehouse.state_file("night.parquet", check=check)
    assert path == warehouse.layout.run(1) / "state/night.parquet"
    assert warehouse.state_file("other.parquet", check=check) is None


def test_no_run_builds_on_a_damaged_checkpoint(warehouse: Warehouse) -> None:
    run_night(warehouse)
    path = warehouse.layout.run(1) / "state/night.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(content)
    with pytest.raises(WarehouseDamagedError, match=r"night\.parquet.*rebuild-state"):
        warehouse.state_file("night.parquet")
    path.write_bytes(content[:-1])
    with pytest.raises(WarehouseDamagedError):
        warehouse.state_file("night.parquet", check=False)


def test_a_run_that_lost_count_is_not_published(warehouse: Warehouse) -> None:
    law = Conservation(read=3, ended={"graded": 1}, waiting_after=1)
    with (
        pytest.raises(JudgebatchError, match="1 of 3 are unaccounted for"),
        warehouse.begin(GRADING, as_of(1)) as run,
    ):
        run.commit(RunFacts(conservation={"episodes": law}))
    assert not len(warehouse.runs())


def test_the_manifest_lists_every_file(warehouse: Warehouse) -> None:
    manifest = run_night(warehouse)
    folder = warehouse.layout.run(1)
    there = {path.relative_to(folder).as_posix() for path in files_below(folder)}
    assert {entry.path for entry in manifest.files} == there - {"manifest.json"}
    path = "tables/graded/part-000.parquet"
    graded = next(entry for entry in manifest.files if entry.path == path)
    assert (graded.table, graded.rows, graded.version) == ("graded", 8, 1)
    assert manifest.rows("graded") == 8
    assert manifest == warehouse.runs()[0]
    assert manifest.parent is None


def test_each_run_names_the_one_it_was_built_on(warehouse: Warehouse) -> None:
    first, second = run_night(warehouse), run_night(warehouse)
    assert second.parent is not None
    assert (second.parent.number, second.parent.digest) == (1, first.digest)


def test_the_same_nights_give_the_same_bytes(tmp_path: Path) -> None:
    one, two = init(tmp_path / "one"), init(tmp_path / "two")
    for _ in range(3):
        run_night(one)
        run_night(two)
    assert files_of(one) == files_of(two)
    tokens = {run.token for log in (one.runs(), two.runs()) for run in log}
    assert len(tokens) == 6


def test_state_tables_keep_their_digest_in_the_manifest(warehouse: Warehouse) -> None:
    with warehouse.begin(GRADING, as_of(1)) as run:
        facts = write_table(run.state_dir / "x.parquet", Graded, rows_of(Graded, 1, 3))
        manifest = run.commit(RunFacts())
    (entry,) = manifest.files
    assert (entry.path, entry.content, entry.rows) == ("state/x.parquet", facts.content, 3)
