"""Writing to the terminal: results on standard output, all else on standard error.

Colours follow the terminal and the variable ``NO_COLOR``. With ``--log-format json`` everything on
standard error is lines of JSON.
"""

import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import orjson
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from judgebatch.logs import LOGGER, JsonLines
from judgebatch.logs import say as log

_SECONDS_BETWEEN_LINES = 5.0
_STAGE = "command"
_ANY_WIDTH = 10_000
"""Wider than any terminal."""

Step = Callable[[int], None]
"""Tells a progress display that so many more units are done."""
Pace = Callable[[int, int, float | None], None]
"""Tells a display how many units are done, of how many, and the seconds left if they are known."""


class _JsonToStandardError(logging.Handler):
    """Writes lines of JSON to whatever standard error is now."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.setFormatter(JsonLines())

    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(self.format(record) + "\n")
        sys.stderr.flush()


@contextmanager
def json_lines() -> Iterator[None]:
    """Make everything on standard error lines of JSON."""
    handler = _JsonToStandardError()
    level = LOGGER.level
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)


def _is_json() -> bool:
    return any(isinstance(handler, _JsonToStandardError) for handler in LOGGER.handlers)


def out() -> Console:
    """Return the console of results."""
    return Console(highlight=False, markup=False, soft_wrap=True)


def err() -> Console:
    """Return the console of errors, warnings and progress."""
    return Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


def say(text: str, style: str = "") -> None:
    """Print a line of a result."""
    out().print(Text(text, style=style))


def note(text: str) -> None:
    """Print a line beside the result, such as a log line of long work."""
    if _is_json():
        log(_STAGE, text)
    else:
        err().print(Text(text))


def warn(text: str) -> None:
    """Print a warning: one paragraph."""
    if _is_json():
        log(_STAGE, text, logging.WARNING)
    else:
        err().print(Text.assemble(("warning: ", "yellow"), text))


def warn_again(text: str) -> None:
    """Print a warning that the library has logged: it stands in lines of JSON already."""
    if not _is_json():
        warn(text)


def fail(text: str) -> None:
    """Print an error: one paragraph."""
    if _is_json():
        log(_STAGE, text, logging.ERROR)
    else:
        err().print(Text.assemble(("error: ", "bold red"), text))


def say_json(document: Mapping[str, Any]) -> None:
    """Print a result for scripts: one JSON document on a line, so that files of them are NDJSON."""
    sys.stdout.write(orjson.dumps(document, option=orjson.OPT_UTC_Z).decode() + "\n")


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """Return a count with its noun, such as ``1 row`` and ``1,200 rows``."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def say_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    right: Sequence[str] = (),
    unbroken: bool = False,
) -> None:
    """Print a table; the columns named in ``right`` are numbers.

    An ``unbroken`` one has values to be copied: it is wider than the terminal rather than that
    one of them is broken in two.
    """
    if title:
        say(title, style="bold")
    table = Table()
    cells = [[f"{one:,}" if isinstance(one, int) else str(one) for one in row] for row in rows]
    for at, column in enumerate(columns):
        if column in right:
            # A number that is broken in two is another number, on a narrow terminal too.
            longest = max((len(row[at]) for row in cells), default=0)
            table.add_column(column, justify="right", min_width=longest, overflow="fold")
        else:
            table.add_column(column, overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))
    terminal = Console(highlight=False, markup=False)
    if unbroken:
        needed = terminal.measure(table, options=terminal.options.update(width=_ANY_WIDTH))
        terminal.width = max(terminal.width, needed.maximum)
    terminal.print(table)


@contextmanager
def progress(what: str, total: int | None, unit: str) -> Iterator[Step]:
    """Show the progress of long work: a bar on a terminal, plain lines elsewhere.

    Parameters
    ----------
    what
        The work, as a phrase such as ``reading episodes``.
    total
        How many units there are, where that is known.
    unit
        What a unit is called, in the plural.
    """
    if _is_json():
        yield _unseen  # the library logs its stages itself
        return
    console = err()
    if console.is_terminal:
        bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(unit, markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        with bar:
            task = bar.add_task(what, total=total)
            yield lambda count: bar.advance(task, count)
        return
    done = 0
    told = time.monotonic()

    def step(count: int) -> None:
        nonlocal done, told
        done += count
        if time.monotonic() - told > _SECONDS_BETWEEN_LINES:
            told = time.monotonic()
            note(f"{what}: {done:,} of {total:,} {unit}" if total else f"{what}: {done:,} {unit}")

    yield step


def _unseen(count: int) -> None:
    """Show nothing."""


@contextmanager
def paced(what: str, unit: str) -> Iterator[Pace]:
    """Show how far long work is and how long it will take: a bar on a terminal, lines elsewhere.

    Parameters
    ----------
    what
        The work.
    unit
        What a unit is called, in the plural.
    """
    console = err()
    if console.is_terminal and not _is_json():
        bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(unit, markup=False),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}", markup=False),
            console=console,
            transient=True,
        )
        with bar:
            task = bar.add_task(what, total=None, left="")
            yield lambda done, total, left: bar.update(
                task, completed=done, total=total, left=_left(left)
            )
        return
    told = time.monotonic()

    def tell(done: int, total: int, left: float | None) -> None:
        nonlocal told
        if time.monotonic() - told > _SECONDS_BETWEEN_LINES and done < total:
            told = time.monotonic()
            note(", ".join(filter(None, (f"{what}: {done:,} of {total:,} {unit}", _left(left)))))

    yield tell


def _left(seconds: float | None) -> str:
    """Return an estimate in words, no more exact than it is."""
    if seconds is None:
        return ""
    for size, singular in ((3600, "hour"), (60, "minute")):
        if seconds >= 1.5 * size:
            return f"about {counted(round(seconds / size), singular)} left"
    return f"about {counted(max(1, round(seconds)), 'second')} left"
