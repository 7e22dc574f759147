"""One row ever per identity, over all runs."""

from collections.abc import Iterator, Sequence

import duckdb

from judgebatch.contracts.registry import published
from judgebatch.contracts.table import identity_of
from judgebatch.warehouse.findings import Finding
from judgebatch.warehouse.publishing import connect
from judgebatch.warehouse.store import Warehouse
from judgebatch.warehouse.view_sql import quoted, view_name

_SHOWN = 5
_LONG = {"content"}
_MEANING = "This is a mistake in judgebatch, not damage: please report it."


def identity_findings(warehouse: Warehouse) -> Iterator[Finding]:
    """Yield the identities that an event table has more than once, up to five a table."""
    with connect(warehouse) as connection:
        for table in published().values():
            if table.kind == "event":
                yield from _repeated(connection, view_name(table), table.name, identity_of(table))
        yield from _repeated(
            connection, "gradings", "graded and ungraded", ("tenant_id", "episode_id")
        )


def _repeated(
    connection: duckdb.DuckDBPyConnection, view: str, name: str, identity: Sequence[str]
) -> Iterator[Finding]:
    short = [column for column in identity if column not in _LONG]
    rows = connection.view(quoted(view))
    doubtful = rows.aggregate(f"{_named(short)}, count(*) AS rows", _named(short))
    doubtful = doubtful.filter("rows > 1")
    if len(short) < len(identity):
        # Long texts are compared where all else is equal, and read nowhere else.
        same = " AND ".join(
            f"a.{column} IS NOT DISTINCT FROM b.{column}" for column in map(quoted, short)
        )
        doubtful = rows.set_alias("a").join(doubtful.set_alias("b"), same, how="semi")
        doubtful = doubtful.aggregate(f"{_named(identity)}, count(*) AS rows", _named(identity))
        doubtful = doubtful.filter("rows > 1")
    found = doubtful.order(_named(identity)).limit(_SHOWN).project(f"{_named(short)}, rows")
    for *values, count in found.fetchall():
        named = ", ".join(
            f"{column}={value!r}" for column, value in zip(short, values, strict=True)
        )
        yield Finding(f"{name} ({named})", f"has {count} rows", _MEANING)


def _named(columns: Sequence[str]) -> str:
    return ", ".join(map(quoted, columns))
