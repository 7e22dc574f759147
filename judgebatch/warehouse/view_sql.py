"""The SQL of the generated views, for DuckDB.

Views read committed files by glob, so a view made before a run shows that run too. Event tables
show all runs; snapshots the newest run that wrote one. ``audit/ledger`` is ``audit_ledger``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

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


@dataclass(frozen=True)
class TableFiles:
    """What the view of a table reads."""

    source: str
    """The first argument of ``read_parquet``: a pattern or a list, as SQL."""
    versions: frozenset[int | None]
    """The versions of the contract that the files have, or at least those of both ends."""
    condition: str | None
    """Which rows of them, where not all."""


class TableSource(Protocol):
    """Where views find the files of tables."""

    def of(self, table: type[Table]) -> TableFiles | None:
        """Return the table's files, or None where it has none yet."""


@dataclass(frozen=True)
class FolderTables:
    """Tables of a warehouse in a folder, by pattern: a view made before a run shows it too.

    Parameters
    ----------
    layout
        The warehouse: which tables have files, and of which versions, is looked up there.
    prefix
        How the statements name that folder: an absolute path, or ``.`` to be used inside it.
    pinned
        Whether views of snapshots show the run that is the newest now, and not look for it: their
        rows then come in the files' order, as those of other tables do.
    """

    layout: Layout
    prefix: str
    pinned: bool = False

    def of(self, table: type[Table]) -> TableFiles | None:
        """Return the pattern of a table's files; of a snapshot with the newest run's rows alone."""
        ends = self._ends(table)
        if not ends:
            return None
        is_pinned = self.pinned and table.kind == "snapshot"
        if is_pinned:
            ends = ends[-1:]
        run = ends[0].relative_to(self.layout.runs).parts[0] if is_pinned else "*"
        pattern = literal(f"{_escaped(self.prefix)}/{RUNS}/{run}/{table_folder(table)}/*.parquet")
        facts = [read_facts(path) for path in ends]
        condition = None
        if table.kind == "snapshot" and not is_pinned:
            file = f"{RUNS}/([0-9]+)/[^/]+/{table.name}/[^/]+$"
            condition = (
                f"run = (SELECT max(CAST(regexp_extract(file, '{file}', 1) AS BIGINT))\n"
                f"FROM glob({pattern}))"
            )
        # Versions only rise: where both ends have one, all files between have it too.
        versions = frozenset(None if fact is None else fact.version for fact in facts)
        return TableFiles(pattern, versions, condition)

    def _ends(self, table: type[Table]) -> Sequence[Path]:
        """Return the table's files in the first and in the last run that have it, or nothing."""
        numbers = committed_numbers(self.layout)
        first_part = f"{table_folder(table)}/{part_name(0)}"
        ends: list[Path] = []
        for ordered in (numbers, numbers[::-1]):
            found = (self.layout.run(number) / first_part for number in ordered)
            path = next((path for path in found if path.exists()), None)
            if path is None:
                return ()
            ends.append(path)
        return ends


def view_statements(source: TableSource) -> Mapping[str, str]:
    """Return the statement of each view by its name, in an order in which they can be made."""
    tables = published()
    statements = {view_name(table): _table(table, source.of(table)) for table in tables.values()}
    for name, view in DERIVED.items():
        if view.needs <= tables.keys():
            statements[name] = view.sql
    return {
        name: f"CREATE OR REPLACE VIEW {quoted(name)} AS\n{query.strip()};"
        for name, query in statements.items()
    }


def _table(table: type[Table], files: TableFiles | None) -> str:
    if files is None:
        return _without_rows(table)
    if files.versions == {table.version}:
        # All files have the contract's columns: none needs to be opened to know them.
        parts = [f"FROM read_parquet({files.source}, hive_partitioning = false)"]
    else:
        # The empty table gives the contract's columns also to files of an older version.
        parts = [
            _without_rows(table),
            "UNION ALL BY NAME",
            f"FROM read_parquet({files.source}, union_by_name = true, hive_partitioning = false)",
        ]
    if files.condition is not None:
        parts.append(f"WHERE {files.condition}")
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


def literal(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"
