"""What the library says while it works, as lines for machines.

Everything goes to the logger ``judgebatch`` of the standard library, so that an application, a
Prefect worker or the command line decides where the lines end up. Nobody listens by default.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, NamedTuple

import orjson

LOGGER = logging.getLogger("judgebatch")
LOGGER.addHandler(logging.NullHandler())


class RunId(NamedTuple):
    """Which run a line belongs to: its number, and which attempt at it."""

    run: int
    attempt: str


_current: ContextVar[RunId | None] = ContextVar("judgebatch_run", default=None)


@contextmanager
def of_run(number: int, attempt: str) -> Iterator[None]:
    """Mark all lines inside as belonging to a run in the making."""
    token = _current.set(RunId(number, attempt))
    try:
        yield
    finally:
        _current.reset(token)


def say(stage: str, message: str, level: int = logging.INFO) -> None:
    """Log one line of a stage."""
    LOGGER.log(level, message, extra={"stage": stage, "run_id": _current.get()})


class JsonLines(logging.Formatter):
    """A line of JSON for each record: time, level, run, attempt, stage and message.

    ``run`` and ``attempt`` are null outside a run; ``time`` is UTC.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        run_id: RunId | None = getattr(record, "run_id", None)
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).replace(tzinfo=None),
            "level": record.levelname.lower(),
            "run": run_id.run if run_id else None,
            "attempt": run_id.attempt if run_id else None,
            "stage": getattr(record, "stage", None),
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return orjson.dumps(line, option=orjson.OPT_NAIVE_UTC | orjson.OPT_UTC_Z).decode()
