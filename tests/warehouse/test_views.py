import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pytest

from judgebatch.contracts.grading import Graded, GradingCounts, OpenEpisodes
from judgebatch.contracts.registry import published
from judgebatch.contracts.table import schema_of
from judgebatch.errors import WarehouseDamagedError, WarehouseWriteError
from judgebatch.vocabulary import RunKind
from judgebatch.warehouse import (
    RunFacts,
    Warehouse,
    connect,
    init,
    open_warehouse,
    publish,
    publishing,
)
from judgebatch.warehouse.derived_views import DERIVED
from judgebatch.warehouse.publishing import stale_views
from judgebatch.warehouse.view_sql import quoted, view_name
from tests.warehouse.nights import as_of, rows_of, run_night


def database(warehouse: Warehouse) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(str(warehouse.layout.views / "judgebatch.duckdb"), read_only=True)


def rows(connection: duckdb.DuckDBPyConnection, query: str) -> list[tuple[object, ...]]:
    return connection.execute(query).fetchall()


def commit(warehouse: Warehouse, frame: pl.DataFrame, table: type = GradingCounts) -> None:
    number = len(warehouse.runs()) + 1
    with warehouse.begin(RunKind.GRADING, as_of(number)) as run:
        run.write_piece(table, 0, frame)
        run.assemble(table)
        run.commit(RunFacts())


def test_every_view_works_on_an_empty_warehouse(warehouse: Warehouse) -> None:
    publish(warehouse)
    with database(warehouse) as connection:
        names = {view_name(table) for table in published().values()} | {
            name for name, view in DERIVED.items() if view.needs <= published().keys()
        }
        assert {name for (name,) in rows(connection, "SHOW TABLES")} == names
        for name in names:
            assert rows(connection, f"FROM {quoted(name)}") == []


def test_every_derived_view_can_be_made() -> None:
    missing = {name: view.needs - published().keys() for name, view in DERIVED.items()}
    assert not {name: tables for name, tables in missing.items() if tables}


def test_an_empty_view_has_the_columns_of_its_contract(warehouse: Warehouse) -> None:
    with connect(warehouse) as connection:
        for table in published().values():
            frame = connection.sql(f"FROM {quoted(view_name(table))}").pl()
            assert frame.schema == schema_of(table)


def test_views_show_all_events_and_the_newest_snapshot(warehouse: Warehouse) -> None:
    for _ in range(3):
        run_night(warehouse, count=2)
    with database(warehouse) as connection:
        counts = "SELECT run, count(*) FROM {} GROUP BY run ORDER BY run"
        assert rows(connection, counts.format("graded")) == [(1, 4), (2, 4), (3, 4)]
        assert rows(connection, counts.format("audit_ledger")) == [(1, 4), (2, 4), (3, 4)]
        assert rows(connection, counts.format("open_episodes")) == [(3, 4)]


def test_an_empty_snapshot_is_the_newest_state(warehouse: Warehouse) -> None:
    run_night(warehouse)
    run_night(warehouse, count=0)
    with database(warehouse) as connection:
        assert rows(connection, "FROM open_episodes") == []


def test_a_run_without_snapshots_leaves_the_newest_in_force(warehouse: Warehouse) -> None:
    run_night(warehouse, count=1)
    with warehouse.begin(RunKind.REINTERPRET, as_of(1)) as run:
        run.commit(RunFacts())
    with connect(warehouse) as connection:
        assert rows(connection, "SELECT DISTINCT run FROM open_episodes") == [(1,)]


def test_a_view_made_before_a_run_shows_that_run_too(warehouse: Warehouse) -> None:
    run_night(warehouse, count=1)
    with database(warehouse) as connection:
        run_night(warehouse, count=1)
        assert rows(connection, "SELECT count(*) FROM graded") == [(4,)]
        assert rows(connection, "SELECT DISTINCT run FROM open_episodes") == [(2,)]


def test_the_views_work_where_the_warehouse_was_moved(tmp_path: Path) -> None:
    run_night(init(tmp_path / "here"), count=1)
    shutil.move(tmp_path / "here", tmp_path / "there")
    moved = open_warehouse(tmp_path / "there")
    with connect(moved) as connection:
        assert rows(connection, "SELECT count(*) FROM graded") == [(2,)]
    assert [where for where, _ in stale_views(moved)] == ["views/judgebatch.duckdb"]
    publish(moved)
    assert stale_views(moved) == []
    with database(moved) as connection:
        assert rows(connection, "SELECT count(*) FROM graded") == [(2,)]


def test_views_sql_works_inside_the_warehouse_folder(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_night(warehouse, count=1)
    monkeypatch.chdir(warehouse.path)
    with duckdb.connect() as connection:
        connection.execute(Path("views/views.sql").read_text())
        assert rows(connection, "SELECT count(*) FROM episodes") == [(4,)]


def test_the_database_can_be_attached_under_any_name(warehouse: Warehouse) -> None:
    run_night(warehouse, count=1)
    path = warehouse.layout.views / "judgebatch.duckdb"
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path}' AS anything (READ_ONLY)")
        assert rows(connection, "SELECT count(*) FROM anything.episodes") == [(4,)]
        assert rows(connection, "SELECT count(*) FROM anything.ungraded_by_reason") == [(2,)]


@pytest.mark.parametrize("name", ["it's", "a[b]", "st*r", "what?", "50% 'of' [x]*", "ünï 😀"])
def test_a_warehouse_may_have_any_name(tmp_path: Path, name: str) -> None:
    warehouse = init(tmp_path / name)
    (tmp_path / "st_r").mkdir()
    run_night(warehouse, count=1)
    with connect(warehouse) as connection:
        assert rows(connection, "SELECT count(*) FROM graded") == [(2,)]
    with database(warehouse) as connection:
        assert rows(connection, "SELECT count(*) FROM open_episodes") == [(2,)]


