"""Reports of runs whose tables are made without the pipeline."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from judgebatch.contracts.table import Table, schema_of
from judgebatch.reporting.run_tables import RunTables
from judgebatch.reporting.subject import Night, Subject, night
from judgebatch.settings import TenantSettings
from judgebatch.vocabulary import RunKind
from judgebatch.warehouse import RunFacts, write_table
from judgebatch.warehouse.layout import part_name, table_folder
from tests.warehouse.nights import rows_of

AS_OF = datetime(2026, 3, 4, 3, tzinfo=UTC)

Tables = Mapping[type[Table], Sequence[Mapping[str, object]]]


def made(table: type[Table], rows: Sequence[Mapping[str, object]]) -> pl.DataFrame:
    """Return rows with the given values; all others as in any sample."""
    frame = rows_of(table, 1, len(rows))
    schema = schema_of(table)
    return frame.with_columns(
        pl.Series(name, [row[name] for row in rows], dtype=schema[name]) for name in rows[0]
    )


def written(folder: Path, tables: Tables) -> RunTables:
    """Write a run's tables."""
    for table, rows in tables.items():
        frame = rows if isinstance(rows, pl.DataFrame) else made(table, rows)
        write_table(folder / table_folder(table) / part_name(0), table, frame)
    return RunTables(folder)


def subject(
    folder: Path,
    tables: Tables | None = None,
    summary: Mapping[str, Any] | None = None,
    earlier: Sequence[Night] = (),
    rules: Callable[[str], TenantSettings] | None = None,
    number: int = 3,
) -> Subject:
    """Return a run to report on."""
    facts = RunFacts(summary=dict(summary or {}))
    found = written(folder, tables or {})
    this = night(number, AS_OF, facts, found)
    return Subject(number, RunKind.GRADING, AS_OF, facts, found, [*earlier, this], rules)
