"""A night with one and with two workers: processes of a run, and of a Dask cluster.

    python benchmarks/workers.py [--episodes 3333330] [--shape spread|single] [--dask-alone]
        [--folder FOLDER]

Makes a corpus of small verdicts, three comparisons an episode (10 million unless told otherwise),
and grades it with `judgebatch run` in one process and in two, then with the nightly flow on a
local Dask cluster of one worker and of two, with an ephemeral Prefect server. Each starts without
a warehouse and must publish the same bytes. The yardstick is the first of them, in the same run;
prints wall and CPU seconds of all processes. The server and the cluster take their time to start,
and it is counted.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

from processes import Cost, measured
from size import GROUP, PAIRS, SHAPES, START, prepare, write_corpus

AS_OF = START + timedelta(days=2)


def in_processes(folder: Path, processes: int) -> list[str]:
    """Return the command that grades in processes of one run."""
    command = [sys.executable, "-m", "judgebatch", "run", "--as-of", AS_OF.isoformat()]
    return [*command, "--settings", str(folder / "judgebatch.toml"), "--processes", str(processes)]


def on_dask(folder: Path, workers: int) -> list[str]:
    """Return the command that grades on a cluster."""
    return [sys.executable, __file__, "--folder", str(folder), "--dask", str(workers)]


def night(folder: Path, workers: int) -> None:
    """Do the night as a flow on a cluster of so many workers."""
    os.environ.setdefault("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "300")
    from flows.nightly import nightly  # noqa: PLC0415 - the timeout is read on import
    from flows.parameters import Night, Runner  # noqa: PLC0415

    settings = folder / "judgebatch.toml"
    nightly(Night(settings=settings, as_of=AS_OF, runner=Runner.DASK, workers=workers))


def published(folder: Path) -> dict[str, str]:
    """Return the digest of every file that the run published."""
    manifest = json.loads((folder / "warehouse/runs/000001/manifest.json").read_bytes())
    return {file["path"]: file["sha256"] for file in manifest["files"]}


def clear(folder: Path) -> None:
    """Remove a warehouse, whose folders are read-only."""
    for path, names, _ in os.walk(folder / "warehouse"):
        for name in names:
            (Path(path) / name).chmod(0o755)
    shutil.rmtree(folder / "warehouse", ignore_errors=True)


def compare(folder: Path, groups: int, shape: str, *, dask_alone: bool) -> None:
    """Grade the same corpus in all ways, and print what each took."""
    prepare(folder)
    write_corpus(folder, "night", 0, groups, SHAPES[shape])
    print(f"{shape}: {groups * GROUP:,} episodes, {groups * len(PAIRS):,} comparisons", flush=True)
    ways = {
        "Dask, 1 worker": on_dask(folder, 1),
        "Dask, 2 workers": on_dask(folder, 2),
    }
    if not dask_alone:
        ways = {
            "1 process": in_processes(folder, 1),
            "2 processes": in_processes(folder, 2),
        } | ways
    first: tuple[Cost, dict[str, str]] | None = None
    for way, command in ways.items():
        clear(folder)
        cost = measured(command)
        files = published(folder)
        first = first or (cost, files)
        if files != first[1]:
            sys.exit(f"{way} published other bytes")
        print(f"{way}: {cost}; wall {cost.wall / first[0].wall:.2f} x the first", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--episodes", type=int, default=3_333_330)
    parser.add_argument("--shape", choices=SHAPES, default="spread")
    parser.add_argument("--folder", type=Path, help="an empty or new folder for the corpus")
    parser.add_argument("--dask-alone", action="store_true", help="leave out processes of a run")
    parser.add_argument("--dask", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.dask:
        night(asked.folder, asked.dask)
        return
    groups = asked.episodes // GROUP
    if asked.folder is not None:
        compare(asked.folder, groups, asked.shape, dask_alone=asked.dask_alone)
        return
    with tempfile.TemporaryDirectory() as folder:
        compare(Path(folder), groups, asked.shape, dask_alone=asked.dask_alone)
        clear(Path(folder))


if __name__ == "__main__":
    main()
