"""A real Prefect server on the loopback interface, started once for all tests of the flows."""

import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.objects.conftest import (  # noqa: F401 - fixtures
    buckets,
    corpus,
    faults,
    front,
    local_corpus,
    local_runs,
    server,
)

# Before anything imports Prefect: neither the user's profile nor a home folder is needed.
HOME = Path(tempfile.mkdtemp(prefix="prefect-"))
os.environ["PREFECT_HOME"] = str(HOME)
os.environ["PREFECT_SERVER_ANALYTICS_ENABLED"] = "false"
os.environ["DO_NOT_TRACK"] = "1"

PATIENCE_SECONDS = 300
ROOT = Path(__file__).parents[2]


def prefect(*arguments: str) -> list[str]:
    """Return a command line of Prefect's."""
    return [sys.executable, "-m", "prefect", *arguments]


def stop(process: subprocess.Popen[bytes], sent: signal.Signals = signal.SIGTERM) -> None:
    """End a process and all that it started."""
    for name in (sent, signal.SIGKILL):
        try:
            os.killpg(process.pid, name)
            process.wait(20)
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue
        break
    process.wait(20)


def started(command: list[str], log: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a process in a group of its own, whose output goes to a file."""
    with log.open("wb") as sink:
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def is_up(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/health", timeout=5) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.fixture(scope="session", autouse=True)
def api() -> Iterator[str]:
    """Return the address of the API of a server that runs as long as the tests."""
    port = free_port()
    address = f"http://127.0.0.1:{port}/api"
    command = prefect("server", "start", "--host", "127.0.0.1", "--port", str(port), "--no-ui")
    log = HOME / "server.log"
    running = started(command, log, os.environ | {"PREFECT_SERVER_DATABASE_TIMEOUT": "60"})
    try:
        until = time.monotonic() + PATIENCE_SECONDS
        while not is_up(address):
            assert running.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.3)
        with warnings.catch_warnings():
            # What Prefect's own modules deprecate is no warning about ours.
            warnings.simplefilter("ignore")
            from prefect.settings import PREFECT_API_URL, temporary_settings  # noqa: PLC0415

            with temporary_settings({PREFECT_API_URL: address}):
                logging.getLogger("prefect").setLevel(logging.WARNING)
                yield address
    finally:
        stop(running, signal.SIGINT)
