"""What is derived from the run log, and is not what the log gives: ``verify`` and ``doctor``."""

from collections.abc import Iterator

from judgebatch.warehouse.findings import Finding
from judgebatch.warehouse.known_inputs import stale_known_inputs
from judgebatch.warehouse.publishing import stale_views
from judgebatch.warehouse.store import Warehouse

_REPLACED = (
    "It is derived: publishing was not finished, or somebody changed it. Run the newest as-of "
    "again, or the next one."
)
_IN_THE_WAY = "Move it out: no run replaces a folder. Then run the newest as-of again."


def stale_findings(warehouse: Warehouse) -> Iterator[Finding]:
    """Yield what is stale; call it while no run is at work and where there are runs.

    Raises
    ------
    WarehouseDamagedError
        A table that the views read is damaged.
    """
    for where, what in [*stale_known_inputs(warehouse.storage), *stale_views(warehouse)]:
        is_folder = (warehouse.layout.root / where).is_dir()
        yield Finding(where, what, _IN_THE_WAY if is_folder else _REPLACED)
