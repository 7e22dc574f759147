"""A night of some tasks: consider, then, once it is known what the ceilings admit, conclude.

Tasks share nothing but their tenant's identities, ceilings and promotions, so that a shard is
graded in slices of it by task.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import polars as pl

from judgebatch.contracts import grading as tables
from judgebatch.contracts.state import (
    ActiveEpisodes,
    AwaitingComparisons,
    KnownEpisodes,
    OpenGroups,
)
from judgebatch.contracts.table import Table, conform
from judgebatch.grading import publication
from judgebatch.grading.budget import Admitted
from judgebatch.grading.clock import Clock
from judgebatch.grading.consideration import (
    PLACE,
    Arrivals,
    Judged,
    Lookup,
    Texts,
    consider_episodes,
    consider_verdicts,
    pairwise,
)
from judgebatch.grading.identity import text_hashes
from judgebatch.grading.promotions import Promotion, trials_of
from judgebatch.grading.scores import Fitted
from judgebatch.grading.settlement import Due, Settlement, conclude, ends, find_due
from judgebatch.grading.state import ShardState, nothing
from judgebatch.vocabulary import UngradedReason


@dataclass(frozen=True)
class Flow:
    """Rows that came in and what became of them."""

    read: int
    waiting_before: int
    quarantined: int
    already_known: int
    ended: dict[str, int]
    waiting_after: int

    def concluded(self, ended: Mapping[str, int], waiting: int) -> "Flow":
        """Return the flow after what was undecided has ended, or waits on."""
        return replace(
            self,
            ended={**self.ended, **ended},
            waiting_after=self.waiting_after + waiting,
        )

    def beside(self, asleep: int) -> "Flow":
        """Return the flow with rows counted that wait and were not looked at."""
        return replace(
            self,
            waiting_before=self.waiting_before + asleep,
            waiting_after=self.waiting_after + asleep,
        )

    def __add__(self, other: "Flow") -> "Flow":
        """Return the flow of both."""
        ended = {
            key: self.ended.get(key, 0) + other.ended.get(key, 0)
            for key in sorted({*self.ended, *other.ended})
        }
        return Flow(
            self.read + other.read,
            self.waiting_before + other.waiting_before,
            self.quarantined + other.quarantined,
            self.already_known + other.already_known,
            ended,
            self.waiting_after + other.waiting_after,
        )


class Considered(NamedTuple):
    """The first half of a night: who belongs where, and what is due."""

    arrivals: Arrivals
    judged: Judged
    due: Due


class Concluded(NamedTuple):
    """The second half of a night: what became of it."""

    tables: dict[type[Table], pl.DataFrame]
    """Published tables and snapshots, each in its order."""
    state: ShardState
    """The checkpoint of these tasks, without verdicts that wait, and without promotions."""
    known_episodes: pl.DataFrame
    """KnownEpisodes that ended."""
    trials: pl.DataFrame
    """Comparisons of what a promotion tests."""
    counts: pl.DataFrame
    """How many episodes ended how: ``tenant_id, outcome, count``."""
    periods: pl.DataFrame
    """``tenant_id, period`` of budget periods in which something was decided."""
    episodes_ended: dict[str, int]
    comparisons_ended: dict[str, int]


def consider(
    episodes: pl.DataFrame,
    verdicts: pl.DataFrame,
    state: ShardState,
    tenants: pl.DataFrame,
    known_episodes: Lookup,
    seen_episodes: Lookup,
    known_verdicts: Lookup,
    texts: Texts,
    judge_cost_nano_usd: int | None,
    clock: Clock,
) -> Considered:
    """Consider the rows of some tasks of some tenants.

    Parameters
    ----------
    episodes
        New StagedEpisodes of this run's files.
    verdicts
        VerdictRows without their text, new and waiting ones, with fingerprints (``id_*``,
        ``digest_*``), ``considered_at`` and ``unknown_episode_window_us`` (null: not considered
        before), ``from_state``, ``live``, ``released``, and ``piece, row``: where the text lies.
    state
        What the previous run left of these tasks.
    tenants
        KnownTenants columns plus ``accepting``, for every tenant that can matter.
    known_episodes, known_verdicts
        Look up identities that earlier runs considered, or that stay with a row of another slice.
    seen_episodes
        Looks up episodes that comparisons name: those that have ended, or belong to another slice.
    texts
        The verdicts' texts.
    judge_cost_nano_usd
        What an attached judge declares for a call; None without one.
    clock
        The run's logical time.
    """
    arrivals = consider_episodes(episodes, state, tenants, known_episodes, clock)
    judged = consider_verdicts(
        verdicts, state, tenants, arrivals, known_verdicts, seen_episodes, texts, clock
    )
    return Considered(arrivals, judged, find_due(arrivals, judged, judge_cost_nano_usd, clock))


def finish(
    considered: Considered,
    admitted: Admitted,
    fitted: Fitted,
    promotion: Promotion | None,
    clock: Clock,
) -> Concluded:
    """Conclude what was considered.

    Parameters
    ----------
    considered
        The first half.
    admitted
        What the ceilings let through of what is due, with spend and refusals after the run.
    fitted
        The fits of what is admitted.
    promotion
        Which variant is tested, if one is.
    clock
        The run's logical time.
    """
    arrivals, judged, due = considered
    settlement = conclude(judged, due, admitted, fitted)
    ended = ends(settlement, arrivals)
    graded = ended["reason"].null_count()
    endings = settlement.ended.group_by("disposition").len().sort("disposition")
    return Concluded(
        tables={
            tables.Graded: publication.graded(ended, arrivals, settlement, clock),
            tables.Ungraded: publication.ungraded(ended, clock),
            tables.Groups: publication.groups(arrivals, settlement, clock),
            tables.Strengths: publication.strengths(arrivals, settlement, clock),
            tables.References: publication.references(arrivals, clock),
            tables.Comparisons: publication.comparisons(settlement, clock),
            tables.Ledger: publication.ledger(settlement, clock),
            tables.OpenEpisodes: publication.open_episodes(arrivals, settlement, clock),
            tables.ComparisonRequests: publication.comparison_requests(arrivals, settlement, clock),
        },
        state=_checkpoint(arrivals, settlement),
        known_episodes=ended_identities(ended),
        trials=trials_of(settlement, judged, arrivals, promotion),
        counts=publication.counts_of(ended),
        periods=settlement.units.select("tenant_id", "period").unique(),
        episodes_ended={"graded": graded, "ungraded": ended.height - graded},
        comparisons_ended=dict(zip(endings["disposition"], endings["len"], strict=True)),
    )


def _checkpoint(arrivals: Arrivals, settlement: Settlement) -> ShardState:
    settled = pl.concat([settlement.units.select("unit"), settlement.too_small.select("unit")])
    failed = settlement.failed.with_columns(has_failed=pl.lit(True))
    groups = (
        arrivals.formed.groups.join(settled, on="unit", how="anti")
        .join(failed, on="unit", how="left")
        .with_columns(fit_failed=pl.col("has_failed").fill_null(value=False))
    )
    return nothing()._replace(
        pending_episodes=arrivals.admission.waiting,
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


def flows_in(before: ShardState, verdicts: pl.DataFrame, considered: Considered) -> dict[str, Flow]:
    """Return the conservation counts of what came, but for what may be decided in this run."""
    arrivals, judged, _ = considered
    admission = arrivals.admission
    new = verdicts.filter(~pl.col("from_state"))
    waiting = verdicts.join(judged.waiting, on=PLACE, how="semi")
    return {
        "episodes": Flow(
            read=admission.considered - before.pending_episodes.height,
            waiting_before=before.pending_episodes.height + before.active_episodes.height,
            quarantined=admission.quarantined.height,
            already_known=admission.already_known,
            ended={},
            waiting_after=admission.waiting.height,
        ),
        "verdicts": Flow(
            read=new.height,
            waiting_before=before.waiting_verdicts.height + before.awaiting_comparisons.height,
            quarantined=judged.quarantined.height,
            already_known=judged.already_known,
            ended={"single": judged.single.height},
            waiting_after=waiting.height,
        ),
        "comparisons": Flow(
            read=pairwise(new),
            waiting_before=pairwise(before.waiting_verdicts) + before.awaiting_comparisons.height,
            quarantined=judged.pairwise_quarantined,
            already_known=judged.pairwise_already_known,
            ended={},
            waiting_after=pairwise(waiting),
        ),
    }
