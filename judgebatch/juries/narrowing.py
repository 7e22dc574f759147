"""Finding in a batch what a part of somebody else's fails on."""

from collections.abc import Callable, Iterator
from typing import TypeVar

_T = TypeVar("_T")


def narrowed(
    ask: Callable[[int, int], _T], start: int, stop: int
) -> Iterator[tuple[int, int, _T | Exception]]:
    """Ask for the entries from ``start`` to ``stop``, halving wherever it raises.

    Yields spans in order, each with its answer; the span of a single entry that still raises
    comes with the exception. ``KeyboardInterrupt``, ``SystemExit`` and ``MemoryError`` are not
    caught: they say nothing of the entries.
    """
    if start == stop:
        return
    try:
        answer = ask(start, stop)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it raises is contained
        if stop - start == 1:
            yield start, stop, error
            return
    else:
        yield start, stop, answer
        return
    middle = (start + stop) // 2
    yield from narrowed(ask, start, middle)
    yield from narrowed(ask, middle, stop)
