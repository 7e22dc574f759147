"""How the stages that can be mapped are mapped: in this process, or by an executor handed in."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Mapper(Protocol):
    """Calls a function for every task; results come in the order of the tasks.

    Function, tasks and results are picklable; what they pass are paths, never frames.
    """

    def __call__(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """Yield ``function(task)`` for every task, in order."""


def in_process(function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
    """Call one after the other, here."""
    return map(function, tasks)


def in_processes(count: int) -> Mapper:
    """Return a mapper over ``count`` local processes; in this one where ``count`` is 1."""
    if count <= 1:
        return in_process

    def mapped(function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        waiting = list(tasks)
        if len(waiting) <= 1:
            yield from map(function, waiting)
            return
        # A forked child would inherit Polars' and Arrow's threads' locks.
        with ProcessPoolExecutor(
            min(count, len(waiting)), mp_context=get_context("forkserver")
        ) as pool:
            yield from pool.map(function, waiting)

    return mapped
