"""What a slice must know of the other slices of its shard: identities that occur in several.

Identities are a tenant's, whatever the task. The first row of an identity stays, in whichever
slice it is; and a comparison may name an episode of another task. Both are rare, so each slice
looks for the few rows that matter among the staged rows of the others.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from judgebatch.contracts.slices import TASK, Slice
from judgebatch.contracts.staged import StagedEpisodes, StagedVerdicts
from judgebatch.contracts.state import (
    ActiveEpisodes,
    KnownEpisodes,
    KnownTenants,
    KnownVerdicts,
    PendingEpisodes,
    WaitingVerdicts,
)
from judgebatch.contracts.table import Table, conform, empty
from judgebatch.grading.admission import (
    EPISODE_CONTENT,
    ID,
    admit_episodes,
    admit_verdicts,
    fingerprinted,
)
from judgebatch.grading.clock import Clock
from judgebatch.grading.consideration import PLACE
from judgebatch.grading.identity import text_hashes
from judgebatch.pipeline import tenants
from judgebatch.pipeline.arrow_files import mapped, stretch
from judgebatch.pipeline.checkpoint import Checkpoint
from judgebatch.pipeline.opening_slices import SLIM, fresh, placed, waiting_rows
from judgebatch.pipeline.scratch import Scratch
from judgebatch.pipeline.texts import ShardTexts
from judgebatch.settings import Settings

Ids = npt.NDArray[np.int64]

DIGEST = ["digest_high", "digest_low"]


def crossing(
    scratch: Scratch,
    table: type[Table],
    shard: int,
    slices: Sequence[Slice],
    waiting: pl.DataFrame,
) -> Ids:
    """Return first halves of identities that occur in more than one slice, sorted.

    Parameters
    ----------
    scratch, table, shard
        The staged rows.
    slices
        All slices of the shard.
    waiting
        Rows of earlier runs with TASK and ``id_high``.
    """
    halves, owners = [], []
    for path in scratch.paths(table, shard):
        halves.append(mapped(path, ["id_high"])["id_high"].to_numpy())
        starts = [stretch(path, part)[0] for part in slices]
        sizes = np.diff([*starts, len(halves[-1])])
        owners.append(np.repeat(np.arange(len(slices), dtype=np.int32), sizes))
    for part in slices:
        rows = part.take(waiting)
        halves.append(rows["id_high"].to_numpy())
        owners.append(np.full(rows.height, part.number, dtype=np.int32))
    half, owner = np.concatenate(halves), np.concatenate(owners)
    order = np.argsort(half, kind="stable")
    half, owner = half[order], owner[order]
    several = (half[1:] == half[:-1]) & (owner[1:] != owner[:-1])
    return np.unique(half[1:][several])


class Elsewhere:
    """Looks up rows of the other slices of a shard.

    Parameters
    ----------
    part
        The slice that asks.
    crossing_episodes, crossing_verdicts
        First halves of identities that occur in several slices.
    """

    def __init__(
        self,
        scratch: Scratch,
        shard: int,
        checkpoint: Checkpoint,
        settings: Settings,
        clock: Clock,
        part: Slice,
        crossing_episodes: Ids,
        crossing_verdicts: Ids,
    ) -> None:
        self._scratch = scratch
        self._shard = shard
        self._checkpoint = checkpoint
        self._settings = settings
        self._clock = clock
        self._part = part
        self._crossing_episodes = pl.Series(crossing_episodes, dtype=pl.Int64)
        self._crossing_verdicts = pl.Series(crossing_verdicts, dtype=pl.Int64)
        self._known_episodes = checkpoint.identities(KnownEpisodes)
        self._known_verdicts = checkpoint.identities(KnownVerdicts)

    def known_episodes(self, ids: pl.DataFrame) -> pl.DataFrame:
        """Return KnownEpisodes of earlier runs, and of rows that stay in another slice."""
        suspects = ids.filter(pl.col("id_high").is_in(self._crossing_episodes.implode()))
        return pl.concat([self._known_episodes.lookup(ids), self._episodes(suspects)])

    def seen_episodes(self, ids: pl.DataFrame) -> pl.DataFrame:
        """Return KnownEpisodes of earlier runs, and of episodes in other slices."""
        ended = self._known_episodes.lookup(ids)
        rest = ids.join(ended, on=ID, how="anti")
        return pl.concat([ended, self._episodes(rest)])

    def known_verdicts(self, ids: pl.DataFrame) -> pl.DataFrame:
        """Return KnownVerdicts of earlier runs, and of rows that stay in another slice."""
        suspects = ids.filter(pl.col("id_high").is_in(self._crossing_verdicts.implode()))
        return pl.concat([self._known_verdicts.lookup(ids), self._verdicts(suspects)])

    def _episodes(self, ids: pl.DataFrame) -> pl.DataFrame:
        """Return which of these episodes are seen, as far as they belong to other slices."""
        if ids.is_empty():
            return empty(KnownEpisodes)
        ids = ids.unique(ID)
        active = self._checkpoint.read(ActiveEpisodes).join(ids, on=ID, how="semi")
        pending = fingerprinted(
            self._checkpoint.read(PendingEpisodes), "episode_id", EPISODE_CONTENT
        )
        paths = self._scratch.paths(StagedEpisodes, self._shard)
        rows = pl.concat(
            [pending.join(ids, on=ID, how="semi"), *(_with(path, ids) for path in paths)]
        )
        known = self._known_episodes.lookup(ids).select(*ID, *DIGEST)
        admission = admit_episodes(
            rows,
            pl.concat([known, active.select(*ID, *DIGEST)]),
            self._accepting(rows),
            self._clock.literal(),
        )
        columns = [*ID, *DIGEST, *TASK, "verifier_outcome", "arrived_at"]
        seen = pl.concat([active.select(columns), admission.accepted.select(columns)])
        seen = self._others(seen)
        return conform(
            seen.with_columns(
                text_hashes(seen["task_id"], "task_hash"),
                text_hashes(seen["verifier_outcome"], "outcome_hash"),
                group_epoch=pl.lit(-1, dtype=pl.Int64),
                arrived_us=pl.col("arrived_at").dt.epoch("us"),
                insufficient=pl.lit(False),
                is_reference=pl.lit(False),
            ),
            KnownEpisodes,
        )

    def _verdicts(self, ids: pl.DataFrame) -> pl.DataFrame:
        """Return which of these identities stay with a row of another slice."""
        if ids.is_empty():
            return empty(KnownVerdicts)
        ids = ids.unique(ID)
        waiting = waiting_rows(self._checkpoint.read(WaitingVerdicts))
        paths = self._scratch.paths(StagedVerdicts, self._shard)
        texts = ShardTexts([waiting, *paths], None, self._shard, self._clock)
        slim = [placed(waiting.drop("verdict"), 0)]
        slim += [
            placed(fresh(mapped(path, SLIM)), number) for number, path in enumerate(paths, start=1)
        ]
        rows = pl.concat([piece.join(ids, on=ID, how="semi") for piece in slim], how="diagonal")
        rows = rows.filter(
            pl.col("considered_at").is_null(), pl.col("judged_at") <= self._clock.literal()
        )
        broken = texts.unreadable(rows.filter(~pl.col("from_state")).select(PLACE))
        rows = rows.join(broken, on=PLACE, how="anti")
        # As for a slice's own rows: a released row is the one that made its id known.
        released = rows.filter("released").select(*ID, *DIGEST)
        known = self._known_verdicts.lookup(ids).join(released, on=[*ID, *DIGEST], how="anti")
        first = admit_verdicts(rows, known, self._accepting(rows), texts.with_texts).first
        return conform(self._others(first), KnownVerdicts)

    def _accepting(self, rows: pl.DataFrame) -> pl.DataFrame:
        known = self._checkpoint.read(KnownTenants)
        in_force = tenants.in_force(self._settings, rows["tenant_id"], known)
        return in_force.filter("accepting").select("tenant_id")

    def _others(self, rows: pl.DataFrame) -> pl.DataFrame:
        within = self._part.within()
        return rows.clear() if within is None else rows.filter(~within)


def _with(path: Path, ids: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of an Arrow file that have these identities."""
    at = mapped(path, ID).with_row_index("at").join(ids, on=ID, how="semi", maintain_order="left")
    return mapped(path).select(pl.all().gather(at["at"]))
