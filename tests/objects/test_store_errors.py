"""What a store that fails, or refuses, ends with: the same wherever it happens."""

import pickle
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from judgebatch.cli.main import run_command
from judgebatch.errors import JudgebatchError, StoreRefusedError, StoreUnreachableError
from judgebatch.objects.bucket import Bucket
from judgebatch.objects.faults import as_os_error
from judgebatch.objects.url import parse_url
from judgebatch.warehouse import opening
from tests.objects.corpora import NIGHTS, in_store, night
from tests.objects.proxy import Faults
from tests.objects.servers import SECRET
from tests.objects.test_object_faults import impatient  # noqa: F401 - give up soon

NIGHT = ("run", "--as-of", NIGHTS[1])
PLACES = {
    "the warehouse": ("GET", "warehouse.json", ("history",)),
    "whether there is one": ("HEAD", "warehouse.json", ("check",)),
    "the run log": ("GET", "/runs/", ("history",)),
    "listing the inputs": ("GET", "in/episodes", NIGHT),
    "checking an input": ("GET", "/in/episodes/late.parquet", ("check",)),
    "reading an input": ("GET", "/in/episodes/late.parquet", NIGHT),
    "the checkpoint": ("GET", "/state/", NIGHT),
    "beginning a run": ("PUT", "/.staging/", NIGHT),
    "writing a table": ("PUT", "/tables/", NIGHT),
    "a query": ("GET", "/tables/", ("sql", "SELECT count(*) FROM graded WHERE score > 0")),
    "a tenant's export": ("GET", "/tables/", ("export", "--tenant", "acme", "-o", "OUT")),
    "an export": ("GET", "/tables/", ("export", "--latest", "-o", "OUT")),
    "verify": ("GET", "/tables/", ("verify",)),
    "the settings": ("GET", "/settings/", ("verify",)),
    "a release": ("GET", "/tables/", ("release", "--where", "run = 1", "--reason", "x")),
    "gc": ("GET", "runs/", ("gc",)),
    "rebuild-state": ("GET", "/state/", ("rebuild-state",)),
    "writing the views": ("PUT", "/views/", NIGHT),
}
"""Where it can happen: the requests that fail, and a command that makes them. The last commits."""
SAMPLE = ("the warehouse", "listing the inputs", "reading an input", "writing a table", "a query")


@pytest.fixture
def graded(corpus: Path, tmp_path: Path, buckets: Callable[[], str], impatient: None) -> Path:  # noqa: F811
    """Settings in a store whose warehouse has one run, and one file that it has not read."""
    url = buckets()
    settings = in_store(corpus, tmp_path, url, inputs=True)
    assert night(settings, 1).published
    late = next(path for path in sorted((corpus / "episodes").glob("*.parquet")))
    Bucket(parse_url(f"{url}/in/episodes")).upload("late.parquet", late)
    return settings


def said(capfd: pytest.CaptureFixture[str]) -> str:
    return " ".join(capfd.readouterr().err.split())


@pytest.mark.parametrize("places", [SAMPLE, pytest.param(tuple(PLACES), marks=pytest.mark.soak)])
@pytest.mark.parametrize(("fault", "code"), [("unavailable", 1), ("denied", 2)])
def test_the_exit_code_is_the_same_wherever_it_happens(
    graded: Path,
    faults: Faults,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
    code: int,
    places: Sequence[str],
) -> None:
    out = str(graded.parent / "out")
    wrong = []
    parts = (
        ["status 503", "it is safe to run the same again"]
        if code == 1
        else ["refuses it (status 403", "credentials come from the environment (AWS_…)"]
    )
    for place in places:
        method, path, command = PLACES[place]
        # As on another machine: no copies from the command before.
        monkeypatch.setattr(opening, "_FOLDERS", {})
        arguments = [out if one == "OUT" else one for one in command]
        rule = faults.add(fault, method, path, times=10_000)
        ended = run_command([*arguments, "--settings", str(graded)])
        told = said(capfd)
        faults.clear()
        right = ended == code and rule.hits and all(part in told for part in parts)
        if not right or SECRET in told or Path(out).exists():
            wrong.append(f"{place}: {ended}, {rule.hits} requests, {told}")
    assert wrong == []
    assert run_command([*NIGHT, "--settings", str(graded)]) == 0
    assert run_command(["verify", "--settings", str(graded)]) == 0


def test_a_store_error_is_itself_on_the_other_side_of_a_process() -> None:
    error = StoreUnreachableError(5, "it failed", "s3://b/x").ending("cannot write", "So what.")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert (type(again), str(again)) == (type(error), str(error))
    assert str(error).startswith("cannot write: it failed. So what. It is the store")


CONNECT = "Error performing GET {} in 1ms - HTTP error: error sending request\n\nDebug source: {}"


@pytest.mark.parametrize(
    ("text", "kind", "told"),
    [
        (
            CONNECT.format("http://me:S3cr3t@h.example:99/b/x?X-Sig=S3cr3t", '"dns error"'),
            StoreUnreachableError,
            "at h.example:99 failed: no server of that name is known",
        ),
        (
            CONNECT.format("http://[::1]:99/b", "kind: ConnectionRefused"),
            StoreUnreachableError,
            "at [::1]:99 failed: the connection is refused",
        ),
        (
            CONNECT.format("https://h/b", "error: InvalidCertificate(Expired)"),
            StoreRefusedError,
            "at h failed: its certificate is not one that this machine trusts",
        ),
        (
            CONNECT.format("https://h/b", "kind: Timeout, source: TimedOut"),
            StoreUnreachableError,
            "it did not answer in time",
        ),
        (
            "Error performing PUT http://h:1/b - status code: 501 Not Implemented: <html>",
            StoreRefusedError,
            "status 501",
        ),
        (
            "Error performing PUT http://h:1/b - status code: 507 Insufficient Storage: ",
            StoreUnreachableError,
            "status 507",
        ),
        (
            "PUT http://h:1/b - status code: 400 x: <Code>AuthorizationHeaderMalformed</Code>",
            StoreRefusedError,
            "status 400, AuthorizationHeaderMalformed",
        ),
    ],
)
def test_what_the_client_says_is_told_apart(
    text: str, kind: type[JudgebatchError], told: str
) -> None:
    made = type("GenericError", (Exception,), {})
    error = as_os_error(made(text), parse_url("s3://b/x"))
    assert type(error) is kind
    assert told in str(error)
    assert "S3cr3t" not in str(error)


class _WebServer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        page = b"<!DOCTYPE HTML><html><p>Not found</p></html>"
        self.send_response(404)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(page)

    do_HEAD = do_GET  # noqa: N815 - the base's names

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Say nothing."""


@pytest.mark.parametrize("command", ["history", "check"])
def test_a_web_server_that_is_no_store_is_called_so(
    graded: Path,
    command: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _WebServer) as server:
        Thread(target=server.serve_forever, args=[0.05], daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        assert run_command([command, "--settings", str(graded)]) == 2
        server.shutdown()
    assert f"is no object store: 127.0.0.1:{server.server_port} gives status 404" in said(capfd)
