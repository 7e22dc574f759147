"""Views: derived from the run log, replaced by rename, made again when the log grew meanwhile."""

import errno
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from judgebatch import __version__
from judgebatch.warehouse.durable import (
    fsync_file,
    replace,
    temporary_beside,
    writing,
)
from judgebatch.warehouse.failpoints import failpoint
from judgebatch.warehouse.layout import Layout
from judgebatch.warehouse.object_storage import ObjectStorage
from judgebatch.warehouse.object_views import connect_objects, publish_objects, stale_objects
from judgebatch.warehouse.runlog import committed_numbers
from judgebatch.warehouse.staging import sweep_dead
from judgebatch.warehouse.store import Warehouse
from judgebatch.warehouse.view_sql import FolderTables, view_statements

STORAGE_VERSION = "v1.0.0"
"""The oldest DuckDB whose readers open ``judgebatch.duckdb``."""

_HEADER = """\
-- Views over this warehouse's committed runs, made by judgebatch; replaced after every run.
-- Paths are relative: start DuckDB inside the warehouse folder (duckdb -init views/views.sql).
-- run {run}, judgebatch {version}
"""
_CONSEQUENCE = "All committed runs are as they were; the next run makes the views anew."
_MADE_BY = re.compile(rb"^-- run [0-9]+, judgebatch (?P<version>[0-9][0-9a-z.]*)$", re.MULTILINE)


def publish(warehouse: Warehouse) -> None:
    """Make ``views/views.sql`` and ``views/judgebatch.duckdb`` for the newest run.

    In an object store there is ``views/views.sql`` alone, which names the committed objects.

    Also removes what dead runs left, so that a repeated run finishes all that a killed one began.
    ``views.sql`` names files relative to the warehouse, ``judgebatch.duckdb`` by absolute path:
    after the folder was moved, the next call makes it right again.

    Raises
    ------
    WarehouseWriteError
        There is no room or no permission; the runs themselves are not touched.
    """
    layout = warehouse.layout
    if isinstance(warehouse.storage, ObjectStorage):
        publish_objects(warehouse.storage)
        return
    with writing("views", layout.views, _CONSEQUENCE):
        layout.views.mkdir(exist_ok=True)
        sweep_dead(layout)
        while True:
            run = _newest(layout)
            _publish_once(layout, run)
            if _newest(layout) == run:
                return


def _publish_once(layout: Layout, run: int) -> None:
    database = _database_path(layout)
    temporary = temporary_beside(database)
    try:
        failpoint("views.database")
        with TemporaryDirectory() as folder:
            made = Path(folder) / database.name
            try:
                _make_database(layout, made)
            except duckdb.IOException as error:
                raise OSError(errno.EIO, str(error), str(made)) from error
            shutil.copyfile(made, temporary)
        fsync_file(temporary)
        failpoint("views.rename")
        temporary.replace(database)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    replace(_sql_path(layout), _sql_text(layout, run).encode())
    failpoint("views.renamed")


def _make_database(layout: Layout, path: Path) -> None:
    """Make the database at a plain path: DuckDB opens some names, such as ``a?b``, otherwise."""
    with duckdb.connect() as connection:
        named = str(path).replace("'", "''")
        connection.execute(f"ATTACH '{named}' AS made (STORAGE_VERSION '{STORAGE_VERSION}')")
        connection.execute("USE made")
        for statement in view_statements(FolderTables(layout, str(layout.root))).values():
            connection.execute(statement)
        connection.execute("USE memory")
        connection.execute("DETACH made")


def stale_views(warehouse: Warehouse) -> list[tuple[str, str]]:
    """Return the generated files that are not what the newest run would generate, and why.

    Another version of judgebatch may generate other views: where one did, nothing is compared.
    """
    if isinstance(warehouse.storage, ObjectStorage):
        return stale_objects(warehouse.storage)
    stale = _stale(warehouse.layout)
    return [(path.relative_to(warehouse.path).as_posix(), what) for path, what in stale]


def _stale(layout: Layout) -> list[tuple[Path, str]]:
    stale = []
    path = _sql_path(layout)
    try:
        made_by = _MADE_BY.search(path.read_bytes())
        if made_by and made_by["version"].decode() != __version__:
            return []
        if path.read_bytes() != _sql_text(layout, _newest(layout)).encode():
            stale.append((path, "is not what the newest run generates"))
    except OSError as error:
        stale.append((path, f"cannot be read: {error.strerror}"))
    path = _database_path(layout)
    try:
        with TemporaryDirectory() as folder:
            copy, again = Path(folder) / "copy.duckdb", Path(folder) / "again.duckdb"
            shutil.copyfile(path, copy)
            _make_database(layout, again)
            if _views_in(copy) != _views_in(again):
                stale.append((path, "has not the views that the newest run generates"))
    except OSError as error:
        stale.append((path, f"cannot be read: {error.strerror}"))
    except duckdb.Error as error:
        stale.append((path, f"cannot be opened: {str(error).splitlines()[0]}"))
    return stale


def _views_in(database: Path) -> list[tuple[str, str]]:
    query = "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal ORDER BY view_name"
    with duckdb.connect(str(database), read_only=True) as connection:
        return connection.execute(query).fetchall()


def _sql_text(layout: Layout, run: int) -> str:
    statements = view_statements(FolderTables(layout, ".")).values()
    return _HEADER.format(run=run, version=__version__) + "\n\n".join(statements) + "\n"


@contextmanager
def connect(warehouse: Warehouse) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield an in-memory database with all views of the warehouse, wherever it was moved to."""
    if isinstance(warehouse.storage, ObjectStorage):
        with connect_objects(warehouse.storage) as connection:
            yield connection
        return
    tables = FolderTables(warehouse.layout, str(warehouse.path), pinned=True)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for statement in view_statements(tables).values():
            connection.execute(statement)
        yield connection


def _newest(layout: Layout) -> int:
    return max(committed_numbers(layout), default=0)


def _database_path(layout: Layout) -> Path:
    return layout.views / "judgebatch.duckdb"


def _sql_path(layout: Layout) -> Path:
    return layout.views / "views.sql"