def test_files_of_an_older_contract_are_read_with_nulls(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    class OldGraded(Graded):
        name = "graded"
        version = 0

    without = rows_of(Graded, 1, 2)
    monkeypatch.setattr(OldGraded, "columns", classmethod(lambda _: _without_variant()))

    def _without_variant() -> dict[str, object]:
        return {name: column for name, column in Graded.columns().items() if name != "variant"}

    commit(warehouse, without.drop("variant"), OldGraded)
    commit(warehouse, rows_of(Graded, 2, 2), Graded)
    with connect(warehouse) as connection:
        found = connection.sql("SELECT run, variant FROM graded ORDER BY run, variant").fetchall()
        assert connection.sql("FROM graded").pl().schema == schema_of(Graded)
    assert [run for run, _ in found] == [1, 1, 2, 2]
    assert [variant is None for _, variant in found] == [True, True, False, True]


def test_views_are_made_again_when_the_log_grew_meanwhile(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_night(warehouse, count=1)
    make = publishing._publish_once
    made = []

    def interrupted(layout: object, run: int) -> None:
        make(layout, run)
        made.append(run)
        if len(made) == 1:
            commit(warehouse, rows_of(OpenEpisodes, 2, 1), OpenEpisodes)

    monkeypatch.setattr(publishing, "_publish_once", interrupted)
    publish(warehouse)
    assert made == [1, 2]
    assert stale_views(warehouse) == []


def test_publishing_leaves_no_other_file(warehouse: Warehouse) -> None:
    run_night(warehouse)
    publish(warehouse)
    names = {path.name for path in warehouse.layout.views.iterdir()}
    assert names == {"judgebatch.duckdb", "views.sql"}


@pytest.mark.parametrize("name", ["views.sql", "judgebatch.duckdb"])
def test_a_folder_in_place_of_a_view_is_named_and_left_alone(
    warehouse: Warehouse, name: str
) -> None:
    run_night(warehouse)
    path = warehouse.layout.views / name
    path.unlink()
    path.mkdir()
    (path / "mine").touch()
    with pytest.raises(WarehouseWriteError) as told:
        publish(warehouse)
    assert f"views at {path}: a folder is in its place" in str(told.value)
    assert "Move that folder out" in str(told.value)
    assert {one.name for one in warehouse.layout.views.iterdir()} <= {
        "views.sql",
        "judgebatch.duckdb",
    }
    path.rename(warehouse.path.parent / name)
    publish(warehouse)
    assert stale_views(warehouse) == []


def test_a_damaged_table_is_named(warehouse: Warehouse) -> None:
    run_night(warehouse)
    path = warehouse.layout.run(1) / "tables/graded/part-000.parquet"
    path.chmod(0o644)
    path.write_bytes(b"PAR1")
    with (
        pytest.raises(WarehouseDamagedError, match=r"graded/part-000\.parquet"),
        connect(warehouse),
    ):
        pytest.fail("it is damaged")


def counts_frame(run: int, *counts: tuple[str, str, int]) -> pl.DataFrame:
    tenants, outcomes, numbers = zip(*counts, strict=True)
    return rows_of(GradingCounts, run, len(counts)).with_columns(
        tenant_id=pl.Series(tenants), outcome=pl.Series(outcomes), count=pl.Series(numbers)
    )


def test_rates_are_null_over_nothing(warehouse: Warehouse) -> None:
    commit(
        warehouse,
        counts_frame(
            1,
            ("a", "no_reference", 1),
            ("a", "relative", 2),
            ("a", "tournament", 1),
            ("b", "no_reference", 0),
            ("b", "relative", 0),
        ),
    )
    commit(warehouse, counts_frame(2, ("a", "no_reference", 4), ("c", "budget_exhausted", 3)))
    with connect(warehouse) as connection:
        query = "SELECT tenant_id, graded, ungraded, graded_rate FROM grading_rates ORDER BY 1"
        assert rows(connection, query) == [("a", 3, 5, 0.375), ("b", 0, 0, None), ("c", 0, 3, 0)]
        query = "FROM ungraded_by_reason ORDER BY ALL"
        assert rows(connection, query) == [
            ("a", "no_reference", 5),
            ("b", "no_reference", 0),
            ("c", "budget_exhausted", 3),
        ]


def test_a_thousand_runs_do_not_make_views_slow(tmp_path: Path) -> None:
    warehouse = init(tmp_path / "warehouse")
    manifest = run_night(warehouse, count=20)
    first = warehouse.layout.run(1)
    files = [path.relative_to(first) for path in first.rglob("part-*.parquet")]
    for number in range(2, 1001):
        for inside in files:
            path = warehouse.layout.run(number) / inside
            path.parent.mkdir(parents=True, exist_ok=True)
            os.link(first / inside, path)
        text = manifest.model_copy(update={"number": number}).to_json()
        warehouse.layout.manifest(number).write_bytes(text)

    def timed(work: Callable[[], object]) -> float:
        def once() -> float:
            start = time.process_time()
            work()
            return time.process_time() - start

        return min(once() for _ in range(3))

    def bare() -> None:
        pattern = f"{warehouse.path}/runs/*/tables/graded/*.parquet"
        with duckdb.connect() as connection:
            assert connection.read_parquet(pattern).count("*").fetchall() == [(40_000,)]

    def through_views() -> None:
        with connect(warehouse) as connection:
            assert rows(connection, "SELECT count(*) FROM graded") == [(40_000,)]

    yardstick = timed(bare)
    # Naming every view costs something once; none of it opens all files.
    assert timed(through_views) < 5 * yardstick + 0.5
    assert timed(lambda: publish(warehouse)) < 5 * yardstick + 0.5
