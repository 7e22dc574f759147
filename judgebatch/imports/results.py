"""Result files with stored verdicts: ``{"items": [{"itemId", "passed", "verdict": {...}}]}``.

An item of a run is an episode, and the same item of several runs is a task. The text of each
verdict stays as it is.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from judgebatch.errors import InputError, UsageError
from judgebatch.imports.output import Rows, Source
from judgebatch.imports.result_documents import Held, held

SUFFIXES = (".json", ".jsonl", ".ndjson")
EXTRA: Mapping[str, pa.DataType] = {
    "run_name": pa.string(),
    "cost_known": pa.bool_(),
    "latency_known": pa.bool_(),
}
"""What an episode carries beside the columns of the contract."""

_BATCH = 2000
_RUN = ("runId", "run_id", "experimentId", "experiment_id")
_TASK = ("taskId", "task_id")
_TIME = ("completedAt", "completed_at", "arrivedAt", "arrived_at", "timestamp", "createdAt")
_OUTCOME = ("verifierOutcome", "verifier_outcome")
_COST = ("costUsd", "cost_usd")
_LATENCY = ("latencyMs", "latency_ms", "durationMs", "duration_ms")
_CALLS = ("toolCalls", "tool_calls")
_ERRORS = ("toolErrors", "tool_errors")
_VARIANT = ("variant", "model")


@dataclass(frozen=True)
class Options:
    """How result files are read.

    Parameters
    ----------
    tenant
        Whose episodes they are.
    verifier_outcome
        The outcome of items that name none.
    at
        When items arrived that do not say so, nor their file.
    """

    tenant: str = "results"
    verifier_outcome: str = "unverified"
    at: datetime | None = None


def read_results(path: Path, options: Options, into: Source) -> None:
    """Read one file: a JSON document, or a document or item a line.

    Raises
    ------
    InputError
        The file cannot be read, or is no JSON.
    UsageError
        It has no times, and the options give none.
    """
    reader = _Reader(path, options, into)
    for place, text in _texts(path):
        reader.text(place, text)
    reader.flush()


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    try:
        if path.suffix == ".json":
            yield "", _document(path)
            return
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield f"line {number} ", line.decode(errors="replace").strip()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error


def _document(path: Path) -> str:
    content = path.read_bytes()
    try:
        orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise InputError(
            f"{path} is no JSON document: {error}. Files of lines are called .jsonl."
        ) from error
    return content.decode()


class _Reader:
    def __init__(self, path: Path, options: Options, into: Source) -> None:
        self._path = path
        self._options = options
        self._into = into
        self._episodes: Rows = []
        self._verdicts: Rows = []
        self._set_aside: Rows = []

    def text(self, place: str, text: str) -> None:
        """Take what a document or line holds."""
        try:
            content = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            self._aside(f"{place}".strip(), f"no JSON: {error}", text)
            return
        whole = content if isinstance(content, dict) else {}
        entries = whole.get("items")
        items = entries if isinstance(entries, list) else [whole]
        for found, item in zip(held(text), items, strict=True):
            where = f"{place}item {found.item + 1}"
            if not isinstance(item, dict):
                self._aside(where, "the item is not an object", orjson.dumps(item).decode())
            elif found.verdict_id is None or not found.verdict_id:
                self._aside(where, "the item has no itemId", orjson.dumps(item).decode())
            else:
                self._item(where, found, item, whole)
            if len(self._episodes) >= _BATCH:
                self.flush()

    def flush(self) -> None:
        self._into.add("episodes", self._episodes)
        self._into.add("verdicts", self._verdicts)
        self._into.add("quarantine", self._set_aside)
        for rows in (self._episodes, self._verdicts, self._set_aside):
            rows.clear()

    def _item(
        self, where: str, found: Held, item: Mapping[str, Any], whole: Mapping[str, Any]
    ) -> None:
        run = _text(_first(whole, _RUN)) or _text(_first(item, _RUN)) or self._path.stem
        episode = f"{run}/{found.verdict_id}"
        task = _text(_first(item, _TASK)) or f"{found.verdict_id}"
        at = _moment(_first(item, _TIME)) or _moment(_first(whole, _TIME)) or self._options.at
        if at is None:
            raise UsageError(
                f"{self._path} does not say when {where} ended. Give one time for all such items: "
                "--at 2026-03-02T03:00:00Z."
            )
        cost, latency = _amount(item, _COST), _amount(item, _LATENCY)
        self._episodes.append(
            {
                "tenant_id": self._options.tenant,
                "episode_id": episode,
                "task_id": task,
                "arrived_at": at,
                "verifier_outcome": _text(_first(item, _OUTCOME)) or self._options.verifier_outcome,
                "cost_usd": cost or 0.0,
                "latency_ms": latency or 0.0,
                "tool_calls": _count(item, _CALLS),
                "tool_errors": _count(item, _ERRORS),
                "variant": _text(_first(item, _VARIANT)) or _text(_first(whole, _VARIANT)),
                "run_name": run,
                "cost_known": cost is not None,
                "latency_known": latency is not None,
            }
        )
        if found.problem is not None or found.text is None:
            self._aside(where, found.problem or "the item has no verdict", found.text or "")
            return
        self._verdicts.append(
            {
                "tenant_id": self._options.tenant,
                "verdict_id": episode,
                "task_id": task,
                "episode_id": episode,
                "judged_at": at,
                "cost_usd": 0.0,
                "recorded_passed": found.recorded_passed,
                "verdict": found.text,
            }
        )

    def _aside(self, where: str, message: str, content: str) -> None:
        self._set_aside.append(
            {
                "source": self._path.name,
                "place": where,
                "message": message,
                "content": content,
            }
        )


def _first(held_in: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((held_in[name] for name in names if held_in.get(name) is not None), None)


def _text(value: Any) -> str | None:
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _moment(value: Any) -> datetime | None:
    """Return a time given as text in ISO 8601, or as seconds or milliseconds since 1970."""
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1000 if abs(value) >= 1e11 else value
            return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def _amount(item: Mapping[str, Any], names: tuple[str, ...]) -> float | None:
    value = _first(item, names)
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if known else None


def _count(item: Mapping[str, Any], names: tuple[str, ...]) -> int:
    value = _first(item, names)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
