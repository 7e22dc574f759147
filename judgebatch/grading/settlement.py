"""The second half of a night: what is decided, what the ceiling admits, and what comes of it."""

from typing import NamedTuple

import polars as pl

from judgebatch.grading import budget, counts, scores
from judgebatch.grading.clock import Clock
from judgebatch.grading.consideration import Arrivals, Judged, as_comparisons
from judgebatch.grading.decisions import Decisions, counted, decide, usable
from judgebatch.grading.state import ShardState
from judgebatch.vocabulary import ComparisonDisposition, TieModel, UngradedReason

SETTLED_SCHEMA = {"member": pl.Int64, "decided_at": pl.Datetime("us", "UTC"), "reason": pl.String}


class Settlement(NamedTuple):
    """Everything a night decided about a shard's groups."""

    decisions: Decisions
    units: pl.DataFrame
    """Decided units with ``decided_at, period, admitted``, what they cost, ``comparisons``,
    ``usable`` and, for admitted tournament units, the fit's columns."""
    too_small: pl.DataFrame
    """Groups that closed too small to compare, with ``decided_at``."""
    tallies: pl.DataFrame
    """Counts of each member of an admitted unit."""
    strengths: pl.DataFrame
    scores: pl.DataFrame
    causes: pl.DataFrame
    """For each member of an admitted unit: ``missing`` and ``error_codes``."""
    counted: pl.DataFrame
    """Comparisons that count in admitted units."""
    ended: pl.DataFrame
    """Comparisons that ended, with ``disposition`` and, where they counted, their group."""
    awaiting: pl.DataFrame
    """Comparisons inside groups that stay undecided."""
    failed: pl.DataFrame
    """``unit`` of groups whose fit did not converge; they stay undecided."""
    spend: pl.DataFrame
    refusals: pl.DataFrame


class Due(NamedTuple):
    """What is decided, as far as it is known before the ceilings are asked."""

    decisions: Decisions
    units: pl.DataFrame
    """Units that are due, with what they cost and ``place``: their place among those of their
    tenant that are decided at the same instant."""
    too_small: pl.DataFrame
    """Groups that closed too small to compare, with ``decided_at``."""
    ballots: pl.DataFrame
    """Comparisons of due units, with ``counts``."""


def settle(
    arrivals: Arrivals,
    judged: Judged,
    state: ShardState,
    tie_model: TieModel,
    judge_cost_nano_usd: int | None,
    clock: Clock,
) -> Settlement:
    """Decide what is due, admit it, fit it and count what became of every comparison.

    A group whose fit does not converge stays undecided and costs nothing; admission is then
    reckoned anew without it. ``judge_cost_nano_usd`` is what an attached judge declares for a
    call; None without one.
    """
    due = find_due(arrivals, judged, judge_cost_nano_usd, clock)
    failed = scores.NONE_FAILED
    while True:
        units = due.units.join(failed, on="unit", how="anti", maintain_order="left")
        admitted = budget.admit(units, arrivals.known_tenants, state.spend, state.refusals)
        fitted = fit_admitted(due, admitted.units, tie_model)
        if fitted.failed.is_empty():
            return conclude(judged, due, admitted, fitted._replace(failed=failed))
        failed = pl.concat([failed, fitted.failed])


def find_due(
    arrivals: Arrivals, judged: Judged, judge_cost_nano_usd: int | None, clock: Clock
) -> Due:
    """Find what is due and what it costs."""
    decisions, units = due_units(arrivals, judged, judge_cost_nano_usd, clock)
    too_small = arrivals.formed.groups.filter(
        pl.col("closed_at").is_not_null() & (pl.col("group_size") < pl.col("min_group_size"))
    ).with_columns(decided_at=pl.col("closed_at"))
    ballots = counted(judged.inside, units)
    units = with_costs(units, ballots, _live_across(judged.outside), judge_cost_nano_usd)
    units = units.sort("tenant_id", *budget.AT_ONCE, nulls_last=False)
    return Due(
        decisions,
        units.with_columns(place=pl.int_range(pl.len(), dtype=pl.Int64)),
        too_small,
        ballots,
    )


def fit_admitted(due: Due, admitted: pl.DataFrame, tie_model: TieModel) -> scores.Fitted:
    """Fit the tournament groups that the ceilings admit."""
    groups = admitted.filter("admitted").filter(pl.col("group_epoch").is_not_null())
    return scores.fit(
        groups.select("unit", "min_group_size"), due.ballots.filter("counts"), tie_model
    )


