"""The SQL of the generated views, for DuckDB.

Views read committed files by glob, so a view made before a run shows that run too. Event tables
show all runs; snapshots the newest run that wrote one. ``audit/ledger`` is ``audit_ledger``.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from judgebatch.contracts.registry import published
from judgebatch.contracts.table import TYPE_NAMES, Table
from judgebatch.warehouse.derived_views import DERIVED
from judgebatch.warehouse.layout import RUNS, Layout, part_name, table_folder
from judgebatch.warehouse.parquet import read_facts
from judgebatch.warehouse.runlog import committed_numbers

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


def view_statements(layout: Layout, prefix: str) -> Mapping[str, str]:
    """Return the statement of each view by its name, in an order in which they can be made.

    Parameters
    ----------
    layout
        The warehouse: which tables have files, and of which versions, is looked up there.
    prefix
        How the statements name that folder: an absolute path, or ``.`` to be used inside it.
    """
    tables = published()
    numbers = committed_numbers(layout)
    statements = {
        view_name(table): _table(table, _ends(layout, numbers, table), prefix)
        for table in tables.values()
    }
    for name, view in DERIVED.items():
        if view.needs <= tables.keys():
            statements[name] = view.sql
    return {
        name: f"CREATE OR REPLACE VIEW {quoted(name)} AS\n{query.strip()};"
        for name, query in statements.items()
    }


def _ends(layout: Layout, numbers: Sequence[int], table: type[Table]) -> Sequence[Path]:
    """Return the table's files in the first and in the last run that have it, or nothing."""
    first_part = f"{table_folder(table)}/{part_name(0)}"
    ends: list[Path] = []
    for ordered in (numbers, numbers[::-1]):
        found = (layout.run(number) / first_part for number in ordered)
        path = next((path for path in found if path.exists()), None)
        if path is None:
            return ()
        ends.append(path)
    return ends


def _table(table: type[Table], ends: Sequence[Path], prefix: str) -> str:
    if not ends:
        return _without_rows(table)
    pattern = _literal(f"{_escaped(prefix)}/{RUNS}/*/{table_folder(table)}/*.parquet")
    facts = [read_facts(path) for path in ends]
    if all(fact is not None and fact.version == table.version for fact in facts):
        # Versions only rise: all files between have this one too, and none needs to be opened.
        parts = [f"FROM read_parquet({pattern}, hive_partitioning = false)"]
    else:
        # The empty table gives the contract's columns also to files of an older version.
        parts = [
            _without_rows(table),
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
