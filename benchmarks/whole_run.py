"""A whole run against its yardstick: Polars reading the inputs and writing the run's outputs.

    python benchmarks/whole_run.py [--episodes 1000000] [--tenants 200] [--processes 2]

Makes a corpus of one night, with about three comparisons an episode, in a temporary folder, grades
it in a process of its own, then reads the same inputs and writes the same outputs with Polars in
another one. Prints wall seconds, peak memory (the largest single process, mapped pages included)
and the ratio. A busy machine blurs them.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

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


def timed(command: list[str]) -> tuple[float, float]:
    """Run a command; return wall seconds and the peak MiB of its largest process."""
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0.0
    while process.poll() is None:
        peak = max([peak, *(peak_of(pid) for pid in family(process.pid))])
        time.sleep(0.25)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return time.monotonic() - started, peak


def family(pid: int) -> list[int]:
    """Return a process and all that it started, directly or not."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(one for child in children for one in family(int(child)))]


def peak_of(pid: int) -> float:
    """Return a process's peak resident memory in MiB; 0 once it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


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
        wall, peak = timed(command)
        out = Path(folder) / "out"
        out.mkdir()
        script = [sys.executable, "-c", YARDSTICK, str(root), str(out)]
        printed = subprocess.run(script, check=True, capture_output=True, text=True).stdout
        read, written = (float(part) for part in printed.split())
        print(f"corpus: {corpus.episodes:,} episodes, {corpus.verdicts:,} verdicts")
        print(f"run, {asked.processes} processes: {wall:.1f} s, peak {peak:,.0f} MiB")
        print(f"Polars: {read:.1f} s reading inputs, {written:.1f} s writing outputs")
        print(f"ratio, wall to wall: {wall / (read + written):.1f}")


if __name__ == "__main__":
    main()
