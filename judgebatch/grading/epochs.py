"""Tournament groups: which epoch an episode belongs to, and when an epoch closes.

Inside each (tenant, task, verifier outcome) episodes stand in the order of their effective
arrival. An epoch takes the next ``quorum`` of them that arrive within ``group_timeout`` of its
first. All epochs of all keys are found together: for every episode, where the epoch would end
that started with it; then the chain of starts is followed by doubling, so that the number of
passes grows with the logarithm of the longest chain.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from judgebatch.contracts.state import EpochCounters, OpenGroups
from judgebatch.contracts.table import conform
from judgebatch.vocabulary import CloseReason

KEY = ["tenant_id", "task_id", "verifier_outcome"]
MEMBER_ORDER = ["effective_arrival", "arrived_at", "episode_id"]

Ints = npt.NDArray[np.int64]


class Assigned(NamedTuple):
    """Episodes in their epochs."""

    members: pl.DataFrame
    """The new members, with ``group_epoch``."""
    groups: pl.DataFrame
    """All undecided groups (OpenGroups), closed ones with when and why."""
    counters: pl.DataFrame
    """EpochCounters after the run."""


def _first_later(times: Ints, start: Ints, stop: Ints, limit: Ints) -> Ints:
    """Return the first index in [start, stop) whose time exceeds ``limit``, else ``stop``.

    ``times`` rise inside each interval; all intervals are searched at once by bisection.
    """
    low, high = start.copy(), stop.copy()
    while True:
        searching = low < high
        if not searching.any():
            return low
        middle = (low + high) // 2
        later = np.zeros(len(low), dtype=bool)
        later[searching] = times[middle[searching]] > limit[searching]
        high = np.where(searching & later, middle, high)
        low = np.where(searching & ~later, middle + 1, low)


def _chain_starts(following: Ints, first: Ints, n: int) -> npt.NDArray[np.bool_]:
    """Mark every index reachable from ``first`` through ``following`` (``n`` ends a chain)."""
    marked = np.zeros(n, dtype=bool)
    marked[first] = True
    jump = np.append(following, n)
    while True:
        reached = jump[:n][marked]
        reached = reached[reached < n]
        reached = reached[~marked[reached]]
        if not len(reached):
            return marked
        marked[reached] = True
        jump = jump[jump]


def _with_key_settings(
    members: pl.DataFrame, groups: pl.DataFrame, counters: pl.DataFrame, tenants: pl.DataFrame
) -> pl.DataFrame:
    """Return one row per key of the sorted members, with its open epoch and its settings."""
    open_groups = groups.filter(pl.col("closed_at").is_null()).select(
        *KEY,
        pl.col("opened_at").dt.epoch("us").alias("open_since"),
        pl.col("quorum").alias("open_quorum"),
        pl.col("group_timeout_us").alias("open_timeout_us"),
        pl.col("group_size").alias("open_size"),
    )
    return (
        members.group_by("key", maintain_order=True)
        .agg(pl.len().alias("length"), *(pl.col(name).first() for name in KEY))
        .join(open_groups, on=KEY, how="left", maintain_order="left")
        .join(counters, on=KEY, how="left", maintain_order="left")
        .join(
            tenants.select("tenant_id", "quorum", "group_timeout_us"),
            on="tenant_id",
            how="left",
            maintain_order="left",
        )
        .with_columns(pl.col("epochs").fill_null(0))
    )


def assign(
    members: pl.DataFrame,
    groups: pl.DataFrame,
    counters: pl.DataFrame,
    tenants: pl.DataFrame,
    as_of_us: int,
) -> Assigned:
    """Put new tournament episodes into epochs and close what is due.

    Parameters
    ----------
    members
        New episodes in tournament mode, with KEY and MEMBER_ORDER columns.
    groups
        OpenGroups left by the previous run.
    counters
        EpochCounters left by the previous run.
    tenants
        One row per tenant with the settings in force for epochs that open now.
    as_of_us
        The run's logical time in microseconds since 1970.
    """
    members = members.sort(*KEY, *MEMBER_ORDER)
    members = members.with_columns(key=pl.struct(KEY).rle_id().cast(pl.Int64))
    keys = _with_key_settings(members, groups, counters, tenants)
    n = members.height
    epoch = np.zeros(n, dtype=np.int64)
    opened = groups.clear()
    if n:
        times = members["effective_arrival"].dt.epoch("us").to_numpy()
        key = members["key"].to_numpy()
        length = keys["length"].to_numpy().astype(np.int64)
        stop = np.cumsum(length)
        start = stop - length
        # Members that the open epoch of the key still takes.
        is_open = keys["open_since"].is_not_null().to_numpy()
        room = (keys["open_quorum"] - keys["open_size"]).fill_null(0).to_numpy()
        deadline = (keys["open_since"] + keys["open_timeout_us"]).fill_null(0).to_numpy()
        taken = _first_later(times, start, np.minimum(start + room, stop), deadline)
        taken = np.where(is_open, taken, start)
        # Where the epoch would end that starts with each member.
        quorum = keys["quorum"].fill_null(2).to_numpy()[key]
        timeout = keys["group_timeout_us"].fill_null(0).to_numpy()[key]
        index = np.arange(n, dtype=np.int64)
        ends = _first_later(
            times, index + 1, np.minimum(index + quorum, stop[key]), times + timeout
        )
        following = np.where(ends < stop[key], ends, n)
        starts = _chain_starts(following, taken[taken < stop], n)
        before = np.concatenate(([0], np.cumsum(starts)[:-1]))[start]
        rank = np.cumsum(starts) - before[key]  # 0: the epoch that was open
        epochs = keys["epochs"].to_numpy()
        epoch = epochs[key] + rank - 1
        opened = _opened(members, np.flatnonzero(starts), epoch, tenants)
        counters = _counted(counters, keys, rank[stop - 1])
    members = members.with_columns(group_epoch=pl.Series(epoch, dtype=pl.Int64))
    arrived = members.group_by(*KEY, "group_epoch").agg(
        pl.len().cast(pl.Int64).alias("joined"), pl.col("effective_arrival").max().alias("last")
    )
    groups = pl.concat([groups, opened]).join(
        arrived, on=[*KEY, "group_epoch"], how="left", maintain_order="left"
    )
    return Assigned(members.drop("key"), _closed(groups, as_of_us), counters)


def _opened(
    members: pl.DataFrame, starts: Ints, epoch: Ints, tenants: pl.DataFrame
) -> pl.DataFrame:
    """Return the epochs that open with the members at ``starts``, still without members."""
    return conform(
        members[starts]
        .select(*KEY, pl.col("effective_arrival").alias("opened_at"))
        .with_columns(
            group_epoch=pl.Series(epoch[starts], dtype=pl.Int64),
            group_size=pl.lit(0, dtype=pl.Int64),
            closed_at=pl.lit(None, dtype=pl.Datetime("us", "UTC")),
            close_reason=pl.lit(None, dtype=pl.String),
            fit_failed=pl.lit(False),
        )
        .join(
            tenants.select(
                "tenant_id",
                "quorum",
                "min_group_size",
                "group_timeout_us",
                "judging_window_us",
                "pair_degree",
                "comparisons_per_pair",
            ),
            on="tenant_id",
            how="left",
            maintain_order="left",
        ),
        OpenGroups,
    )


def _counted(counters: pl.DataFrame, keys: pl.DataFrame, opened: Ints) -> pl.DataFrame:
    """Return the counters with the epochs that each key opened added."""
    new = keys.select(*KEY).with_columns(epochs=pl.Series(opened, dtype=pl.Int64))
    return conform(
        pl.concat([counters, new]).group_by(KEY).agg(pl.col("epochs").sum()), EpochCounters
    ).sort(KEY)


def _closed(groups: pl.DataFrame, as_of_us: int) -> pl.DataFrame:
    """Return the groups with who ``joined``, and closed where quorum or timeout is reached.

    At the same instant the quorum wins; a timeout closes once as_of is at or past it.
    """
    size = pl.col("group_size") + pl.col("joined").fill_null(0)
    deadline = pl.col("opened_at") + pl.duration(microseconds="group_timeout_us")
    was_open = pl.col("closed_at").is_null()
    full = was_open & (size >= pl.col("quorum"))
    expired = was_open & (deadline.dt.epoch("us") <= as_of_us)
    return conform(
        groups.with_columns(
            group_size=size,
            closed_at=pl.when(full)
            .then("last")
            .when(expired)
            .then(deadline)
            .otherwise("closed_at"),
            close_reason=pl.when(full)
            .then(pl.lit(CloseReason.QUORUM.value))
            .when(expired)
            .then(pl.lit(CloseReason.TIMEOUT.value))
            .otherwise("close_reason"),
        ),
        OpenGroups,
    ).sort(*KEY, "group_epoch")
