"""How large a corpus may be: a backfill, the nights after it, and a thousand nights.

    python benchmarks/size.py backfill [--episodes 10000000] [--shape spread|single] [--nights 100]
    python benchmarks/size.py nights [--nights 1000]

``backfill`` makes a corpus of small verdict documents, three comparisons an episode, spread over a
thousand tenants or in a single one, grades it in one run, and checks that every row is accounted
for. Then come nights of a fixed, small number of new episodes. Prints wall and CPU seconds, the
peak memory of the largest process (mapped pages included, and without) and of all together.

``nights`` grades very small nights, and measures after 10, 100 and 1,000 of them what grows with
history: a night, views, a plain glob, and reading all manifests. The nights between are replayed
by `judgebatch backfill`, which publishes the same tables as nights one by one and takes less time.

The corpus goes to a temporary folder (``--folder`` names another): 10 million episodes take about
40 GB with the warehouse and what a run stages.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

import polars as pl
import pyarrow.parquet as pq
from processes import Cost, measured

from judgebatch.settings import load_settings
from judgebatch.warehouse import Manifest, connect, open_warehouse

START = datetime(2026, 3, 1, tzinfo=UTC)
GROUP = 7
"""Episodes that are compared together: 21 pairs, three comparisons an episode."""
PAIRS = [(left, right) for left in range(GROUP) for right in range(left)]
FILE_GROUPS = 50_000
"""Groups in a file: 350,000 episodes or 1,050,000 comparisons."""
TEXTS = [
    '{"aggregated":{"status":"pass"},"individual":[{"status":"pass"}]}',
    '{"aggregated":{"status":"fail"},"individual":[{"status":"fail"}]}',
    '{"aggregated":{"status":"pass","label":"tie"},"individual":[{"status":"pass"}]}',
]
SETTINGS = """\
warehouse = "warehouse"
unknown_tenants = "defaults"

[inputs.episodes]
path = "episodes"

[inputs.verdicts]
path = "verdicts"

[defaults]
mode = "tournament"
quorum = 7
min_group_size = 3
pair_degree = 6
judging_window = "12h"
"""


@dataclass(frozen=True)
class Shape:
    """How episodes spread: consecutive groups go to consecutive tasks."""

    tenants: int
    tasks: int
    """Of all tenants together."""


SHAPES = {"spread": Shape(1_000, 20_000), "single": Shape(1, 20_000)}


def write_corpus(
    folder: Path, name: str, first: int, groups: int, shape: Shape, start: datetime = START
) -> None:
    """Write groups of episodes that arrive within seconds of ``start``."""
    for part, begin in enumerate(range(first, first + groups, FILE_GROUPS)):
        end = min(begin + FILE_GROUPS, first + groups)
        keys = pl.DataFrame({"group": pl.arange(begin, end, eager=True)}).select(
            "group",
            pl.format("tenant-{}", pl.col("group") % shape.tasks % shape.tenants).alias(
                "tenant_id"
            ),
            pl.format("task-{}", pl.col("group") % shape.tasks).alias("task_id"),
        )
        for table, rows in (
            ("episodes", _episodes(keys, start)),
            ("verdicts", _verdicts(keys, start)),
        ):
            arrow = rows.to_arrow(compat_level=pl.CompatLevel.oldest())
            path = folder / table / f"{name}-{part:04d}.parquet"
            pq.write_table(arrow, path, row_group_size=100_000, compression="zstd")


def _episode(place: pl.Expr) -> pl.Expr:
    return pl.format("episode-{}", pl.col("group") * GROUP + place)


def _arrived(place: pl.Expr, start: datetime) -> pl.Expr:
    moment = pl.lit(start, dtype=pl.Datetime("us", "UTC"))
    # Groups of a task follow each other, so that each closes with its seventh member.
    return moment + pl.duration(microseconds=pl.col("group") * GROUP + place)


def _episodes(keys: pl.DataFrame, start: datetime) -> pl.DataFrame:
    place = pl.col("place")
    members = keys.join(pl.DataFrame({"place": range(GROUP)}), how="cross")
    return members.select(
        "tenant_id",
        _episode(place).alias("episode_id"),
        "task_id",
        _arrived(place, start).alias("arrived_at"),
        pl.lit("passed").alias("verifier_outcome"),
        (place * 0.01).alias("cost_usd"),
        (100.0 + place).alias("latency_ms"),
        (place + 1).alias("tool_calls"),
        pl.lit(0, dtype=pl.Int64).alias("tool_errors"),
    )


def _verdicts(keys: pl.DataFrame, start: datetime) -> pl.DataFrame:
    pairs = pl.DataFrame(PAIRS, schema=["left", "right"], orient="row").with_row_index("pair")
    rows = keys.join(pairs, how="cross").with_columns(
        number=pl.col("group") * len(PAIRS) + pl.col("pair")
    )
    # A fixed mixture in which every group is connected.
    text = (pl.col("number") * 7 + pl.col("group") // 3) % len(TEXTS)
    return rows.select(
        "tenant_id",
        pl.format("verdict-{}", "number").alias("verdict_id"),
        "task_id",
        _episode(pl.col("left")).alias("episode_id"),
        _episode(pl.col("right")).alias("compared_episode_id"),
        (_arrived(pl.lit(GROUP), start) + pl.duration(seconds=1)).alias("judged_at"),
        pl.lit("jury").alias("judge_id"),
        pl.lit(0.001).alias("cost_usd"),
        pl.lit(pl.Series(TEXTS)).gather(text).alias("verdict"),
    )


def grade(folder: Path, as_of: datetime, processes: int) -> Cost:
    """Run one night in processes of its own."""
    command = [sys.executable, "-m", "judgebatch", "run", "--as-of", as_of.isoformat()]
    command += ["--settings", str(folder / "judgebatch.toml"), "--processes", str(processes)]
    return measured(command)


def newest(folder: Path) -> Manifest:
    """Return the newest run's manifest."""
    last = open_warehouse(folder / "warehouse").runs().last
    assert last is not None
    return last


