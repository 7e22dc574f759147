"""Sequential decisions in a run: the comparisons of a variant against its baseline.

What counts is what counted for grading: comparisons of decided, admitted groups. So does a
comparison across two of them, which is no use to either group but as good as any other between
two episodes of one task. Each run's comparisons come after those of earlier runs, in the order
of (judged_at, verdict_id).
"""

from typing import NamedTuple

import polars as pl

from judgebatch.contracts.promotions import OpenPromotions, Promotions, PromotionSteps
from judgebatch.contracts.table import conform, empty
from judgebatch.grading.clock import TIME, Clock
from judgebatch.grading.consideration import Arrivals, Judged, as_comparisons
from judgebatch.grading.references import TASK
from judgebatch.grading.settlement import Settlement
from judgebatch.strengths import SequentialTest, boundaries, standing
from judgebatch.strengths import decide as decide_sequentially
from judgebatch.vocabulary import ComparisonDisposition, Outcome

KEYS = ["tenant_id", "task_id", "variant", "baseline"]
TRIAL_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "tenant_id": pl.String,
    "task_id": pl.String,
    "variant": pl.String,
    "baseline": pl.String,
    "outcome": pl.String,
    "judged_at": TIME,
    "verdict_id": pl.String,
}
_COMPARED = ["tenant_id", "task_id", "verdict_id", "left", "right", "judged_at", "outcome"]
_MEMBERS = ["left_member", "right_member"]


class Promoted(NamedTuple):
    """What a run decided, where its tests stand now, and the sums that the next run continues."""

    promotions: pl.DataFrame
    steps: pl.DataFrame
    sums: pl.DataFrame


class Promotion(NamedTuple):
    """What is tested, and how."""

    variant: str
    baseline: str
    per_task: bool
    test: SequentialTest

    def scope(self) -> pl.Expr:
        """Return the task of a comparison's test; null where all tasks are decided together."""
        return pl.col("task_id") if self.per_task else pl.lit(None, dtype=pl.String)


def promote(
    settlement: Settlement,
    judged: Judged,
    arrivals: Arrivals,
    sums: pl.DataFrame,
    promotion: Promotion | None,
    clock: Clock,
) -> Promoted:
    """Return Promotions that fell in this run, PromotionSteps of it, and SequentialSums after it.

    Parameters
    ----------
    settlement
        What was decided and admitted, and the comparisons that count inside it.
    judged
        Where comparisons across groups are.
    arrivals
        Whose members and references name the variants.
    sums
        SequentialSums left by the previous run; kept as they are without ``promotion``.
    promotion
        What the settings test.
    """
    trials = trials_of(settlement, judged, arrivals, promotion)
    return decide_promotions(trials, sums, promotion, clock)


def trials_of(
    settlement: Settlement, judged: Judged, arrivals: Arrivals, promotion: Promotion | None
) -> pl.DataFrame:
    """Return the run's comparisons of variant and baseline, the variant on the left.

    Parameters are those of :func:`promote`.
    """
    if promotion is None:
        return pl.DataFrame(schema=TRIAL_SCHEMA)
    counted = settlement.counted.select(*_COMPARED, *_MEMBERS)
    across = _across(judged.outside, settlement.units).select(counted.columns)
    compared = _with_variants(pl.concat([counted, across]), arrivals)
    return _trials(compared, promotion).select(TRIAL_SCHEMA.keys())


def decide_promotions(
    trials: pl.DataFrame, sums: pl.DataFrame, promotion: Promotion | None, clock: Clock
) -> Promoted:
    """Return what trials decide, of all tasks of some tenants; see :func:`promote`."""
    if promotion is None:
        return Promoted(empty(Promotions), empty(PromotionSteps), sums)
    decided = decide_sequentially(trials, promotion.test, sums)
    accept_at, reject_at = boundaries(promotion.test)
    moved = trials.select(KEYS).unique()
    steps = decided.sums.join(moved, on=KEYS, how="semi", nulls_equal=True).with_columns(
        *clock.stamp(), accept_at=pl.lit(accept_at), reject_at=pl.lit(reject_at)
    )
    return Promoted(
        conform(decided.promotions.with_columns(clock.stamp()), Promotions),
        conform(steps, PromotionSteps).sort(PromotionSteps.order, nulls_last=False),
        decided.sums,
    )


