"""Which pairs an attached judge may be asked about for a promotion, beyond those grading wants.

Every episode of the arm with more episodes meets up to ``pair_degree`` of the other arm's, of one
task, in the order of a digest, cyclically. So the pairs are linear in a night's episodes, no
episode carries a test alone, and neither arm always stands on the left.
"""

from hashlib import blake2b

import polars as pl

from judgebatch.contracts.promotions import PromotionPairs
from judgebatch.contracts.table import conform
from judgebatch.grading import budget
from judgebatch.grading.clock import Clock
from judgebatch.grading.consideration import (
    Arrivals,
    Lookup,
    Texts,
    consider_episodes,
    consider_verdicts,
)
from judgebatch.grading.pairs import framed, ordered_pair
from judgebatch.grading.promotions import Promotion, promote
from judgebatch.grading.references import TASK
from judgebatch.grading.settlement import Settlement, settle
from judgebatch.grading.state import ShardState
from judgebatch.vocabulary import SequentialDecision, TieModel

_MEMBERS = ["left_member", "right_member"]


def pairs_for_promotion(
    episodes: pl.DataFrame,
    verdicts: pl.DataFrame,
    state: ShardState,
    tenants: pl.DataFrame,
    known_episodes: Lookup,
    known_verdicts: Lookup,
    texts: Texts,
    tie_model: TieModel,
    promotion: Promotion,
    judge_cost_nano_usd: int,
    clock: Clock,
) -> pl.DataFrame:
    """Return PromotionPairs of the tests that are undecided once grading has what it wants.

    The episodes are those that the run decides with the judge, in admitted groups: what the
    ceiling keeps out is not asked about. Parameters are those of
    :func:`judgebatch.grading.night.consider`, after the judge answered about wanted pairs.
    """
    arrivals = consider_episodes(episodes, state, tenants, known_episodes, clock)
    judged = consider_verdicts(
        verdicts, state, tenants, arrivals, known_verdicts, known_episodes, texts, clock
    )
    settlement = settle(arrivals, judged, state, tie_model, judge_cost_nano_usd, clock)
    sums = promote(settlement, judged, arrivals, state.sequential_sums, promotion, clock).sums
    met = pl.concat(
        frame.select(ordered_pair())
        for frame in (settlement.decisions.pairs, judged.inside, judged.outside)
    )
    keys = ["tenant_id", "scope_task_id"]
    standing = sums.rename({"task_id": "scope_task_id"}).filter(
        pl.col("variant") == promotion.variant, pl.col("baseline") == promotion.baseline
    )
    pairs = (
        _designed(_arms(arrivals, settlement, promotion))
        .join(met, on=_MEMBERS, how="anti")
        .with_columns(promotion.scope().alias("scope_task_id"))
        .join(
            standing.select(*keys, "decision", "wins", "losses"),
            on=keys,
            how="left",
            nulls_equal=True,
        )
        .filter(pl.col("decision").fill_null("").is_in(_DECIDED).not_())
        .join(
            _affordable(arrivals, settlement, judge_cost_nano_usd, clock),
            on="tenant_id",
            how="inner",
        )
        .with_columns(pl.col("wins", "losses").fill_null(0), ordinal=pl.lit(0, dtype=pl.Int64))
    )
    return conform(pairs, PromotionPairs).sort(PromotionPairs.order, nulls_last=False)


_DECIDED = [SequentialDecision.ACCEPT.value, SequentialDecision.REJECT.value]


