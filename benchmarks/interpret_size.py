"""`judgebatch interpret` over many verdicts: peak memory, time, and whether nothing is lost.

    python benchmarks/interpret_size.py [VERDICTS] [--processes 2] [--folder FOLDER]

Makes one Parquet file of small verdicts (about 1 KB) in a temporary folder: of today's form, of
the oldest one and damaged ones, one text in 1,000 no JSON at all. Interprets it with the command,
in processes of its own, and prints the peak resident memory of each process and of all of them
together (goal: 10,000,000 verdicts in 2 GiB), then counts the rows of all tables: every verdict is
read or in quarantine, and each count in an interpretation is the number of rows of its child table.
10,000,000 verdicts take about 8 GB of disk while it runs.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
import polars as pl
import pyarrow.parquet as pq
from interpret import FORMS, prose
from processes import cpu_of, family

SEED = 20260410
SHAPE = (1, 1, 0)
TEMPLATES, PROSES = 2_000, 50_000
ROW_GROUP = 100_000
TOKEN = "@@"
SAID = ("own", "judged", "judged")
"""Whose reasoning stands in a verdict, in order; a cascade says all of it twice."""
BROKEN = 1_000
"""One verdict in so many is no JSON."""
GOAL = 2 << 30


def templates(rng: np.random.Generator) -> pl.DataFrame:
    """Return verdicts' texts, cut where the reasoning of an aggregate and of its judge stands."""
    found: list[list[str | None]] = []
    while len(found) < TEMPLATES:
        form = list(FORMS.values())[len(found) % len(FORMS)]
        document = form(rng, *SHAPE)
        for judged in (document.get("aggregated"), *document["individual"]):
            if "reasoning" in judged:
                judged["reasoning"] = TOKEN
        parts = orjson.dumps(document).decode().split(TOKEN)
        if len(parts) in {len(SAID) + 1, 2 * len(SAID) + 1}:
            found.append(parts + [None] * (2 * len(SAID) + 1 - len(parts)))
    columns = [f"part_{at}" for at in range(2 * len(SAID) + 1)]
    return pl.DataFrame(found, schema=dict.fromkeys(columns, pl.String), orient="row")


def text() -> pl.Expr:
    """Return a verdict's text, put together again."""
    pieces = [pl.col("part_0")]
    for at, who in enumerate(2 * SAID, 1):
        pieces += [
            pl.when(pl.col(f"part_{at}").is_not_null()).then(pl.col(who)),
            pl.col(f"part_{at}"),
        ]
    return pl.concat_str(pieces, ignore_nulls=True)


def write_corpus(path: Path, verdicts: int) -> int:
    """Write the verdicts and return how many bytes of text they have."""
    rng = np.random.default_rng(SEED)
    forms = templates(rng)
    proses = pl.Series([prose(rng, int(words)) for words in rng.integers(4, 24, PROSES)])
    written = 0
    writer: pq.ParquetWriter | None = None
    for first in range(0, verdicts, ROW_GROUP):
        size = min(ROW_GROUP, verdicts - first)
        own, judged = (proses.gather(rng.integers(0, PROSES, size)) for _ in range(2))
        rows = (
            forms[rng.integers(0, TEMPLATES, size)]
            .with_columns(
                at=pl.int_range(first, first + size, dtype=pl.Int64), own=own, judged=judged
            )
            .select(
                verdict_id=pl.format("verdict-{}", "at"),
                recorded_passed=pl.col("at") % 3 > 0,
                verdict=pl.when(pl.col("at") % BROKEN == BROKEN - 1)
                .then(pl.lit("no JSON"))
                .otherwise(text()),
            )
        )
        written += int(rows["verdict"].str.len_bytes().cast(pl.Int64).sum())
        table = rows.to_arrow(compat_level=pl.CompatLevel.oldest())
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table, ROW_GROUP)
    if writer is not None:
        writer.close()
    return written


class Watched(NamedTuple):
    """What a command took: seconds, and resident bytes of each process and of all together."""

    wall: float
    cpu: float
    peaks: dict[str, int]
    most: int


