"""Who is decided together: the members of a group, or one episode against its reference."""

from typing import NamedTuple

import polars as pl

from judgebatch.contracts.state import ActiveEpisodes
from judgebatch.contracts.table import conform
from judgebatch.grading.comparisons import SIDE_SCHEMA
from judgebatch.grading.epochs import KEY
from judgebatch.grading.identity import text_hashes
from judgebatch.grading.pairs import REFERENCE, wanted_pairs

GROUP = [*KEY, "group_epoch"]


class Units(NamedTuple):
    """What may be decided, and by which pairs."""

    members: pl.DataFrame
    """ActiveEpisodes with ``member`` and ``unit``."""
    groups: pl.DataFrame
    """OpenGroups with ``unit``."""
    units: pl.DataFrame
    """Closed groups large enough to compare, and episodes in reference mode.

    ``begins``: closed, or first considered, in this run.
    """
    pairs: pl.DataFrame
    """Their wanted pairs, with ``comparisons_per_pair``."""


def form(
    active: pl.DataFrame, groups: pl.DataFrame, before: pl.DataFrame, new: pl.DataFrame
) -> Units:
    """Give members and units their numbers.

    Parameters
    ----------
    active
        ActiveEpisodes: all that are in Grading.
    groups
        OpenGroups after this run's closures.
    before
        OpenGroups before them.
    new
        Episodes that this run considered first.
    """
    closed_before = before.filter(pl.col("closed_at").is_not_null()).select(
        *GROUP, pl.lit(False).alias("begins")
    )
    groups = (
        groups.sort(GROUP)
        .with_row_index("unit")
        .with_columns(pl.col("unit").cast(pl.Int64))
        .join(closed_before, on=GROUP, how="left", maintain_order="left")
        .with_columns(pl.col("begins").fill_null(value=True))
    )
    members = (
        conform(active, ActiveEpisodes)
        .sort("tenant_id", "episode_id")
        .with_row_index("member")
        .with_columns(pl.col("member").cast(pl.Int64))
        .join(groups.select(*GROUP, "unit"), on=GROUP, how="left", maintain_order="left")
        # Episodes in reference mode have no group: each is a unit of its own, after the groups.
        .with_columns(unit=pl.coalesce("unit", pl.col("member") + groups.height))
        .join(
            new.select("tenant_id", "episode_id", pl.lit(True).alias("is_new")),
            on=["tenant_id", "episode_id"],
            how="left",
            maintain_order="left",
        )
    )
    comparable = groups.filter(
        pl.col("closed_at").is_not_null() & (pl.col("group_size") >= pl.col("min_group_size"))
    )
    alone = members.filter(pl.col("group_epoch").is_null())
    return Units(
        members,
        groups,
        pl.concat([_group_units(comparable), _single_units(alone)]),
        pl.concat([_group_pairs(members, comparable), _reference_pairs(alone)]),
    )


def _group_units(groups: pl.DataFrame) -> pl.DataFrame:
    return groups.select(
        "unit",
        *GROUP,
        pl.lit(None, dtype=pl.String).alias("episode_id"),
        pl.col("closed_at").alias("base_at"),
        "judging_window_us",
        "min_group_size",
        "begins",
    )


def _single_units(alone: pl.DataFrame) -> pl.DataFrame:
    return alone.select(
        "unit",
        *GROUP,
        "episode_id",
        pl.col("effective_arrival").alias("base_at"),
        "judging_window_us",
        pl.lit(None, dtype=pl.Int64).alias("min_group_size"),
        pl.col("is_new").fill_null(value=False).alias("begins"),
    )


def _group_pairs(members: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    settings = groups.select("unit", "group_size", "pair_degree", "comparisons_per_pair")
    inside = members.drop("comparisons_per_pair").join(settings, on="unit", how="inner")
    return wanted_pairs(inside).join(
        settings.select("unit", "comparisons_per_pair"),
        on="unit",
        how="left",
        maintain_order="left",
    )


def _reference_pairs(alone: pl.DataFrame) -> pl.DataFrame:
    return alone.select(
        "unit",
        pl.lit(REFERENCE, dtype=pl.Int64).alias("left_member"),
        pl.col("member").alias("right_member"),
        "comparisons_per_pair",
    )


def sides_of_active(members: pl.DataFrame, novel: pl.DataFrame) -> pl.DataFrame:
    """Return the episodes in Grading and the new references, as comparisons see them."""
    gone = pl.lit(None, dtype=pl.Int64)
    both = pl.concat(
        [
            members.with_columns(is_reference=pl.lit(False)),
            conform(novel, ActiveEpisodes).with_columns(
                member=gone, unit=gone, is_reference=pl.lit(True)
            ),
        ],
        how="diagonal",
    )
    return both.with_columns(
        text_hashes(both["task_id"], "task_hash"),
        text_hashes(both["verifier_outcome"], "outcome_hash"),
        pl.col("group_epoch").fill_null(-1),
        arrived_us=pl.col("arrived_at").dt.epoch("us"),
        insufficient=pl.lit(False),
    ).select(*SIDE_SCHEMA)


def sides_of_known(names: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Return ended episodes as comparisons see them.

    Parameters
    ----------
    names
        ``tenant_id, episode_id, id_high, id_low``.
    known
        KnownEpisodes of those that ended in earlier runs.
    """
    gone = pl.lit(None, dtype=pl.Int64)
    return (
        names.join(known, on=["id_high", "id_low"], how="inner")
        .with_columns(member=gone, unit=gone)
        .select(*SIDE_SCHEMA)
    )
