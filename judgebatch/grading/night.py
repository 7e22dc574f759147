"""One night of one shard: consider, settle, publish, and leave a checkpoint."""

from dataclasses import dataclass

import polars as pl

from judgebatch.contracts import grading as tables
from judgebatch.contracts.promotions import OpenPromotions, Promotions, PromotionSteps
from judgebatch.contracts.state import (
    ActiveEpisodes,
    AwaitingComparisons,
    KnownEpisodes,
    OpenGroups,
)
from judgebatch.contracts.table import Table, conform
from judgebatch.grading import publication
from judgebatch.grading.clock import Clock
from judgebatch.grading.consideration import (
    Arrivals,
    Judged,
    Lookup,
    Texts,
    consider_episodes,
    consider_verdicts,
    pairwise,
)
from judgebatch.grading.identity import text_hashes
from judgebatch.grading.promotions import Promotion, open_promotions, promote
from judgebatch.grading.settlement import Settlement, ends, settle
from judgebatch.grading.state import ShardState
from judgebatch.vocabulary import TieModel, UngradedReason


@dataclass(frozen=True)
class Flow:
    """Rows that came in and what became of them, at a shard."""

    read: int
    waiting_before: int
    quarantined: int
    already_known: int
    ended: dict[str, int]
    waiting_after: int


@dataclass(frozen=True)
class Night:
    """What a night came to, at a shard."""

    tables: dict[type[Table], pl.DataFrame]
    """Published tables and snapshots, each in its order."""
    state: ShardState
    """The checkpoint; its waiting verdicts still lack their text (see ``still_waiting``)."""
    considered_episodes: pl.DataFrame
    """Episodes first considered, with ``arrived_at`` and ``effective_arrival``."""
    known_episodes: pl.DataFrame
    """KnownEpisodes that ended."""
    known_verdicts: pl.DataFrame
    """KnownVerdicts that were considered."""
    still_waiting: pl.DataFrame
    """``piece, row, considered_at, unknown_episode_window_us`` of those that wait."""
    flows: dict[str, Flow]
    """By subject: episodes, verdicts, comparisons."""
    fit_failed: int


def grade(
    episodes: pl.DataFrame,
    verdicts: pl.DataFrame,
    state: ShardState,
    tenants: pl.DataFrame,
    known_episodes: Lookup,
    known_verdicts: Lookup,
    texts: Texts,
    tie_model: TieModel,
    promotion: Promotion | None,
    judge_cost_nano_usd: int | None,
    clock: Clock,
) -> Night:
    """Grade one shard for one night.

    Parameters
    ----------
    episodes
        New EpisodeRows of this run's files.
    verdicts
        VerdictRows without their text, new and waiting ones, with fingerprints (``id_*``,
        ``digest_*``), ``considered_at`` and ``unknown_episode_window_us`` (null: not considered
        before), ``from_state``, ``live``, ``released``, and ``piece, row``: where the text lies.
    state
        The previous run's checkpoint.
    tenants
        KnownTenants columns plus ``accepting``, for every tenant that can matter.
    known_episodes, known_verdicts
        Look up identities that earlier runs considered.
    texts
        The verdicts' texts.
    tie_model
        How ties enter the fit.
    promotion
        Which variant is tested, if one is.
    judge_cost_nano_usd
        What an attached judge declares for a call; None without one.
    clock
        The run's logical time.
    """
    arrivals = consider_episodes(episodes, state, tenants, known_episodes, clock)
    judged = consider_verdicts(
        verdicts, state, tenants, arrivals, known_verdicts, known_episodes, texts, clock
    )
    settlement = settle(arrivals, judged, state, tie_model, judge_cost_nano_usd, clock)
    ended = ends(settlement, arrivals)
    promoted = promote(settlement, judged, arrivals, state.sequential_sums, promotion, clock)
    involved = pl.concat(
        frame.select("tenant_id")
        for frame in (
            episodes,
            verdicts,
            state.pending_episodes,
            state.waiting_verdicts,
            state.active_episodes,
        )
    )
    quarantined = pl.concat([arrivals.admission.quarantined, judged.quarantined])
    return Night(
        tables={
            tables.Graded: publication.graded(ended, arrivals, settlement, clock),
            tables.Ungraded: publication.ungraded(ended, clock),
            tables.Groups: publication.groups(arrivals, settlement, clock),
            tables.Strengths: publication.strengths(arrivals, settlement, clock),
            tables.References: publication.references(arrivals, clock),
            tables.Comparisons: publication.comparisons(settlement, clock),
            tables.Ledger: publication.ledger(settlement, clock),
            tables.Budgets: publication.budgets(arrivals, settlement, involved, clock),
            Promotions: promoted.promotions,
            PromotionSteps: promoted.steps,
            OpenPromotions: open_promotions(promoted.sums, promotion, clock),
            tables.GradingCounts: publication.grading_counts(ended, involved, clock),
            tables.Quarantine: publication.quarantine(quarantined, clock),
            tables.OpenEpisodes: publication.open_episodes(arrivals, settlement, clock),
            tables.ComparisonRequests: publication.comparison_requests(arrivals, settlement, clock),
        },
        state=_checkpoint(arrivals, settlement, state, promoted.sums),
        considered_episodes=arrivals.considered,
        known_episodes=ended_identities(ended),
        known_verdicts=judged.considered,
        still_waiting=judged.waiting,
        flows=_flows(state, verdicts, arrivals, judged, settlement, ended),
        fit_failed=settlement.failed.height,
    )


