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
    keys = ", ".join(quoted(column) for column in identity)
    relation = connection.view(quoted(view)).aggregate(f"{keys}, count(*) AS rows", keys)
    for *values, rows in relation.filter("rows > 1").order(keys).limit(_SHOWN).fetchall():
        named = ", ".join(
            f"{column}={value!r}" for column, value in zip(identity, values, strict=True)
        )
        yield Finding(f"{name} ({named})", f"has {rows} rows", _MEANING)
