"""An HTTP proxy in front of an object store's server that answers some requests with faults."""

import http.client
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

_ERROR = '<?xml version="1.0" encoding="UTF-8"?><Error><Code>{}</Code><Message>x</Message></Error>'
ANSWERS = {
    "slow_down": (503, "SlowDown"),
    "unavailable": (503, "ServiceUnavailable"),
    "too_many": (429, "TooManyRequests"),
    "internal": (500, "InternalError"),
    "conflict": (409, "ConditionalRequestConflict"),
    "precondition": (412, "PreconditionFailed"),
    "denied": (403, "AccessDenied"),
}
FAULTS = (
    *ANSWERS,
    "drop_before",  # the connection is closed, nothing took effect
    "drop_after",  # it took effect, the answer is lost
    "internal_after",  # it took effect, the answer is 500
    "cut",  # the answer ends half-way
    "slow",  # the answer trickles
    "hang",  # no answer for a second, then the connection is closed
    "late",  # the answer is 500 at once, and it takes effect half a second later
)


@dataclass
class Rule:
    """Do ``fault`` to the first ``times`` requests of the method whose path contains the text."""

    fault: str
    method: str = ""
    path: str = ""
    times: int = 1
    hits: int = 0


@dataclass
class Faults:
    """What the proxy does, and the requests that it has seen."""

    rules: list[Rule] = field(default_factory=list)
    seen: list[tuple[str, str, int]] = field(default_factory=list)
    """Method, path and bytes of the answer."""
    delay: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, fault: str, method: str = "", path: str = "", times: int = 1) -> Rule:
        assert fault in FAULTS
        rule = Rule(fault, method, path, times)
        self.rules.append(rule)
        return rule

    def clear(self) -> None:
        self.rules.clear()
        self.seen.clear()
        self.delay = 0.0

    def pick(self, method: str, path: str) -> str | None:
        with self._lock:
            for rule in self.rules:
                matches = rule.method in {"", method} and rule.path in path
                if matches and rule.hits < rule.times:
                    rule.hits += 1
                    return rule.fault
        return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    faults: Faults
    upstream: tuple[str, int]
    translate: Callable[[dict[str, str]], dict[str, str]]

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Say nothing."""

    def _relay(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else b""
        fault = self.faults.pick(self.command, unquote(self.path))
        if self.faults.delay:
            time.sleep(self.faults.delay)
        if fault in ANSWERS:
            status, code = ANSWERS[fault]
            self._answer(status, {}, _ERROR.format(code).encode())
        elif fault == "drop_before":
            self._drop()
        elif fault == "hang":
            time.sleep(1)
            self._drop()
        elif fault == "late":
            threading.Timer(0.5, self._forward_later, [body]).start()
            self._answer(500, {}, b"")
        else:
            self._pass_on(body, fault)

    def _pass_on(self, body: bytes, fault: str | None) -> None:
        try:
            status, headers, content = self._forward(body)
        except (OSError, http.client.HTTPException):
            self._drop()  # the server is too slow for us: as if the connection had broken
            return
        if fault == "drop_after":
            self._drop()
        elif fault == "internal_after":
            self._answer(500, {}, _ERROR.format("InternalError").encode())
        elif fault == "cut":
            self._answer(status, headers, content, stop=len(content) // 2)
        else:
            self._answer(status, headers, content, slow=fault == "slow")

    def _forward_later(self, body: bytes) -> None:
        with suppress(OSError, http.client.HTTPException):
            self._forward(body)

    def _forward(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection(*self.upstream, timeout=120)
        try:
            connection.request(self.command, self.path, body, self.translate(dict(self.headers)))
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        dropped = {"transfer-encoding", "connection", "date", "server"}
        kept = {k: v for k, v in response.getheaders() if k.lower() not in dropped}
        return response.status, kept, content

    def _answer(
        self,
        status: int,
        headers: dict[str, str],
        content: bytes,
        *,
        stop: int | None = None,
        slow: bool = False,
    ) -> None:
        self.faults.seen.append((self.command, unquote(self.path), len(content)))
        self.send_response(status)
        if "content-length" not in {name.lower() for name in headers}:
            headers = headers | {"Content-Length": str(len(content))}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if slow:
            for at in range(0, len(content), 64 << 10):
                self.wfile.write(content[at : at + (64 << 10)])
                time.sleep(0.01)
            return
        self.wfile.write(content[:stop])
        if stop is not None:
            self._drop()

    def _drop(self) -> None:
        self.close_connection = True
        self.connection.close()

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (OSError, ValueError):
            self.close_connection = True

    def finish(self) -> None:
        with suppress(OSError, ValueError):
            super().finish()

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _relay  # noqa: N815 - the base's names


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: broken connections are what this is for."""


@contextmanager
def proxy(
    upstream: tuple[str, int], translate: Callable[[dict[str, str]], dict[str, str]] = dict
) -> Iterator[tuple[str, Faults]]:
    """Run the proxy on a free port of the loopback; yield its address and its faults.

    Parameters
    ----------
    upstream
        Where requests are passed on to.
    translate
        Makes of a request's headers those that are passed on.
    """
    faults = Faults()
    passing = {"faults": faults, "upstream": upstream, "translate": staticmethod(translate)}
    handler = type("Handler", (_Handler,), passing)
    with _Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.05], daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", faults
        server.shutdown()
        thread.join()
