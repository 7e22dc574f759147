"""Sequential decisions in a run: the comparisons of a variant against its baseline.

What counts is what counted for grading: comparisons of decided, admitted groups. Each run's
comparisons come after those of earlier runs, in the order of (judged_at, verdict_id).
"""

from typing import NamedTuple

import polars as pl

from judgebatch.contracts.promotions import Promotions, PromotionSteps
from judgebatch.contracts.table import conform, empty
from judgebatch.grading.clock import Clock
from judgebatch.grading.consideration import Arrivals
from judgebatch.grading.references import TASK
from judgebatch.strengths import SequentialTest, boundaries
from judgebatch.strengths import decide as decide_sequentially
from judgebatch.vocabulary import Outcome

KEYS = ["tenant_id", "task_id", "variant", "baseline"]


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


def promote(
    counted: pl.DataFrame,
    arrivals: Arrivals,
    sums: pl.DataFrame,
    promotion: Promotion | None,
    clock: Clock,
) -> Promoted:
    """Return Promotions that fell in this run, PromotionSteps of it, and SequentialSums after it.

    Parameters
    ----------
    counted
        Comparisons of decided, admitted units.
    arrivals
        Whose members and references name the variants.
    sums
        SequentialSums left by the previous run; kept as they are without ``promotion``.
    promotion
        What the settings test.
    """
    if promotion is None:
        return Promoted(empty(Promotions), empty(PromotionSteps), sums)
    trials = _trials(_with_variants(counted, arrivals), promotion)
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
    task = pl.col("task_id") if promotion.per_task else pl.lit(None, dtype=pl.String)
    return compared.filter(straight | turned).select(
        "tenant_id",
        task.alias("task_id"),
        pl.lit(variant).alias("variant"),
        pl.lit(baseline).alias("baseline"),
        pl.when(turned)
        .then(pl.col("outcome").replace(flipped))
        .otherwise("outcome")
        .alias("outcome"),
        "judged_at",
        "verdict_id",
    )