def _checkpoint(
    arrivals: Arrivals, settlement: Settlement, before: ShardState, sums: pl.DataFrame
) -> ShardState:
    settled = pl.concat([settlement.units.select("unit"), settlement.too_small.select("unit")])
    groups = arrivals.formed.groups.join(settled, on="unit", how="anti")
    groups = groups.with_columns(
        fit_failed=pl.col("unit").is_in(settlement.failed["unit"].to_list())
    )
    return ShardState(
        pending_episodes=arrivals.admission.waiting,
        waiting_verdicts=before.waiting_verdicts.clear(),
        active_episodes=conform(
            arrivals.formed.members.join(settled, on="unit", how="anti"), ActiveEpisodes
        ).sort(ActiveEpisodes.order),
        open_groups=conform(groups, OpenGroups).sort(OpenGroups.order),
        epoch_counters=arrivals.counters,
        known_references=arrivals.known_references,
        known_tenants=arrivals.known_tenants,
        awaiting_comparisons=conform(settlement.awaiting, AwaitingComparisons).sort(
            AwaitingComparisons.order
        ),
        spend=settlement.spend,
        refusals=settlement.refusals,
        sequential_sums=sums,
    )


def ended_identities(ended: pl.DataFrame) -> pl.DataFrame:
    """Return KnownEpisodes of the episodes that ended, in no particular order.

    Parameters
    ----------
    ended
        Fingerprints, ``task_id, verifier_outcome, group_epoch, arrived_at, reason`` (null:
        graded) and ``is_reference``.
    """
    return conform(
        ended.with_columns(
            text_hashes(ended["task_id"], "task_hash"),
            text_hashes(ended["verifier_outcome"], "outcome_hash"),
            pl.col("group_epoch").fill_null(-1),
            arrived_us=pl.col("arrived_at").dt.epoch("us"),
            insufficient=(pl.col("reason") == UngradedReason.INSUFFICIENT_GROUP.value).fill_null(
                value=False
            ),
        ),
        KnownEpisodes,
    )


def _flows(
    before: ShardState,
    verdicts: pl.DataFrame,
    arrivals: Arrivals,
    judged: Judged,
    settlement: Settlement,
    ended: pl.DataFrame,
) -> dict[str, Flow]:
    """Return the conservation counts of what came to the shard."""
    new = verdicts.filter(~pl.col("from_state"))
    waiting = verdicts.join(judged.waiting, on=["piece", "row"], how="semi")
    graded = ended["reason"].null_count()
    endings = settlement.ended.group_by("disposition").len().sort("disposition")
    dispositions = dict(zip(endings["disposition"], endings["len"], strict=True))
    return {
        "episodes": Flow(
            read=arrivals.admission.considered - before.pending_episodes.height,
            waiting_before=before.pending_episodes.height + before.active_episodes.height,
            quarantined=arrivals.admission.quarantined.height,
            already_known=arrivals.admission.already_known,
            ended={"graded": graded, "ungraded": ended.height - graded},
            waiting_after=arrivals.admission.waiting.height
            + arrivals.formed.members.height
            - ended.height
            + arrivals.novel.height,
        ),
        "verdicts": Flow(
            read=new.height,
            waiting_before=before.waiting_verdicts.height + before.awaiting_comparisons.height,
            quarantined=judged.quarantined.height,
            already_known=judged.already_known,
            ended={**dispositions, "single": judged.single.height},
            waiting_after=settlement.awaiting.height + waiting.height,
        ),
        "comparisons": Flow(
            read=pairwise(new),
            waiting_before=pairwise(before.waiting_verdicts) + before.awaiting_comparisons.height,
            quarantined=judged.pairwise_quarantined,
            already_known=judged.pairwise_already_known,
            ended=dispositions,
            waiting_after=settlement.awaiting.height + pairwise(waiting),
        ),
    }
