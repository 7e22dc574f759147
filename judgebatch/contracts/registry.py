"""Every contract of judgebatch, their checked-in JSON schemas, and the page that documents them.

``python -m judgebatch.contracts.registry`` writes the schemas and ``docs/tables.md`` anew. It
refuses to change a schema whose version did not rise.
"""

import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import orjson

import judgebatch.contracts
from judgebatch.contracts.table import Table, json_schema

SCHEMAS = Path(__file__).parent / "schemas"
"""Where the JSON schemas are checked in."""

_GROUPS = {
    "event": "Event tables: one row ever per identity",
    "snapshot": "Snapshots: the state as of a run",
    "input": "Inputs",
    "result": "Results of single commands, outside a warehouse",
}
"""The groups of tables that a user meets; the group ``state`` is not for reading."""


@cache
def contracts() -> dict[str, type[Table]]:
    """Return every contract by its table's name, sorted by name.

    Raises
    ------
    TypeError
        Two contracts have one name.
    """
    found: dict[str, type[Table]] = {}
    for module in iter_modules(judgebatch.contracts.__path__):
        if module.name == Path(__file__).stem:
            continue
        for table in _tables(import_module(f"{judgebatch.contracts.__name__}.{module.name}")):
            if found.setdefault(table.name, table) is not table:
                raise TypeError(f"two contracts are called {table.name}")
    return dict(sorted(found.items()))


def _tables(module: Any) -> Iterator[type[Table]]:
    for thing in vars(module).values():
        if isinstance(thing, type) and issubclass(thing, Table) and isinstance(thing.name, str):
            own = thing.__module__ == module.__name__
            if own and thing.name and "name" in vars(thing):
                yield thing


def published() -> dict[str, type[Table]]:
    """Return by name the tables that runs publish: event tables and snapshots."""
    return {
        name: table
        for name, table in contracts().items()
        if group_of(table) in ("event", "snapshot")
    }


def group_of(table: type[Table]) -> str:
    """Return a contract's kind, or ``result`` for an output that no run stamps."""
    stamped = "run" in table.column_names()
    return "result" if table.kind == "event" and not stamped else table.kind


def schema_path(table: type[Table]) -> Path:
    """Return where a contract's JSON schema is checked in."""
    return SCHEMAS / f"{table.name.replace('/', '.')}.json"


def schema_text(table: type[Table]) -> bytes:
    """Return the text of a contract's JSON schema."""
    return orjson.dumps(json_schema(table), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def changed_without_version(table: type[Table]) -> bool:
    """Return whether a contract differs from its checked-in schema of the same version.

    What a column's documentation says may change freely.
    """
    path = schema_path(table)
    if not path.exists():
        return False
    before = orjson.loads(path.read_bytes())
    now = json_schema(table)
    return before["version"] == now["version"] and _bare(before) != _bare(now)


def _bare(schema: dict[str, Any]) -> dict[str, Any]:
    columns = [{**column, "doc": ""} for column in schema["columns"]]
    return {**schema, "columns": columns}


def documentation() -> str:
    """Return the page that describes every table a user meets."""
    lines = [
        "# Tables",
        "",
        "Generated from the contracts by `python -m judgebatch.contracts.registry`.",
        "",
        "Types are Int64, Float64, String, Boolean, Date and Datetime(us, UTC).",
        'Null means "not there"; NaN never occurs. A column name means the same everywhere.',
        "",
    ]
    for group, title in _GROUPS.items():
        lines += [f"## {title}", ""]
        for table in contracts().values():
            if group_of(table) == group:
                lines += _section(table)
    return "\n".join(lines).rstrip() + "\n"


def _section(table: type[Table]) -> list[str]:
    schema = json_schema(table)
    lines = [f"### {table.name}", "", (table.__doc__ or "").strip().splitlines()[0], ""]
    lines += [f"Version {table.version}."]
    if table.kind == "event" and schema["identity"]:
        lines[-1] += f" Identity: {', '.join(schema['identity'])}."
    lines += ["", "| column | type | null | meaning |", "|---|---|---|---|"]
    for column in schema["columns"]:
        null = "yes" if column["nullable"] else "no"
        meaning = column["doc"].replace("|", "\\|")
        lines.append(f"| {column['name']} | {column['type']} | {null} | {meaning} |")
    return [*lines, ""]


def main() -> int:
    """Write the schemas and the documentation; return 1 where a version should have risen."""
    stale = [name for name, table in contracts().items() if changed_without_version(table)]
    if stale:
        sys.stderr.write(
            f"changed without a new version: {', '.join(stale)}. Raise `version` in each; delete "
            "the JSON file of a contract that was never published.\n"
        )
        return 1
    SCHEMAS.mkdir(exist_ok=True)
    wanted = {schema_path(table): schema_text(table) for table in contracts().values()}
    for path in SCHEMAS.glob("*.json"):
        if path not in wanted:
            path.unlink()
    for path, text in wanted.items():
        path.write_bytes(text)
    Path("docs").mkdir(exist_ok=True)
    Path("docs/tables.md").write_text(documentation())
    return 0


if __name__ == "__main__":
    sys.exit(main())
