"""The judges that ship, and finding them by name."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pytest

from judgebatch.errors import SettingsError
from judgebatch.judging import CallableJudge, HttpJudge, Journal, ReplayJudge, ask, make_judge
from judgebatch.judging import registry as judges
from tests.judging.made import AS_OF, REDUCER, pairs, passes

Answer = Callable[[dict[str, Any]], tuple[int, bytes]]


class Server:
    """A local server that answers as it is told and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.answers: list[Answer] = []
        self.released = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.asked.append(orjson.loads(body))
                outer.headers.append(dict(self.headers))
                answer = outer.answers.pop(0) if len(outer.answers) > 1 else outer.answers[0]
                status, content = answer(outer.asked[-1])
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/judge?v=1"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self.released.set()
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.stop()


def said(document: Any, status: int = 200) -> Answer:
    return lambda _: (status, orjson.dumps(document))


PASS = said({"status": "pass", "score": 0.75, "checks": [{"name": "c", "passed": True}]})


def asking(server: Server, tmp_path: Path, *lefts: str, **more: Any) -> Any:
    waited: list[float] = []
    judge = HttpJudge(
        "judge", server.url, sleep=waited.append, **{"cost_usd": 1.0, "timeout_seconds": 5, **more}
    )
    with Journal(tmp_path / "j") as journal:
        rows, counts = ask(judge, REDUCER, pairs(*lefts), journal, judged_at=AS_OF)
    return rows, counts, judge, waited


def individual(rows: pl.DataFrame, row: int = 0) -> dict[str, Any]:
    (one,) = orjson.loads(rows["verdict"][row])["individual"]
    return one


def test_each_pair_is_posted_and_its_judgment_read(server: Server, tmp_path: Path):
    server.answers = [PASS]
    rows, counts, judge, _ = asking(server, tmp_path, "a", "b")
    assert [asked["episode_id"] for asked in server.asked] == ["a", "b"]
    assert server.asked[0]["verdict_id"] == rows["verdict_id"][0]
    assert individual(rows)["score"] == 0.75
    assert individual(rows)["checks"] == [{"name": "c", "passed": True, "message": ""}]
    assert (counts.answered, judge.requests) == (2, 2)


def test_a_panel_may_answer(server: Server, tmp_path: Path):
    panel = [{"name": "judge", "position": 1, "status": "fail"}]
    server.answers = [said({"judgments": panel})]
    rows, *_ = asking(server, tmp_path, "a")
    assert individual(rows)["status"] == "fail"


def test_a_server_that_is_busy_is_asked_again_a_bounded_number_of_times(
    server: Server, tmp_path: Path
):
    server.answers = [said({}, 503), said({}, 429), PASS]
    rows, counts, judge, waited = asking(server, tmp_path, "a", wait_seconds=0.5)
    assert individual(rows)["status"] == "pass"
    assert (judge.requests, waited, counts.calls) == (3, [0.5, 1.0], 1)
    assert len({asked["verdict_id"] for asked in server.asked}) == 1
    server.answers = [said({}, 500)]
    rows, counts, judge, waited = asking(server, tmp_path, "b")
    assert (judge.requests, counts.raised) == (3, 1)
    assert "answered 500" in individual(rows)["reasoning"]
    assert rows["cost_nano_usd"].to_list() == [0]


def test_a_refusal_is_final(server: Server, tmp_path: Path):
    server.answers = [said({}, 403)]
    rows, counts, judge, waited = asking(server, tmp_path, "a")
    assert (judge.requests, waited, counts.raised) == (1, [], 1)
    assert "answered 403" in individual(rows)["reasoning"]


def test_a_server_that_does_not_answer_in_time_is_given_up(server: Server, tmp_path: Path):
    def hangs(_: dict[str, Any]) -> tuple[int, bytes]:
        server.released.wait(20)
        return 200, b"{}"

    server.answers = [hangs]
    rows, counts, judge, _ = asking(server, tmp_path, "a", timeout_seconds=0.2, retries=1)
    assert (judge.requests, counts.raised) == (2, 1)
    assert "timed out" in individual(rows)["reasoning"].lower()


def test_a_server_that_is_not_there_is_contained(server: Server, tmp_path: Path):
    server.stop()
    rows, counts, *_ = asking(server, tmp_path, "a", "b", retries=0)
    assert counts.raised == 2
    assert "Connection" in individual(rows)["reasoning"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html>",
        b"3",
        b'{"judgments": 3}',
        b'["pass"]',
        b'{"status": "great"}',
        b'{"status": "pass", "score": "high"}',
        b'{"status": "pass", "score": 7}',
        b'{"status": "pass", "checks": "good"}',
        b"{}",
        b'{"status": "pass", "reasoning": "' + b"x" * (5 << 20) + b'"}',
    ],
)
def test_an_answer_that_is_none_is_contained_and_remembered(
    server: Server, tmp_path: Path, content: bytes
):
    server.answers = [lambda _: (200, content)]
    rows, counts, *_ = asking(server, tmp_path, "a")
    assert individual(rows)["reasonCode"] == "judge_failed"
    assert counts.malformed == 1
    _, counts, judge, _ = asking(server, tmp_path, "a")
    assert (counts.journaled, judge.requests) == (1, 0)


