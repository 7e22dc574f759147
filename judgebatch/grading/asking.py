"""What an attached judge is asked in a run: wanted pairs of what the ceiling admits, and no other.

The check precedes the spend. Whether a unit is admitted is found from stored comparisons and the
judge's declared cost, so the answer is the same before and after the judge was asked.
"""

import polars as pl

from judgebatch.grading import budget
from judgebatch.grading.clock import Clock
from judgebatch.grading.consideration import (
    Lookup,
    Texts,
    consider_episodes,
    consider_verdicts,
)
from judgebatch.grading.references import TASK
from judgebatch.grading.settlement import find_due
from judgebatch.grading.state import ShardState

WANTED = ["tenant_id", "task_id", "episode_id", "compared_episode_id", "ordinal"]


def wanted_of_judge(
    episodes: pl.DataFrame,
    verdicts: pl.DataFrame,
    state: ShardState,
    tenants: pl.DataFrame,
    known_episodes: Lookup,
    known_verdicts: Lookup,
    texts: Texts,
    judge_cost_nano_usd: int,
    clock: Clock,
) -> pl.DataFrame:
    """Return WantedPairs: one row per question, with its ``ordinal`` among its pair's.

    In reference mode the pair is the episode, then its reference. Parameters are those of
    :func:`judgebatch.grading.night.consider`, before the judge was asked.
    """
    arrivals = consider_episodes(episodes, state, tenants, known_episodes, clock)
    judged = consider_verdicts(
        verdicts, state, tenants, arrivals, known_verdicts, known_episodes, texts, clock
    )
    decisions, due, *_ = find_due(arrivals, judged, judge_cost_nano_usd, clock)
    admitted = budget.admit(due, arrivals.known_tenants, state.spend, state.refusals).units
    admitted = admitted.filter(pl.col("admitted") & (pl.col("asked") > 0))
    names = arrivals.formed.members.select("member", "episode_id")
    pairs = (
        decisions.pairs.filter(pl.col("wanted") > 0)
        .join(admitted.select("unit", *TASK, "group_epoch"), on="unit", how="inner")
        .join(_renamed(names, "left"), on="left_member", how="left")
        .join(_renamed(names, "right"), on="right_member", how="left")
        .join(
            arrivals.known_references.select(*TASK, pl.col("episode_id").alias("reference")),
            on=TASK,
            how="left",
        )
    )
    alone = pl.col("group_epoch").is_null()
    return (
        pairs.with_columns(
            pl.when(alone).then("right").otherwise("left").alias("episode_id"),
            pl.when(alone).then("reference").otherwise("right").alias("compared_episode_id"),
            pl.int_ranges("wanted").alias("ordinal"),
        )
        .explode("ordinal")
        .select(WANTED)
        .sort(WANTED)
    )


def _renamed(names: pl.DataFrame, side: str) -> pl.DataFrame:
    return names.rename({"member": f"{side}_member", "episode_id": side})
