"""A real S3 server on the loopback, and a proxy in front of it that can make faults."""

import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from judgebatch.cli.main import run_command
from judgebatch.objects.bucket import Bucket
from judgebatch.objects.url import parse_url
from tests.objects.corpora import NIGHTS, night
from tests.objects.proxy import Faults, proxy

SECRET = "wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY"
_NUMBERS = count(1)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def server() -> Iterator[tuple[str, int]]:
    """Start the server; it keeps everything in memory and ends with the tests."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/moto-api/", timeout=5).close()
                break
            time.sleep(0.1)
        yield "127.0.0.1", port
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def front(server: tuple[str, int]) -> Iterator[tuple[str, Faults]]:
    with proxy(server) as started:
        yield started


@pytest.fixture
def faults(front: tuple[str, Faults]) -> Iterator[Faults]:
    """The faults of the proxy: none to begin with, and none left behind."""
    front[1].clear()
    yield front[1]
    front[1].clear()


@pytest.fixture
def s3(
    server: tuple[str, int],
    front: tuple[str, Faults],
    faults: Faults,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[], str]:
    """Return a function that makes a bucket and returns its URL; the environment leads there."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", front[0])

    def make() -> str:
        name = f"bucket-{next(_NUMBERS)}"
        address = f"http://{server[0]}:{server[1]}/{name}"
        urllib.request.urlopen(urllib.request.Request(address, method="PUT")).close()
        return f"s3://{name}"

    return make


@pytest.fixture
def bucket(s3: Callable[[], str]) -> Bucket:
    """A prefix with names that need care, in a bucket of its own."""
    return Bucket(parse_url(f"{s3()}/a b/ü+%20"))


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of three nights; not to be changed."""
    folder = tmp_path_factory.mktemp("objects") / "corpus"
    size = ["--episodes", "120", "--tenants", "4", "--nights", "3", "--seed", "5"]
    assert run_command(["synth", str(folder), *size]) == 0
    return folder


@pytest.fixture(scope="session")
def local_corpus(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, graded into a folder."""
    folder = tmp_path_factory.mktemp("local") / "corpus"
    shutil.copytree(corpus, folder)
    for number in range(1, len(NIGHTS) + 1):
        assert night(folder / "judgebatch.toml", number).published
    return folder


@pytest.fixture(scope="session")
def local_runs(local_corpus: Path) -> list[dict[str, Any]]:
    """The manifests of the runs in the folder."""
    paths = sorted((local_corpus / "warehouse").glob("runs/*/manifest.json"))
    return [json.loads(path.read_bytes()) for path in paths]
