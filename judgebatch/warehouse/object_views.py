"""Views over a warehouse in an object store: they name the committed objects one by one.

A glob there could meet objects of a run that did not commit; the manifests name exactly those
that did.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import duckdb

from judgebatch import __version__
from judgebatch.contracts.table import Table
from judgebatch.errors import StoreError, WarehouseDamagedError
from judgebatch.warehouse.durable import writing
from judgebatch.warehouse.failpoints import failpoint
from judgebatch.warehouse.layout import VIEWS, table_folder
from judgebatch.warehouse.manifest import FileEntry, Manifest
from judgebatch.warehouse.object_files import CommittedFiles, object_key
from judgebatch.warehouse.object_storage import ObjectStorage
from judgebatch.warehouse.runlog import RunLog
from judgebatch.warehouse.view_sql import TableFiles, literal, view_statements

SQL = f"{VIEWS}/views.sql"
_HEADER = """\
-- Views over this warehouse's committed runs, made by judgebatch; replaced after every run.
-- They name every committed object: DuckDB reads them with its extension httpfs.
-- run {run}, judgebatch {version}
"""
_CONSEQUENCE = "All committed runs are as they were; the next run makes the views anew."

_Files = Sequence[tuple[Manifest, FileEntry]]


class _Objects:
    """The tables' objects by what manifests say."""

    def __init__(self, url: str, log: Sequence[Manifest]) -> None:
        self._url = url
        by_folder: dict[str, list[tuple[Manifest, FileEntry]]] = {}
        for run in log:
            for entry in run.files:
                if entry.table is not None and entry.path.startswith(("tables/", "snapshots/")):
                    by_folder.setdefault(entry.path.rpartition("/")[0], []).append((run, entry))
        self._files: Mapping[str, list[tuple[Manifest, FileEntry]]] = by_folder

    def of(self, table: type[Table]) -> TableFiles | None:
        """Return what a view of the table reads; of a snapshot the newest run that has one."""
        files = self._files.get(table_folder(table), [])
        if table.kind == "snapshot":
            newest = max((run.number for run, _ in files), default=0)
            files = [(run, entry) for run, entry in files if run.number == newest]
        if not files:
            return None
        names = (literal(f"{self._url}/{object_key(run.number, entry)}") for run, entry in files)
        return TableFiles(
            f"[{', '.join(names)}]",
            versions=frozenset(entry.version for _, entry in files),
            condition=None,
        )


def publish_objects(storage: ObjectStorage) -> None:
    """Put ``views/views.sql`` for the newest run, and remove what dead runs left below it.

    Raises
    ------
    WarehouseWriteError
        The store refuses it; the runs themselves are not touched.
    """
    with writing("views", f"{storage.bucket.url}/{SQL}", _CONSEQUENCE):
        while True:
            storage.refresh()
            log = RunLog(storage.layout)
            failpoint("objects.views")
            storage.replace(SQL, _text(storage, log).encode())
            # What a run that was killed after its commit left to do.
            storage.settle(log.newest)
            storage.refresh()
            if RunLog(storage.layout).newest == log.newest:
                return


def stale_objects(storage: ObjectStorage) -> list[tuple[str, str]]:
    """Return the generated object that is not what the newest run would generate, and why."""
    storage.refresh()
    try:
        there = storage.read(SQL).decode()
    except StoreError:
        raise
    except OSError as error:
        return [(SQL, f"cannot be read: {error.strerror}")]
    made_by = f"judgebatch {__version__}\n"
    log = RunLog(storage.layout)
    if made_by in there and there != _text(storage, log):
        return [(SQL, "is not what the newest run generates")]
    return []


@contextmanager
def connect_objects(storage: ObjectStorage) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield an in-memory database with all views; a query reads of the objects what it needs.

    Raises
    ------
    StoreError
        A query failed because the store did.
    WarehouseDamagedError
        A table cannot be read.
    """
    storage.refresh()
    log = RunLog(storage.layout)
    files: _Files = [(run, entry) for run in log for entry in run.files]
    source = CommittedFiles(storage.bucket, files)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register_filesystem(source)
        try:
            _make_views(connection, storage, log)
            yield connection
        except Exception:
            if source.failure is not None:
                raise source.failure from None
            raise


def _make_views(connection: duckdb.DuckDBPyConnection, storage: ObjectStorage, log: RunLog) -> None:
    for statement in _statements(storage, log).values():
        try:
            connection.execute(statement)
        except (duckdb.Error, OSError) as error:
            raise WarehouseDamagedError(
                f"the tables of {storage.bucket.url} cannot be read: {str(error).splitlines()[0]}. "
                "`judgebatch verify` lists everything that is damaged."
            ) from error


def _text(storage: ObjectStorage, log: RunLog) -> str:
    head = _HEADER.format(run=log.newest, version=__version__)
    return head + "\n\n".join(_statements(storage, log).values()) + "\n"


def _statements(storage: ObjectStorage, log: Sequence[Manifest]) -> Mapping[str, str]:
    return view_statements(_Objects(str(storage.bucket.url), log))
