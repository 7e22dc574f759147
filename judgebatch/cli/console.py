"""Writing to the terminal: results on standard output, all else on standard error.

Colours follow the terminal and the variable ``NO_COLOR``.
"""

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

_SECONDS_BETWEEN_LINES = 5.0

Step = Callable[[int], None]
"""Tells a progress display that so many more units are done."""


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
    err().print(Text(text))


def warn(text: str) -> None:
    """Print a warning: one paragraph."""
    err().print(Text.assemble(("warning: ", "yellow"), text))


def fail(text: str) -> None:
    """Print an error: one paragraph."""
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
) -> None:
    """Print a table; the columns named in ``right`` are numbers."""
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
    Console(highlight=False, markup=False).print(table)


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