def test_a_token_comes_from_the_environment(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    server.answers = [PASS]
    monkeypatch.setenv("A_JUDGES_TOKEN", "secret")
    asking(server, tmp_path, "a", token_variable="A_JUDGES_TOKEN")  # noqa: S106 - a variable's name
    assert server.headers[0]["Authorization"] == "Bearer secret"
    monkeypatch.delenv("A_JUDGES_TOKEN")
    with pytest.raises(SettingsError, match="A_JUDGES_TOKEN is not set"):
        HttpJudge("judge", server.url, token_variable="A_JUDGES_TOKEN")  # noqa: S106


@pytest.mark.parametrize(
    "options",
    [
        {"url": "ftp://x"},
        {"url": "file:///etc/hosts"},
        {"url": "http://"},
        {"url": "http://x", "timeout_seconds": 0},
        {"url": "http://x", "retries": -1},
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any]):
    with pytest.raises(SettingsError, match="judge http"):
        make_judge("http", options)


def answers(**more: Any) -> pl.DataFrame:
    given = {
        "tenant_id": "t",
        "task_id": "task",
        "episode_id": "a",
        "compared_episode_id": "reference",
        "name": "judge",
        "status": "fail",
    }
    return pl.DataFrame([{**given, **more}])


def test_replay_answers_what_was_answered_and_is_silent_about_the_rest(tmp_path: Path):
    answers().write_parquet(tmp_path / "answers.parquet")
    options = {"path": str(tmp_path / "answers.parquet"), "name": "old judge", "cost_usd": 0.0}
    judge = make_judge("replay", options)
    with Journal(tmp_path / "j") as journal:
        rows, counts = ask(judge, REDUCER, pairs("a", "b"), journal, judged_at=AS_OF)
    assert individual(rows)["status"] == "fail"
    assert individual(rows, 1)["reasoning"] == "the judge returned nothing"
    assert (counts.answered, counts.short) == (1, 1)
    assert rows["judge_id"].to_list() == ["old judge"] * 2


def test_replay_keeps_repeated_answers_apart(tmp_path: Path):
    given = pl.concat([answers(ordinal=0), answers(ordinal=1, status="pass")])
    judge = ReplayJudge("judge", given)
    with Journal(tmp_path / "j") as journal:
        for ordinal, status in ((0, "fail"), (1, "pass")):
            wanted = pairs("a", ordinal=ordinal)
            rows, _ = ask(judge, REDUCER, wanted, journal, judged_at=AS_OF)
            assert individual(rows)["status"] == status


def test_judges_are_made_by_name():
    judge = make_judge("callable", {"function": "tests.judging.made:passes", "cost_usd": 0.25})
    assert isinstance(judge, CallableJudge)
    assert (judge.name, judge.cost_usd, judge.function) == ("callable", 0.25, passes)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("htpp", {}, "did you mean 'http'"),
        ("http", {}, "lacks the option 'url'.*It knows name, url, cost_usd"),
        ("http", {"url": "http://x", "speed": 3}, "has no option 'speed'.*needs url"),
        ("http", {"url": "http://x", "sleep": 3}, "has no option 'sleep'"),
        ("replay", {"path": "nowhere.parquet"}, "cannot be read"),
        ("replay", {}, "lacks the option 'path'"),
        ("http", {"url": "http://x", "timeout_seconds": "long"}, "is a number, and 'long' is not"),
        ("http", {"url": "http://x", "retries": True}, "is a whole number, and True is not"),
        ("http", {"url": 3}, "url is text, and 3 is not"),
        ("callable", {}, "lacks the option 'function'"),
        ("callable", {"function": "f", "cost": 1}, r"did you mean 'cost_usd'\?"),
        ("callable", {"function": "passes"}, "package.module:function"),
        ("callable", {"function": "tests.judging.made:nothing"}, "nothing"),
        ("callable", {"function": "tests.judging.made:passes", "cost_usd": -1.0}, "not negative"),
        ("callable", {"function": "tests.judging.made:passes", "name": " "}, "needs a name"),
    ],
)
def test_judges_that_cannot_be_made_are_refused(name: str, options: dict[str, Any], said: str):
    with pytest.raises(SettingsError, match=said) as found:
        make_judge(name, options)
    assert "\n" not in str(found.value)
    assert "__init__" not in str(found.value)


class Point:
    def __init__(self, name: str, loaded: Any) -> None:
        self.name, self.value, self.loaded = name, f"package:{name}", loaded

    def load(self) -> Any:
        if isinstance(self.loaded, Exception):
            raise self.loaded
        return self.loaded


def test_judges_come_from_entry_points(monkeypatch: pytest.MonkeyPatch):
    def factory(options: Any) -> CallableJudge:
        return CallableJudge(options["name"], passes)

    points = [Point("house", factory), Point("odd", lambda _: object())]
    monkeypatch.setattr(judges, "entry_points", lambda **_: points)
    assert make_judge("house", {}).name == "house"
    with pytest.raises(SettingsError, match="judge odd lacks name"):
        make_judge("odd", {})
    points.append(Point("broken", ImportError("no such module")))
    with pytest.raises(SettingsError, match=r"broken .* cannot be loaded"):
        make_judge("house", {})
