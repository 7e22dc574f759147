"""Whether a published file is the table that its folder and its manifest say."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

from judgebatch.contracts.registry import published
from judgebatch.contracts.table import Table
from judgebatch.warehouse.layout import table_folder
from judgebatch.warehouse.manifest import FileEntry, Manifest
from judgebatch.warehouse.parquet import arrow_schema, read_facts

_NEWER = "A newer judgebatch wrote it: use that version, or a newer one."
_REPORT = "This is a mistake in judgebatch, not damage: please report it."


def table_findings(path: Path, entry: FileEntry, manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield (what, meaning) for a file whose bytes are as they were written."""
    if not entry.path.startswith(("tables/", "snapshots/")):
        return
    table = published().get(entry.table or "")
    if table is None:
        yield f"holds table {entry.table!r}, which no contract names", _NEWER
        return
    facts = read_facts(path)
    said = (entry.table, entry.version, entry.rows, entry.content)
    if facts is None or (facts.table, facts.version, facts.rows, facts.content) != said:
        yield "says something else about itself than the manifest", _REPORT
        return
    if Path(entry.path).parent.as_posix() != table_folder(table):
        yield f"holds table {table.name} in another table's folder", _REPORT
    if facts.version > table.version:
        yield f"has version {facts.version} of its contract, known is {table.version}", _NEWER
    elif facts.version == table.version:
        yield from _columns(path, table)
    yield from _stamps(path, manifest.number)


def _columns(path: Path, table: type[Table]) -> Iterator[tuple[str, str]]:
    found = [(field.name, str(field.type)) for field in pq.read_schema(path)]
    wanted = [(field.name, str(field.type).removeprefix("large_")) for field in arrow_schema(table)]
    if found != wanted:
        yield f"has not the columns of version {table.version} of its contract", _REPORT


def _stamps(path: Path, number: int) -> Iterator[tuple[str, str]]:
    footer = pq.read_metadata(path)
    for at in range(footer.num_row_groups):
        group = footer.row_group(at)
        for column in map(group.column, range(group.num_columns)):
            runs = column.statistics if column.path_in_schema == "run" else None
            if runs is not None and (runs.min, runs.max) != (number, number):
                yield f"has rows of runs {runs.min} to {runs.max} in run {number}", _REPORT
                return
