"""Policies over columns, against Polars and against the scalar evaluator.

    python benchmarks/policies.py [EPISODES]

For policies of 1, 3 and 10 rules, rows sorted by question and shuffled: evaluation without
details against a bare Polars join, comparison and group_by over the same answers (goal: at most 3
times); the scalar evaluator, over answers already built, against evaluation with details (goal: at
least 10 times). CPU seconds, the best of three, taking turns. Then, in fresh processes, the peak
of memory, with the answers and the results in it, against the buffers of the answers (goal: at
most 3 times), and the results' own share of that, without and with details.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from judgebatch import policies as p
from judgebatch.contracts.policies import AnswerRows
from judgebatch.contracts.table import conform, schema_of
from judgebatch.policies.columnar import evaluate_policies

KINDS = ("noul", "choice", "score", "level")
LABELS = ("yes", "no", "maybe")
LEVELS = 5
SCALAR_SAMPLE = 20_000
REPEATS = 3


def corpus(episodes: int, rules: int) -> tuple[pl.DataFrame, p.ValidatedPolicy]:
    """Return AnswerRows to every question of every episode, and a policy over them."""
    rng = np.random.default_rng(1)
    number = pl.Series("episode", np.arange(episodes))
    shared = pl.select(
        pl.format("tenant-{}", number % 20).alias("tenant_id"),
        pl.format("episode-{}", number.cast(pl.String).str.zfill(8)).alias("episode_id"),
    )
    frames, made, questions = [], [], {}
    for place in range(rules):
        name, kind = f"question_{place}", KINDS[place % len(KINDS)]
        rule, question, columns = _answers(rng, name, kind, episodes)
        made.append(rule)
        questions[name] = question
        frames.append(_complete(shared, name, "score" if kind == "level" else kind, columns))
    return pl.concat(frames, rechunk=True), p.validate_policy(p.Policy(made), questions)


def _answers(
    rng: np.random.Generator, name: str, kind: str, episodes: int
) -> tuple[p.Rule, p.Question, dict[str, pl.Series]]:
    if kind == "noul":
        columns = {"probability": pl.Series(rng.random(episodes))}
        return p.NoulRule(name, 0.2, 0.9), p.Noul(), columns
    columns = {"confidence": pl.Series(rng.random(episodes))}
    if kind == "choice":
        columns["choice"] = pl.Series(np.array(LABELS)[rng.integers(0, len(LABELS), episodes)])
        labels = p.Choice(criteria=dict.fromkeys(LABELS, ""))
        return p.ChoiceRule(name, "yes", 0.3), labels, columns
    weights = rng.random((episodes, LEVELS))
    weights /= weights.sum(axis=1, keepdims=True)
    columns["score"] = pl.Series(weights @ np.arange(float(LEVELS)))
    entries = pl.DataFrame(
        {"level": np.tile(np.arange(LEVELS), episodes), "probability": weights.ravel()}
    )
    columns["probabilities"] = entries.to_struct().reshape((episodes, LEVELS)).arr.to_list()
    scale = p.Score(criteria=["level"] * LEVELS)
    if kind == "level":
        return p.ScoreRule(name, level=2, min_confidence=0.1), scale, columns
    return p.ScoreRule(name, 1, 3, 0.2), scale, columns


def _complete(
    shared: pl.DataFrame, question: str, kind: str, columns: dict[str, pl.Series]
) -> pl.DataFrame:
    named = shared.with_columns(
        pl.lit(question).alias("question"),
        pl.lit(kind).alias("answer_type"),
        pl.lit(datetime(2026, 3, 1, tzinfo=UTC)).alias("answered_at"),
        pl.lit("answers/2026-03-01.parquet").alias("source_file"),
        pl.int_range(pl.len(), dtype=pl.Int64).alias("source_row"),
        **columns,
    )
    missing = [
        pl.lit(None, dtype).alias(name)
        for name, dtype in schema_of(AnswerRows).items()
        if name not in named.columns
    ]
    return conform(named.with_columns(missing), AnswerRows)


def bare(answers: pl.DataFrame, policy: p.ValidatedPolicy) -> pl.DataFrame:
    """Join thresholds to answers, compare, and conjoin by episode: no checks, no reports."""
    rules = pl.DataFrame(
        [
            {
                "question": rule.name,
                "minimum": getattr(rule, "minimum", None),
                "maximum": getattr(rule, "maximum", None),
                "label": getattr(rule, "choice", None),
                "least": getattr(rule, "min_confidence", None),
            }
            for rule in policy.policy.rules
        ],
        schema={
            "question": pl.String,
            "minimum": pl.Float64,
            "maximum": pl.Float64,
            "label": pl.String,
            "least": pl.Float64,
        },
    )
    value = pl.coalesce("probability", "score")
    met = (
        (pl.col("minimum").is_null() | (value >= pl.col("minimum")))
        & (pl.col("maximum").is_null() | (value <= pl.col("maximum")))
        & (pl.col("label").is_null() | (pl.col("choice") == pl.col("label")))
        & (pl.col("least").is_null() | (pl.col("confidence") >= pl.col("least")))
    )
    return (
        answers.lazy()
        .join(rules.lazy(), on="question")
        .with_columns(met=met)
        .group_by("tenant_id", "episode_id")
        .agg(pl.col("met").all())
        .collect()
    )


def scalar_work(answers: pl.DataFrame, policy: p.ValidatedPolicy) -> Callable[[], object]:
    """Return a call of the scalar evaluator for a sample; building the answers is free."""
    wanted = answers["episode_id"].unique().sort().head(SCALAR_SAMPLE)
    built: dict[str, dict[str, Any]] = {}
    for row in answers.filter(pl.col("episode_id").is_in(wanted.implode())).to_dicts():
        built.setdefault(row["episode_id"], {})[row["question"]] = _scalar(row)

    def work() -> None:
        for one in built.values():
            p.evaluate_policy(policy, one)

    return work


def _scalar(row: dict[str, Any]) -> p.Answer:
    if row["answer_type"] == "noul":
        return p.NoulAnswer(row["probability"])
    if row["answer_type"] == "choice":
        return p.ChoiceAnswer(row["choice"], row["confidence"])
    levels = {entry["level"]: entry["probability"] for entry in row["probabilities"]}
    return p.ScoreAnswer(row["score"], row["confidence"], levels)


def cpu_seconds(*calls: Callable[[], object]) -> list[float]:
    """Return each call's CPU seconds, all threads together: the best; they take turns."""
    best = [float("inf")] * len(calls)
    for _ in range(REPEATS):
        for place, work in enumerate(calls):
            start = time.process_time()
            work()
            best[place] = min(best[place], time.process_time() - start)
    return best


