"""A headless Chromium, driven over the pipe of its DevTools protocol."""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
    # Nothing resolves: a page that asks for anything gets an error, and the test sees the request.
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
PATIENCE = 120.0


def chromium() -> str | None:
    """Return the path of a Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """One tab; what it logged, threw and asked for is kept."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._write = to_browser
        self._read = from_browser
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method and return its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "Chromium does not answer"
            part = os.read(self._read, 1 << 20)
            assert part, "Chromium ended"
            self._rest += part
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message

    def open(self, file: Path) -> None:
        """Load a file and wait until it and all it asks for are there."""
        seen = len(self.events)
        self.send("Page.navigate", url=file.as_uri())
        while not any(one["method"] == "Page.loadEventFired" for one in self.events[seen:]):
            self._next()

    def screen(
        self, width: int, height: int, *, scheme: str = "light", phone: bool = False
    ) -> None:
        """Show the page on a screen of a size, in a colour scheme."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=phone,
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", features=features)

    def value(self, expression: str) -> Any:
        """Return what a JavaScript expression comes to."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def picture(self) -> bytes:
        """Return the whole page as PNG."""
        shot = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def printed(self) -> bytes:
        """Return the page as it is printed, PDF."""
        done = self.send("Page.printToPDF", printBackground=False)
        return base64.b64decode(done["data"])

    def requests(self) -> list[str]:
        """Return every address that was asked for."""
        return [
            one["params"]["request"]["url"]
            for one in self.events
            if one["method"] == "Network.requestWillBeSent"
        ]

    def complaints(self) -> list[dict[str, Any]]:
        """Return everything that was logged or thrown."""
        said = {"Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"}
        return [one for one in self.events if one["method"] in said]


def _pipe() -> tuple[int, int]:
    """Return a pipe above the file descriptors 3 and 4, which the browser has for the protocol."""
    ends = os.pipe()
    above = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return above[0], above[1]


@contextmanager
def browser(path: str) -> Iterator[Page]:
    """Start a Chromium of its own and stop it."""
    commands, to_browser = _pipe()
    from_browser, answers = _pipe()
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [path, *FLAGS, f"--user-data-dir={profile}"]
        silent = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
        process = os.posix_spawn(
            path,
            command,
            os.environ,
            file_actions=[
                silent,
                (os.POSIX_SPAWN_DUP2, 1, 2),
                (os.POSIX_SPAWN_DUP2, commands, 3),
                (os.POSIX_SPAWN_DUP2, answers, 4),
            ],
        )
        os.close(commands)
        os.close(answers)
        try:
            yield Page(to_browser, from_browser)
        finally:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            os.close(to_browser)
            os.close(from_browser)
