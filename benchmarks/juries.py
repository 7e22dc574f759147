"""Juries against their yardsticks, on this machine, in one run.

    python benchmarks/juries.py [VERDICTS]

Consensus of five seats and a cascade of three tiers against the Polars ``group_by`` that counts
the statuses of the same judgments; the portable JSON against ``orjson.dumps`` of the same
documents. Goals: 3 times, 4 times, 3 times. CPU seconds, the median of three.
"""

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import orjson
import polars as pl

from judgebatch.juries import (
    Cascade,
    Jury,
    Reduction,
    SeatDefinition,
    SimpleJury,
    Tier,
    reduce_judgments,
)

SEATS = 5
STATUSES = ("pass", "fail", "abstain", "not_applicable", "error")
SAMPLE = 100_000


def judgments(verdicts: int, stages: tuple[str, ...]) -> pl.DataFrame:
    """Return ``SEATS`` judgments at every stage of every verdict, in the table's order."""
    rng = np.random.default_rng(1)
    rows = verdicts * len(stages) * SEATS
    number = np.repeat(np.arange(verdicts), len(stages) * SEATS)
    stage = np.tile(np.repeat(np.arange(len(stages)), SEATS), verdicts)
    status = rng.choice(3, rows, p=[0.8, 0.15, 0.05])
    words = pl.Series(["the answer holds", "a step is missing", 'it said "no"'])
    places = np.tile(np.arange(SEATS), rows // SEATS)
    return pl.DataFrame({"number": number, "position": places}).select(
        tenant_id=pl.format("tenant-{}", pl.col("number") * 20 // verdicts + 10),
        verdict_id=pl.format("verdict-{}", pl.col("number") + 10_000_000),
        stage=pl.Series(stages).gather(stage),
        position=pl.col("position"),
        name=pl.format("judge-{}", "position"),
        status=pl.Series(STATUSES).gather(status),
        score=pl.when(pl.Series(status) < 2).then(pl.Series(rng.random(rows).round(3))),
        reasoning=words.gather(rng.integers(0, 3, rows)) + pl.format(" ({})", "number"),
    )


def jury(strategy: str) -> SimpleJury:
    """Return a jury of ``SEATS`` seats."""
    seats = tuple(SeatDefinition(name=f"judge-{i}") for i in range(SEATS))
    return SimpleJury(Reduction(strategy=strategy), seats)


def cascade() -> Cascade:
    """Return a cascade of three tiers of which most verdicts enter all."""
    policies = ("ACCEPT_ON_ALL_PASS", "REJECT_ON_ANY_FAIL", "FINAL_TIER")
    return Cascade(tuple(Tier(f"t{i}", p, jury("consensus")) for i, p in enumerate(policies)))


def measured(work: Callable[[], Any]) -> tuple[float, float]:
    """Return CPU and wall seconds, the median of three."""
    cpu, wall = [], []
    for _ in range(3):
        start, clock = time.process_time(), time.perf_counter()
        work()
        cpu.append(time.process_time() - start)
        wall.append(time.perf_counter() - clock)
    return statistics.median(cpu), statistics.median(wall)


def counts(frame: pl.DataFrame) -> Callable[[], Any]:
    """Return the yardstick: statuses counted by verdict."""
    tallies = [(pl.col("status") == status).sum().alias(status) for status in STATUSES]
    return lambda: frame.lazy().group_by("tenant_id", "verdict_id").agg(tallies).collect()


Seconds: TypeAlias = tuple[float, float]


def report(what: str, work: Seconds, yardstick: Seconds, goal: float) -> None:
    print(
        f"{what:34} {work[0]:7.2f} s cpu {work[1]:7.2f} s;  yardstick {yardstick[0]:6.2f} s cpu"
        f" {yardstick[1]:6.2f} s;  ratio {work[0] / yardstick[0]:5.2f} cpu"
        f" {work[1] / yardstick[1]:5.2f} wall (goal {goal:g})"
    )


def reduction(what: str, frame: pl.DataFrame, by: Jury, goal: float) -> None:
    yardstick = measured(counts(frame))
    report(what, measured(lambda: reduce_judgments(frame, by).verdicts), yardstick, goal)


def portable(what: str, frame: pl.DataFrame, by: Jury) -> None:
    judged = reduce_judgments(frame, by)
    documents = [orjson.loads(text) for text in judged.portable()["verdict"]]
    yardstick = measured(lambda: [orjson.dumps(document) for document in documents])
    work = measured(lambda: reduce_judgments(frame, by).portable())
    report(what, work, yardstick, 3)


def main(verdicts: int) -> None:
    root, tiers = judgments(verdicts, ("",)), judgments(verdicts, ("/t0", "/t1", "/t2"))
    for strategy in ("consensus", "average", "weightedAverage", "median"):
        reduction(f"{strategy}, {verdicts:,} verdicts", root, jury(strategy), 3)
    shuffled = root.sample(fraction=1, shuffle=True, seed=1)
    reduction("consensus, rows in any order", shuffled, jury("consensus"), 3)
    reduction("cascade of three tiers", tiers, cascade(), 4)
    some = min(verdicts, SAMPLE)
    portable(f"portable, consensus, {some:,}", root.head(some * SEATS), jury("consensus"))
    portable(f"portable, average, {some:,}", root.head(some * SEATS), jury("average"))
    portable(f"portable, cascade, {some:,}", tiers.head(some * SEATS * 3), cascade())


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