def conclude(
    judged: Judged,
    due: Due,
    admitted: budget.Admitted,
    fitted: scores.Fitted,
) -> Settlement:
    """Return what comes of what was decided, admitted and fitted.

    ``fitted.failed`` names all groups whose fit did not converge; they are none of ``admitted``.
    """
    decisions, too_small = due.decisions, due.too_small
    units = admitted.units.join(fitted.units, on="unit", how="left", maintain_order="left")
    in_force = pl.col("counts") & pl.col("admitted")
    ballots = due.ballots.join(
        units.select("unit", "admitted", "verifier_outcome", "group_epoch"), on="unit", how="inner"
    )
    counting = ballots.filter(in_force)
    seen = counts.sides(counting)
    tallies = counts.tally(seen)
    pairs = decisions.pairs.join(units.filter("admitted").select("unit"), on="unit", how="semi")
    causes = counts.missing_pairs(pairs, counting).join(
        counts.error_code_counts(seen), on=counts.MEMBER, how="full", coalesce=True
    )
    relative = tallies.join(
        units.filter(pl.col("group_epoch").is_null()).select("unit"), on="unit", how="semi"
    )
    settled = pl.concat([units.select("unit"), too_small.select("unit")])
    return Settlement(
        decisions=decisions,
        units=units,
        too_small=too_small,
        tallies=tallies,
        strengths=fitted.strengths,
        scores=pl.concat(
            [scores.tournament_scores(fitted.strengths), scores.relative_scores(relative)]
        ),
        causes=causes,
        counted=counting,
        ended=pl.concat(
            [
                _ended(ballots),
                _not_needed(judged.inside, too_small),
                _outside(judged.outside),
            ],
            how="diagonal",
        ),
        awaiting=judged.inside.join(settled, on="unit", how="anti"),
        failed=fitted.failed,
        spend=admitted.spend,
        refusals=admitted.refusals,
    )


def due_units(
    arrivals: Arrivals, judged: Judged, judge_cost_nano_usd: int | None, clock: Clock
) -> tuple[Decisions, pl.DataFrame]:
    """Return the decisions, and the units that are due with ``asked``.

    ``asked`` is how many comparisons an attached judge is asked for: what stored ones leave
    wanted in units that begin in this run.
    """
    formed = arrivals.formed
    attached = judge_cost_nano_usd is not None
    stored = judged.inside.filter(~pl.col("live"))
    decisions = decide(formed.units, formed.pairs, stored, clock.literal(), judge_attached=attached)
    wanted = decisions.pairs.group_by("unit").agg(pl.col("wanted").sum().alias("asked"))
    asked = pl.col("asked").fill_null(0) if attached else pl.lit(0, dtype=pl.Int64)
    due = (
        decisions.units.filter(pl.col("decided_at").is_not_null())
        .join(wanted, on="unit", how="left", maintain_order="left")
        .with_columns(asked=pl.when("begins").then(asked).otherwise(0))
    )
    return decisions, due


def _live_across(outside: pl.DataFrame) -> pl.DataFrame:
    """Return what an attached judge was asked across units, with the left episode's unit."""
    return outside.filter("live").select(pl.col("left_unit").alias("unit"), "cost_nano_usd")


def with_costs(
    due: pl.DataFrame,
    ballots: pl.DataFrame,
    across: pl.DataFrame,
    judge_cost_nano_usd: int | None,
) -> pl.DataFrame:
    """Return due units with what admission reckons with, and what was really spent.

    Admission knows the stored comparisons that count and the judge's declared cost of those
    still wanted, or asked about beyond them; the actual cost is that of all that count, and of
    what was asked across units.

    Parameters
    ----------
    due
        Units with ``asked``.
    ballots
        Comparisons inside them, with ``counts`` and ``live``.
    across
        ``unit`` and ``cost_nano_usd`` of what an attached judge was asked across units.
    judge_cost_nano_usd
        What it declares for a call.
    """
    # 128 bits: any number of the largest amounts adds up, and no ceiling is passed by wrapping.
    counts = ballots.filter("counts").with_columns(pl.col("cost_nano_usd").cast(pl.Int128))
    costs = counts.group_by("unit").agg(
        pl.col("cost_nano_usd").filter(~pl.col("live")).sum().alias("stored_nano_usd"),
        pl.col("cost_nano_usd").sum().alias("actual_nano_usd"),
        pl.col("live").sum().cast(pl.Int64).alias("live"),
        pl.len().cast(pl.Int64).alias("comparisons"),
        usable().sum().cast(pl.Int64).alias("usable"),
    )
    costs_across = across.group_by("unit").agg(
        pl.len().cast(pl.Int64).alias("live_across"),
        pl.col("cost_nano_usd").cast(pl.Int128).sum().alias("across_nano_usd"),
    )
    live, beyond = ("live", "live_across"), ("stored_nano_usd", "across_nano_usd")
    sums = (*beyond, "actual_nano_usd", "comparisons", "usable", *live)
    answers = pl.max_horizontal("asked", pl.sum_horizontal(live))
    return (
        due.join(costs, on="unit", how="left", maintain_order="left")
        .join(costs_across, on="unit", how="left", maintain_order="left")
        .with_columns(pl.col(sums).fill_null(0))
        .with_columns(
            actual_nano_usd=pl.col("actual_nano_usd") + pl.col("across_nano_usd"),
            cost_nano_usd=pl.col("stored_nano_usd") + answers * (judge_cost_nano_usd or 0),
        )
        .drop(*beyond, *live)
    )


