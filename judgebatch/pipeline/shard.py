"""Grade: one shard's new rows and checkpoint into pieces of tables and the next checkpoint."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from judgebatch.contracts import grading as tables
from judgebatch.contracts.judgments import WantedPairs
from judgebatch.contracts.policies import AnswerRows
from judgebatch.contracts.promotions import OpenPromotions, PromotionPairs
from judgebatch.contracts.releases import ReleasedRows
from judgebatch.contracts.rows import EpisodeRows, QuarantineRows, VerdictRows
from judgebatch.contracts.staged import StagedVerdicts
from judgebatch.contracts.state import KnownEpisodes, KnownVerdicts, WaitingVerdicts
from judgebatch.contracts.table import Table, conform, schema_of
from judgebatch.grading.admission import VERDICT_CONTENT, fingerprinted
from judgebatch.grading.asking import wanted_of_judge
from judgebatch.grading.clock import Clock
from judgebatch.grading.consideration import PLACE
from judgebatch.grading.night import Flow, Night, grade
from judgebatch.grading.promotion_pairs import pairs_for_promotion
from judgebatch.grading.promotions import Promotion, open_promotions
from judgebatch.grading.publication import quarantine
from judgebatch.grading.state import ShardState
from judgebatch.pipeline import tenants
from judgebatch.pipeline.checkpoint import Checkpoint, shard_folder, write_state
from judgebatch.pipeline.identities import Identities
from judgebatch.pipeline.policy_plan import PolicyPlan
from judgebatch.pipeline.releasing import marked_as_released
from judgebatch.pipeline.scratch import Scratch, mapped
from judgebatch.pipeline.shard_policies import (
    judge_policies,
    policy_flow,
    policy_tables,
    read_policy_state,
    write_policy_state,
)
from judgebatch.pipeline.texts import ShardTexts
from judgebatch.policies.night import PolicyNight, PolicyState
from judgebatch.settings import Settings
from judgebatch.settings.tables import PromotionScope
from judgebatch.strengths import SequentialTest
from judgebatch.vocabulary import TieModel
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
    waits: dict[str, int]
    """Episodes in Grading by what they wait for."""
    policies: dict[str, dict[str, int]]
    """By policy: episodes that passed, did not, and were not evaluated."""
    pending: dict[str, int]
    """Rows not yet visible, by subject."""
    carried: tuple[str, ...]
    """Checkpoint files to carry over unchanged."""
    fit_failed: int


@dataclass(frozen=True)
class _Opened:
    """What a shard starts from."""

    state: ShardState
    policies: PolicyState
    episodes: pl.DataFrame
    answers: pl.DataFrame
    verdicts: pl.DataFrame
    """Without their texts."""
    pieces: list[pl.DataFrame | Path]
    """Where the texts lie."""
    known_episodes: Identities
    known_verdicts: Identities
    tenants: pl.DataFrame
    """The settings in force."""

    @property
    def rests(self) -> bool:
        """Whether nothing can happen to the shard."""
        state, policies = self.state, self.policies
        frames = (
            self.episodes,
            self.verdicts,
            self.answers,
            state.pending_episodes,
            state.active_episodes,
            state.open_groups,
            state.awaiting_comparisons,
            policies.held,
            policies.awaiting,
        )
        return all(frame.is_empty() for frame in frames)


def _open(task: ShardTask) -> _Opened:
    state = task.checkpoint.state()
    policies = read_policy_state(task.checkpoint.folder)
    episodes = task.scratch.read(EpisodeRows, task.shard)
    answers = task.scratch.read(AnswerRows, task.shard)
    verdicts, pieces = _verdict_rows(task, state.waiting_verdicts)
    ids = [frame["tenant_id"] for frame in (episodes, verdicts, answers, policies.held)]
    ids.append(state.pending_episodes["tenant_id"])
    return _Opened(
        state,
        policies,
        episodes,
        answers,
        verdicts,
        pieces,
        task.checkpoint.identities(KnownEpisodes),
        task.checkpoint.identities(KnownVerdicts),
        tenants.in_force(task.settings, pl.concat(ids), state.known_tenants),
    )


def wanted_in_shard(task: ShardTask) -> Path | None:
    """Write which pairs an attached judge is to be asked about; return the file, None for none."""
    opened = _open(task)
    cost = task.judge_cost_nano_usd
    if opened.rests or cost is None:
        return None
    wanted = wanted_of_judge(
        opened.episodes,
        opened.verdicts,
        opened.state,
        opened.tenants,
        opened.known_episodes.lookup,
        opened.known_verdicts.lookup,
        ShardTexts(opened.pieces, None, task.shard, task.clock),
        cost,
        task.clock,
    )
    return _left(task, WantedPairs, wanted)


def promotion_pairs_in_shard(task: ShardTask) -> Path | None:
    """Write which pairs it may be asked about for a promotion; to be called after it answered."""
    promotion = promotion_of(task.settings)
    cost = task.judge_cost_nano_usd
    if promotion is None or cost is None:
        return None
    opened = _open(task)
    if opened.rests:
        return None
    pairs = pairs_for_promotion(
        opened.episodes,
        opened.verdicts,
        opened.state,
        opened.tenants,
        opened.known_episodes.lookup,
        opened.known_verdicts.lookup,
        ShardTexts(opened.pieces, None, task.shard, task.clock),
        TieModel.parse(task.settings.fit.tie_model),
        promotion,
        cost,
        task.clock,
    )
    return _left(task, PromotionPairs, pairs)


def _left(task: ShardTask, table: type[Table], rows: pl.DataFrame) -> Path | None:
    """Write a shard's rows beside its staged ones; return the file, None for no rows."""
    if rows.is_empty():
        return None
    task.scratch.write(table, task.shard, (0, 0), rows)
    (path,) = task.scratch.paths(table, task.shard)
    return path


