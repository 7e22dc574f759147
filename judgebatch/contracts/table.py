"""What every table of judgebatch has beside its columns."""

from collections.abc import Sequence
from typing import Any, ClassVar

import dataframely as dy
import polars as pl

TYPE_NAMES: dict[str, str] = {
    "Int64": "Int64",
    "Float64": "Float64",
    "String": "String",
    "Bool": "Boolean",
    "Date": "Date",
    "Datetime": "Datetime(us, UTC)",
}


class Table(dy.Schema):
    """A table: its columns, the folder it is published in, its version and its total order.

    ``version`` rises with every change of the columns; the checked-in JSON schemas hold both,
    so that a change without a new version fails a test.
    """

    name: ClassVar[str] = ""
    """Folder of the table inside its kind's folder, such as ``graded`` or ``audit/ledger``."""
    version: ClassVar[int] = 1
    kind: ClassVar[str] = "event"
    """``input``, ``event`` (one row ever per identity), ``snapshot`` or ``state``."""
    order: ClassVar[Sequence[str]] = ()
    """The columns that sort the table totally, inside a shard."""
    identified_by: ClassVar[Sequence[str]] = ()
    """What names a row over all runs, where that is not the primary key."""


def schema_of(table: type[Table]) -> pl.Schema:
    """Return the table's Polars schema."""
    return pl.Schema({name: column.dtype for name, column in table.columns().items()})


def conform(frame: pl.DataFrame, table: type[Table]) -> pl.DataFrame:
    """Return ``frame`` with exactly the table's columns, in its order.

    Raises
    ------
    TypeError
        A column is missing or has another type: a mistake in judgebatch, never in an input.
    """
    schema = schema_of(table)
    wrong = [
        f"{name}: {frame.schema.get(name, 'missing')} instead of {dtype}"
        for name, dtype in schema.items()
        if frame.schema.get(name) != dtype
    ]
    if wrong:
        raise TypeError(f"table {table.name} got {'; '.join(wrong)}")
    return frame.select(schema.names())


def empty(table: type[Table]) -> pl.DataFrame:
    """Return the table without rows."""
    return pl.DataFrame(schema=schema_of(table))


def identity_of(table: type[Table]) -> Sequence[str]:
    """Return the columns of which an event table never has the same values twice."""
    return table.identified_by or table.primary_key()


def type_name(column: dy.Column) -> str:
    """Return a column's type as documents name it; only state tables nest."""
    if isinstance(column, dy.List):
        return f"List({type_name(column.inner)})"
    if isinstance(column, dy.Struct):
        fields = (f"{name} {type_name(inner)}" for name, inner in column.inner.items())
        return f"Struct({', '.join(fields)})"
    return TYPE_NAMES[type(column).__name__]


def json_schema(table: type[Table]) -> dict[str, Any]:
    """Return the contract as a JSON-serialisable document, as it is checked in."""
    return {
        "table": table.name,
        "version": table.version,
        "kind": table.kind,
        "order": list(table.order),
        "identity": list(identity_of(table)),
        "columns": [
            {
                "name": name,
                "type": type_name(column),
                "nullable": column.nullable,
                "key": column.primary_key,
                "doc": (column.metadata or {}).get("doc", ""),
            }
            for name, column in table.columns().items()
        ],
    }
