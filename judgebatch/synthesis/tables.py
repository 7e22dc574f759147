"""Blocks of a corpus as the tables that a run reads, with some rows that it will not accept."""

import numpy as np
import polars as pl

from judgebatch.synthesis.episodes import Block
from judgebatch.synthesis.tenants import Tenants
from judgebatch.synthesis.verdicts import Pool

_SPOILT_EVERY = 400
_SPOILT_FIRST = 37
_MODELS = ["small-2", "medium-1", "large-1"]
_VARIANTS = ["v1", "v2"]

EPISODE_SCHEMA = pl.Schema(
    {
        "tenant_id": pl.String(),
        "episode_id": pl.String(),
        "task_id": pl.String(),
        "arrived_at": pl.Datetime("us", "UTC"),
        "verifier_outcome": pl.String(),
        "cost_usd": pl.Float64(),
        "latency_ms": pl.Float64(),
        "tool_calls": pl.Int64(),
        "tool_errors": pl.Int64(),
        "variant": pl.String(),
        "model": pl.String(),
        "tokens": pl.Int64(),
    }
)
VERDICT_SCHEMA = pl.Schema(
    {
        "tenant_id": pl.String(),
        "verdict_id": pl.String(),
        "task_id": pl.String(),
        "episode_id": pl.String(),
        "compared_episode_id": pl.String(),
        "judged_at": pl.Datetime("us", "UTC"),
        "judge_id": pl.String(),
        "cost_usd": pl.Float64(),
        "recorded_passed": pl.Boolean(),
        "verdict": pl.String(),
    }
)


def episode_table(
    chance: np.random.Generator, tenants: Tenants, block: Block, start_ms: int, turn: int
) -> pl.DataFrame:
    """Return a block's episodes, and beside them a few bad and repeated rows."""
    count = len(block.number)
    calls = chance.integers(0, 30, count)
    luck = chance.random(count)
    # Whole micro-dollars over a million: the double nearest to a short decimal, on any machine.
    micro_usd = 800 + np.floor(400_000 * luck * luck * luck).astype(np.int64)
    frame = pl.DataFrame(
        {
            "tenant": block.tenant,
            "number": block.number,
            "task_number": block.task_number,
            "arrived_ms": block.arrived_ms,
            "passed": block.passed,
            "cost_usd": micro_usd / 1e6,
            "latency_ms": np.floor(300_000 * luck * chance.random(count)) + 250.0,
            "tool_calls": calls,
            "tool_errors": np.floor(calls * chance.random(count) ** 3).astype(np.int64),
            "variant": block.variant,
            "has_variant": chance.random(count) < 0.97,
            "model": chance.integers(0, len(_MODELS), count),
            "tokens": 500 + np.floor(60_000 * luck).astype(np.int64),
        }
    )
    table = frame.select(
        _pick("tenant", tenants.names).alias("tenant_id"),
        _id("ep", "number").alias("episode_id"),
        _task().alias("task_id"),
        _time("arrived_ms", start_ms).alias("arrived_at"),
        pl.when("passed")
        .then(pl.lit("passed"))
        .otherwise(pl.lit("failed"))
        .alias("verifier_outcome"),
        "cost_usd",
        "latency_ms",
        "tool_calls",
        "tool_errors",
        pl.when("has_variant").then(_pick("variant", _VARIANTS)).alias("variant"),
        _pick("model", _MODELS).alias("model"),
        "tokens",
    )
    return pl.concat([table, _bad_episodes(table, turn), _repeated_episodes(table, turn)])


