"""What an attached judge is asked about a shard, found in passes over all of it."""

from pathlib import Path

import polars as pl

from judgebatch.contracts.judgments import WantedPairs
from judgebatch.contracts.promotions import PromotionPairs
from judgebatch.contracts.state import KnownEpisodes, KnownVerdicts
from judgebatch.contracts.table import Table
from judgebatch.grading.asking import wanted_of_judge
from judgebatch.grading.promotion_pairs import pairs_for_promotion
from judgebatch.pipeline.opening_slices import OpenedSlice, open_slice
from judgebatch.pipeline.shard import ShardTask, promotion_of, rests
from judgebatch.pipeline.texts import ShardTexts
from judgebatch.vocabulary import TieModel


def _open(task: ShardTask) -> OpenedSlice:
    """Open a whole shard: what an attached judge is asked is found at once."""
    return open_slice(task.scratch, task.shard, task.checkpoint, task.settings)


def wanted_in_shard(task: ShardTask) -> Path | None:
    """Write which pairs an attached judge is to be asked about; return the file, None for none."""
    cost = task.judge_cost_nano_usd
    if cost is None or rests(task):
        return None
    opened = _open(task)
    wanted = wanted_of_judge(
        opened.episodes,
        opened.verdicts,
        opened.state,
        opened.tenants,
        task.checkpoint.identities(KnownEpisodes).lookup,
        task.checkpoint.identities(KnownVerdicts).lookup,
        ShardTexts(opened.pieces, None, task.shard, task.clock),
        cost,
        task.clock,
    )
    return _left(task, WantedPairs, wanted)


def promotion_pairs_in_shard(task: ShardTask) -> Path | None:
    """Write which pairs it may be asked about for a promotion; to be called after it answered."""
    promotion = promotion_of(task.settings)
    cost = task.judge_cost_nano_usd
    if promotion is None or cost is None:
        return None
    if rests(task):
        return None
    opened = _open(task)
    pairs = pairs_for_promotion(
        opened.episodes,
        opened.verdicts,
        opened.state,
        opened.tenants,
        task.checkpoint.identities(KnownEpisodes).lookup,
        task.checkpoint.identities(KnownVerdicts).lookup,
        ShardTexts(opened.pieces, None, task.shard, task.clock),
        TieModel.parse(task.settings.fit.tie_model),
        promotion,
        cost,
        task.clock,
    )
    return _left(task, PromotionPairs, pairs)


def _left(task: ShardTask, table: type[Table], rows: pl.DataFrame) -> Path | None:
    """Write a shard's rows beside its staged ones; return the file, None for no rows."""
    if rows.is_empty():
        return None
    task.scratch.write(table, task.shard, (0, 0), rows)
    (path,) = task.scratch.paths(table, task.shard)
    return path
