"""Prints digests of fits; run in processes of their own with different settings of the CPU."""

import hashlib
import sys

import polars as pl

from judgebatch.strengths import SequentialTest, decide, expit, fit_groups, relative_interval
from judgebatch.vocabulary import TieModel
from tests.strengths.made import simulated

SIZES = [2, 3, 3, 5, 8, 8, 8, 8, 13, 24, 25, 40, 40, 130, 1100]


def comparisons() -> pl.DataFrame:
    """Return groups of all solvers, one in two components, some with a ladder in them."""
    frames = [
        simulated(SIZES, 1500, strings=True, spread=2.0, seed=1),
        simulated([6, 7] * 20, 9, strings=True, seed=2).with_columns(pl.col("group") + "few"),
    ]
    ladder = pl.DataFrame({"left": [f"{i:02}" for i in range(12)]}).select(
        pl.lit("ladder").alias("group"),
        "left",
        pl.col("left").shift(-1).fill_null("12").alias("right"),
        pl.lit("left").alias("outcome"),
    )
    return pl.concat([*frames, pl.concat([ladder] * 200)])


def digest(frame: pl.DataFrame) -> str:
    """Return a hash of a frame's values, floats by their bits."""
    bits = frame.with_columns(pl.col(pl.Float64).reinterpret(signed=False))
    return hashlib.sha256(bits.write_csv().encode()).hexdigest()


def fits(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the strengths, and the groups' numbers beside them, under both tie models."""
    parts = []
    for model in TieModel:
        strengths, groups = fit_groups(frame, tie_model=model)
        parts.append(strengths.join(groups, on="group").with_columns(model=pl.lit(str(model))))
    return pl.concat(parts).sort("model", "group", "item")


def others() -> str:
    """Return a hash of what is computed beside fits."""
    counts = pl.DataFrame({"w": range(200)}).with_columns(t=pl.col("w") * 7 % 11, n=pl.lit(300))
    scores = relative_interval(counts["w"], counts["t"], counts["n"])
    rows = simulated([2], 400, strings=True, spread=0.5, seed=3)
    tests = rows.select(
        pl.lit("t").alias("tenant_id"),
        pl.lit(None, pl.String).alias("task_id"),
        pl.lit("new").alias("variant"),
        pl.lit("old").alias("baseline"),
        "outcome",
        pl.datetime(2026, 1, 1, time_zone="UTC").alias("judged_at"),
        pl.int_range(pl.len()).cast(pl.String).alias("verdict_id"),
    )
    decisions = decide(tests, SequentialTest(0.5, 0.55))
    frame = pl.DataFrame(scores._asdict())
    frame = frame.with_columns(chance=pl.Series(expit(frame["score"].to_numpy() * 40.0 - 20.0)))
    return digest(frame) + digest(decisions.sums) + digest(decisions.promotions)


if __name__ == "__main__":
    sys.stdout.write(digest(fits(comparisons())) + others() + "\n")
