"""A whole run against its yardstick: Polars reading the inputs and writing the run's outputs.

    python benchmarks/whole_run.py [--episodes 1000000] [--tenants 200] [--processes 2]

Makes a corpus of one night, with about three comparisons an episode, in a temporary folder, grades
it in a process of its own, then reads the same inputs and writes the same outputs with Polars in
another one. Prints what the run took, how long Polars took, and the ratio. A busy machine blurs
them.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

from processes import measured

from judgebatch.synthesis import synthesize

YARDSTICK = """
import sys, time
from pathlib import Path
import polars as pl
corpus, out = Path(sys.argv[1]), Path(sys.argv[2])
read = 0.0
started = time.monotonic()
for name in ("episodes", "verdicts"):
    pl.read_parquet(corpus / name / "*.parquet")
read = time.monotonic() - started
written = 0.0
for file in sorted((corpus / "warehouse").glob("runs/*/tables/**/*.parquet")):
    frame = pl.read_parquet(file, hive_partitioning=False)
    started = time.monotonic()
    frame.write_parquet(out / "table.parquet", compression="zstd")
    written += time.monotonic() - started
    del frame
print(f"{read} {written}")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=1_000_000)
    parser.add_argument("--tenants", type=int, default=200)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "corpus"
        corpus = synthesize(
            root, episodes=asked.episodes, tenants=asked.tenants, nights=1, seed=asked.seed
        )
        # A week later everything has been judged, so that the whole corpus ends in one run.
        as_of = corpus.as_of[-1] + timedelta(days=7)
        command = [sys.executable, "-m", "judgebatch", "run", "--settings", str(corpus.settings)]
        command += ["--as-of", as_of.isoformat(), "--processes", str(asked.processes)]
        cost = measured(command)
        out = Path(folder) / "out"
        out.mkdir()
        script = [sys.executable, "-c", YARDSTICK, str(root), str(out)]
        printed = subprocess.run(script, check=True, capture_output=True, text=True).stdout
        read, written = (float(part) for part in printed.split())
        print(f"corpus: {corpus.episodes:,} episodes, {corpus.verdicts:,} verdicts")
        print(f"run, {asked.processes} processes: {cost}")
        print(f"Polars: {read:.1f} s reading inputs, {written:.1f} s writing outputs")
        print(f"ratio, wall to wall: {cost.wall / (read + written):.1f}")


if __name__ == "__main__":
    main()
