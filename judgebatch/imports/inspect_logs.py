"""Inspect AI's logs, through its own reader: samples become episodes, scores verdicts or answers.

Errors stay errors: a sample that ended with one has the outcome ``error``, and each scorer that
therefore never answered leaves an instrument's error, not a failed judgment.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import orjson
import pyarrow as pa

from judgebatch.errors import InputError, SettingsError, UsageError, did_you_mean
from judgebatch.imports.output import Rows, Source
from judgebatch.imports.scores import (
    BROKEN,
    NO_ANSWER,
    Scored,
    broken_scorer,
    meaning,
    outcome_of,
)

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

T = TypeVar("T")

SUFFIXES = (".eval", ".json")
_BATCH = 256
_PRICED = ("input", "output", "cache_read", "cache_write")

EXTRA: Mapping[str, pa.DataType] = {
    "model": pa.string(),
    "solver": pa.string(),
    "eval_id": pa.string(),
    "sample_id": pa.string(),
    "sample_epoch": pa.int64(),
    "total_tokens": pa.int64(),
    "limit": pa.string(),
    "error": pa.string(),
    "cost_known": pa.bool_(),
}
"""What an episode carries beside the columns of the contract."""


@dataclass(frozen=True)
class Options:
    """How logs are read.

    Parameters
    ----------
    tenant
        Whose episodes they are.
    verifier
        The scorer whose answer is the episodes' verifier outcome.
    scales
        Scorers whose numbers lie on a scale from 0 upwards.
    pass_at
        From which number on a scorer's number counts as accepted.
    prices
        USD per million tokens, by model and by ``input``, ``output``, ``cache_read`` and
        ``cache_write``.
    """

    tenant: str = "inspect"
    verifier: str | None = None
    scales: Sequence[str] = ()
    pass_at: float | None = None
    prices: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def read_prices(path: Path) -> dict[str, dict[str, float]]:
    """Return the prices of a TOML file with a table per model.

    Raises
    ------
    SettingsError
        The file cannot be read, or holds something else than prices.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path} cannot be read as TOML: {error}.") from error
    for model, prices in tables.items():
        wrong = not isinstance(prices, dict) or any(
            key not in _PRICED or isinstance(price, bool) or not isinstance(price, int | float)
            for key, price in prices.items()
        )
        if wrong or not {"input", "output"} <= set(prices):
            raise SettingsError(
                f"{path}: a table per model with USD per million tokens is expected, such as "
                f'["{model}"] input = 1.25 output = 10.0, also cache_read and cache_write.'
            )
    return tables


def read_log(path: Path, options: Options, into: Source) -> None:
    """Read one log.

    Raises
    ------
    InputError
        It is no log of Inspect, or is damaged.
    UsageError
        Inspect is not installed.
    """
    header, samples = _told(path, lambda: _open(path))
    reader = _Reader(options, into)
    reader.begin(header)
    while (sample := _told(path, lambda: next(samples, None))) is not None:
        reader.sample(sample)
    reader.flush()


def _told(path: Path, read: Callable[[], T]) -> T:
    """Return what Inspect's reader gives, and what it raises as the error of this file."""
    try:
        return read()
    except (OSError, ValueError, LookupError, TypeError, EOFError) as error:
        first = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(
            f"{path} cannot be read as a log of Inspect: {first[0]}. Nothing of it was imported."
        ) from error


def _open(path: Path) -> "tuple[EvalLog, Iterator[EvalSample]]":
    try:
        # Inspect is an extra of its own, and slow to load.
        from inspect_ai.log import read_eval_log, read_eval_log_samples  # noqa: PLC0415
    except ImportError:
        raise UsageError(
            "reading logs of Inspect needs Inspect itself: pip install 'judgebatch[inspect]'."
        ) from None
    name = str(path.absolute())
    if path.suffix == ".json":
        log = read_eval_log(name)
        return log, iter(log.samples or [])
    header = read_eval_log(name, header_only=True)
    return header, read_eval_log_samples(name, all_samples_required=False)


