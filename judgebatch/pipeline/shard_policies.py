"""The policies of one shard: answers and checkpoint into results, reports and what waits."""

from dataclasses import replace
from pathlib import Path

import polars as pl

from judgebatch.contracts.policies import (
    AnswerRows,
    AwaitingPolicies,
    HeldAnswers,
    PolicyCounts,
    PolicyDocuments,
    PolicyReports,
    PolicyResults,
)
from judgebatch.contracts.table import Table, conform, empty, schema_of
from judgebatch.grading.admission import ID
from judgebatch.grading.clock import Clock
from judgebatch.grading.consideration import Lookup
from judgebatch.grading.identity import with_fingerprints
from judgebatch.grading.night import Flow
from judgebatch.pipeline.arrow_bytes import write_same_bytes
from judgebatch.pipeline.pending import Pending
from judgebatch.pipeline.policy_plan import PolicyPlan
from judgebatch.policies.admission import as_held
from judgebatch.policies.night import PolicyNight, PolicyState, judge_night
from judgebatch.vocabulary import AnswerDisposition

EPISODE = ["tenant_id", "episode_id"]
STATE: dict[str, type[Table]] = {
    "held": HeldAnswers,
    "awaiting": AwaitingPolicies,
    "documents": PolicyDocuments,
}


def read_policy_state(folder: Path | None, pending: Pending) -> PolicyState:
    """Read what the previous run left, and the answers that become visible.

    A table without rows has no file.
    """
    state = PolicyState(
        **{name: stored_policy_rows(folder, table) for name, table in STATE.items()}
    )
    visible = as_held(pending.open().select(schema_of(AnswerRows).names()))
    return replace(state, held=pl.concat([state.held, visible]))


def stored_policy_rows(folder: Path | None, table: type[Table]) -> pl.DataFrame:
    """Read one table of what the previous run left; one without rows has no file."""
    path = None if folder is None else folder / f"{table.name}.arrow"
    if path is None or not path.exists():
        return empty(table)
    return conform(pl.read_ipc(path), table)


def write_policy_state(state: PolicyState, pending: Pending, folder: Path, run: int) -> list[str]:
    """Write what waits as Arrow files: answers hold distributions, which BI tables never do.

    Returns the files of pending answers that are to be carried over.
    """
    folder.mkdir(parents=True, exist_ok=True)
    is_pending = pl.col("considered_at").is_null()
    carried = pending.with_new([state.held.filter(is_pending)], folder, run)
    state = replace(state, held=state.held.filter(~is_pending))
    for name, table in STATE.items():
        frame: pl.DataFrame = getattr(state, name)
        if not frame.is_empty():
            write_same_bytes(folder / f"{table.name}.arrow", conform(frame, table))
    return carried


def judge_policies(
    answers: pl.DataFrame,
    state: PolicyState,
    considered: pl.DataFrame,
    active_before: pl.DataFrame,
    known: Lookup,
    tenants: pl.DataFrame,
    known_tenants: pl.DataFrame,
    plan: PolicyPlan,
    clock: Clock,
) -> PolicyNight:
    """Evaluate what is due.

    Parameters
    ----------
    answers
        AnswerRows of this run's files.
    state
        What the previous run left.
    considered
        Episodes first considered in this run, with ``arrived_at`` and ``effective_arrival``.
    active_before
        Episodes that were in Grading before this run.
    known
        Looks up KnownEpisodes of earlier runs.
    tenants
        Settings in force, with ``accepting``.
    known_tenants
        KnownTenants before this run.
    plan
        The run's policies.
    clock
        The run's logical time.
    """
    named = pl.concat([answers.select(EPISODE), state.held.select(EPISODE)]).unique()
    named = with_fingerprints(named, EPISODE, "id")
    ended = named.join(known(named.select(ID)), on=ID, how="semi")
    before = pl.concat([ended.select(EPISODE), active_before.select(EPISODE)])
    was_known = known_tenants.select("tenant_id", pl.lit(True).alias("known"))
    return judge_night(
        answers,
        state,
        considered,
        named.select(EPISODE).join(before, on=EPISODE, how="semi"),
        tenants.join(was_known, on="tenant_id", how="left").with_columns(
            pl.col("known").fill_null(value=False)
        ),
        plan.policies,
        plan.choice,
        previous_as_of=clock.previous,
        as_of=clock.as_of,
    )


def policy_tables(night: PolicyNight, clock: Clock) -> dict[type[Table], pl.DataFrame]:
    """Return what a night of policies publishes."""
    frames = {
        PolicyResults: night.results,
        PolicyReports: night.reports,
        PolicyCounts: night.counts,
    }
    return {
        table: conform(frame.with_columns(clock.stamp()), table) for table, frame in frames.items()
    }


def policy_flow(answers: pl.DataFrame, before: PolicyState, night: PolicyNight) -> Flow:
    """Return the conservation counts of answers."""
    counted = night.ended.group_by("disposition").agg(pl.col("count").sum()).sort("disposition")
    ended: dict[str, int] = dict(zip(counted["disposition"], counted["count"], strict=True))
    # As for episodes and verdicts, a repeat of what is known is not an end.
    already_known = ended.pop(AnswerDisposition.ALREADY_KNOWN.value, 0)
    return Flow(
        read=answers.height,
        waiting_before=before.held.height,
        quarantined=night.quarantined.height,
        already_known=already_known,
        ended=ended,
        waiting_after=night.state.held.height,
    )


def policy_counts(counts: pl.DataFrame) -> dict[str, dict[str, int]]:
    """Return, by policy, the episodes that passed, did not, and were not evaluated."""
    outcomes = ("met", "unmet", "not_evaluated")
    totals = counts.group_by("policy").agg(pl.col(outcomes).sum()).sort("policy")
    return {
        policy: {outcome: int(totals[outcome][at]) for outcome in outcomes}
        for at, policy in enumerate(totals["policy"])
    }