def _ended(ballots: pl.DataFrame) -> pl.DataFrame:
    """Return the comparisons of decided units with their dispositions."""
    counts_and_admitted = pl.col("counts") & pl.col("admitted")
    used = pl.lit(ComparisonDisposition.USED.value)
    return ballots.with_columns(
        disposition=pl.when(~pl.col("counts"))
        .then(pl.lit(ComparisonDisposition.LATE.value))
        .when(~pl.col("admitted"))
        .then(pl.lit(ComparisonDisposition.OVER_BUDGET.value))
        .otherwise(pl.when(usable()).then(used).otherwise("outcome")),
        verifier_outcome=pl.when(counts_and_admitted).then("verifier_outcome"),
        group_epoch=pl.when(counts_and_admitted).then("group_epoch"),
    )


def _not_needed(inside: pl.DataFrame, too_small: pl.DataFrame) -> pl.DataFrame:
    return inside.join(too_small.select("unit"), on="unit", how="semi").with_columns(
        disposition=pl.lit(ComparisonDisposition.NOT_NEEDED.value)
    )


def _outside(rows: pl.DataFrame) -> pl.DataFrame:
    """Return comparisons that ended without a group."""
    return as_comparisons(rows).hstack([rows["disposition"]])


def ends(settlement: Settlement, arrivals: Arrivals) -> pl.DataFrame:
    """Return the episodes that ended, with what is known of their end.

    Returns
    -------
    pl.DataFrame
        ActiveEpisodes columns and ``decided_at``, ``reason`` (null: graded), ``group_size``,
        ``is_reference``, the scores' columns, the counts and the causes.
    """
    members = arrivals.formed.members.drop("judging_window_us", "comparisons_per_pair", "is_new")
    sizes = arrivals.formed.groups.select("unit", "group_size")
    decided = pl.concat(
        [
            settlement.units.select("unit", "decided_at", "admitted"),
            settlement.too_small.select(
                "unit", "decided_at", pl.lit(None, dtype=pl.Boolean).alias("admitted")
            ),
        ]
    )
    ended = (
        members.join(decided, on="unit", how="inner", maintain_order="left")
        .join(sizes, on="unit", how="left", maintain_order="left")
        .join(settlement.scores, on=counts.MEMBER, how="left", maintain_order="left")
        .join(settlement.tallies, on=counts.MEMBER, how="left", maintain_order="left")
        .join(settlement.causes, on=counts.MEMBER, how="left", maintain_order="left")
    )
    reason = (
        pl.when(pl.col("admitted").is_null())
        .then(pl.lit(UngradedReason.INSUFFICIENT_GROUP.value))
        .when(~pl.col("admitted"))
        .then(pl.lit(UngradedReason.BUDGET_EXHAUSTED.value))
        .when(pl.col("score").is_null())
        .then(pl.lit(UngradedReason.NO_USABLE_COMPARISON.value))
    )
    novel = arrivals.novel.select(
        *(name for name in members.columns if name not in {"member", "unit"}),
        pl.col("effective_arrival").alias("decided_at"),
        pl.lit(UngradedReason.NO_REFERENCE.value).alias("reason"),
        pl.lit(True).alias("is_reference"),
    )
    return pl.concat(
        [ended.with_columns(reason=reason, is_reference=pl.lit(False)), novel], how="diagonal"
    )
