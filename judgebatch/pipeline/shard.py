"""Grade: one shard's new rows and checkpoint into pieces of tables and the next checkpoint."""

import functools
import operator
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import polars as pl

from judgebatch.contracts import grading as tables
from judgebatch.contracts.policies import AnswerRows, PendingAnswers
from judgebatch.contracts.promotions import (
    OpenPromotions,
    Promotions,
    PromotionSteps,
    SequentialSums,
)
from judgebatch.contracts.releases import ReleasedRows
from judgebatch.contracts.rows import QuarantinedBefore, QuarantineRows
from judgebatch.contracts.staged import StagedEpisodes, StagedVerdicts
from judgebatch.contracts.state import (
    ActiveEpisodes,
    KnownEpisodes,
    KnownTenants,
    PendingEpisodes,
    PendingTenants,
    PendingVerdicts,
    Refusals,
    Spend,
)
from judgebatch.contracts.table import Table
from judgebatch.grading.clock import Clock
from judgebatch.grading.consideration import CONSIDERED_SCHEMA
from judgebatch.grading.night import Flow
from judgebatch.grading.promotions import Promotion, decide_promotions, open_promotions
from judgebatch.grading.publication import budgets, grading_counts, quarantine
from judgebatch.pipeline.arrow_files import mapped
from judgebatch.pipeline.bundles import read_bundle, read_frame
from judgebatch.pipeline.checkpoint import (
    IDENTITY_TABLES,
    TASK_TABLES,
    Checkpoint,
    shard_folder,
    write_state,
)
from judgebatch.pipeline.identities import Unsorted
from judgebatch.pipeline.policy_plan import PolicyPlan
from judgebatch.pipeline.readings import COUNTED_TABLES, added_up
from judgebatch.pipeline.releasing import marked_as_released
from judgebatch.pipeline.rereading import set_aside_once
from judgebatch.pipeline.scratch import Scratch
from judgebatch.pipeline.shard_policies import (
    judge_policies,
    policy_counts,
    policy_flow,
    policy_tables,
    read_policy_state,
    write_policy_state,
)
from judgebatch.pipeline.slice_grading import (
    Decided,
    Ended,
    SlicedShard,
    SliceGraded,
    counts_by,
    grade_slices,
    known_tenants,
    read_decided,
)
from judgebatch.pipeline.tenants import in_force
from judgebatch.policies.night import PolicyNight
from judgebatch.settings import Settings
from judgebatch.settings.tables import PromotionScope
from judgebatch.strengths import SequentialTest
from judgebatch.warehouse import Pieces


@dataclass(frozen=True)
class ShardTask:
    """One shard to grade."""

    shard: int
    clock: Clock
    settings: Settings
    plan: PolicyPlan
    judge_cost_nano_usd: int | None
    """What an attached judge declares for a call; None without one."""
    scratch: Scratch
    pieces: Pieces
    checkpoint: Checkpoint
    state_dir: Path

    def sliced(self) -> SlicedShard:
        """Return what its slices need to know, as one slice."""
        return SlicedShard(
            shard=self.shard,
            clock=self.clock,
            settings=self.settings,
            promotion=promotion_of(self.settings),
            judge_cost_nano_usd=self.judge_cost_nano_usd,
            scratch=self.scratch,
            work=self.scratch.folder.with_name("slices"),
            pieces=self.pieces,
            checkpoint=self.checkpoint,
        )


@dataclass(frozen=True)
class ShardGraded:
    """What became of a shard."""

    shard: int
    flows: dict[str, Flow]
    graded: dict[str, int]
    """Episodes graded, by score kind."""
    ungraded: dict[str, int]
    """Episodes ungraded, by reason."""
    quarantined: dict[str, int]
    """By reason, those of ingest included."""
    quarantined_by_file: dict[str, dict[str, int]]
    """By input and file, then by reason."""
    quarantined_before: dict[str, int]
    """Rows that an earlier run had set aside, by subject."""
    waits: dict[str, int]
    """Episodes in Grading by what they wait for."""
    policies: dict[str, dict[str, int]]
    """By policy: episodes that passed, did not, and were not evaluated."""
    pending: dict[str, int]
    """Rows not yet visible, by subject."""
    carried: tuple[str, ...]
    """Checkpoint files to carry over unchanged."""
    fit_failed: int


def rests(task: ShardTask) -> bool:
    """Return whether nothing can happen to a shard."""
    staged = (StagedEpisodes, StagedVerdicts, AnswerRows, QuarantineRows)
    if any(task.scratch.paths(table, task.shard) for table in staged):
        return False
    state = task.checkpoint.state()
    answers = task.checkpoint.pending(PendingAnswers)
    policies = read_policy_state(task.checkpoint.folder, answers)
    if answers.asleep:
        return False
    frames = (
        state.pending_episodes,
        state.pending_tenants,
        state.waiting_verdicts,
        state.active_episodes,
        state.open_groups,
        state.awaiting_comparisons,
        policies.held,
        policies.awaiting,
    )
    return all(frame.is_empty() for frame in frames)


