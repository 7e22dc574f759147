"""Juries against their yardsticks, on this machine, in one run.

    python benchmarks/juries.py [VERDICTS]

Consensus of five seats and a cascade of three tiers against the Polars ``group_by`` that counts
the statuses of the same judgments; the portable JSON against ``orjson.dumps`` of the same
documents. Goals: 3 times, 4 times, 3 times. Yardstick and work take turns; each is the best of
five, in CPU and in wall seconds, so that others on the machine disturb both alike.
"""

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


ROUNDS = 5
Seconds: TypeAlias = tuple[float, float]
Work: TypeAlias = Callable[[], Any]


def measured(work: Work) -> Seconds:
    """Return the CPU and the wall seconds that work takes."""
    start, clock = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - start, time.perf_counter() - clock


def best(times: list[Seconds]) -> Seconds:
    """Return the smallest CPU and the smallest wall seconds."""
    return min(cpu for cpu, _ in times), min(wall for _, wall in times)


def counts(frame: pl.DataFrame) -> Callable[[], Any]:
    """Return the yardstick: statuses counted by verdict."""
    tallies = [(pl.col("status") == status).sum().alias(status) for status in STATUSES]
    return lambda: frame.lazy().group_by("tenant_id", "verdict_id").agg(tallies).collect()


def compared(what: str, work: Work, yardstick: Work, goal: float) -> None:
    """Let work and yardstick take turns, and print how they compare."""
    turns = [(measured(yardstick), measured(work)) for _ in range(ROUNDS)]
    slow, fast = best([own for _, own in turns]), best([other for other, _ in turns])
    print(
        f"{what:34} {slow[0]:7.2f} s cpu {slow[1]:7.2f} s;  yardstick {fast[0]:6.2f} s cpu"
        f" {fast[1]:6.2f} s;  ratio {slow[0] / fast[0]:5.2f} cpu"
        f" {slow[1] / fast[1]:5.2f} wall (goal {goal:g})",
        flush=True,
    )


def reduction(what: str, frame: pl.DataFrame, by: Jury, goal: float) -> None:
    compared(what, lambda: reduce_judgments(frame, by).verdicts, counts(frame), goal)


def portable(what: str, frame: pl.DataFrame, by: Jury) -> None:
    judged = reduce_judgments(frame, by)
    documents = [orjson.loads(text) for text in judged.portable()["verdict"]]
    compared(
        what,
        lambda: reduce_judgments(frame, by).portable(),
        lambda: [orjson.dumps(document) for document in documents],
        3,
    )


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
