"""Copies of what was published, outside the warehouse: one tenant's tables, or every view.

An export appears whole, by one rename, and never over something that is there.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import NamedTuple

import duckdb
import orjson
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from judgebatch.contracts.grading import GradingCounts
from judgebatch.contracts.registry import published
from judgebatch.contracts.table import Table
from judgebatch.errors import StoreError, UsageError, WarehouseDamagedError, did_you_mean
from judgebatch.warehouse.derived_views import DERIVED
from judgebatch.warehouse.durable import (
    abandoned,
    force_name,
    fsync_below,
    sha256_of,
    temporary_beside,
    writing,
)
from judgebatch.warehouse.failpoints import failpoint
from judgebatch.warehouse.layout import table_folder
from judgebatch.warehouse.manifest import FileEntry, Manifest
from judgebatch.warehouse.parquet import write_table
from judgebatch.warehouse.publishing import connect
from judgebatch.warehouse.runlog import RunLog
from judgebatch.warehouse.store import Warehouse
from judgebatch.warehouse.view_sql import quoted

INDEX = "export.json"
_TENANTS = "SELECT tenant_id FROM grading_rates ORDER BY ALL"
"""The query that lists the tenants of a warehouse."""
_BATCH = 8_192
_CONSEQUENCE = "Nothing was exported."

Progress = Callable[[int, int], None]
"""Told how many tables are done, and how many there are."""


class Exported(NamedTuple):
    """What was exported."""

    out: Path
    run: int
    """The newest run that the export shows."""
    rows: dict[str, int]
    """By file."""


def export_tenant(warehouse: Warehouse, tenant_id: str, out: Path, progress: Progress) -> Exported:
    """Write one tenant's rows of every published table, and nothing else, into a new folder.

    A file for each table, in the table's order run by run; of snapshots the newest. ``export.json``
    lists them with rows and hashes.

    Parameters
    ----------
    warehouse
        Read as its log is now; runs that commit meanwhile are not in it.
    tenant_id
        Whose rows.
    out
        A folder that does not exist yet.
    progress
        Told how far it is.

    Raises
    ------
    UsageError
        ``out`` is there, or lies in the warehouse, or no table names the tenant.
    WarehouseDamagedError
        A table cannot be read.
    WarehouseWriteError
        There is no room or no permission.
    """
    log = _log(warehouse)
    tables = [table for table in published().values() if "tenant_id" in table.column_names()]
    with _appearing(out, warehouse) as folder:
        entries = []
        progress(0, len(tables))
        for done, table in enumerate(tables, start=1):
            path = folder / f"{table.name}.parquet"
            batches = _rows_of(warehouse, _sources(log, table), table, tenant_id)
            rows = write_table(path, table, batches).rows
            entries.append(
                {
                    "path": path.relative_to(folder).as_posix(),
                    "table": table.name,
                    "version": table.version,
                    "rows": rows,
                    "sha256": sha256_of(path),
                }
            )
            failpoint("export.table")
            progress(done, len(tables))
        counts = {str(entry["path"]): int(str(entry["rows"])) for entry in entries}
        if not any(counts.values()):
            raise _unknown_tenant(warehouse, log, tenant_id)
        index = {"tenant_id": tenant_id, "run": log.newest, "tables": entries}
        text = orjson.dumps(index, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        (folder / INDEX).write_bytes(text)
    return Exported(out, log.newest, counts)


def _unknown_tenant(warehouse: Warehouse, log: RunLog, tenant_id: str) -> UsageError:
    """Return the error that says whom it may be about, or how to see who there is."""
    counts = warehouse.scan(log, GradingCounts).select("tenant_id").unique()
    known = counts.collect(engine="in-memory")["tenant_id"].sort().to_list()
    hint = did_you_mean(tenant_id, known)
    tenants = f"{len(known):,} tenant{'' if len(known) == 1 else 's'}"
    listing = f"judgebatch sql --warehouse {quote(warehouse.name)} {quote(_TENANTS)}"
    there = f"{warehouse.name} has {tenants}: `{listing}` lists them."
    return UsageError(
        f"no published table has a row of tenant {tenant_id!r}{hint}. {_CONSEQUENCE}"
        + ("" if hint else f" {there}")
    )


def _sources(log: RunLog, table: type[Table]) -> list[tuple[Manifest, FileEntry]]:
    """Return the table's files, oldest first; of a snapshot those of the newest run that has it."""
    inside = f"{table_folder(table)}/"
    newest = log.last_with(inside) if table.kind == "snapshot" else None
    runs = ([newest] if newest else []) if table.kind == "snapshot" else log
    return [
        (run, entry)
        for run in runs
        for entry in run.files
        if entry.path.startswith(inside) and entry.rows
    ]


