"""``judgebatch sql``: a query over the views."""

import csv
import sys
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Annotated, Any

import duckdb
import orjson
import typer

from judgebatch.cli import console
from judgebatch.cli.opening import WarehouseOption, chosen_warehouse
from judgebatch.cli.options import SETTINGS_FILE, SettingsOption
from judgebatch.errors import UsageError
from judgebatch.warehouse import connect

_BATCH = 10_000
_SHOWN = 100


def sql(
    query: Annotated[str, typer.Argument(help="The query.", metavar="QUERY")],
    *,
    settings: SettingsOption = SETTINGS_FILE,
    warehouse: WarehouseOption = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print all rows as CSV.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all rows as JSON lines.")] = False,
) -> None:
    """Ask DuckDB about the warehouse: one view for each table, and some that join them.

    Only committed runs are seen. `"references"` is a word of SQL: quote it. As a table, the first
    100 rows are shown; --csv and --json print all.

    For example:

        judgebatch sql "FROM episodes LIMIT 5"

        judgebatch sql "SELECT ungraded_reason, sum(episodes) FROM ungraded_by_reason GROUP BY 1"

        judgebatch sql "FROM pass_rates" --csv > pass_rates.csv

        judgebatch sql "SHOW TABLES"
    """
    if as_csv and as_json:
        raise UsageError("--csv and --json exclude each other: name one.")
    if not query.strip():
        raise UsageError(
            'The query is empty. Write one in quotes, such as "FROM episodes LIMIT 5"; '
            '"SHOW TABLES" lists what there is.'
        )
    with connect(chosen_warehouse(settings, warehouse)) as connection:
        try:
            connection.execute(query)
            columns = [name for name, *_ in connection.description or ()]
            rows = _rows(connection)
            if as_csv:
                _say_csv(columns, rows)
            elif as_json:
                _say_json_lines(columns, rows)
            else:
                _say_table(columns, rows)
        except duckdb.Error as error:
            raise UsageError(f"the query does not work: {' '.join(str(error).split())}") from None


def _rows(connection: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    while batch := connection.fetchmany(_BATCH):
        yield from batch


def _say_csv(columns: list[str], rows: Iterator[tuple[Any, ...]]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_plain(value) for value in row] for row in rows)


def _say_json_lines(columns: list[str], rows: Iterator[tuple[Any, ...]]) -> None:
    for row in rows:
        document = dict(zip(columns, row, strict=True))
        line = orjson.dumps(document, default=str, option=orjson.OPT_UTC_Z)
        sys.stdout.write(line.decode() + "\n")


def _say_table(columns: list[str], rows: Iterator[tuple[Any, ...]]) -> None:
    shown = [[_plain(value) for value in row] for row in islice(rows, _SHOWN)]
    console.say_table("", columns, shown)
    if next(rows, None) is not None:
        console.note(f"These are the first {_SHOWN} rows; --csv or --json prints all.")


def _plain(value: object) -> object:
    """Return a value as it is printed: null as nothing, a time as ISO 8601 in UTC, true, false."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return value
