"""What each kind of reader is promised while runs commit beside it."""

from collections.abc import Callable
from pathlib import Path
from threading import Thread

import duckdb
import polars as pl
import pyarrow.dataset as ds
import pytest

from judgebatch.warehouse import Warehouse, connect, verify
from judgebatch.warehouse.sweeping import rubbish
from tests.warehouse.nights import run_night

NIGHTS = 6
ROWS = 8
"""Rows of each table and night."""

WHOLE = {ROWS * night for night in range(1, NIGHTS + 2)}


def by_polars(warehouse: Warehouse) -> int:
    return pl.scan_parquet(warehouse.path / "runs/*/tables/graded/*.parquet").collect().height


def by_pyarrow(warehouse: Warehouse) -> int:
    files = [str(path) for path in warehouse.path.glob("runs/*/tables/graded/*.parquet")]
    return int(ds.dataset(files).count_rows())


def by_duckdb_glob(warehouse: Warehouse) -> int:
    pattern = f"{warehouse.path}/runs/*/tables/graded/*.parquet"
    with duckdb.connect() as connection:
        return len(connection.read_parquet(pattern))


def by_views(warehouse: Warehouse) -> int:
    path = warehouse.layout.views / "judgebatch.duckdb"
    with duckdb.connect(str(path), read_only=True) as connection:
        return int(connection.execute("SELECT count(*) FROM graded").fetchall()[0][0])


def by_views_in_memory(warehouse: Warehouse) -> int:
    with connect(warehouse) as connection:
        return int(connection.execute("SELECT count(*) FROM graded").fetchall()[0][0])


def by_log(warehouse: Warehouse) -> int:
    return sum(run.rows("graded") for run in warehouse.runs())


def by_verify(warehouse: Warehouse) -> int:
    assert verify(warehouse) == []
    return ROWS


def by_gc(warehouse: Warehouse) -> int:
    assert rubbish(warehouse) == []
    return ROWS


READERS = [
    by_polars,
    by_pyarrow,
    by_duckdb_glob,
    by_views,
    by_views_in_memory,
    by_log,
    by_verify,
    by_gc,
]


def read_beside_runs(
    warehouse: Warehouse, nights: int, read: Callable[[Warehouse], int]
) -> list[int]:
    def run_nights() -> None:
        for _ in range(nights):
            run_night(warehouse)

    writer = Thread(target=run_nights)
    writer.start()
    seen = []
    while writer.is_alive():
        seen.append(read(warehouse))
    writer.join()
    assert len(warehouse.runs()) == nights + 1
    return seen


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_a_reader_beside_a_run_sees_whole_runs_alone(
    fresh: Callable[[], Warehouse], read: Callable[[Warehouse], int]
) -> None:
    seen = read_beside_runs(fresh(), 2, read)
    assert set(seen) <= WHOLE
    assert seen == sorted(seen)


@pytest.mark.soak
@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_a_reader_beside_many_runs_sees_whole_runs_alone(
    fresh: Callable[[], Warehouse], read: Callable[[Warehouse], int]
) -> None:
    seen = read_beside_runs(fresh(), NIGHTS, read)
    assert set(seen) <= WHOLE
    assert seen == sorted(seen)


def test_what_a_reader_opened_stays_as_it_was(fresh: Callable[[], Warehouse]) -> None:
    warehouse = fresh()
    frame = pl.scan_parquet(warehouse.path / "runs/*/tables/graded/*.parquet")
    before = frame.collect()
    path: Path = warehouse.layout.run(1) / "tables/graded/part-000.parquet"
    content = path.read_bytes()
    run_night(warehouse)
    assert path.read_bytes() == content
    assert frame.collect().filter(pl.col("run") == 1).equals(before)
