"""What a night publishes of a shard, in the columns of the contracts."""

import polars as pl

from judgebatch.contracts import grading as tables
from judgebatch.contracts.table import conform
from judgebatch.grading import budget
from judgebatch.grading.clock import Clock, later
from judgebatch.grading.consideration import Arrivals
from judgebatch.grading.counts import COUNTS, MEMBER
from judgebatch.grading.money import usd
from judgebatch.grading.references import TASK, ratio, tool_efficiency
from judgebatch.grading.settlement import Settlement
from judgebatch.vocabulary import (
    EpisodeState,
    ScoreKind,
    UngradedReason,
    WaitsFor,
    is_reducible,
)


def _state(state: EpisodeState) -> list[pl.Expr]:
    return [
        pl.lit(state.value).alias("state"),
        pl.lit(is_reducible(state)).alias("is_reducible"),
    ]


def graded(
    ended: pl.DataFrame, arrivals: Arrivals, settlement: Settlement, clock: Clock
) -> pl.DataFrame:
    """Return the graded table of the episodes that ended with a score."""
    references = arrivals.known_references.select(
        *TASK,
        pl.col("episode_id").alias("reference_episode_id"),
        usd().alias("reference_cost_usd"),
        pl.col("latency_ms").alias("reference_latency_ms"),
        tool_efficiency().alias("reference_tool_efficiency"),
    )
    relative = pl.col("group_epoch").is_null()
    dimensions = ("cost_usd", "latency_ms", "tool_efficiency")
    rows = (
        ended.filter(pl.col("reason").is_null())
        .join(
            settlement.strengths.select(*MEMBER, "strength", "strength_se"),
            on=MEMBER,
            how="left",
        )
        .join(references, on=TASK, how="left")
        .with_columns(cost_usd=usd(), tool_efficiency=tool_efficiency())
        .with_columns(
            *clock.stamp(),
            *_state(EpisodeState.GRADED),
            pl.when(relative)
            .then(pl.lit(ScoreKind.RELATIVE.value))
            .otherwise(pl.lit(ScoreKind.TOURNAMENT.value))
            .alias("score_kind"),
            pl.when(relative).then("reference_episode_id").alias("reference_episode_id"),
            *(
                pl.when(relative)
                .then(ratio(pl.col(name), pl.col(f"reference_{name}")))
                .alias(f"{name.removesuffix('_usd').removesuffix('_ms')}_ratio")
                for name in dimensions
            ),
        )
    )
    return conform(rows, tables.Graded).sort(tables.Graded.order)


def ungraded(ended: pl.DataFrame, clock: Clock) -> pl.DataFrame:
    """Return the ungraded table of the episodes that ended without a score."""
    caused = pl.col("reason") == UngradedReason.NO_USABLE_COMPARISON.value
    usable = pl.col("wins") + pl.col("losses") + pl.col("ties")
    causes = ("undecided", "not_applicable", "errors", "unattestable", "missing")
    rows = (
        ended.filter(pl.col("reason").is_not_null())
        .with_columns(pl.col(*COUNTS, "missing").fill_null(0))
        .with_columns(
            *clock.stamp(),
            *_state(EpisodeState.UNGRADED),
            pl.col("reason").alias("ungraded_reason"),
            *(pl.when(caused).then(name).alias(name) for name in causes),
            pl.when(caused).then(usable).alias("disconnected"),
            pl.when(caused).then("error_codes").alias("error_codes"),
            cost_usd=usd(),
            tool_efficiency=tool_efficiency(),
        )
    )
    return conform(rows, tables.Ungraded).sort(tables.Ungraded.order)


