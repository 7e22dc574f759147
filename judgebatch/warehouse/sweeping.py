"""What a crash left and nothing needs: listed, and removed when asked."""

import shutil
from pathlib import Path

from judgebatch.errors import WarehouseConflictError
from judgebatch.warehouse.durable import abandoned, writing
from judgebatch.warehouse.locks import FileLock
from judgebatch.warehouse.settings_store import named_by, stored
from judgebatch.warehouse.staging import dead_staging
from judgebatch.warehouse.store import Warehouse


def rubbish(warehouse: Warehouse) -> list[tuple[Path, str]]:
    """Return what could be removed, each with why; changes nothing.

    Staging folders of dead runs, temporary files of dead processes, and settings texts that no
    run names. Committed runs are never rubbish.
    """
    layout = warehouse.layout
    found = [(path, "a run that died before its commit") for path in dead_staging(layout)]
    for folder in (layout.root, layout.settings, layout.views):
        found += [(path, "a temporary file of a dead process") for path in abandoned(folder)]
    named = named_by(warehouse.runs())
    found += [
        (path, "a settings text that no run names")
        for path in stored(layout)
        if path.stem not in named
    ]
    return found


def sweep(warehouse: Warehouse) -> list[tuple[Path, str]]:
    """Remove what :func:`rubbish` lists, holding the warehouse's lock, and return it.

    Raises
    ------
    WarehouseConflictError
        A run is writing the warehouse: what it has not committed yet may look like rubbish.
    WarehouseWriteError
        There is no permission.
    """
    with writing("the warehouse", warehouse.path):
        lock = FileLock.take_patiently(warehouse.layout.lock)
        if lock is None:
            raise WarehouseConflictError(
                f"{warehouse.path} is being written. Nothing was removed; wait for the run to end."
            )
        with lock:
            found = rubbish(warehouse)
            for path, _ in found:
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
            return found