def grade_shard(task: ShardTask) -> ShardGraded:
    """Grade one shard and write its pieces and its checkpoint."""
    opened = _open(task)
    if opened.rests and not task.scratch.paths(QuarantineRows, task.shard):
        return _untouched(task, opened.state)
    state, rows = opened.state, opened.verdicts
    known_episodes, known_verdicts = opened.known_episodes, opened.known_verdicts
    texts = ShardTexts(opened.pieces, task.pieces, task.shard, task.clock)
    night = grade(
        opened.episodes,
        rows,
        state,
        opened.tenants,
        known_episodes.lookup,
        known_verdicts.lookup,
        texts,
        TieModel.parse(task.settings.fit.tie_model),
        promotion_of(task.settings),
        task.judge_cost_nano_usd,
        task.clock,
    )
    waiting = texts.with_texts(
        rows.drop("considered_at", "unknown_episode_window_us")
        .join(night.still_waiting, on=PLACE, how="inner")
        .sort(WaitingVerdicts.order)
    )
    folder = task.state_dir / shard_folder(task.shard)
    after = night.state._replace(waiting_verdicts=conform(waiting, WaitingVerdicts))
    carried = write_state(after, state, folder)
    for identities, new in (
        (known_episodes, night.known_episodes),
        (known_verdicts, night.known_verdicts),
    ):
        name = identities.table.name
        kept = identities.with_new(new, folder / name, task.clock.run)
        carried += [f"{name}/{path.name}" for path in kept]
    texts.finish()
    policies = judge_policies(
        opened.answers,
        opened.policies,
        night.considered_episodes,
        state.active_episodes,
        known_episodes.lookup,
        opened.tenants,
        state.known_tenants,
        task.plan,
        task.clock,
    )
    write_policy_state(policies.state, folder)
    quarantined = _publish(task, night, policies)
    return ShardGraded(
        shard=task.shard,
        flows={**night.flows, "answers": policy_flow(opened.answers, opened.policies, policies)},
        graded=_counts(night.tables[tables.Graded], "score_kind"),
        ungraded=_counts(night.tables[tables.Ungraded], "ungraded_reason"),
        quarantined=_counts(quarantined, "reason"),
        quarantined_by_file=_by_file(quarantined),
        policies=_policy_counts(policies.counts),
        waits=_counts(night.tables[tables.OpenEpisodes], "waits_for"),
        pending={
            "episodes": night.state.pending_episodes.height,
            "verdicts": waiting["considered_at"].null_count(),
        },
        carried=_inside(task.shard, carried),
        fit_failed=night.fit_failed,
    )


