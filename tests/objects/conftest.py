"""A real S3 server on the loopback, and a proxy in front of it that can make faults."""

import json
import shutil
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from judgebatch.cli.main import run_command
from judgebatch.objects.bucket import Bucket
from judgebatch.objects.url import parse_url
from tests.objects.corpora import NIGHTS, night
from tests.objects.proxy import Faults, proxy
from tests.objects.servers import Server, serving

_NUMBERS = count(1)


@pytest.fixture(scope="session")
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """A server that ends with the tests: moto's, or the one that a test is parametrised with."""
    kind = getattr(request, "param", "moto")
    with serving(kind, tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture(scope="session")
def front(server: Server) -> Iterator[tuple[str, Faults]]:
    with proxy(server.address, server.translate) as started:
        yield started


@pytest.fixture
def faults(front: tuple[str, Faults]) -> Iterator[Faults]:
    """The faults of the proxy: none to begin with, and none left behind."""
    front[1].clear()
    yield front[1]
    front[1].clear()


@pytest.fixture
def buckets(
    server: Server,
    front: tuple[str, Faults],
    faults: Faults,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[], str]:
    """Return a function that makes a bucket and returns its URL; the environment leads there."""
    for name, value in server.environment(front[0]).items():
        monkeypatch.setenv(name, value)

    def make() -> str:
        name = f"bucket{next(_NUMBERS):03d}"
        server.make_bucket(name)
        return f"{server.scheme}://{name}"

    return make


@pytest.fixture
def bucket(buckets: Callable[[], str]) -> Bucket:
    """A prefix with names that need care, in a bucket of its own."""
    return Bucket(parse_url(f"{buckets()}/a b/ü+%20"))


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