def grade_shard(task: ShardTask) -> ShardGraded:
    """Grade a shard as one slice, and write its pieces and its checkpoint."""
    if rests(task):
        return _untouched(task)
    shard = task.sliced()
    (graded,) = grade_slices([shard])
    return finish_shard(FinishTask(task, shard, tuple(graded)))


class FinishTask(NamedTuple):
    """A shard whose slices are graded."""

    task: ShardTask
    shard: SlicedShard
    graded: tuple[SliceGraded, ...]


def finish_shard(finish: FinishTask) -> ShardGraded:
    """Publish what is a shard's as a whole, judge its policies, and write its checkpoint."""
    task, shard, graded = finish
    folder = task.state_dir / shard_folder(task.shard)
    tenants = known_tenants(shard)
    ended = [read_bundle(shard.folder(part) / "ended", Ended) for part in shard.slices]
    pending = pending_tenants(shard)
    involved = pl.concat(
        [
            *(read_frame(shard.folder(part) / "to_shard", "involved") for part in shard.slices),
            pending.select("tenant_id"),
        ]
    ).unique()
    decided = read_decided(shard)
    promoted = decide_promotions(
        pl.concat(one.trials for one in ended),
        task.checkpoint.read(SequentialSums),
        shard.promotion,
        task.clock,
    )
    carried = _write_checkpoint(shard, tenants, pending, decided, promoted.sums, folder)
    policies = _judge_policies(task, shard, tenants, folder)
    published: dict[type[Table], pl.DataFrame] = {
        Promotions: promoted.promotions,
        PromotionSteps: promoted.steps,
        OpenPromotions: open_promotions(promoted.sums, shard.promotion, task.clock),
        tables.GradingCounts: grading_counts(
            pl.concat(one.counts for one in ended), involved, task.clock
        ),
        tables.Budgets: budgets(
            tenants.join(involved, on="tenant_id", how="semi"),
            pl.concat(one.periods for one in ended),
            decided.spend,
            decided.refusals,
            task.clock,
        ),
        **{
            table: added_up(table, [shard.left.read(table, shard.shard)])
            for table in COUNTED_TABLES
        },
        **policy_tables(policies.night, task.clock),
    }
    for table, rows in published.items():
        if not rows.is_empty():
            task.pieces.write(table, task.shard, rows)
    quarantined, known = _publish_quarantine(shard, policies.night.quarantined)
    flows = {
        subject: functools.reduce(operator.add, (one.flows[subject] for one in graded))
        for subject in graded[0].flows
    }
    carried += policies.carried
    asleep = _asleep(task.checkpoint)
    return ShardGraded(
        shard=task.shard,
        flows={
            subject: flow.beside(asleep[subject])
            for subject, flow in {**flows, "answers": policies.flow}.items()
        },
        graded=total(one.graded for one in graded),
        ungraded=total(one.ungraded for one in graded),
        quarantined=counts_by(quarantined, "reason"),
        quarantined_by_file=_by_file(quarantined),
        quarantined_before=known,
        policies=policy_counts(policies.night.counts),
        waits=total(one.waits for one in graded),
        pending=total([*(one.pending for one in graded), _of_rows(asleep)]),
        carried=_inside(task.shard, carried),
        fit_failed=sum(one.fit_failed for one in graded),
    )


def pending_tenants(shard: SlicedShard) -> pl.DataFrame:
    """Return PendingTenants after the run."""
    rows = [shard.checkpoint.read(PendingTenants)]
    for table, time in ((PendingEpisodes, "arrived_at"), (PendingVerdicts, "judged_at")):
        rows += [
            mapped(path, ["tenant_id", time]).select("tenant_id", pl.col(time).alias("until"))
            for path in shard.left.paths(table, shard.shard)
        ]
    return (
        pl.concat(rows)
        .filter(pl.col("until") > shard.clock.literal())
        .group_by("tenant_id")
        .agg(pl.col("until").max())
        .sort("tenant_id")
    )


def _asleep(checkpoint: Checkpoint) -> dict[str, int]:
    """Return how many rows of the checkpoint stay unseen in this run, by subject."""
    verdicts = checkpoint.pending(PendingVerdicts)
    return {
        "episodes": checkpoint.pending(PendingEpisodes).asleep,
        "verdicts": verdicts.asleep,
        "comparisons": verdicts.asleep_comparisons,
        "answers": checkpoint.pending(PendingAnswers).asleep,
    }


def _of_rows(asleep: Mapping[str, int]) -> dict[str, int]:
    return {subject: asleep[subject] for subject in ("episodes", "verdicts")}


