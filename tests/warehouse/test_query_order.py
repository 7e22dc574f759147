from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from judgebatch.warehouse import connect, init
from judgebatch.warehouse.query_order import settled


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """The views of a warehouse without runs."""
    folder: Path = tmp_path_factory.mktemp("order")
    with connect(init(folder / "warehouse")) as connection:
        yield connection


@pytest.mark.parametrize(
    "query",
    [
        "FROM leaderboard",
        "SELECT DISTINCT tenant_id FROM graded",
        "SELECT tenant_id, count(*) FROM graded GROUP BY 1",
        "SELECT g.tenant_id FROM graded g JOIN ungraded u USING (tenant_id)",
        "SELECT tenant_id FROM graded UNION SELECT tenant_id FROM ungraded",
        "SELECT tenant_id, tenant_id FROM (FROM episodes)",
        "WITH graded AS (FROM episodes) FROM graded",
        "SELECT task_id, string_agg(variant, ';' ORDER BY variant) FROM graded GROUP BY ALL;",
        "FROM nights -- all of them",
        "SELECT 'a;b' AS x FROM nights ; ",
        "/* ; */ SELECT 'Ünï;' AS x FROM nights /* ; */ ; ; -- and no more;",
        ";SELECT DISTINCT run FROM graded;",
    ],
)
def test_rows_that_come_in_any_order_are_sorted(
    database: duckdb.DuckDBPyConnection, query: str
) -> None:
    sorted_query = settled(database, query)
    assert sorted_query.endswith("\nORDER BY ALL")
    columns = database.execute(query).description
    assert database.execute(sorted_query).description == columns


@pytest.mark.parametrize(
    "query",
    [
        "FROM graded",
        "FROM open_episodes",
        "SELECT tenant_id FROM graded WHERE score > 0",
        "FROM nights ORDER BY run DESC",
        "FROM episodes LIMIT 5",
        "FROM (FROM nights ORDER BY run DESC)",
        "WITH newest AS (FROM nights ORDER BY run DESC) FROM newest",
        "SHOW TABLES",
        "DESCRIBE nights",
        "VALUES (2), (1)",
        "FROM range(3)",
        "SELECT 1",
        "FROM nights; FROM graded",
        "EXPLAIN FROM nights",
        "PIVOT nights ON run USING sum(graded)",
        "no SQL at all",
        "-- nothing",
    ],
)
def test_other_queries_are_left_as_they_are(
    database: duckdb.DuckDBPyConnection, query: str
) -> None:
    assert settled(database, query) == query