class _Reader:
    """Turns the samples of one log into rows, some hundred at a time."""

    def __init__(self, options: Options, into: Source) -> None:
        self._options = options
        self._into = into
        self._rows: dict[str, Rows] = {"episodes": [], "verdicts": [], "answers": []}
        self._set_aside: Rows = []

    def begin(self, log: "EvalLog") -> None:
        self._log = log
        self._scorers = [one.name for one in log.eval.scorers or []]
        verifier = self._options.verifier
        if verifier is not None and self._scorers and verifier not in self._scorers:
            raise InputError(
                f"{Path(log.location).name} has no scorer "
                f"{verifier!r}{did_you_mean(verifier, self._scorers)}; it has "
                f"{', '.join(self._scorers)}. Correct --verifier, or import this log by itself."
            )
        solver = log.eval.solver
        self._solver = solver if isinstance(solver, str) else None
        self._finished = log.stats.completed_at or log.eval.created

    def sample(self, sample: "EvalSample") -> None:
        name = sample.uuid or f"{self._log.eval.eval_id}/{sample.id}/{sample.epoch}"
        if sample.invalidation is not None:
            self._aside(name, "the sample was invalidated in its log", sample)
            return
        at = _moment(sample.completed_at or self._finished)
        latency = _latency(sample)
        if at is None or latency is None:
            what = "when it ended" if at is None else "how long it took"
            self._aside(name, f"the log does not say {what}", sample)
            return
        task = f"{self._log.eval.task}/{sample.id}"
        self._rows["episodes"].append(self._episode(sample, name, task, at, latency))
        scores = dict(sample.scores or {})
        for scorer, score in scores.items():
            scored = Scored(scorer, score.value, score.reason, score.explanation)
            self._score(scored, name, task, at)
        if sample.error is not None:
            for scorer in self._scorers:
                if scorer not in scores:
                    text = f"not scored, the sample ended with an error: {sample.error.message}"
                    self._verdict(name, scorer, task, at, broken_scorer(scorer, text))
        if len(self._rows["episodes"]) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        for table, rows in self._rows.items():
            self._into.add(table, rows)
            rows.clear()
        self._into.add("quarantine", self._set_aside)
        self._set_aside.clear()

    def _episode(
        self, sample: "EvalSample", name: str, task: str, at: datetime, latency: float
    ) -> dict[str, Any]:
        calls, errors = _tools(sample)
        cost = self._cost(sample)
        return {
            "tenant_id": self._options.tenant,
            "episode_id": name,
            "task_id": task,
            "arrived_at": at,
            "verifier_outcome": self._outcome(sample),
            "cost_usd": cost or 0.0,
            "latency_ms": latency,
            "tool_calls": calls,
            "tool_errors": errors,
            "variant": self._log.eval.model,
            "model": self._log.eval.model,
            "solver": self._solver,
            "eval_id": self._log.eval.eval_id,
            "sample_id": str(sample.id),
            "sample_epoch": sample.epoch,
            "total_tokens": sum(usage.total_tokens for usage in sample.model_usage.values()),
            "limit": sample.limit.type if sample.limit else None,
            "error": sample.error.message if sample.error else None,
            "cost_known": cost is not None,
        }

    def _outcome(self, sample: "EvalSample") -> str:
        if sample.error is not None:
            return "error"
        if self._options.verifier is None:
            return "limit" if sample.limit else "completed"
        score = (sample.scores or {}).get(self._options.verifier)
        if score is None:
            return "unverified"
        if score.reason in BROKEN:
            return "error"
        return outcome_of(score.value) if score.value != "" else NO_ANSWER

    def _cost(self, sample: "EvalSample") -> float | None:
        """Return what a sample's models cost, or None where that is not known."""
        total = 0.0
        for model, usage in sorted(sample.model_usage.items()):
            prices = self._options.prices.get(model)
            if usage.total_cost is not None:
                total += usage.total_cost
            elif prices is not None:
                tokens = {
                    "input": usage.input_tokens,
                    "output": usage.output_tokens,
                    "cache_read": usage.input_tokens_cache_read or 0,
                    "cache_write": usage.input_tokens_cache_write or 0,
                }
                for kind in _PRICED:
                    total += tokens[kind] * prices.get(kind, 0.0) / 1_000_000
            else:
                return None
        return total

    def _score(self, scored: Scored, episode: str, task: str, at: datetime) -> None:
        for held in meaning(scored, self._options.scales, self._options.pass_at):
            if held.verdict is not None:
                self._verdict(episode, held.question, task, at, held.verdict)
            if held.answer is not None:
                self._rows["answers"].append(
                    {
                        "tenant_id": self._options.tenant,
                        "episode_id": episode,
                        "question": held.question,
                        "answered_at": at,
                        **held.answer,
                    }
                )
            if held.problem is not None:
                content = {"scorer": held.question, "value": scored.value}
                self._set_aside.append(
                    self._quarantined(f"{episode} {held.question}", held.problem, content)
                )

    def _verdict(self, episode: str, scorer: str, task: str, at: datetime, text: str) -> None:
        self._rows["verdicts"].append(
            {
                "tenant_id": self._options.tenant,
                "verdict_id": f"{episode}/{scorer}",
                "task_id": task,
                "episode_id": episode,
                "judged_at": at,
                "judge_id": scorer,
                "cost_usd": 0.0,
                "verdict": text,
            }
        )

    def _aside(self, name: str, message: str, sample: "EvalSample") -> None:
        content = {"id": sample.id, "epoch": sample.epoch, "uuid": sample.uuid}
        self._set_aside.append(self._quarantined(name, message, content))

    def _quarantined(self, place: str, message: str, content: object) -> dict[str, Any]:
        text = orjson.dumps(content, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
        source = Path(self._log.location).name
        return {"source": source, "place": place, "message": message, "content": text}


def _moment(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def _latency(sample: "EvalSample") -> float | None:
    if sample.total_time is not None:
        return sample.total_time * 1000
    begun, ended = _moment(sample.started_at), _moment(sample.completed_at)
    return (ended - begun).total_seconds() * 1000 if begun and ended else None


def _tools(sample: "EvalSample") -> tuple[int, int]:
    """Return how many tools were called, and how many of the calls failed."""
    calls = [event for event in sample.events if event.event == "tool"]
    if calls:
        return len(calls), sum(1 for call in calls if call.error is not None)
    # Logs may be written without their events; the messages say the same.
    told = [message for message in sample.messages if message.role == "tool"]
    return len(told), sum(1 for message in told if message.error is not None)
