"""The first half of a night: who is considered, where they belong, and which groups close."""

from collections.abc import Callable
from typing import NamedTuple

import polars as pl

from judgebatch.contracts.state import AwaitingComparisons, KnownTenants
from judgebatch.contracts.table import conform
from judgebatch.grading import comparisons, epochs, references, units
from judgebatch.grading.admission import (
    EPISODE_CONTENT,
    ID,
    Admission,
    admit_episodes,
    admit_verdicts,
    fingerprinted,
)
from judgebatch.grading.clock import Clock
from judgebatch.grading.identity import text_hashes, with_fingerprints
from judgebatch.grading.pairs import REFERENCE
from judgebatch.grading.state import ShardState
from judgebatch.vocabulary import Mode

Lookup = Callable[[pl.DataFrame], pl.DataFrame]
"""Takes ``id_high, id_low`` and gives the known rows among them."""


class Arrivals(NamedTuple):
    """The episodes of a night in their places."""

    admission: Admission
    novel: pl.DataFrame
    """New references, decided on arrival."""
    formed: units.Units
    counters: pl.DataFrame
    known_references: pl.DataFrame
    known_tenants: pl.DataFrame


class Judged(NamedTuple):
    """The verdicts of a night in their places."""

    admission: Admission
    single: pl.DataFrame
    """Accepted verdicts of one episode."""
    resolved: comparisons.Resolved
    inside: pl.DataFrame
    """All comparisons inside undecided groups, also those of earlier runs."""
    considered: pl.DataFrame
    """Fingerprints of verdicts that became known."""
    quarantined: pl.DataFrame


def consider_episodes(
    rows: pl.DataFrame,
    state: ShardState,
    tenants: pl.DataFrame,
    known: Lookup,
    clock: Clock,
) -> Arrivals:
    """Consider episodes: admit them, put them into epochs or beside references, close groups.

    Parameters
    ----------
    rows
        New EpisodeRows of this run's files; what was pending is taken from ``state``.
    tenants
        KnownTenants columns, plus ``accepting``: whether new rows are considered.
    known
        Looks up KnownEpisodes.
    """
    rows = pl.concat([state.pending_episodes, rows])
    rows = fingerprinted(rows, "episode_id", EPISODE_CONTENT)
    identities = [*ID, "digest_high", "digest_low"]
    active = state.active_episodes
    accepting = tenants.filter("accepting").select("tenant_id")
    admission = admit_episodes(
        rows,
        pl.concat([known(rows.select(ID)).select(identities), active.select(identities)]),
        accepting,
        clock.literal(),
    )
    was_known = state.known_tenants.select("tenant_id", pl.lit(True).alias("was_known"))
    new = (
        admission.accepted.join(was_known, on="tenant_id", how="left")
        .join(
            tenants.select("tenant_id", "mode", "judging_window_us", "comparisons_per_pair"),
            on="tenant_id",
            how="left",
        )
        .with_columns(
            effective_arrival=clock.effective(
                "arrived_at", pl.col("was_known").fill_null(value=False)
            )
        )
    )
    tournament = new.filter(pl.col("mode") == Mode.TOURNAMENT.value)
    assigned = epochs.assign(
        tournament.with_columns(
            judging_window_us=pl.lit(None, dtype=pl.Int64),
            comparisons_per_pair=pl.lit(None, dtype=pl.Int64),
        ),
        state.open_groups,
        state.epoch_counters,
        tenants,
        clock.as_of_us(),
    )
    registered = references.register(
        new.filter(pl.col("mode") == Mode.REFERENCE.value).with_columns(
            group_epoch=pl.lit(None, dtype=pl.Int64)
        ),
        state.known_references,
    )
    columns = active.columns
    formed = units.form(
        pl.concat([active, assigned.members.select(columns), registered.compared.select(columns)]),
        assigned.groups,
    )
    return Arrivals(
        admission,
        registered.novel,
        formed,
        assigned.counters,
        registered.references,
        _known_tenants(state.known_tenants, tenants, new),
    )


def _known_tenants(
    known: pl.DataFrame, tenants: pl.DataFrame, considered: pl.DataFrame
) -> pl.DataFrame:
    """Return the tenants known after the run, with the settings they finish under."""
    current = conform(tenants.filter("accepting"), KnownTenants)
    seen = pl.concat([known.select("tenant_id"), considered.select("tenant_id")]).unique()
    kept = known.join(current, on="tenant_id", how="anti")
    return pl.concat([kept, current.join(seen, on="tenant_id", how="semi")]).sort("tenant_id")


