"""From a Parquet file with string ids to strengths, beside counting its rows with Polars.

    python benchmarks/strengths_file.py

100,000 groups of 8 with 40 comparisons each. Both read the file, on one thread; processor time
counts, the best of several rounds, taking turns. Goal: at most 3 times the time of
``group_by(group, left, right).len()``.
"""

import os

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from judgebatch.strengths import fit_groups
from judgebatch.strengths.codes import encode
from judgebatch.strengths.counts import count_comparisons

SEED = 20260303
GROUPS, SIZE, COMPARISONS = 100_000, 8, 40


def comparisons() -> pl.DataFrame:
    """Return comparisons with ids as people have them: 17 to 21 characters."""
    rng = np.random.default_rng(SEED)
    group = np.repeat(np.arange(GROUPS), COMPARISONS)
    left = rng.integers(0, SIZE, group.size)
    right = (left + rng.integers(1, SIZE, group.size)) % SIZE
    outcome = pl.Series(["left", "right", "tie"]).gather(
        rng.choice(3, group.size, p=[0.45, 0.45, 0.1])
    )
    codes = pl.DataFrame(
        {"group": group, "left": group * SIZE + left, "right": group * SIZE + right}
    )
    digits = pl.all().cast(pl.String).str.zfill(9)
    return codes.select(digits).select(
        pl.format("tenant-task-{}", "group").alias("group"),
        pl.format("episode-{}", "left").alias("left"),
        pl.format("episode-{}", "right").alias("right"),
        outcome.alias("outcome"),
    )


def best(calls: dict[str, Callable[[], object]], rounds: int = 4) -> dict[str, float]:
    """Return each call's best processor time; the calls take turns."""
    found = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            begin = time.process_time()
            call()
            found[name] = min(found[name], time.process_time() - begin)
    return found


def measure(name: str, frame: pl.DataFrame, path: Path) -> None:
    """Print the ratio and where the time goes."""
    frame.write_parquet(path)
    columns = ["group", "left", "right", "outcome"]
    keys = columns[:3]
    times = best(
        {
            "count": lambda: pl.scan_parquet(path).group_by(keys).len().collect(),
            "all": lambda: fit_groups(pl.read_parquet(path, columns=columns)),
            "read": lambda: pl.read_parquet(path, columns=columns),
            "encode": lambda: (encode([frame["group"]]), encode([frame["left"], frame["right"]])),
            "index": lambda: count_comparisons(frame),
        }
    )
    counting = times["index"] - times["encode"]
    rest = times["all"] - times["read"] - times["index"]
    print(
        f"{name:<22} {times['all'] / times['count']:.2f} x the time of counting rows: "
        f"read {times['read']:.2f} s, encode ids {times['encode']:.2f} s, "
        f"count pairs {counting:.2f} s, fit and tables {rest:.2f} s; "
        f"together {times['all']:.2f} s, Polars' count {times['count']:.2f} s"
    )


def main() -> None:
    """Measure a file in group order, and one in no order."""
    frame = comparisons()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "comparisons.parquet"
        measure("rows by group", frame, path)
        measure("rows shuffled", frame.sample(fraction=1.0, shuffle=True, seed=1), path)


if __name__ == "__main__":
    main()
