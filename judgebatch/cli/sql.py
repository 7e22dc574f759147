"""``judgebatch sql``: a query over the views."""

import re
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
from judgebatch.warehouse.query_order import settled

_BATCH = 10_000
_NARROWEST = 9
"""Characters that a column of a table needs, its border included."""
_SHOWN = 100
_BITS_64 = 2**63
_JSON = orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS
_QUOTED = re.compile(r'[",\r\n]|^\s|\s$')


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
    100 rows are shown; --csv and --json print all. A null is NULL in the table, nothing in CSV
    (an empty text is "") and null in JSON.

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
            connection.execute(settled(connection, query))
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
    sys.stdout.write(",".join(map(_csv_field, columns)) + "\n")
    for row in rows:
        sys.stdout.write(",".join(map(_csv_field, row)) + "\n")


def _csv_field(value: object) -> str:
    """Return a field of CSV: null is nothing, an empty text is an empty pair of quotes."""
    if value is None:
        return ""
    text = _plain(value)
    if text and not _QUOTED.search(text):
        return text
    return '"' + text.replace('"', '""') + '"'


def _say_json_lines(columns: list[str], rows: Iterator[tuple[Any, ...]]) -> None:
    for row in rows:
        document = {name: _json(value) for name, value in zip(columns, row, strict=True)}
        line = orjson.dumps(document, default=_plain, option=_JSON)
        sys.stdout.write(line.decode() + "\n")


def _json(value: object) -> object:
    """Return a value that JSON can hold; integers beyond 64 bits become text."""
    if isinstance(value, int) and not -_BITS_64 <= value < _BITS_64:
        return str(value)
    if isinstance(value, list | tuple):
        return [_json(one) for one in value]
    if isinstance(value, dict):
        return {str(key): _json(one) for key, one in value.items()}
    return value


def _say_table(columns: list[str], rows: Iterator[tuple[Any, ...]]) -> None:
    shown = [[_cell(value) for value in row] for row in islice(rows, _SHOWN)]
    if len(columns) * _NARROWEST > console.out().width:
        _say_records(columns, shown)
    else:
        console.say_table("", columns, shown)
    if next(rows, None) is not None:
        console.note(f"These are the first {_SHOWN} rows; --csv or --json prints all.")


def _say_records(columns: list[str], rows: list[list[object]]) -> None:
    """Print each row as lines of name and value: for more columns than the terminal is wide."""
    longest = max(map(len, columns))
    for number, row in enumerate(rows, start=1):
        console.say(f"row {number}", style="bold")
        for name, cell in zip(columns, row, strict=True):
            console.say(f"  {name:<{longest}}  {cell}")


def _cell(value: object) -> object:
    """Return a cell of a table: a null is NULL, to tell it from an empty text."""
    if value is None:
        return "NULL"
    return value if isinstance(value, int) and not isinstance(value, bool) else _plain(value)


def _plain(value: object) -> str:
    """Return a value as text: a time as ISO 8601 in UTC, lists as JSON, bytes in hex."""
    if isinstance(value, bool | list | tuple | dict):
        return orjson.dumps(_json(value), default=_plain, option=_JSON).decode()
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, bytes):
        return value.hex()
    return str(value)