def verdict_table(
    verdicts: pl.DataFrame, tenants: Tenants, pool: Pool, start_ms: int, turn: int
) -> pl.DataFrame:
    """Return verdicts with their texts, and beside them a few rows that will not be accepted."""
    left, right = _id("ep", "left"), _id("ep", "right")
    against = pl.coalesce(right, pl.lit("the rubric"))
    before, between, after = (
        pl.lit(pool.frame[name]).gather(pl.col("document")) for name in pool.frame.columns
    )
    table = verdicts.select(
        _pick("tenant", tenants.names).alias("tenant_id"),
        _id("v", "number").alias("verdict_id"),
        _task().alias("task_id"),
        left.alias("episode_id"),
        pl.when(pl.col("right").is_not_null()).then(right).alias("compared_episode_id"),
        _time("judged_ms", start_ms).alias("judged_at"),
        _pick("jury", ["jury-a", "jury-b"]).alias("judge_id"),
        (pl.col("cost_micro_usd") / 1e6).alias("cost_usd"),
        "recorded_passed",
        pl.concat_str(before, left, between, against, after).alias("verdict"),
    )
    return pl.concat([table, _bad_verdicts(table, turn)])


def _bad_episodes(table: pl.DataFrame, turn: int) -> pl.DataFrame:
    rows = _some(table, turn)
    fresh = pl.concat_str(pl.lit("bad-"), "episode_id")
    cost = pl.when(_turn(2, 6)).then(-1.0).when(_turn(3, 6)).then(float("nan"))
    errors = pl.when(_turn(4, 6)).then(pl.col("tool_calls") + 1)
    outcome = pl.when(_turn(5, 6)).then(pl.lit(""))
    return rows.with_columns(
        pl.when(_turn(0, 6)).then(pl.lit("")).otherwise(fresh).alias("episode_id"),
        pl.when(~_turn(1, 6)).then("task_id").alias("task_id"),
        cost.otherwise("cost_usd").alias("cost_usd"),
        errors.otherwise("tool_errors").alias("tool_errors"),
        outcome.otherwise("verifier_outcome").alias("verifier_outcome"),
    ).drop("turn")


def _repeated_episodes(table: pl.DataFrame, turn: int) -> pl.DataFrame:
    """Return rows delivered twice, every other one with another content."""
    other = pl.when(_turn(1, 2)).then(pl.col("latency_ms") + 1.0).otherwise("latency_ms")
    return _some(table.slice(1), turn).with_columns(other.alias("latency_ms")).drop("turn")


def _bad_verdicts(table: pl.DataFrame, turn: int) -> pl.DataFrame:
    text = pl.when(_turn(0, 5)).then(pl.col("verdict").str.head(40))
    other = pl.when(_turn(2, 5)).then("episode_id").when(_turn(3, 5)).then(pl.lit("ep-of-no-one"))
    task = pl.when(_turn(4, 5)).then(pl.lit("another-task"))
    return (
        _some(table, turn)
        .with_columns(
            pl.concat_str(pl.lit("bad-"), "verdict_id").alias("verdict_id"),
            text.otherwise("verdict").alias("verdict"),
            pl.when(_turn(1, 5)).then(-1.0).otherwise("cost_usd").alias("cost_usd"),
            other.otherwise("compared_episode_id").alias("compared_episode_id"),
            task.otherwise("task_id").alias("task_id"),
        )
        .drop("turn")
    )


def _some(table: pl.DataFrame, turn: int) -> pl.DataFrame:
    """Return a few rows, counted from ``turn`` on so that blocks differ in what they spoil."""
    return table.gather_every(_SPOILT_EVERY, _SPOILT_FIRST).with_row_index("turn", turn)


def _turn(which: int, of: int) -> pl.Expr:
    return pl.col("turn") % of == which


def _pick(column: str, names: list[str]) -> pl.Expr:
    return pl.lit(pl.Series(names)).gather(pl.col(column))


def _id(prefix: str, column: str) -> pl.Expr:
    return pl.concat_str(pl.lit(f"{prefix}-"), pl.col(column).cast(pl.String).str.zfill(9))


def _task() -> pl.Expr:
    return pl.concat_str(pl.lit("task-"), pl.col("task_number").cast(pl.String).str.zfill(4))


def _time(column: str, start_ms: int) -> pl.Expr:
    moment = (pl.col(column) + start_ms).cast(pl.Datetime("ms", "UTC"))
    return moment.cast(pl.Datetime("us", "UTC"))