def groups(arrivals: Arrivals, settlement: Settlement, clock: Clock) -> pl.DataFrame:
    """Return the groups that were decided."""
    fit = ("comparable_size", "fit_status", "iterations", "gradient_norm", "tie_parameter")
    no_comparison = pl.col("comparable_size") < pl.col("min_group_size")
    compared = (
        arrivals.formed.groups.join(
            settlement.units.select(
                "unit", "decided_at", "admitted", "comparisons", "usable", *fit
            ),
            on="unit",
            how="inner",
        )
        .with_columns(pl.when("admitted").then(name).alias(name) for name in fit)
        .with_columns(
            pl.when("admitted").then(name).otherwise(0).alias(name)
            for name in ("comparisons", "usable")
        )
        .with_columns(
            ungraded_reason=pl.when(~pl.col("admitted"))
            .then(pl.lit(UngradedReason.BUDGET_EXHAUSTED.value))
            .when(no_comparison)
            .then(pl.lit(UngradedReason.NO_USABLE_COMPARISON.value))
        )
    )
    small = settlement.too_small.with_columns(
        comparisons=pl.lit(0, dtype=pl.Int64),
        usable=pl.lit(0, dtype=pl.Int64),
        ungraded_reason=pl.lit(UngradedReason.INSUFFICIENT_GROUP.value),
    )
    rows = pl.concat([compared, small], how="diagonal").with_columns(clock.stamp())
    return conform(rows, tables.Groups).sort(tables.Groups.order)


def strengths(arrivals: Arrivals, settlement: Settlement, clock: Clock) -> pl.DataFrame:
    """Return the strengths of fitted members."""
    members = arrivals.formed.members.select(
        *MEMBER, "tenant_id", "task_id", "verifier_outcome", "group_epoch", "episode_id"
    )
    rows = settlement.strengths.join(members, on=MEMBER, how="left").drop("wins", "losses", "ties")
    rows = rows.join(settlement.tallies, on=MEMBER, how="left").with_columns(clock.stamp())
    return conform(rows, tables.Strengths).sort(tables.Strengths.order)


def references(arrivals: Arrivals, clock: Clock) -> pl.DataFrame:
    """Return the references that were registered."""
    rows = arrivals.novel.with_columns(*clock.stamp(), registered_at=pl.col("effective_arrival"))
    return conform(rows, tables.References).sort(tables.References.order)


def comparisons(settlement: Settlement, clock: Clock) -> pl.DataFrame:
    """Return the comparisons that ended."""
    rows = settlement.ended.with_columns(*clock.stamp(), cost_usd=usd())
    return conform(rows, tables.Comparisons).sort(tables.Comparisons.order)


def ledger(settlement: Settlement, clock: Clock) -> pl.DataFrame:
    """Return what was admitted."""
    rows = settlement.units.filter("admitted").with_columns(
        *clock.stamp(), cost_usd=usd(), actual_cost_usd=usd("actual_nano_usd")
    )
    return conform(rows, tables.Ledger).sort(tables.Ledger.order, nulls_last=False)


def budgets(
    tenants: pl.DataFrame,
    periods: pl.DataFrame,
    spend: pl.DataFrame,
    refusals: pl.DataFrame,
    clock: Clock,
) -> pl.DataFrame:
    """Return where the budgets of tenants stand; parameters are those of budget.standing."""
    rows = budget.standing(tenants, periods, spend, refusals, clock.literal()).with_columns(
        *clock.stamp(), ceiling_usd=usd("ceiling_nano_usd"), spent_usd=usd("spent_nano_usd")
    )
    return conform(rows, tables.Budgets)


def counts_of(ended: pl.DataFrame) -> pl.DataFrame:
    """Return how many episodes ended how, per tenant: ``tenant_id, outcome, count``."""
    kind = (
        pl.when(pl.col("group_epoch").is_null())
        .then(pl.lit(ScoreKind.RELATIVE.value))
        .otherwise(pl.lit(ScoreKind.TOURNAMENT.value))
    )
    return (
        ended.select("tenant_id", pl.coalesce("reason", kind).alias("outcome"))
        .group_by("tenant_id", "outcome")
        .agg(pl.len().cast(pl.Int64).alias("count"))
    )


def grading_counts(counted: pl.DataFrame, tenants: pl.DataFrame, clock: Clock) -> pl.DataFrame:
    """Return how many episodes ended how, per tenant, zeros included.

    Parameters
    ----------
    counted
        ``tenant_id, outcome, count``, over several rows where they come from several slices.
    tenants
        ``tenant_id`` of every tenant with input or open state.
    """
    tokens = pl.DataFrame(
        {"outcome": [token.value for token in (*ScoreKind, *UngradedReason)]},
        schema={"outcome": pl.String},
    )
    counted = counted.group_by("tenant_id", "outcome").agg(pl.col("count").sum())
    rows = (
        tenants.unique()
        .join(tokens, how="cross")
        .join(counted, on=["tenant_id", "outcome"], how="left")
        .with_columns(*clock.stamp(), pl.col("count").fill_null(0))
    )
    return conform(rows, tables.GradingCounts).sort(tables.GradingCounts.order)


