"""What a crash left and nothing needs: listed, and removed when asked."""

import shutil
from pathlib import Path

from judgebatch.errors import WarehouseConflictError
from judgebatch.warehouse.durable import abandoned, writing
from judgebatch.warehouse.failpoints import failpoint
from judgebatch.warehouse.layout import Layout
from judgebatch.warehouse.locks import FileLock
from judgebatch.warehouse.staging import dead_staging
from judgebatch.warehouse.store import Warehouse


def rubbish(warehouse: Warehouse) -> list[tuple[str, str]]:
    """Return what could be removed, each with why; changes nothing.

    Staging folders of dead runs and temporary files of dead processes; in an object store, objects
    that no manifest names below numbers that are committed. Committed runs are never rubbish, nor
    are settings texts: the run that will name one may only have begun.
    """
    orphans = [(f"{warehouse.name}/{name}", why) for name, why in warehouse.storage.orphans()]
    local = _here(warehouse)
    return [*((str(path), why) for path, why in local), *orphans]


def _here(warehouse: Warehouse) -> list[tuple[Path, str]]:
    layout = warehouse.layout
    staged = dead_staging(layout)
    if FileLock.is_held(layout.lock):
        # A run is at work, which has swept what it found: what is left is its own.
        staged = []
    return _listed(layout, [folder for folder in staged if folder.exists()])


def _listed(layout: Layout, staged: list[Path]) -> list[tuple[Path, str]]:
    found = [(path, "a run that died before its commit") for path in staged]
    for folder in (layout.root, layout.settings, layout.views):
        found += [(path, "a temporary file of a dead process") for path in abandoned(folder)]
    return found


def sweep(warehouse: Warehouse) -> list[tuple[str, str]]:
    """Remove what :func:`rubbish` lists, holding the warehouse's lock, and return it.

    Raises
    ------
    WarehouseConflictError
        A run is writing the warehouse: what it has not committed yet may look like rubbish.
    WarehouseWriteError
        There is no permission.
    """
    with writing("the warehouse", warehouse.name):
        lock = FileLock.take_patiently(warehouse.layout.lock)
        if lock is None:
            raise WarehouseConflictError(
                f"{warehouse.name} is being written. Nothing was removed; wait for the run to end."
            )
        with lock:
            found = _listed(warehouse.layout, dead_staging(warehouse.layout))
            for path, _ in found:
                failpoint("gc.remove")
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
                failpoint("gc.removed")
            orphans = warehouse.storage.orphans()
            warehouse.storage.remove(name for name, _ in orphans)
            return [
                *((str(path), why) for path, why in found),
                *((f"{warehouse.name}/{name}", why) for name, why in orphans),
            ]