def _write_checkpoint(
    shard: SlicedShard,
    tenants: pl.DataFrame,
    pending: pl.DataFrame,
    decided: Decided,
    sums: pl.DataFrame,
    folder: Path,
) -> list[str]:
    """Write the shard's part of the checkpoint; return what is carried over unchanged."""
    parts: dict[type[Table], Iterable[pl.DataFrame]] = {
        table: map(mapped, shard.left.paths(table, shard.shard))
        for table in TASK_TABLES
        if table is not PendingEpisodes
    }
    parts |= {
        PendingTenants: [pending],
        KnownTenants: [tenants],
        Spend: [decided.spend],
        Refusals: [decided.refusals],
        SequentialSums: [sums],
    }
    carried = write_state(parts, shard.checkpoint, folder)
    for table in IDENTITY_TABLES:
        new = Unsorted(shard.left.paths(table, shard.shard))
        kept = shard.checkpoint.identities(table).with_new(
            new, folder / table.name, shard.clock.run
        )
        carried += [f"{table.name}/{path.name}" for path in kept]
    for table in (PendingEpisodes, PendingVerdicts):
        rows = [mapped(path) for path in shard.left.paths(table, shard.shard)]
        carried += shard.checkpoint.pending(table).with_new(rows, folder, shard.clock.run)
    return carried


class _JudgedPolicies(NamedTuple):
    night: PolicyNight
    flow: Flow
    carried: list[str]
    """Files of pending answers to carry over unchanged."""


def _judge_policies(
    task: ShardTask, shard: SlicedShard, tenants: pl.DataFrame, folder: Path
) -> _JudgedPolicies:
    """Judge the shard's policies and write what waits of them."""
    pending = task.checkpoint.pending(PendingAnswers)
    before = read_policy_state(task.checkpoint.folder, pending)
    answers = task.scratch.read(AnswerRows, task.shard)
    known = task.checkpoint.read(KnownTenants)
    # Where there is nothing to judge, a large backfill's episodes need not be read.
    judged = shard.slices if task.plan.policies or answers.height or before.held.height else ()
    considered = pl.concat(
        [
            pl.DataFrame(schema=CONSIDERED_SCHEMA),
            *(read_frame(shard.folder(part) / "to_shard", "considered") for part in judged),
        ]
    )
    ids = pl.concat(frame["tenant_id"] for frame in (answers, before.held, tenants, considered))
    night = judge_policies(
        answers,
        before,
        considered,
        task.checkpoint.read(ActiveEpisodes),
        task.checkpoint.identities(KnownEpisodes).lookup,
        in_force(task.settings, ids, known),
        known,
        task.plan,
        task.clock,
    )
    carried = write_policy_state(night.state, pending, folder, task.clock.run)
    return _JudgedPolicies(night, policy_flow(answers, before, night), carried)


def _publish_quarantine(
    shard: SlicedShard, of_answers: pl.DataFrame
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Publish what was not accepted; return it without content, and what was known of it."""
    rows = pl.concat(
        [
            shard.scratch.read(QuarantineRows, shard.shard),
            shard.left.read(QuarantineRows, shard.shard),
            of_answers,
        ]
    )
    released = shard.scratch.read(ReleasedRows, shard.shard)
    before = shard.scratch.read(QuarantinedBefore, shard.shard)
    rows, known = set_aside_once(rows, before, released)
    quarantined = marked_as_released(quarantine(rows, shard.clock), released)
    if not quarantined.is_empty():
        shard.pieces.write(tables.Quarantine, shard.shard, quarantined)
    return quarantined.drop("content"), known


def promotion_of(settings: Settings) -> Promotion | None:
    """Return what the settings test sequentially."""
    told = settings.promotion
    if told is None:
        return None
    test = SequentialTest(told.p0, told.p1, told.alpha, told.beta)
    return Promotion(told.variant, told.baseline, told.scope == PromotionScope.TASK, test)


def _untouched(task: ShardTask) -> ShardGraded:
    """Return what becomes of a shard without rows, whose checkpoint is carried over whole."""
    sums = task.checkpoint.read(SequentialSums)
    standing = open_promotions(sums, promotion_of(task.settings), task.clock)
    if not standing.is_empty():
        task.pieces.write(OpenPromotions, task.shard, standing)
    nothing = Flow(0, 0, 0, 0, {}, 0)
    return ShardGraded(
        shard=task.shard,
        flows=dict.fromkeys(("episodes", "verdicts", "comparisons", "answers"), nothing),
        graded={},
        ungraded={},
        quarantined={},
        quarantined_by_file={},
        quarantined_before={},
        policies={},
        waits={},
        pending={},
        carried=_inside(task.shard, task.checkpoint.files()),
        fit_failed=0,
    )


def _inside(shard: int, files: list[str]) -> tuple[str, ...]:
    return tuple(f"{shard_folder(shard)}/{name}" for name in files)


def _by_file(quarantined: pl.DataFrame) -> dict[str, dict[str, int]]:
    files: dict[str, dict[str, int]] = {}
    counted = quarantined.group_by("input", "source_file", "reason").len()
    counted = counted.sort("input", "source_file", "reason")
    for table, file, reason, count in counted.rows():
        files.setdefault(f"{table}/{file}", {})[reason] = count
    return files


def total(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the sums of counts by name."""
    summed: Counter[str] = Counter()
    for one in counts:
        summed.update(one)
    return dict(sorted(summed.items()))