def _arms(arrivals: Arrivals, settlement: Settlement, promotion: Promotion) -> pl.DataFrame:
    """Return the episodes of variant and baseline that the judge decides in this run.

    With ``place``: its place among its task's episodes of its variant; ``size``: how many these
    are; ``is_variant``, and ``side``: an arbitrary bit of its own.
    """
    decided = settlement.units.filter(pl.col("admitted") & pl.col("begins")).select("unit")
    members = arrivals.formed.members.join(decided, on="unit", how="semi").filter(
        pl.col("variant").is_in([promotion.variant, promotion.baseline])
    )
    digests = [
        blake2b(b"".join(map(framed, row)), digest_size=16).hexdigest()
        for row in members.select(*TASK, "episode_id").iter_rows()
    ]
    arm = [*TASK, "variant"]
    return (
        members.with_columns(digest=pl.Series(digests, dtype=pl.String))
        .sort(*arm, "digest", "member")
        .select(
            *TASK,
            "member",
            "episode_id",
            (pl.col("variant") == promotion.variant).alias("is_variant"),
            pl.col("digest").str.slice(-1).is_in(list("13579bdf")).alias("side"),
            pl.int_range(pl.len(), dtype=pl.Int64).over(arm).alias("place"),
            pl.len().over(arm).cast(pl.Int64).alias("size"),
        )
        .join(arrivals.known_tenants.select("tenant_id", "pair_degree"), on="tenant_id")
    )


def _designed(arms: pl.DataFrame) -> pl.DataFrame:
    """Return pairs of a variant's and a baseline's episode of one task, either on the left."""
    variants = arms.filter("is_variant").drop("is_variant")
    baselines = arms.filter(~pl.col("is_variant")).drop("is_variant", "pair_degree")
    sizes = variants.unique(TASK).join(
        baselines.unique(TASK), on=TASK, how="inner", suffix="_of_baseline"
    )
    larger = pl.max_horizontal("size", "size_of_baseline")
    smaller = pl.min_horizontal("size", "size_of_baseline")
    places = (
        sizes.select(
            *TASK,
            "size",
            "size_of_baseline",
            pl.int_ranges(larger).alias("from"),
            smaller.alias("smaller"),
            pl.min_horizontal("pair_degree", smaller).alias("reach"),
        )
        .explode("from")
        .with_columns(pl.int_ranges("reach").alias("step"))
        .explode("step")
        .with_columns(to=(pl.col("from") + pl.col("step")) % pl.col("smaller"))
        .with_columns(
            pl.when(pl.col("size") >= pl.col("size_of_baseline"))
            .then(pl.struct(place="from", other="to"))
            .otherwise(pl.struct(place="to", other="from"))
            .alias("met")
        )
        .select(*TASK, "met")
        .unnest("met")
    )
    named = variants.select(
        *TASK, "place", "side", pl.col("member").alias("v"), pl.col("episode_id").alias("variant")
    )
    others = baselines.select(
        *TASK,
        pl.col("place").alias("other"),
        pl.col("side").alias("other_side"),
        pl.col("member").alias("b"),
        pl.col("episode_id").alias("baseline"),
    )
    met = places.join(named, on=[*TASK, "place"]).join(others, on=[*TASK, "other"])
    left = pl.col("side") ^ pl.col("other_side")
    return met.select(
        *TASK,
        left.alias("variant_is_left"),
        pl.when(left).then("variant").otherwise("baseline").alias("episode_id"),
        pl.when(left).then("baseline").otherwise("variant").alias("compared_episode_id"),
        pl.min_horizontal("v", "b").alias("left_member"),
        pl.max_horizontal("v", "b").alias("right_member"),
    )


def _affordable(
    arrivals: Arrivals, settlement: Settlement, judge_cost_nano_usd: int, clock: Clock
) -> pl.DataFrame:
    """Return ``tenant_id`` and how many more answers its ceiling allows (null: any number)."""
    tenants = arrivals.known_tenants
    refused = budget.is_refused(tenants, settlement.refusals, clock.literal())
    # What is asked now is decided now: its spend lies in the present period.
    periods = budget.standing(
        tenants,
        settlement.units.clear(),
        settlement.spend,
        settlement.refusals,
        clock.literal(),
    )
    left = (pl.col("ceiling_nano_usd") - pl.col("spent_nano_usd")).clip(0)
    answers = left // judge_cost_nano_usd if judge_cost_nano_usd else pl.lit(None)
    return periods.join(refused, on="tenant_id", how="anti").select(
        "tenant_id", affordable=answers.cast(pl.Int64)
    )