def consider_verdicts(
    rows: pl.DataFrame,
    state: ShardState,
    tenants: pl.DataFrame,
    arrivals: Arrivals,
    known_verdicts: Lookup,
    known_episodes: Lookup,
    clock: Clock,
) -> Judged:
    """Consider verdicts: admit them and find where each comparison belongs.

    Parameters
    ----------
    rows
        Visible verdicts with fingerprints, ``unreadable``, ``outcome``, ``error_codes``, and
        ``considered_at`` and ``unknown_episode_window_us`` (null where not considered before).
    tenants
        As for episodes.
    known_verdicts, known_episodes
        Look up KnownVerdicts and KnownEpisodes.
    """
    considered_before = pl.col("considered_at").is_not_null()
    again = rows.filter(considered_before)
    fresh = rows.filter(~considered_before)
    accepting = tenants.filter("accepting")
    admission = admit_verdicts(
        fresh, known_verdicts(fresh.select(ID)), accepting.select("tenant_id")
    )
    was_known = state.known_tenants.select("tenant_id", pl.lit(True).alias("was_known"))
    readable = (
        admission.accepted.filter(pl.col("unreadable").is_null())
        .drop("unknown_episode_window_us")
        .join(was_known, on="tenant_id", how="left")
        .join(
            accepting.select("tenant_id", "unknown_episode_window_us"), on="tenant_id", how="left"
        )
        .with_columns(
            considered_at=clock.effective("judged_at", pl.col("was_known").fill_null(value=False))
        )
        .select(rows.columns)
    )
    is_single = pl.col("compared_episode_id").is_null()
    single = readable.filter(is_single)
    pairwise, itself = comparisons.quarantine_itself(
        pl.concat([readable.filter(~is_single), again])
    )
    resolved = comparisons.resolve(
        _with_episodes(pairwise, arrivals, known_episodes), clock.literal()
    )
    return Judged(
        admission,
        single,
        resolved,
        _inside(resolved.inside, state.awaiting_comparisons, arrivals.formed.members),
        admission.accepted.select(*ID, "digest_high", "digest_low"),
        pl.concat([admission.quarantined, itself, resolved.quarantined]),
    )


def _with_episodes(rows: pl.DataFrame, arrivals: Arrivals, known: Lookup) -> pl.DataFrame:
    """Return comparisons with both episodes' columns; ended episodes are looked up."""
    sides = units.sides_of_active(arrivals.formed.members, arrivals.novel)
    names = pl.concat(
        rows.select("tenant_id", pl.col(name).alias("episode_id"))
        for name in ("episode_id", "compared_episode_id")
    ).unique()
    strangers = names.join(sides, on=["tenant_id", "episode_id"], how="anti")
    strangers = with_fingerprints(strangers, ["tenant_id", "episode_id"], "id")
    sides = pl.concat([sides, units.sides_of_known(strangers, known(strangers.select(ID)))])
    rows = rows.with_columns(text_hashes(rows["task_id"], "task_hash"))
    return comparisons.with_sides(rows, sides)


def _inside(resolved: pl.DataFrame, awaiting: pl.DataFrame, members: pl.DataFrame) -> pl.DataFrame:
    """Return AwaitingComparisons of this and earlier runs, with unit and members."""
    both = pl.concat(
        [
            awaiting,
            conform(
                resolved.select(
                    "tenant_id",
                    "verdict_id",
                    "task_id",
                    pl.col("episode_id").alias("left"),
                    pl.col("compared_episode_id").alias("right"),
                    "judged_at",
                    "considered_at",
                    "outcome",
                    "error_codes",
                    "judge_id",
                    "cost_nano_usd",
                ),
                AwaitingComparisons,
            ),
        ]
    )
    for side in ("left", "right"):
        both = both.join(
            members.select(
                "tenant_id",
                pl.col("episode_id").alias(side),
                pl.col("member").alias(f"{side}_member"),
                pl.col("unit").alias(f"{side}_unit"),
            ),
            on=["tenant_id", side],
            how="left",
            maintain_order="left",
        )
    return both.with_columns(
        # In reference mode one side has ended: the reference.
        unit=pl.coalesce("left_unit", "right_unit"),
        left_member=pl.col("left_member").fill_null(REFERENCE),
        right_member=pl.col("right_member").fill_null(REFERENCE),
    ).drop("left_unit", "right_unit")


def ended_outside(resolved: comparisons.Resolved) -> pl.DataFrame:
    """Return comparisons that ended without a group, in the columns of AwaitingComparisons."""
    return resolved.ended.select(
        "tenant_id",
        "verdict_id",
        "task_id",
        pl.col("episode_id").alias("left"),
        pl.col("compared_episode_id").alias("right"),
        "judged_at",
        "considered_at",
        "outcome",
        "error_codes",
        "judge_id",
        "cost_nano_usd",
        "disposition",
    )
