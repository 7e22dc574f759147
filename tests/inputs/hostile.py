"""What the tests of hostile input share: a project around one file, and how it fares."""

import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from judgebatch.errors import InputError
from judgebatch.inputs import discover, read_file
from tests.cli.running import Ran, run
from tests.inputs.made import episodes, spec

_CHILD = """
import sys
from pathlib import Path
from judgebatch.cli.main import run_command
code = run_command(sys.argv[1:])
peak = [line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line]
print(peak[0].split()[1], file=sys.stderr)
sys.exit(code)
"""


class Measured(NamedTuple):
    code: int
    said: str
    out: dict[str, Any]
    mib: int


def project(folder: Path, table: pa.Table | bytes | None = None, **how: Any) -> Path:
    """Return settings beside one file of episodes."""
    (folder / "episodes").mkdir(parents=True, exist_ok=True)
    (folder / "verdicts").mkdir(exist_ok=True)
    path = folder / "episodes" / "night.parquet"
    if isinstance(table, bytes):
        path.write_bytes(table)
    elif table is not None:
        pq.write_table(table, path, **how)
    settings = folder / "judgebatch.toml"
    settings.write_text(
        'warehouse = "warehouse"\n'
        '[inputs.episodes]\npath = "episodes"\n[inputs.verdicts]\npath = "verdicts"\n'
        "[tenants.acme]\n"
    )
    return settings


def checked_alone(settings: Path) -> Measured:
    """Run ``judgebatch check`` in a process of its own, and measure it."""
    command = [sys.executable, "-c", _CHILD, "check", "--json", "--settings", str(settings)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    *said, peak = done.stderr.strip().splitlines()
    out = orjson.loads(done.stdout) if done.stdout else {}
    return Measured(done.returncode, " ".join(said), out, int(peak) >> 10)


def rows_of(measured: Measured) -> int:
    assert measured.code == 0, measured.said
    return int(measured.out["inputs"]["episodes"]["rows"])


def repeated(count: int, **other: Any) -> pa.Table:
    """Return ``count`` times one episode, stored as one run of each column."""
    one = episodes(1)
    index = pa.array(np.zeros(count, np.int32))
    same = {
        name: pa.DictionaryArray.from_arrays(index, one[name].combine_chunks())
        for name in one.schema.names
    }
    return pa.table(same | other)


def refused(folder: Path, content: bytes) -> str:
    """Return how a file is refused, by name, as a run would."""
    project(folder, content)
    wanted = spec(folder, path="episodes")
    (file,) = discover(wanted)
    with pytest.raises(InputError) as raised:
        list(read_file(file, wanted))
    said = str(raised.value)
    assert "\n" not in said
    assert "night.parquet" in said
    return said


def written(table: pa.Table, **how: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **how)
    return bytes(sink.getvalue())


def ran_once(capsys, settings: Path, as_of: str = "2026-10-01T03:00:00Z") -> Ran:
    """Do a night. One after another needs an as_of of its own: the clock may not have ticked."""
    if not (settings.parent / "warehouse").exists():
        assert run(capsys, "init", settings.parent).code == 0
    return run(capsys, "run", "--settings", settings, "--as-of", as_of)


def published(folder: Path) -> set[str]:
    found = sorted((folder / "warehouse").glob("runs/*/tables/ungraded/*.parquet"))
    return set(
        pl.concat([pl.read_parquet(one, columns=["episode_id"]) for one in found])["episode_id"]
    )
