"""What a night of a backfill costs, and whether it costs more the more nights lie behind it.

    python benchmarks/backfill.py [NIGHTS] [EPISODES_A_NIGHT]

Makes a corpus that was judged long ago (100 nights of 1,000 episodes unless told otherwise), and
replays its nights in one process. The yardstick is the first night after the one that reads the
files, in the same run: the table gives the CPU seconds of the nights in tenths of the whole, each
as a multiple of it. The corpus goes to a temporary folder.
"""

import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from statistics import median

from judgebatch.pipeline.backfilling import Pace, backfill
from judgebatch.settings import load_settings

START = datetime(2026, 3, 1, tzinfo=UTC)


def main(nights: int = 100, episodes: int = 1000) -> None:
    with tempfile.TemporaryDirectory() as place:
        corpus = Path(place) / "corpus"
        counts = ["--episodes", str(nights * episodes), "--nights", str(nights), "--tenants", "20"]
        command = [sys.executable, "-m", "judgebatch", "synth", str(corpus), *counts]
        subprocess.run(command, check=True, capture_output=True)
        ends: list[tuple[float, float]] = []

        def paced(_: Pace) -> None:
            ends.append((time.process_time(), time.monotonic()))

        report = backfill(
            load_settings(corpus / "judgebatch.toml"),
            [START + timedelta(days=day + 1, hours=3) for day in range(nights)],
            paced=paced,
        )
        cpu = [later[0] - before[0] for before, later in pairwise(ends)]
        wall = ends[-1][1] - ends[0][1]
        yardstick = median(cpu[1:6])
        done = sum(report.graded.values()) + sum(report.ungraded.values())
        print(f"{nights} nights of about {episodes:,} episodes: {done:,} graded or ungraded")
        print(f"{wall:.1f} s in all, {wall / nights:.2f} s a night; CPU {sum(cpu):.1f} s")
        print(f"the first night, which reads all files: {cpu[0]:.2f} s CPU")
        print(f"yardstick, the median of the five nights after it: {yardstick:.2f} s CPU")
        tenth = max(1, nights // 10)
        for first in range(1, nights, tenth):
            part = cpu[first : first + tenth]
            told = f"nights {first + 1:>4} to {first + len(part):>4}"
            print(f"{told}: {median(part):.2f} s CPU, {median(part) / yardstick:.2f} x")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
