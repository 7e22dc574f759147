"""What needs a person although no file is damaged."""

import polars as pl

from judgebatch.contracts.grading import OpenEpisodes
from judgebatch.warehouse.findings import Finding
from judgebatch.warehouse.layout import SNAPSHOTS
from judgebatch.warehouse.locks import FileLock
from judgebatch.warehouse.stale import stale_findings
from judgebatch.warehouse.store import Warehouse

_OPEN = f"{SNAPSHOTS}/open_episodes/"


def doctor(warehouse: Warehouse) -> list[Finding]:
    """Return episodes that rest past their deadline, and publishing that was not finished.

    Deadlines are measured against the last as_of, never against the clock.
    """
    findings = [
        Finding(
            f"open_episodes (tenant_id={tenant!r}, episode_id={episode!r})",
            f"rests in {state} past its deadline {deadline:%Y-%m-%dT%H:%M:%SZ}, "
            f"waiting for {waits_for}",
            "It should have been decided by now. Where it waits for fit_failed, see the report; "
            "otherwise this is a mistake in judgebatch: please report it.",
        )
        for tenant, episode, state, deadline, waits_for in overdue(warehouse).rows()
    ]
    if len(warehouse.runs()) and not FileLock.is_held(warehouse.layout.lock):
        findings += stale_findings(warehouse)
    return findings


def overdue(warehouse: Warehouse) -> pl.DataFrame:
    """Return the open episodes whose deadline is not after the last as_of.

    Returns
    -------
    pl.DataFrame
        tenant_id, episode_id, state, deadline, waits_for; the longest overdue first.
    """
    log = warehouse.runs()
    newest = log.last_with(_OPEN)
    columns = ["tenant_id", "episode_id", "state", "deadline", "waits_for"]
    if newest is None or log.last_as_of is None:
        return pl.DataFrame(schema=columns)
    return (
        warehouse.scan([newest], OpenEpisodes)
        .filter(pl.col("deadline") <= log.last_as_of)
        .select(columns)
        .sort("deadline", "tenant_id", "episode_id")
        .collect(engine="in-memory")
    )