def memory_of(answers: pl.DataFrame, rules: int) -> list[float]:
    """Return peaks and results against the answers: peak and results without details, with them.

    Each evaluation has a process of its own, which reads the answers, and then does nothing else.
    """
    figures: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.arrow"
        answers.write_ipc(path)
        for details in ("plain", "details"):
            command = [sys.executable, __file__, "--memory", str(path), str(rules), details]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            figures.extend(map(float, done.stdout.split()))
    return figures


def measure_memory(path: str, rules: int, *, details: bool) -> None:
    """Print the peak of this process, and the results, both as multiples of the answers."""
    small, policy = corpus(10, rules)
    evaluate_policies(small, {"p": policy}, details=details)
    before = _resident("VmRSS")
    answers = pl.read_ipc(path)
    Path("/proc/self/clear_refs").write_text("5")  # the peak is what it is now
    results = evaluate_policies(answers, {"p": policy}, details=details)
    peak = _resident("VmHWM") - before
    size = buffers(answers)
    print(peak / size, (buffers(results.results) + buffers(results.reports)) / size)


def buffers(frame: pl.DataFrame) -> int:
    """Return the bytes of a frame's buffers: 16 for each text, and the texts above 12 bytes.

    Polars' own ``estimated_size`` leaves out the 16.
    """
    return frame.rechunk().to_arrow(compat_level=pl.CompatLevel.newest()).get_total_buffer_size()


def _resident(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024


def measured(answers: pl.DataFrame, policy: p.ValidatedPolicy, episodes: int) -> list[float]:
    """Return the figures of one line."""

    def evaluate(*, details: bool) -> object:
        return evaluate_policies(answers, {"p": policy}, details=details)

    calls = (
        lambda: bare(answers, policy),
        partial(evaluate, details=False),
        partial(evaluate, details=True),
        scalar_work(answers, policy),
    )
    yardstick, plain, full, sample = cpu_seconds(*calls)
    scalar = sample * episodes / min(SCALAR_SAMPLE, episodes)
    return [yardstick, plain, plain / yardstick, scalar, full, scalar / full]


def main() -> None:
    if sys.argv[1:2] == ["--memory"]:
        path, rules, details = sys.argv[2:]
        measure_memory(path, int(rules), details=details == "details")
        return
    episodes = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print(f"{episodes:,} episodes, Polars {pl.__version__}, {pl.thread_pool_size()} threads")
    heads = ("bare s", "plain s", "ratio", "scalar s", "details s", "ratio")
    heads += ("memory", "results", "detailed", "results")
    print(f"{'rules':5} {'rows':8}", *(f"{head:>9}" for head in heads))
    for rules in (1, 3, 10):
        answers, policy = corpus(episodes, rules)
        shuffled = answers.sample(fraction=1.0, shuffle=True, seed=1)
        for order, rows in (("sorted", answers), ("shuffled", shuffled)):
            figures = measured(rows, policy, episodes) + memory_of(rows, rules)
            print(f"{rules:5} {order:8}", *(f"{figure:9.2f}" for figure in figures), flush=True)


if __name__ == "__main__":
    main()