def open_promotions(sums: pl.DataFrame, promotion: Promotion | None, clock: Clock) -> pl.DataFrame:
    """Return OpenPromotions: where the undecided tests of the settings stand."""
    if promotion is None:
        return empty(OpenPromotions)
    scope = pl.col("task_id")
    mine = sums.filter(
        pl.col("variant") == promotion.variant,
        pl.col("baseline") == promotion.baseline,
        scope.is_not_null() if promotion.per_task else scope.is_null(),
    )
    return conform(standing(mine, promotion.test).with_columns(clock.stamp()), OpenPromotions).sort(
        OpenPromotions.order, nulls_last=False
    )


def _across(outside: pl.DataFrame, units: pl.DataFrame) -> pl.DataFrame:
    """Return comparisons across two decided, admitted units, judged before both decisions."""
    rows = outside.filter(pl.col("disposition") == ComparisonDisposition.CROSS_GROUP.value)
    rows = as_comparisons(rows).hstack(rows.select(*_MEMBERS, "left_unit", "right_unit"))
    for side in ("left", "right"):
        decided = units.filter("admitted").select(
            pl.col("unit").alias(f"{side}_unit"), "decided_at", "judging_window_us"
        )
        rows = (
            rows.join(decided, on=f"{side}_unit", how="inner", maintain_order="left")
            .filter(
                pl.col("judging_window_us").is_null()
                | (pl.col("judged_at") <= pl.col("decided_at"))
            )
            .drop("decided_at", "judging_window_us")
        )
    return rows


def _with_variants(counted: pl.DataFrame, arrivals: Arrivals) -> pl.DataFrame:
    """Return comparisons with ``left_variant`` and ``right_variant``."""
    variants = arrivals.formed.members.select("member", "variant")
    for side in ("left", "right"):
        counted = counted.join(
            variants.rename({"member": f"{side}_member", "variant": f"{side}_variant"}),
            on=f"{side}_member",
            how="left",
            maintain_order="left",
        )
    references = arrivals.known_references.select(
        *TASK, pl.col("episode_id").alias("reference"), pl.col("variant").alias("of_reference")
    )
    return counted.join(references, on=TASK, how="left", maintain_order="left").with_columns(
        # Only the reference's side has no member.
        pl.when(pl.col(side) == pl.col("reference"))
        .then(pl.coalesce(f"{side}_variant", "of_reference"))
        .otherwise(f"{side}_variant")
        .alias(f"{side}_variant")
        for side in ("left", "right")
    )


def _trials(compared: pl.DataFrame, promotion: Promotion) -> pl.DataFrame:
    """Return the comparisons of variant and baseline, the variant on the left."""
    variant, baseline = promotion.variant, promotion.baseline
    straight = (pl.col("left_variant") == variant) & (pl.col("right_variant") == baseline)
    turned = (pl.col("left_variant") == baseline) & (pl.col("right_variant") == variant)
    flipped = {Outcome.LEFT.value: Outcome.RIGHT.value, Outcome.RIGHT.value: Outcome.LEFT.value}
    return compared.filter(straight | turned).select(
        "tenant_id",
        promotion.scope().alias("task_id"),
        pl.lit(variant).alias("variant"),
        pl.lit(baseline).alias("baseline"),
        pl.when(turned)
        .then(pl.col("outcome").replace(flipped))
        .otherwise("outcome")
        .alias("outcome"),
        "judged_at",
        "verdict_id",
    )
