"""``python -m tests.inputs.fuzz_worker FOLDER``: reads one damaged file after another.

A process of its own, so that one that dies, hangs or takes all memory names the file. It is told
a kind a line, reads the file of that name in the folder, and answers with a line of JSON.
"""

import ctypes
import resource
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from judgebatch.cli.policy_files import load_answers
from judgebatch.contracts.rows import QuarantineRows
from judgebatch.contracts.table import schema_of
from judgebatch.errors import JudgebatchError
from judgebatch.inputs import (
    InputKind,
    InputSpec,
    discover,
    inspect_file,
    read_file,
    rows_with,
    split_file,
)
from judgebatch.inputs.reading import ROWS

ADDRESSES = 8 << 30
"""Bytes that the process may ask for in all: one that asks for more dies, and is seen."""
_PERTURB = -6
"""The option of ``mallopt`` that fills memory which is handed out with a byte."""


def file_of(kind: str) -> str:
    """Return the name of the file that is read as a kind."""
    return kind if kind.startswith("policy.") else f"{kind}/night.parquet"


def _input(folder: Path, kind: str) -> list[pl.DataFrame]:
    wanted = InputKind(kind)
    spec = InputSpec(kind=wanted, root=folder, path=kind, assume_timezone="UTC")
    (file,) = discover(spec)
    told = inspect_file(file, spec)
    split_file(file, spec)
    found = []
    for batch in read_file(file, spec):
        _check(batch.rows, schema_of(ROWS[wanted]))
        _check(batch.quarantined, schema_of(QuarantineRows))
        found += [batch.rows, batch.quarantined]
    if sum(len(frame) for frame in found) != told.rows:
        raise AssertionError(f"{told.rows} rows were told")
    rows_with(file, spec, {"tenant_id": "acme", "episode_id": "ep-3"})
    return found


def _check(frame: pl.DataFrame, schema: pl.Schema) -> None:
    if frame.schema != schema:
        raise AssertionError(f"{frame.schema} instead of {schema}")
    for name in {"extra", "content"} & set(schema.names()):
        for text in frame[name].drop_nulls():
            orjson.loads(text)
    for name in {"verdict_id", "episode_id", "tenant_id", "id"} & set(schema.names()):
        "".join(frame[name].drop_nulls()).encode()


def read(folder: Path, kind: str) -> list[pl.DataFrame]:
    """Read a file as the product does."""
    if kind.startswith("policy."):
        return [load_answers(folder / kind)]
    return _input(folder, kind)


def fares(folder: Path, kind: str) -> dict[str, Any]:
    """Return how a file fares: read twice, with other bytes in memory that nobody has filled."""
    libc = ctypes.CDLL(None)
    seen = []
    for filling in (0x5A, 0xC3):
        libc.mallopt(_PERTURB, filling)
        try:
            frames = read(folder, kind)
        except JudgebatchError as error:
            seen.append(("refused", str(error)))
        except BaseException:  # noqa: BLE001 - a panic of a native library is one, too
            return {"outcome": "escaped", "what": traceback.format_exc()}
        else:
            seen.append(("read", "".join(frame.write_json() for frame in frames)))
    (outcome, one), (_, two) = seen
    if seen[0] != seen[1]:
        return {"outcome": "differs", "what": f"{one[:3000]}\n\nthen\n\n{two[:3000]}"}
    if outcome == "refused" and ("\n" in one or not one.endswith((".", ")"))):
        return {"outcome": "said badly", "what": one}
    return {"outcome": outcome, "what": one[:1000]}


def _peak() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) >> 10


def main() -> int:
    folder = Path(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin:
        began = time.process_time()
        Path("/proc/self/clear_refs").write_text("5")
        before = _peak()
        found = fares(folder, line.strip())
        found |= {"mib": _peak() - before, "seconds": time.process_time() - began}
        sys.stdout.write(orjson.dumps(found).decode() + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