def _rows_of(
    warehouse: Warehouse,
    sources: Sequence[tuple[Manifest, FileEntry]],
    table: type[Table],
    tenant_id: str,
) -> Iterator[pa.RecordBatch]:
    """Yield one tenant's rows; row groups without the tenant are not read."""
    own = ds.field("tenant_id") == tenant_id
    for run, entry in sources:
        try:
            scanner = warehouse.storage.dataset([(run, entry)], table).scanner(
                filter=own, batch_size=_BATCH, batch_readahead=1, use_threads=False
            )
            yield from (batch for batch in scanner.to_batches() if batch.num_rows)
        except StoreError:
            raise
        except (pa.ArrowException, OSError) as error:
            path = warehouse.layout.run(run.number) / entry.path
            raise _unreadable(warehouse.layout.shown(path), error) from error


def export_latest(warehouse: Warehouse, out: Path, progress: Progress) -> Exported:
    """Write every view as one plain Parquet file into a new folder.

    Parameters
    ----------
    warehouse, out, progress
        As for :func:`export_tenant`.

    Raises
    ------
    UsageError
        ``out`` is there or lies in the warehouse, or nothing was published yet.
    WarehouseDamagedError
        A table cannot be read.
    WarehouseWriteError
        There is no room or no permission.
    """
    log = _log(warehouse)
    with _appearing(out, warehouse) as folder, connect(warehouse) as database:
        database.execute(f"SET temp_directory = {_text(str(folder / '.spill'))}")
        names = [str(row[0]) for row in database.execute(_VIEWS).fetchall()]
        counts = {}
        progress(0, len(names))
        for done, name in enumerate(names, start=1):
            path = folder / f"{name}.parquet"
            try:
                database.execute(_copied(database, name, path))
            except duckdb.IOException as error:
                raise _unreadable(name, error) from error
            counts[path.name] = pq.read_metadata(path).num_rows
            failpoint("export.table")
            progress(done, len(names))
        shutil.rmtree(folder / ".spill", ignore_errors=True)
    return Exported(out, log.newest, counts)


_VIEWS = "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY view_name"


def _copied(database: duckdb.DuckDBPyConnection, name: str, path: Path) -> str:
    """Return the statement that writes a view; wide sums, which Parquet lacks, as BIGINT."""
    view = database.view(quoted(name))
    columns = ", ".join(
        f"{quoted(column)}::BIGINT AS {quoted(column)}"
        if str(kind) == "HUGEINT"
        else quoted(column)
        for column, kind in zip(view.columns, view.types, strict=True)
    )
    # Tables come in their own order; what joins and groups them comes in any.
    order = " ORDER BY ALL" if name in DERIVED else ""
    query = f"SELECT {columns} FROM {quoted(name)}{order}"  # noqa: S608 - our own names
    return f"COPY ({query}) TO {_text(str(path))} (FORMAT parquet, COMPRESSION zstd)"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _log(warehouse: Warehouse) -> RunLog:
    log = warehouse.runs()
    if not log:
        raise UsageError(f"{warehouse.name} has no runs yet. {_CONSEQUENCE}")
    return log


def _unreadable(what: str, error: Exception) -> WarehouseDamagedError:
    said = " ".join(str(error).split())
    return WarehouseDamagedError(
        f"{what} cannot be read ({said}). {_CONSEQUENCE} `judgebatch verify` names what is damaged."
    )


@contextmanager
def _appearing(out: Path, warehouse: Warehouse) -> Iterator[Path]:
    """Give a hidden folder beside ``out`` that becomes it at the end, or vanishes on an error."""
    out = out.absolute()
    if out.exists() or out.is_symlink():
        raise UsageError(f"{out} is there already, and nothing is written over. Name another one.")
    if out.resolve().is_relative_to(warehouse.path.resolve()):
        raise UsageError(f"{out} lies in the warehouse itself. Name a folder outside it.")
    with writing("the export", out, _CONSEQUENCE):
        out.parent.mkdir(parents=True, exist_ok=True)
        for path in abandoned(out.parent):
            if path.name.startswith(f".{out.name}.") and path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
        folder = temporary_beside(out)
        folder.mkdir()
        try:
            failpoint("export.folder")
            yield folder
            failpoint("export.written")
            fsync_below(folder)
            failpoint("export.synced")
            if out.exists():
                raise UsageError(f"{out} came into being meanwhile. {_CONSEQUENCE}")
            folder.rename(out)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    force_name(out, f"the export is complete at {out}", place="export.renamed")
