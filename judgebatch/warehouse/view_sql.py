"""The SQL of the generated views, for DuckDB.

Views read committed files by glob, so a view made before a run shows that run too. Event tables
show all runs; snapshots the newest run that wrote one. ``audit/ledger`` is ``audit_ledger``.
"""

from collections.abc import Mapping
from pathlib import Path

from judgebatch.contracts.registry import published
from judgebatch.contracts.table import TYPE_NAMES, Table
from judgebatch.warehouse.derived_views import DERIVED
from judgebatch.warehouse.layout import RUNS, table_folder

_DUCKDB_TYPES = {
    "Int64": "BIGINT",
    "Float64": "DOUBLE",
    "String": "VARCHAR",
    "Boolean": "BOOLEAN",
    "Date": "DATE",
    "Datetime(us, UTC)": "TIMESTAMP WITH TIME ZONE",
}


def view_name(table: type[Table]) -> str:
    """Return the name of a table's view."""
    return table.name.replace("/", "_")


def view_statements(root: Path, prefix: str) -> Mapping[str, str]:
    """Return the statement of each view by its name, in an order in which they can be made.

    Parameters
    ----------
    root
        The warehouse: which tables have files is looked up there.
    prefix
        How the statements name that folder: an absolute path, or ``.`` to be used inside it.
    """
    tables = published()
    statements = {view_name(table): _table(table, root, prefix) for table in tables.values()}
    for name, view in DERIVED.items():
        if view.needs <= tables.keys():
            statements[name] = view.sql
    return {
        name: f"CREATE OR REPLACE VIEW {quoted(name)} AS\n{query.strip()};"
        for name, query in statements.items()
    }


def _table(table: type[Table], root: Path, prefix: str) -> str:
    empty = _without_rows(table)
    inside = f"{RUNS}/*/{table_folder(table)}/*.parquet"
    if next(root.glob(inside), None) is None:
        return empty
    pattern = _literal(f"{_escaped(prefix)}/{inside}")
    # The empty table gives the contract's columns also to files of an older version.
    parts = [
        empty,
        "UNION ALL BY NAME",
        f"FROM read_parquet({pattern}, union_by_name = true, hive_partitioning = false)",
    ]
    if table.kind == "snapshot":
        file = f"{RUNS}/([0-9]+)/[^/]+/{table.name}/[^/]+$"
        parts += [
            f"WHERE run = (SELECT max(CAST(regexp_extract(file, '{file}', 1) AS BIGINT))",
            f"FROM glob({pattern}))",
        ]
    return "\n".join(parts)


def _without_rows(table: type[Table]) -> str:
    columns = ", ".join(
        f"CAST(NULL AS {_DUCKDB_TYPES[TYPE_NAMES[type(column).__name__]]}) AS {quoted(name)}"
        for name, column in table.columns().items()
    )
    return f"SELECT {columns} WHERE false"


def quoted(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def _escaped(path: str) -> str:
    """Return a path that a glob takes literally."""
    return "".join(f"[{letter}]" if letter in "*?[]" else letter for letter in path)


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
