"""DuckDB, Polars and PyArrow read every published table, and agree."""

from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from judgebatch.contracts.grading import Graded, References
from judgebatch.contracts.registry import published
from judgebatch.contracts.table import Table, schema_of
from judgebatch.vocabulary import RunKind
from judgebatch.warehouse import RunFacts, Warehouse, connect, init, publish
from judgebatch.warehouse.layout import table_folder
from judgebatch.warehouse.view_sql import quoted, view_name
from tests.warehouse.nights import as_of, rows_of, write_tables

TABLES = sorted(published())
ODD = [
    " ",
    "007",
    "..",
    "../../etc",
    "/",
    "tenant=1",
    "%2F",
    "'; DROP TABLE graded; --",
    'double "quoted"',
    "two\nlines",
    "NULL",
    "nan",
    "😀",
    "שלום",
    "\u202eabc",
    "e\u0301",
    "\u00e9",
    "x" * 10_000,
]
ARROW = {
    pl.Int64(): pa.int64(),
    pl.Float64(): pa.float64(),
    pl.String(): pa.string(),
    pl.Boolean(): pa.bool_(),
    pl.Date(): pa.date32(),
    pl.Datetime("us", "UTC"): pa.timestamp("us", "UTC"),
}
DUCKDB = {
    pl.Int64(): "BIGINT",
    pl.Float64(): "DOUBLE",
    pl.String(): "VARCHAR",
    pl.Boolean(): "BOOLEAN",
    pl.Date(): "DATE",
    pl.Datetime("us", "UTC"): "TIMESTAMP WITH TIME ZONE",
}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Three nights: full, without a row, full."""
    made = init(tmp_path_factory.mktemp("bi") / "warehouse")
    for night, count in enumerate((5, 0, 3), start=1):
        with made.begin(RunKind.GRADING, as_of(night)) as run:
            write_tables(run, count)
            run.commit(RunFacts())
    publish(made)
    return made


def expected(name: str) -> pl.DataFrame:
    table = published()[name]
    return pl.concat(
        [
            rows_of(table, night, count, salt=f"shard {shard} ")
            for night, count in ((1, 5), (3, 3))
            for shard in (0, 1)
        ]
    )


def files(warehouse: Warehouse, name: str) -> list[Path]:
    folder = table_folder(published()[name])
    return sorted(warehouse.path.glob(f"runs/*/{folder}/*.parquet"))


@pytest.mark.parametrize("name", TABLES)
def test_polars_reads_it_by_glob(warehouse: Warehouse, name: str) -> None:
    pattern = warehouse.path / "runs" / "*" / table_folder(published()[name]) / "*.parquet"
    frame = pl.scan_parquet(pattern).collect(engine="in-memory")
    assert frame.schema == schema_of(published()[name])
    assert frame.equals(expected(name))


@pytest.mark.parametrize("name", TABLES)
def test_pyarrow_reads_it_by_folder(warehouse: Warehouse, name: str) -> None:
    schema = schema_of(published()[name])
    for path in files(warehouse, name):
        for table in (ds.dataset(path.parent).to_table(), pq.read_table(path.parent)):
            assert table.schema.names == schema.names()
            assert table.schema.types == [ARROW[dtype] for dtype in schema.dtypes()]
    whole = ds.dataset([str(path) for path in files(warehouse, name)]).to_table()
    frame = pl.from_arrow(whole)
    assert isinstance(frame, pl.DataFrame)
    assert frame.equals(expected(name))


@pytest.mark.parametrize("name", TABLES)
def test_duckdb_reads_it_by_glob_and_through_its_view(warehouse: Warehouse, name: str) -> None:
    table = published()[name]
    types = [DUCKDB[dtype] for dtype in schema_of(table).dtypes()]
    pattern = f"{warehouse.path}/runs/*/{table_folder(table)}/*.parquet"
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        relation = connection.read_parquet(pattern)
        assert relation.columns == schema_of(table).names()
        assert [str(kind) for kind in relation.types] == types
        assert relation.pl().sort(table.order).equals(expected(name).sort(table.order))
    database = str(warehouse.layout.views / "judgebatch.duckdb")
    with duckdb.connect(database, read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        relation = connection.view(quoted(view_name(table)))
        assert [str(kind) for kind in relation.types] == types
        rows = expected(name)
        if table.kind == "snapshot":
            rows = rows.filter(pl.col("run") == 3)
        assert relation.pl().sort(table.order).equals(rows.sort(table.order))


@pytest.mark.parametrize("name", TABLES)
def test_an_empty_night_has_every_file_with_its_full_schema(
    warehouse: Warehouse, name: str
) -> None:
    table = published()[name]
    (path,) = (warehouse.layout.run(2) / table_folder(table)).iterdir()
    assert pl.read_parquet_schema(path) == dict(schema_of(table))
    assert pq.read_table(path).num_rows == 0
    with duckdb.connect() as connection:
        assert connection.read_parquet(str(path)).columns == schema_of(table).names()


@pytest.mark.parametrize("name", TABLES)
def test_there_is_no_nan_and_no_type_without_values(warehouse: Warehouse, name: str) -> None:
    for path in files(warehouse, name):
        table = pq.read_table(path)
        for column in table.columns:
            assert column.type != pa.null()
            if pa.types.is_floating(column.type):
                assert not pc.any(pc.is_nan(column)).as_py()


def test_no_folder_invents_a_column(warehouse: Warehouse) -> None:
    for path in warehouse.path.rglob("*"):
        assert "=" not in path.relative_to(warehouse.path).as_posix()


def odd_rows(table: type[Table]) -> pl.DataFrame:
    return (
        rows_of(table, 1, len(ODD))
        .with_columns(
            tenant_id=pl.Series(ODD),
            task_id=pl.Series(ODD[::-1]),
            episode_id=pl.Series(ODD[3:] + ODD[:3]),
        )
        .sort(table.order)
    )


def test_odd_ids_are_read_as_they_are_and_never_become_paths(tmp_path: Path) -> None:
    made = init(tmp_path / "warehouse")
    with made.begin(RunKind.GRADING, as_of(1)) as run:
        for table in (Graded, References):
            run.write_piece(table, 0, odd_rows(table))
        run.assemble(Graded, References)
        run.commit(RunFacts())
    names = {path.name for path in made.path.rglob("*")}
    assert not names & set(ODD)
    rows = odd_rows(Graded)
    path = made.layout.run(1) / "tables/graded/part-000.parquet"
    assert pl.read_parquet(path).equals(rows)
    arrow = pl.from_arrow(pq.read_table(path))
    assert isinstance(arrow, pl.DataFrame)
    assert arrow.equals(rows)
    with connect(made) as connection:
        assert connection.view("graded").pl().sort(Graded.order).equals(rows)
        joined = connection.sql('SELECT tenant_id FROM graded JOIN "references" USING (tenant_id)')
        assert sorted(tenant for (tenant,) in joined.fetchall()) == sorted(ODD)