def open_episodes(arrivals: Arrivals, settlement: Settlement, clock: Clock) -> pl.DataFrame:
    """Return the episodes that stay in Grading, each with a deadline."""
    formed = arrivals.formed
    group_end = formed.groups.select(
        "unit",
        "closed_at",
        later("opened_at", "group_timeout_us").alias("closes_by"),
    )
    deadlines = settlement.decisions.units.select(
        "unit", pl.coalesce("deadline", "base_at").alias("decided_by")
    )
    failed = settlement.failed.with_columns(failed=pl.lit(True))
    is_open = pl.col("closed_at").is_null() & pl.col("group_epoch").is_not_null()
    rows = (
        formed.members.join(_settled(settlement), on="unit", how="anti")
        .join(group_end, on="unit", how="left")
        .join(deadlines, on="unit", how="left")
        .join(failed, on="unit", how="left")
        .with_columns(
            *clock.stamp(),
            pl.lit(EpisodeState.GRADING.value).alias("state"),
            pl.when(is_open)
            .then(pl.lit(WaitsFor.CLOSING.value))
            .when(pl.col("failed"))
            .then(pl.lit(WaitsFor.FIT_FAILED.value))
            .otherwise(pl.lit(WaitsFor.COMPARISONS.value))
            .alias("waits_for"),
            pl.when(is_open).then("closes_by").otherwise("decided_by").alias("deadline"),
        )
    )
    return conform(rows, tables.OpenEpisodes).sort(tables.OpenEpisodes.order)


def _settled(settlement: Settlement) -> pl.DataFrame:
    return pl.concat([settlement.units.select("unit"), settlement.too_small.select("unit")])


def comparison_requests(arrivals: Arrivals, settlement: Settlement, clock: Clock) -> pl.DataFrame:
    """Return the pairs that are still wanted, those of tenants out of budget apart."""
    members = arrivals.formed.members
    refused = budget.is_refused(arrivals.known_tenants, settlement.refusals, clock.literal())
    names = members.select("member", "episode_id")
    undecided = settlement.decisions.units.join(_settled(settlement), on="unit", how="anti")
    pairs = (
        settlement.decisions.pairs.filter(pl.col("wanted") > 0)
        .join(undecided.drop("episode_id"), on="unit", how="inner")
        .join(refused, on="tenant_id", how="anti")
        .join(
            names.rename({"member": "left_member", "episode_id": "left"}),
            on="left_member",
            how="left",
        )
        .join(
            names.rename({"member": "right_member", "episode_id": "right"}),
            on="right_member",
            how="left",
        )
        .join(
            arrivals.known_references.select(*TASK, pl.col("episode_id").alias("reference")),
            on=TASK,
            how="left",
        )
    )
    alone = pl.col("group_epoch").is_null()
    rows = pairs.with_columns(
        *clock.stamp(),
        # In reference mode the pair is the episode, then its reference.
        pl.when(alone).then("right").otherwise("left").alias("episode_id"),
        pl.when(alone).then("reference").otherwise("right").alias("compared_episode_id"),
    )
    return conform(rows, tables.ComparisonRequests).sort(
        tables.ComparisonRequests.order, nulls_last=False
    )


def quarantine(rows: pl.DataFrame, clock: Clock) -> pl.DataFrame:
    """Return QuarantineRows, stamped."""
    rows = rows.with_columns(*clock.stamp(), released_in=pl.lit(None, dtype=pl.Int64))
    *place, _ = tables.Quarantine.order
    # Contents are long, and only those of rows in one place are compared.
    ordered = conform(rows, tables.Quarantine).sort(place, nulls_last=False)
    if ordered.select(pl.struct(place).is_duplicated().any()).item():
        return ordered.sort(tables.Quarantine.order, nulls_last=False)
    return ordered