def promotion_of(settings: Settings) -> Promotion | None:
    """Return what the settings test sequentially."""
    told = settings.promotion
    if told is None:
        return None
    test = SequentialTest(told.p0, told.p1, told.alpha, told.beta)
    return Promotion(told.variant, told.baseline, told.scope == PromotionScope.TASK, test)


def _untouched(task: ShardTask, state: ShardState) -> ShardGraded:
    """Return what becomes of a shard without rows, whose checkpoint is carried over whole."""
    standing = open_promotions(state.sequential_sums, promotion_of(task.settings), task.clock)
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
        policies={},
        waits={},
        pending={},
        carried=_inside(task.shard, task.checkpoint.files()),
        fit_failed=0,
    )


def _inside(shard: int, files: list[str]) -> tuple[str, ...]:
    return tuple(f"{shard_folder(shard)}/{name}" for name in files)


def _verdict_rows(
    task: ShardTask, waiting: pl.DataFrame
) -> tuple[pl.DataFrame, list[pl.DataFrame | Path]]:
    """Return the shard's verdicts without their texts, and the pieces in which those lie."""
    waiting = fingerprinted(waiting, "verdict_id", VERDICT_CONTENT).with_columns(
        from_state=pl.lit(True), live=pl.lit(False), released=pl.lit(False)
    )
    new = schema_of(WaitingVerdicts)
    fresh = {
        name: pl.lit(None, dtype=new[name]) for name in new if name not in schema_of(VerdictRows)
    }
    paths = task.scratch.paths(StagedVerdicts, task.shard)
    slim_columns = [name for name in schema_of(StagedVerdicts) if name != "verdict"]
    staged = (
        mapped(path, slim_columns).with_columns(**fresh, from_state=pl.lit(False)) for path in paths
    )
    slim = [
        piece.select(
            pl.exclude("verdict"),
            pl.lit(number, dtype=pl.Int64).alias("piece"),
            pl.int_range(pl.len(), dtype=pl.Int64).alias("row"),
        )
        for number, piece in enumerate((waiting, *staged))
    ]
    return pl.concat(slim, how="diagonal"), [waiting, *paths]


def _publish(task: ShardTask, night: Night, policies: PolicyNight) -> pl.DataFrame:
    """Write the shard's pieces; return its quarantine."""
    at_ingest = quarantine(task.scratch.read(QuarantineRows, task.shard), task.clock)
    answers = quarantine(policies.quarantined, task.clock)
    quarantined = pl.concat([at_ingest, night.tables[tables.Quarantine], answers]).sort(
        tables.Quarantine.order, nulls_last=False
    )
    released = task.scratch.read(ReleasedRows, task.shard)
    quarantined = marked_as_released(quarantined, released)
    published: dict[type[Table], pl.DataFrame] = {
        **night.tables,
        **policy_tables(policies, task.clock),
        tables.Quarantine: quarantined,
    }
    for table, frame in published.items():
        if not frame.is_empty():
            task.pieces.write(table, task.shard, frame)
    return quarantined


def _policy_counts(counts: pl.DataFrame) -> dict[str, dict[str, int]]:
    outcomes = ("met", "unmet", "not_evaluated")
    totals = counts.group_by("policy").agg(pl.col(outcomes).sum()).sort("policy")
    return {
        policy: {outcome: int(totals[outcome][at]) for outcome in outcomes}
        for at, policy in enumerate(totals["policy"])
    }


def _by_file(quarantined: pl.DataFrame) -> dict[str, dict[str, int]]:
    files: dict[str, dict[str, int]] = {}
    counted = quarantined.group_by("input", "source_file", "reason").len()
    counted = counted.sort("input", "source_file", "reason")
    for table, file, reason, count in counted.rows():
        files.setdefault(f"{table}/{file}", {})[reason] = count
    return files


def _counts(frame: pl.DataFrame, column: str) -> dict[str, int]:
    counted = frame.group_by(column).len().sort(column)
    return dict(zip(counted[column].to_list(), counted["len"].to_list(), strict=True))
