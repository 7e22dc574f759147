"""Sequential decisions in a run: the comparisons of a variant against its baseline.

What counts is what counted for grading: comparisons of decided, admitted groups. Each run's
comparisons come after those of earlier runs, in the order of (judged_at, verdict_id).
"""

from typing import NamedTuple

import polars as pl

from judgebatch.contracts.promotions import Promotions
from judgebatch.contracts.table import conform, empty
from judgebatch.grading.clock import Clock
from judgebatch.grading.consideration import Arrivals
from judgebatch.grading.references import TASK
from judgebatch.strengths import SequentialTest
from judgebatch.strengths import decide as decide_sequentially
from judgebatch.vocabulary import Outcome


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
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return Promotions that fell in this run, and SequentialSums after it.

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
        return empty(Promotions), sums
    trials = _trials(_with_variants(counted, arrivals), promotion)
    decided = decide_sequentially(trials, promotion.test, sums)
    return conform(decided.promotions.with_columns(clock.stamp()), Promotions), decided.sums


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