def check_conserved(folder: Path, groups: int) -> None:
    """Stop unless every row of a backfill has ended, and each once."""
    laws = newest(folder).conservation
    episodes, comparisons = laws["episodes"], laws["comparisons"]
    expected = {"episodes": groups * GROUP, "comparisons": groups * len(PAIRS)}
    ended = {
        "episodes": sum(episodes.ended.values()) + episodes.waiting_after,
        "comparisons": sum(comparisons.ended.values()) + comparisons.waiting_after,
    }
    if ended != expected:
        sys.exit(f"rows are lost: {ended} of {expected}")
    print(f"conserved: {episodes.ended}, {comparisons.ended}", flush=True)


def backfill(asked: argparse.Namespace, folder: Path) -> None:
    """Grade a corpus at once, then small nights after it."""
    shape = SHAPES[asked.shape]
    groups = asked.episodes // GROUP
    prepare(folder)
    started = time.monotonic()
    write_corpus(folder, "backfill", 0, groups, shape)
    made = time.monotonic() - started
    print(
        f"{asked.shape}: {groups * GROUP:,} episodes, {groups * len(PAIRS):,} comparisons,", end=""
    )
    print(f" made in {made:,.0f} s", flush=True)
    as_of = START + timedelta(days=2)
    print(f"backfill, {asked.processes} processes: {grade(folder, as_of, asked.processes)}")
    check_conserved(folder, groups)
    costs = []
    for night in range(asked.nights):
        first = groups + night * asked.night_groups
        write_corpus(folder, f"night-{night:04d}", first, asked.night_groups, shape)
        as_of += timedelta(days=1)
        costs.append(grade(folder, as_of, 1))
    if costs:
        few = max(1, min(5, len(costs) // 2))
        begin, end = (median(one.cpu for one in part) for part in (costs[:few], costs[-few:]))
        print(
            f"night of {asked.night_groups * GROUP:,} episodes: first {begin:.2f} s CPU, ", end=""
        )
        print(f"after {len(costs)} nights {end:.2f} s CPU; ratio {end / begin:.2f}")
        print(f"peak of a night: {max(one.largest for one in costs):,.0f} MiB")


def prepare(folder: Path) -> None:
    """Make the folders of a corpus."""
    for name in ("episodes", "verdicts"):
        (folder / name).mkdir(parents=True)
    (folder / "judgebatch.toml").write_text(SETTINGS)


def nights(asked: argparse.Namespace, folder: Path) -> None:
    """Grade many very small nights, and measure what grows with them."""
    prepare(folder)
    done = 0
    marks = sorted({mark for mark in (10, 100, 1_000) if mark < asked.nights} | {asked.nights})
    for mark in marks:
        for number in range(done + 1, mark + 1):
            start = _night(number) - timedelta(hours=12)
            write_corpus(folder, f"night-{number:04d}", number * 2, 2, Shape(3, 12), start)
        if mark - done > 1:
            replay(folder, _night(done + 1), _night(mark - 1))
        cost = grade(folder, _night(mark), 1)
        done = mark
        print(f"night {mark:,}: {cost.cpu:.2f} s CPU; " + reading(folder), flush=True)


def _night(number: int) -> datetime:
    return START + timedelta(days=number)


def replay(folder: Path, first: datetime, last: datetime) -> None:
    """Do many nights in a process of its own."""
    command = [sys.executable, "-m", "judgebatch", "backfill"]
    command += ["--settings", str(folder / "judgebatch.toml")]
    measured([*command, "--from", first.isoformat(), "--to", last.isoformat()])


def reading(folder: Path) -> str:
    """Say how long reading a warehouse takes."""
    warehouse = open_warehouse(load_settings(folder / "judgebatch.toml").warehouse)
    count = "SELECT count(*) FROM graded"

    def views() -> None:
        with connect(warehouse) as connection:
            connection.execute(count).fetchall()

    def glob() -> None:
        pattern = str(warehouse.path / "runs/*/tables/graded/*.parquet")
        pl.scan_parquet(pattern, hive_partitioning=False).select(pl.len()).collect()

    parts = {
        "views": views,
        "glob": glob,
        "consumed files": lambda: warehouse.runs().consumed(),
        "all manifests": lambda: list(warehouse.runs()),
    }
    return ", ".join(f"{name} {best(part) * 1000:,.0f} ms" for name, part in parts.items())


def best(work: Callable[[], object], times: int = 3) -> float:
    """Return the fewest CPU seconds that some work takes."""
    found = []
    for _ in range(times):
        started = time.process_time()
        work()
        found.append(time.process_time() - started)
    return min(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, help="an empty or new folder for the corpus")
    kinds = parser.add_subparsers(required=True)
    one = kinds.add_parser("backfill")
    one.add_argument("--episodes", type=int, default=10_000_000)
    one.add_argument("--shape", choices=SHAPES, default="spread")
    one.add_argument("--nights", type=int, default=100)
    one.add_argument("--night-groups", type=int, default=1_000)
    one.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    one.set_defaults(work=backfill)
    other = kinds.add_parser("nights")
    other.add_argument("--nights", type=int, default=1_000)
    other.set_defaults(work=nights)
    asked = parser.parse_args()
    if asked.folder is not None:
        asked.work(asked, asked.folder)
        return
    with tempfile.TemporaryDirectory() as folder:
        asked.work(asked, Path(folder))


if __name__ == "__main__":
    main()
