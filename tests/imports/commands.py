"""The command line called inside a test, and what it left."""

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from judgebatch.cli.main import run_command


class Done(NamedTuple):
    code: int
    out: str
    err: str


def judgebatch(*arguments: object) -> Done:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run_command([str(one) for one in arguments])
    return Done(code, out.getvalue(), err.getvalue())


def imported(tool: str, source: Path, out: Path, *options: object) -> Any:
    done = judgebatch("import", tool, source, "-o", out, "--json", *options)
    assert done.code == 0, done.err
    return json.loads(done.out)


def run_on(out: Path, *options: object) -> None:
    done = judgebatch("run", "--settings", out / "judgebatch.toml", *options)
    assert done.code == 0, done.err


def published(out: Path, table: str) -> pl.DataFrame:
    """Return a published table over all runs; no rows where no run has it."""
    files = sorted((out / "warehouse/runs").glob(f"*/tables/{table}/*.parquet"))
    return pl.concat([pl.read_parquet(one) for one in files]) if files else pl.DataFrame()
