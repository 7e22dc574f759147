"""Grade in slices: consider each, admit over all of a shard, fit each, conclude each.

The stages pass files: any worker may do any slice of a stage once the stage before it is done.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import orjson
import polars as pl

from judgebatch.contracts import grading as tables
from judgebatch.contracts.rows import QuarantineRows
from judgebatch.contracts.slices import TASK, Slice, cut
from judgebatch.contracts.staged import StagedEpisodes, StagedVerdicts
from judgebatch.contracts.state import (
    KnownEpisodes,
    KnownTenants,
    KnownVerdicts,
    PendingEpisodes,
    PendingVerdicts,
    Refusals,
    Spend,
    WaitingVerdicts,
)
from judgebatch.contracts.table import Table, conform
from judgebatch.grading import budget
from judgebatch.grading.admission import EPISODE_CONTENT, fingerprinted
from judgebatch.grading.clock import Clock
from judgebatch.grading.consideration import PLACE
from judgebatch.grading.night import Concluded, Considered, Flow, consider, finish, flows_in
from judgebatch.grading.promotions import Promotion
from judgebatch.grading.scores import NONE_FAILED, Fitted
from judgebatch.grading.settlement import Due, fit_admitted
from judgebatch.pipeline.arrow_files import mapped
from judgebatch.pipeline.bundles import read_bundle, read_frame, write_bundle
from judgebatch.pipeline.checkpoint import TASK_TABLES, Checkpoint
from judgebatch.pipeline.elsewhere import Elsewhere, crossing
from judgebatch.pipeline.mapping import Mapper, in_process
from judgebatch.pipeline.opening_slices import open_slice, waiting_rows
from judgebatch.pipeline.scratch import Scratch
from judgebatch.pipeline.texts import ShardTexts
from judgebatch.settings import Settings
from judgebatch.vocabulary import TieModel
from judgebatch.warehouse import Pieces

PIECES_OF_A_SLICE = 1_000_000
"""More than any slice has of one table."""


@dataclass(frozen=True)
class SlicedShard:
    """A shard and how it is cut; picklable."""

    shard: int
    clock: Clock
    settings: Settings
    promotion: Promotion | None
    judge_cost_nano_usd: int | None
    """What an attached judge declares for a call; None without one."""
    scratch: Scratch
    """What was ingested."""
    work: Path
    """Where the stages leave what the next ones need."""
    pieces: Pieces
    checkpoint: Checkpoint
    slices: tuple[Slice, ...] = (Slice(),)

    @property
    def left(self) -> Scratch:
        """Rows that the slices leave for the shard."""
        return Scratch(self.work / "left")

    def folder(self, part: Slice) -> Path:
        """Return where a slice keeps what its later stages need."""
        return self.work / f"{self.shard:05d}" / f"{part.number:06d}"

    def crossing(self, table: type[Table]) -> Path:
        """Return the file of identities that occur in several slices."""
        return self.work / f"{self.shard:05d}" / f"crossing-{table.name}.npy"


class SliceTask(NamedTuple):
    """A slice to grade."""

    of: SlicedShard
    part: Slice


@dataclass(frozen=True)
class SliceGraded:
    """What became of a slice."""

    flows: dict[str, Flow]
    graded: dict[str, int]
    """Episodes graded, by score kind."""
    ungraded: dict[str, int]
    """Episodes ungraded, by reason."""
    waits: dict[str, int]
    """Episodes in Grading by what they wait for."""
    pending: dict[str, int]
    """Rows not yet visible, by subject."""
    fit_failed: int


class ToShard(NamedTuple):
    """What a slice leaves for its shard, beside rows of contracts."""

    involved: pl.DataFrame
    """``tenant_id`` of tenants with input or open state."""
    considered: pl.DataFrame
    """Episodes first considered, with ``arrived_at`` and ``effective_arrival``."""


class Ended(NamedTuple):
    """What a slice leaves once it is concluded."""

    counts: pl.DataFrame
    """How many episodes ended how."""
    trials: pl.DataFrame
    """Comparisons of what a promotion tests."""
    periods: pl.DataFrame
    """``tenant_id, period`` in which something was decided."""


class Cut(NamedTuple):
    """A shard to be cut into slices of so many rows."""

    shard: SlicedShard
    most_rows: int


def cut_shard(task: Cut) -> SlicedShard:
    """Return a shard with its slices, and note which identities occur in several."""
    shard, most_rows = task
    state = [shard.checkpoint.read(table).group_by(TASK).len() for table in TASK_TABLES]
    staged = [
        mapped(path, TASK).group_by(TASK).len()
        for table in (StagedEpisodes, StagedVerdicts)
        for path in shard.scratch.paths(table, shard.shard)
    ]
    counted = pl.concat([*state, *staged]).group_by(TASK).agg(pl.col("len").sum()).sort(TASK)
    slices = cut(counted.rows(), most_rows)
    if len(slices) > 1:
        pending = fingerprinted(
            shard.checkpoint.read(PendingEpisodes), "episode_id", EPISODE_CONTENT
        )
        waiting = waiting_rows(shard.checkpoint.read(WaitingVerdicts))
        for table, rows in ((StagedEpisodes, pending), (StagedVerdicts, waiting)):
            path = shard.crossing(table)
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, crossing(shard.scratch, table, shard.shard, slices, rows))
    return replace(shard, slices=tuple(slices))


def consider_slice(task: SliceTask) -> None:
    """Consider a slice: publish its verdicts and readings, and find what is due."""
    shard, part = task
    opened = open_slice(shard.scratch, shard.shard, shard.checkpoint, shard.settings, part)
    elsewhere = _elsewhere(shard, part)
    first = part.number * PIECES_OF_A_SLICE
    texts = ShardTexts(opened.pieces, shard.pieces, shard.shard, shard.clock, first)
    considered = consider(
        opened.episodes,
        opened.verdicts,
        opened.state,
        opened.tenants,
        elsewhere.known_episodes,
        elsewhere.seen_episodes,
        elsewhere.known_verdicts,
        texts,
        shard.judge_cost_nano_usd,
        shard.clock,
    )
    arrivals, judged, due = considered
    waiting = texts.with_texts(
        opened.verdicts.drop("considered_at", "unknown_episode_window_us")
        .join(judged.waiting, on=PLACE, how="inner")
        .sort(WaitingVerdicts.order)
    )
    is_pending = pl.col("considered_at").is_null()
    pending = waiting.filter(is_pending)
    quarantined = pl.concat([arrivals.admission.quarantined, judged.quarantined])
    leaves: dict[type[Table], pl.DataFrame] = {
        WaitingVerdicts: conform(waiting.filter(~is_pending), WaitingVerdicts),
        PendingVerdicts: conform(pending, PendingVerdicts),
        KnownVerdicts: judged.considered,
        KnownTenants: arrivals.known_tenants,
        QuarantineRows: quarantined,
        **texts.counted(),
    }
    for table, rows in leaves.items():
        _leave(shard, part, table, rows)
    folder = shard.folder(part)
    state = opened.state
    frames = (
        opened.episodes,
        opened.verdicts,
        state.pending_episodes,
        state.waiting_verdicts,
        state.active_episodes,
    )
    involved = pl.concat(frame.select("tenant_id") for frame in frames).unique()
    write_bundle(folder / "to_shard", ToShard(involved, arrivals.considered))
    flows = flows_in(state, opened.verdicts, considered)
    (folder / "flows.json").write_bytes(orjson.dumps({"flows": flows, "unseen": pending.height}))
    # What has been left for the shard is not needed again.
    admission = arrivals.admission
    admission = admission._replace(
        accepted=admission.accepted.clear(), quarantined=admission.quarantined.clear()
    )
    arrivals = arrivals._replace(admission=admission, considered=arrivals.considered.clear())
    judged = judged._replace(
        single=judged.single.clear(),
        entered=judged.entered.clear(),
        waiting=judged.waiting.clear(),
        considered=judged.considered.clear(),
        quarantined=judged.quarantined.clear(),
    )
    write_bundle(folder / "considered", Considered(arrivals, judged, due))
    write_bundle(folder / "failed", _Failed(NONE_FAILED))


class _Failed(NamedTuple):
    units: pl.DataFrame


class Decided(NamedTuple):
    """What the ceilings let through in one slice, and what a shard has spent."""

    units: pl.DataFrame
    """``place, admitted`` of tenants with a ceiling."""
    spend: pl.DataFrame
    refusals: pl.DataFrame


def admit_shard(shard: SlicedShard) -> None:
    """Admit what is due in all slices of a shard, but for groups whose fit has failed."""
    tenants = known_tenants(shard)
    rows = []
    for part in shard.slices:
        due = _due_units(shard, part)
        rows.append(budget.reckoned(due, tenants, part.number))
    spend, refusals = (shard.checkpoint.read(table) for table in (Spend, Refusals))
    admitted = budget.admit(pl.concat(rows), tenants, spend, refusals)
    decided = admitted.units.filter(pl.col("place") >= 0).select("place", "admitted")
    owner = decided["place"] // budget.PART
    for part in shard.slices:
        mine = decided.filter(owner == part.number)
        write_bundle(
            shard.folder(part) / "decided", Decided(mine, admitted.spend, admitted.refusals)
        )


def read_decided(shard: SlicedShard) -> Decided:
    """Return what a shard has spent and refused after the run."""
    return read_bundle(shard.folder(shard.slices[0]) / "decided", Decided)


def known_tenants(shard: SlicedShard) -> pl.DataFrame:
    """Return KnownTenants after the run."""
    return shard.left.read(KnownTenants, shard.shard).unique("tenant_id").sort("tenant_id")


def fit_slice(task: SliceTask) -> int:
    """Fit a slice's admitted groups; return how many fits have failed by now.

    By now, and not newly: the same is said by a task that is done again after it was done.
    """
    shard, part = task
    folder = shard.folder(part)
    due = read_bundle(folder / "considered" / "due", Due)
    failed = read_bundle(folder / "failed", _Failed).units
    fitted = fit_admitted(
        due, _admitted(shard, part).units, TieModel.parse(shard.settings.fit.tie_model)
    )
    failed = pl.concat([failed, fitted.failed])
    write_bundle(folder / "failed", _Failed(failed))
    write_bundle(folder / "fitted", fitted._replace(failed=failed))
    return failed.height


def conclude_slice(task: SliceTask) -> SliceGraded:
    """Publish what became of a slice, and leave its state."""
    shard, part = task
    folder = shard.folder(part)
    considered = read_bundle(folder / "considered", Considered)
    fitted = read_bundle(folder / "fitted", Fitted)
    concluded = finish(considered, _admitted(shard, part), fitted, shard.promotion, shard.clock)
    for table, rows in concluded.tables.items():
        if not rows.is_empty():
            shard.pieces.write(table, shard.shard, rows, part.number * PIECES_OF_A_SLICE)
    for table in TASK_TABLES:
        if table is not WaitingVerdicts:
            _leave(shard, part, table, getattr(concluded.state, table.name))
    _leave(shard, part, KnownEpisodes, concluded.known_episodes)
    write_bundle(folder / "ended", Ended(concluded.counts, concluded.trials, concluded.periods))
    return _graded(shard, part, concluded, fitted)


def _graded(shard: SlicedShard, part: Slice, concluded: Concluded, fitted: Fitted) -> SliceGraded:
    left = orjson.loads((shard.folder(part) / "flows.json").read_bytes())
    flows = {subject: Flow(**counts) for subject, counts in left["flows"].items()}
    state = concluded.state
    waiting = state.awaiting_comparisons.height
    flows["episodes"] = flows["episodes"].concluded(
        concluded.episodes_ended, state.active_episodes.height
    )
    for subject in ("verdicts", "comparisons"):
        flows[subject] = flows[subject].concluded(concluded.comparisons_ended, waiting)
    return SliceGraded(
        flows=flows,
        graded=counts_by(concluded.tables[tables.Graded], "score_kind"),
        ungraded=counts_by(concluded.tables[tables.Ungraded], "ungraded_reason"),
        waits=counts_by(concluded.tables[tables.OpenEpisodes], "waits_for"),
        pending={
            "episodes": state.pending_episodes.height,
            "verdicts": left["unseen"],
        },
        fit_failed=fitted.failed.height,
    )


def grade_slices(
    shards: Sequence[SlicedShard], mapper: Mapper = in_process
) -> list[list[SliceGraded]]:
    """Grade all slices of some shards, stage by stage."""
    tasks = [SliceTask(shard, part) for shard in shards for part in shard.slices]
    for _ in mapper(consider_slice, tasks):
        pass
    failed = 0
    while True:
        for _ in mapper(admit_shard, shards):
            pass
        # A group whose fit does not converge costs nothing: then admission is reckoned anew.
        before, failed = failed, sum(mapper(fit_slice, tasks))
        if failed == before:
            break
    graded = mapper(conclude_slice, tasks)
    return [[next(graded) for _ in shard.slices] for shard in shards]


def counts_by(frame: pl.DataFrame, column: str) -> dict[str, int]:
    """Return how many rows there are of each value of a column."""
    counted = frame.group_by(column).len().sort(column)
    return dict(zip(counted[column].to_list(), counted["len"].to_list(), strict=True))


def _leave(shard: SlicedShard, part: Slice, table: type[Table], rows: pl.DataFrame) -> None:
    if not rows.is_empty():
        shard.left.write(table, shard.shard, (part.number, 0), rows)


def _due_units(shard: SlicedShard, part: Slice) -> pl.DataFrame:
    folder = shard.folder(part)
    units = read_frame(folder / "considered" / "due", "units")
    failed = read_bundle(folder / "failed", _Failed).units
    return units.join(failed, on="unit", how="anti", maintain_order="left")


def _admitted(shard: SlicedShard, part: Slice) -> budget.Admitted:
    decided = read_bundle(shard.folder(part) / "decided", Decided)
    units = budget.admitted_in(
        _due_units(shard, part), known_tenants(shard), decided.units, part.number
    )
    return budget.Admitted(units, decided.spend, decided.refusals)


def _elsewhere(shard: SlicedShard, part: Slice) -> Elsewhere:
    none = np.empty(0, dtype=np.int64)
    episodes, verdicts = (
        none if part.is_whole else np.load(shard.crossing(table))
        for table in (StagedEpisodes, StagedVerdicts)
    )
    return Elsewhere(
        shard.scratch,
        shard.shard,
        shard.checkpoint,
        shard.settings,
        shard.clock,
        part,
        episodes,
        verdicts,
    )
