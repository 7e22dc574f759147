"""What one run leaves for the next, for one shard: a named tuple of checkpoint tables."""

from typing import NamedTuple

import polars as pl

from judgebatch.contracts.promotions import SequentialSums
from judgebatch.contracts.state import (
    ActiveEpisodes,
    AwaitingComparisons,
    EpochCounters,
    KnownReferences,
    KnownTenants,
    OpenGroups,
    PendingEpisodes,
    PendingTenants,
    Refusals,
    Spend,
    WaitingVerdicts,
)
from judgebatch.contracts.table import Table, empty


class ShardState(NamedTuple):
    """The checkpoint of a shard, without the identities, which are looked up where they lie.

    Of rows that were not visible in earlier runs it holds those that become visible, in
    ``pending_episodes`` and ``waiting_verdicts``.
    """

    pending_episodes: pl.DataFrame
    pending_tenants: pl.DataFrame
    waiting_verdicts: pl.DataFrame
    active_episodes: pl.DataFrame
    open_groups: pl.DataFrame
    epoch_counters: pl.DataFrame
    known_references: pl.DataFrame
    known_tenants: pl.DataFrame
    awaiting_comparisons: pl.DataFrame
    spend: pl.DataFrame
    refusals: pl.DataFrame
    sequential_sums: pl.DataFrame


STATE_TABLES: tuple[type[Table], ...] = (
    PendingEpisodes,
    PendingTenants,
    WaitingVerdicts,
    ActiveEpisodes,
    OpenGroups,
    EpochCounters,
    KnownReferences,
    KnownTenants,
    AwaitingComparisons,
    Spend,
    Refusals,
    SequentialSums,
)
"""The tables of ShardState, in its order; each is named like its field."""


def nothing() -> ShardState:
    """Return the state before the first run."""
    return ShardState(*(empty(table) for table in STATE_TABLES))