def watched(command: list[str], log: Path) -> Watched:
    """Run a command and look at its processes ten times a second."""
    begin = time.monotonic()
    peaks: dict[str, int] = defaultdict(int)
    cpu: dict[int, float] = defaultdict(float)
    most = 0
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out)
        while process.poll() is None:
            now = {pid: resident(pid) for pid in family(process.pid)}
            for pid, size in now.items():
                cpu[pid] = max(cpu[pid], cpu_of(pid))
                name = "command" if pid == process.pid else f"process {pid}"
                peaks[name] = max(peaks[name], size)
            most = max(most, sum(now.values()))
            time.sleep(0.1)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Watched(time.monotonic() - begin, sum(cpu.values()), dict(peaks), most)


def resident(pid: int) -> int:
    """Return the resident bytes of a process."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096
    except OSError:
        return 0


def laws(out: Path, said: dict[str, Any], verdicts: int) -> Iterator[tuple[str, int, int]]:
    """Yield what must be equal."""
    rows = {path.stem: pq.read_metadata(path).num_rows for path in sorted(out.glob("*.parquet"))}
    yield "verdicts read and in quarantine", rows["verdicts"] + rows["quarantine"], verdicts
    yield "in quarantine", rows["quarantine"], verdicts // BROKEN
    yield "interpretations", rows["interpretations"], rows["verdicts"]
    yield "verdicts, as the command says", said["verdicts"], rows["verdicts"]
    yield "in quarantine, as the command says", said["quarantined"], rows["quarantine"]
    counts = (
        pl.scan_parquet(out / "interpretations.parquet")
        .select(
            stages=pl.col("stage_count").sum(),
            judges=pl.col("judge_count").sum(),
            defects=pl.sum_horizontal(
                "absent", "unparseable", "unknown_vocabulary", "inconsistent"
            ).sum(),
            rows=pl.col("source_row").sum(),
        )
        .collect()
        .row(0, named=True)
    )
    for name in ("stages", "judges", "defects"):
        yield f"{name} counted, and rows of them", counts[name], rows[f"interpretation_{name}"]
    refused = pl.scan_parquet(out / "quarantine.parquet").select(pl.col("source_row").sum())
    numbers = counts["rows"] + refused.collect().item()
    yield "sum of row numbers", numbers, verdicts * (verdicts - 1) // 2
    found = sum(entry["count"] for entry in said["defects"])
    yield "defects, as the command says", found, rows["interpretation_defects"]


def main() -> None:
    """Make verdicts, interpret them, and count."""
    parser = argparse.ArgumentParser(description="Peak memory of judgebatch interpret.")
    parser.add_argument("verdicts", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=None, help="Where the files lie meanwhile.")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        corpus, out, log = (Path(folder) / name for name in ("in.parquet", "out", "log.json"))
        begin = time.monotonic()
        size = write_corpus(corpus, chosen.verdicts)
        print(
            f"{chosen.verdicts:,} verdicts of {size // chosen.verdicts:,} bytes, made in "
            f"{time.monotonic() - begin:.0f} s; the file has {corpus.stat().st_size / 1e9:.2f} GB",
            flush=True,
        )
        took = watched(
            [
                *(sys.executable, "-m", "judgebatch.cli.main", "interpret", str(corpus)),
                *("-o", str(out), "--processes", str(chosen.processes), "--json"),
            ],
            log,
        )
        made = sum(path.stat().st_size for path in out.iterdir())
        print(
            f"interpreted in {took.wall:.0f} s ({took.cpu:.0f} s of CPU) into {made / 1e9:.2f} GB"
        )
        for name, peak in took.peaks.items():
            print(f"  {name}: {peak / 2**20:,.0f} MiB at most")
        verdict = "within" if took.most <= GOAL else "ABOVE"
        print(f"  all together: {took.most / 2**20:,.0f} MiB at most, {verdict} 2 GiB")
        (said,) = json.loads(log.read_bytes())["inputs"].values()
        wrong = 0
        for name, one, other in laws(out, said, chosen.verdicts):
            wrong += one != other
            print(f"  {'equal' if one == other else 'NOT EQUAL'}: {name}: {one:,} and {other:,}")
    if wrong or took.most > GOAL:
        sys.exit(1)


if __name__ == "__main__":
    main()
