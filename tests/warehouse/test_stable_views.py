"""Equal rows give equal bytes, however many threads of DuckDB read them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

from judgebatch.contracts.diagnostics import JudgeAgreement
from judgebatch.contracts.grading import Comparisons, Graded, GradingCounts, Ungraded
from judgebatch.contracts.registry import published
from judgebatch.contracts.table import Table
from judgebatch.vocabulary import RunKind
from judgebatch.warehouse import RunFacts, Warehouse, connect, exporting, init, parquet
from judgebatch.warehouse.durable import files_below
from judgebatch.warehouse.exporting import export_latest
from tests.warehouse.nights import as_of, rows_of

_RUNS, _ROWS, _OTHER_ROWS = 6, 3_000, 40
_SETTINGS = [{"threads": threads} for threads in (1, 4, 4, 3, 4)]


def _nothing(_: int, __: int) -> None:
    """Show no progress."""


def _rows(table: type[Table], run: int, chance: np.random.Generator) -> pl.DataFrame:
    """Return rows of few groups, with amounts whose sum depends on the order of adding them."""
    if table not in (Graded, Ungraded, Comparisons, JudgeAgreement, GradingCounts):
        return rows_of(table, run, _OTHER_ROWS)
    rows = rows_of(table, run, _ROWS)
    amounts = {
        name: np.round(chance.lognormal(0, 6, _ROWS), 9)
        for name in ("cost_usd", "latency_ms")
        if name in rows.columns
    }
    few = {
        name: chance.choice([f"{name}1", f"{name}2"], _ROWS)
        for name in ("tenant_id", "task_id", "variant", "judge_id", "subject")
        if name in rows.columns
    }
    votes = ("first", "second", "ties", "undecided")
    counts = {name: chance.integers(0, 9, _ROWS) for name in votes if name in rows.columns}
    even = {"count": 7} if table is GradingCounts else {}
    changed = {**amounts, **few, **counts}
    return rows.with_columns(
        *(pl.Series(name, values) for name, values in changed.items()),
        *(pl.lit(value, pl.Int64).alias(name) for name, value in even.items()),
    ).sort(table.order)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Runs whose files have many row groups: what DuckDB shares among its threads."""
    chance = np.random.default_rng(7)
    warehouse = init(tmp_path_factory.mktemp("stable") / "warehouse", n_shards=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet, "GROUP_ROWS", 250)
        for number in range(1, _RUNS + 1):
            with warehouse.begin(RunKind.GRADING, as_of(number)) as run:
                for table in published().values():
                    run.write_piece(table, 0, _rows(table, number, chance))
                run.assemble(*published().values())
                run.commit(RunFacts())
    return warehouse


def test_every_view_is_the_same_to_the_byte_with_any_threads(
    filled: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exports = []
    for number, settings in enumerate(_SETTINGS):

        @contextmanager
        def with_threads(
            warehouse: Warehouse, settings: dict[str, int] = settings
        ) -> Iterator[duckdb.DuckDBPyConnection]:
            with connect(warehouse) as connection:
                connection.execute(f"SET threads = {settings['threads']}")
                yield connection

        monkeypatch.setattr(exporting, "connect", with_threads)
        export_latest(filled, tmp_path / str(number), _nothing)
        exports.append(
            {path.stem: path.read_bytes() for path in files_below(tmp_path / str(number))}
        )
    first, *others = exports
    assert len(first) > len(published())
    differing = {name for other in others for name in first if other[name] != first[name]}
    assert not differing


def test_amounts_are_summed_as_they_are_written(filled: Warehouse) -> None:
    with connect(filled) as database:
        exact = database.execute(
            "SELECT coalesce(judge_id, ''), CAST(sum(CAST(cost_usd AS DECIMAL(38, 9))) AS DOUBLE) "
            "FROM audit_comparisons GROUP BY ALL ORDER BY ALL"
        ).fetchall()
        costs = database.execute(
            "SELECT judge_id, sum(cost_usd) FROM judge_costs GROUP BY ALL ORDER BY ALL"
        ).fetchall()
        means = database.execute(
            "SELECT any_value(v.mean_cost_usd), any_value(v.mean_latency_ms), "
            "avg(g.cost_usd), avg(g.latency_ms) "
            "FROM variant_leaderboard v JOIN gradings g USING (tenant_id, task_id, variant) "
            "GROUP BY tenant_id, task_id, variant"
        ).fetchall()
    assert [judge for judge, _ in costs] == [judge for judge, _ in exact]
    assert [cost for _, cost in costs] == pytest.approx([cost for _, cost in exact], rel=1e-12)
    assert means
    for cost, latency, plain_cost, plain_latency in means:
        assert (cost, latency) == pytest.approx((plain_cost, plain_latency), rel=1e-9)


def test_a_senseless_latency_spoils_no_view(warehouse: Warehouse) -> None:
    rows = rows_of(Graded, 1, 2).with_columns(
        variant=pl.lit("v"), latency_ms=pl.lit(1e300), cost_usd=pl.lit((2**63 - 1) / 1e9)
    )
    with warehouse.begin(RunKind.GRADING, as_of(1)) as run:
        run.write_piece(Graded, 0, rows)
        run.assemble(*published().values())
        run.commit(RunFacts())
    with connect(warehouse) as database:
        query = "SELECT DISTINCT mean_latency_ms, mean_cost_usd FROM variant_leaderboard"
        assert database.execute(query).fetchall() == [(1e24, (2**63 - 1) / 1e9)]
