"""The first half of a night: who is considered, where they belong, and which groups close."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import polars as pl

from judgebatch.contracts.state import AwaitingComparisons, KnownTenants, KnownVerdicts
from judgebatch.contracts.table import conform
from judgebatch.grading import comparisons, epochs, references, units
from judgebatch.grading.admission import (
    DIGEST,
    EPISODE_CONTENT,
    ID,
    Admission,
    admit_episodes,
    admit_verdicts,
    fingerprinted,
    quarantine,
    with_reason,
)
from judgebatch.grading.clock import TIME, Clock
from judgebatch.grading.identity import text_hashes, with_fingerprints
from judgebatch.grading.pairs import REFERENCE
from judgebatch.grading.state import ShardState
from judgebatch.vocabulary import Mode, QuarantineReason

PLACE = ["piece", "row"]
UNREADABLE = [*PLACE, "unreadable"]
WAITING = [*PLACE, "considered_at", "unknown_episode_window_us"]

Lookup = Callable[[pl.DataFrame], pl.DataFrame]
"""Takes ``id_high, id_low`` and gives the known rows among them."""


CONSIDERED_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "tenant_id": pl.String,
    "task_id": pl.String,
    "episode_id": pl.String,
    "arrived_at": TIME,
    "effective_arrival": TIME,
}
"""Of episodes that a run considered first."""


class Arrivals(NamedTuple):
    """The episodes of a night in their places."""

    admission: Admission
    considered: pl.DataFrame
    """Episodes that this run considered first."""
    novel: pl.DataFrame
    """New references, decided on arrival."""
    formed: units.Units
    counters: pl.DataFrame
    known_references: pl.DataFrame
    known_tenants: pl.DataFrame


class Judged(NamedTuple):
    """The verdicts of a night in their places."""

    single: pl.DataFrame
    """Accepted verdicts of one episode."""
    outside: pl.DataFrame
    """Accepted comparisons that ended without a group, with ``disposition``."""
    entered: pl.DataFrame
    """Accepted comparisons that came into an undecided group."""
    inside: pl.DataFrame
    """All comparisons inside undecided groups, also those of earlier runs; ``live``: an attached
    judge gave them in this run."""
    waiting: pl.DataFrame
    """``piece, row`` of rows judged after as_of, and of comparisons whose episode has
    not been seen, with what they keep from when they were first considered."""
    considered: pl.DataFrame
    """KnownVerdicts: identities that became known."""
    quarantined: pl.DataFrame
    """Conforms to QuarantineRows."""
    pairwise_quarantined: int
    already_known: int
    pairwise_already_known: int


class Texts(Protocol):
    """Where the verdicts' texts lie; rows name theirs by ``piece`` and ``row``."""

    def with_texts(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return ``rows`` with the column ``verdict``."""

    def accept(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Read the texts of accepted verdicts, in the rows' order, and publish the readings.

        Returns ``piece, row, outcome, error_codes, unreadable``: why a text cannot be read (then
        it is not published), null where it can.
        """

    def unreadable(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return ``piece, row, unreadable`` of those whose text cannot be read."""


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
        New StagedEpisodes of this run's files; what was pending is taken from ``state``.
    tenants
        KnownTenants columns, plus ``accepting``: whether new rows are considered.
    known
        Looks up KnownEpisodes.
    """
    pending = fingerprinted(state.pending_episodes, "episode_id", EPISODE_CONTENT)
    rows = pl.concat([pending, rows])
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
        state.open_groups,
        new,
    )
    return Arrivals(
        admission,
        new.select(CONSIDERED_SCHEMA.keys()),
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
    texts: Texts,
    clock: Clock,
) -> Judged:
    """Consider verdicts: admit them, find where each belongs, read those that are accepted.

    Parameters
    ----------
    rows
        VerdictRows without their text, with fingerprints, ``piece`` and ``row``,
        ``considered_at`` and ``unknown_episode_window_us`` (null where not considered before),
        ``from_state``: left by an earlier run, so known to be readable, ``live``: given by an
        attached judge in this run, and ``released``: set aside in an earlier run because an
        episode was not seen in time, and released.
    tenants
        As for episodes.
    known_verdicts, known_episodes
        Look up KnownVerdicts and KnownEpisodes.
    texts
        The verdicts' texts.
    """
    again, rest = _split(rows, pl.col("considered_at").is_not_null())
    fresh, pending = _split(rest, pl.col("judged_at") <= clock.literal())
    accepting = tenants.filter("accepting")
    seen = known_verdicts(fresh.select(ID))
    # A released row is the one that made its id known, and nothing was accepted in its place.
    released = fresh.filter("released").select(*ID, *DIGEST)
    known = seen.join(released, on=[*ID, *DIGEST], how="anti")
    # An unreadable row is bad from the start: it neither waits nor makes its id known. Where
    # that matters for other rows, texts are tried first; the others when they are read anyway.
    repeated = pl.struct(ID).is_duplicated()
    doubtful = pl.concat(
        [
            pending.filter(~pl.col("from_state")),
            fresh.filter(repeated),
            fresh.join(known, on=ID, how="semi"),
            fresh.join(accepting, on="tenant_id", how="anti"),
        ]
    ).unique(PLACE)
    unreadable = [_unreadable(doubtful, texts)]
    fresh, pending = (
        part.join(unreadable[0], on=PLACE, how="anti", maintain_order="left")
        for part in (fresh, pending)
    )
    admission = admit_verdicts(fresh, known, accepting.select("tenant_id"), texts.with_texts)
    first = _first_considered(admission.first, state, accepting, clock).select(rows.columns)
    is_single = pl.col("compared_episode_id").is_null()
    pairs, itself = comparisons.split_itself(
        pl.concat([first.filter(~is_single), again], how="vertical")
    )
    resolved = comparisons.resolve(_with_episodes(pairs, arrivals, known_episodes), clock.literal())
    refused = pl.concat([itself, resolved.refused], how="diagonal")
    stopped = pl.concat([refused, resolved.waiting], how="diagonal")
    stopped = stopped.join(again.select(PLACE), on=PLACE, how="anti")
    unreadable.append(_unreadable(stopped.select(rows.columns), texts))
    accepted = pl.concat(
        [first.filter(is_single), resolved.inside, resolved.ended], how="diagonal"
    ).sort("tenant_id", "task_id", "verdict_id")
    accepted = accepted.join(texts.accept(accepted), on=PLACE, how="left", maintain_order="left")
    unreadable.append(accepted.filter(pl.col("unreadable").is_not_null()).select(UNREADABLE))
    accepted = accepted.filter(pl.col("unreadable").is_null())
    broken = pl.concat(unreadable)
    entered = accepted.filter(pl.col("unit").is_not_null())
    refused = pl.concat(
        [
            with_reason(
                rows.join(broken, on=PLACE, how="inner"),
                QuarantineReason.UNREADABLE_VERDICT,
                pl.col("unreadable"),
            ),
            admission.refused,
            refused.join(broken, on=PLACE, how="anti"),
        ],
        how="diagonal",
    )
    return Judged(
        single=accepted.filter(is_single),
        outside=accepted.filter(~is_single & pl.col("unit").is_null()),
        entered=entered,
        inside=_inside(entered, state.awaiting_comparisons, arrivals.formed.members),
        waiting=pl.concat(
            [
                pending.select(WAITING),
                resolved.waiting.join(broken, on=PLACE, how="anti").select(WAITING),
            ]
        ),
        considered=conform(
            admission.first.join(broken, on=PLACE, how="anti").join(seen, on=ID, how="anti"),
            KnownVerdicts,
        ),
        quarantined=quarantine(texts.with_texts(refused), "verdicts", "verdict_id"),
        pairwise_quarantined=pairwise(refused),
        already_known=admission.repeats.height,
        pairwise_already_known=pairwise(admission.repeats),
    )


def pairwise(rows: pl.DataFrame) -> int:
    """Return how many verdicts are comparisons."""
    return rows.height - rows["compared_episode_id"].null_count()


def _split(rows: pl.DataFrame, condition: pl.Expr) -> tuple[pl.DataFrame, pl.DataFrame]:
    return rows.filter(condition), rows.filter(~condition)


def _unreadable(rows: pl.DataFrame, texts: Texts) -> pl.DataFrame:
    """Return ``piece, row, unreadable`` of rows whose text cannot be read."""
    return texts.unreadable(rows.select(PLACE)).select(UNREADABLE)


def _first_considered(
    first: pl.DataFrame, state: ShardState, accepting: pl.DataFrame, clock: Clock
) -> pl.DataFrame:
    """Return new rows with the effective time and the window that they keep."""
    was_known = state.known_tenants.select("tenant_id", pl.lit(True).alias("was_known"))
    return (
        first.drop("unknown_episode_window_us")
        .join(was_known, on="tenant_id", how="left")
        .join(
            accepting.select("tenant_id", "unknown_episode_window_us"), on="tenant_id", how="left"
        )
        .with_columns(
            considered_at=clock.effective("judged_at", pl.col("was_known").fill_null(value=False))
        )
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


def as_comparisons(rows: pl.DataFrame) -> pl.DataFrame:
    """Return verdict rows in the columns of AwaitingComparisons."""
    named = rows.with_columns(left=pl.col("episode_id"), right=pl.col("compared_episode_id"))
    return conform(named, AwaitingComparisons)


def _inside(entered: pl.DataFrame, awaiting: pl.DataFrame, members: pl.DataFrame) -> pl.DataFrame:
    """Return AwaitingComparisons of this and earlier runs, with unit and members."""
    both = pl.concat(
        [
            awaiting.with_columns(live=pl.lit(False)),
            as_comparisons(entered).hstack([entered["live"]]),
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
