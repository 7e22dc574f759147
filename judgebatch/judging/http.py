"""A judge behind HTTP: one question per request, with time-outs and bounded retries."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

import orjson
import polars as pl

from judgebatch.contracts.judgments import Judgments
from judgebatch.contracts.table import schema_of
from judgebatch.errors import SettingsError
from judgebatch.judging.protocol import MalformedAnswerError

_LARGEST_ANSWER = 4 << 20
_WORTH_A_RETRY = frozenset({408, 425, 429, 500, 502, 503, 504})
_JSON_COLUMNS = ("checks", "error_code_counts")


class HttpJudgeError(Exception):
    """A request that got no answer; contained to its pair."""


@dataclass
class HttpJudge:
    """Posts each pair as a JSON object and reads judgments from the answer.

    The request holds the pair's columns; ``verdict_id`` among them is the same in every try, so
    that a server can tell a repeated question. The answer is an object with ``judgments``, a list
    of objects with the columns of the ``judgments`` table (``checks`` and ``error_code_counts``
    as JSON values), or a single judgment.

    Parameters
    ----------
    name
        Who judges.
    url
        Where to post; http or https.
    timeout_seconds
        For connecting and for each read.
    retries
        How often a request is repeated after a time-out, a broken connection, or an answer that
        says to come later (408, 425, 429, 5xx). Other answers are final.
    wait_seconds
        Before the first repetition; doubled before each further one.
    token_variable
        Name of the environment variable whose value is sent as a bearer token.

    Raises
    ------
    SettingsError
        The URL, the numbers or the variable cannot be used.
    """

    name: str
    url: str
    cost_usd: float = 0.0
    may_exclude: str | None = None
    batch_size: int = 1
    timeout_seconds: float = 60.0
    retries: int = 2
    wait_seconds: float = 1.0
    token_variable: str | None = None
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)
    requests: int = 0

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise SettingsError(f"judge {self.name}: url {self.url!r} is not an http or https URL")
        if self.timeout_seconds <= 0 or self.retries < 0 or self.wait_seconds < 0:
            raise SettingsError(
                f"judge {self.name}: timeout_seconds must be positive, retries and wait_seconds"
                " not negative"
            )
        if self.token_variable is not None and self.token_variable not in os.environ:
            raise SettingsError(
                f"judge {self.name}: the environment variable {self.token_variable} is not set"
            )

    def judge(self, pairs: pl.DataFrame) -> pl.DataFrame:
        """Ask about each pair in turn."""
        rows = [row for pair in pairs.iter_rows(named=True) for row in self._ask(pair)]
        present = {"verdict_id", "status", *(name for row in rows for name in row)}
        schema = {name: kind for name, kind in schema_of(Judgments).items() if name in present}
        try:
            return pl.DataFrame(rows, schema=schema, strict=True)
        except (TypeError, pl.exceptions.PolarsError) as error:
            raise MalformedAnswerError(f"a value is of another type: {error}") from None

    def _ask(self, pair: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        answer = self._post(orjson.dumps(pair))
        judgments = answer.get("judgments", [answer]) if isinstance(answer, dict) else answer
        if not isinstance(judgments, list) or not all(isinstance(one, dict) for one in judgments):
            raise MalformedAnswerError("it holds no list of judgments")
        for judgment in judgments:
            row = {name: judgment[name] for name in schema_of(Judgments) if name in judgment}
            for name in _JSON_COLUMNS:
                if row.get(name) is not None:
                    row[name] = orjson.dumps(row[name]).decode()
            yield {**row, "verdict_id": pair["verdict_id"]}

    def _post(self, body: bytes) -> Any:
        said = ""
        for attempt in range(self.retries + 1):
            if attempt:
                self.sleep(self.wait_seconds * 2 ** (attempt - 1))
            self.requests += 1
            try:
                status, content = self._send(body)
            except (OSError, HTTPException) as error:
                said = f"{type(error).__name__}: {error}"
                continue
            if status == 200:
                return _parsed(content)
            said = f"the server answered {status}"
            if status not in _WORTH_A_RETRY:
                break
        raise HttpJudgeError(said)

    def _send(self, body: bytes) -> tuple[int, bytes]:
        parts = urlsplit(self.url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(str(parts.hostname), parts.port, timeout=self.timeout_seconds)
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.token_variable is not None:
            headers["Authorization"] = f"Bearer {os.environ[self.token_variable]}"
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            connection.request("POST", target, body=body, headers=headers)
            response: HTTPResponse = connection.getresponse()
            content = response.read(_LARGEST_ANSWER + 1)
        finally:
            connection.close()
        if len(content) > _LARGEST_ANSWER:
            raise MalformedAnswerError(f"it is larger than {_LARGEST_ANSWER} bytes")
        return response.status, content


def _parsed(content: bytes) -> Any:
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise MalformedAnswerError(f"it is not JSON: {error}") from None
