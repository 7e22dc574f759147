"""A night whose tasks run in the workers of a Dask cluster publishes the same bytes."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from judgebatch.synthesis import synthesize
from tests.flows.conftest import ROOT

NIGHT = """
import sys
from datetime import UTC, datetime
from flows.nightly import nightly
from flows.parameters import Night

if __name__ == "__main__":
    night = Night(
        settings=sys.argv[1],
        as_of=datetime(2026, 3, 2, 3, tzinfo=UTC),
        runner=sys.argv[2],
        workers=2,
    )
    assert nightly(night)["published"]
"""


def published(corpus: Path) -> dict[str, bytes]:
    runs = corpus / "warehouse/runs"
    found = (path for path in sorted(runs.rglob("*")) if path.is_file())
    return {
        path.relative_to(runs).as_posix(): path.read_bytes()
        for path in found
        if path.name != "manifest.json"
    }


@pytest.mark.soak
def test_two_dask_workers_publish_the_same_bytes(tmp_path: Path) -> None:
    synthesize(tmp_path / "alone", episodes=300, tenants=4, nights=1, seed=3)
    shutil.copytree(tmp_path / "alone", tmp_path / "dask")
    script = tmp_path / "night.py"
    script.write_text(NIGHT)
    for corpus, runner in (("alone", "in-process"), ("dask", "dask")):
        # In a process of its own: a cluster starts processes from the main module.
        settings = tmp_path / corpus / "judgebatch.toml"
        done = subprocess.run(
            [sys.executable, str(script), str(settings), runner],
            env={
                "PATH": "/usr/bin:/bin",
                "PYTHONPATH": str(ROOT),
                "HOME": str(tmp_path),
                "PREFECT_HOME": str(tmp_path / "prefect"),
                "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
                "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
    assert published(tmp_path / "dask") == published(tmp_path / "alone")
    assert published(tmp_path / "alone")
