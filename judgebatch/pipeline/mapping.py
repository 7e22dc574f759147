"""How the stages that can be mapped are mapped: in this process, or by an executor handed in."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Protocol, TypeVar

from judgebatch.errors import JudgebatchError

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


@contextmanager
def in_processes(count: int) -> Iterator[Mapper]:
    """Give a mapper over ``count`` local processes; over this one where ``count`` is 1.

    The processes start with the first stage that has work for two of them, and stay until the
    end, however many stages and nights there are. If this process is killed, they end at once.
    """
    if count <= 1:
        yield in_process
        return

    def mapped(function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        waiting = list(tasks)
        if len(waiting) <= 1:
            yield from map(function, waiting)
            return
        try:
            yield from pool.map(function, waiting)
        except BrokenProcessPool as error:
            raise JudgebatchError(
                "a worker process was killed, perhaps for want of memory. Nothing was published: "
                "run again, with fewer --processes if it happens again."
            ) from error

    # A forked child would inherit Polars' and Arrow's threads' locks.
    context = get_context("forkserver")
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_end_with_parent)
    try:
        yield mapped
    finally:
        pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """Make this worker end as soon as the process is gone that started it.

    A worker that waits for its next task waits for ever: it holds the writing end of the queue
    itself. What one leaves undone is a run's staging, which nobody builds on. The fork server and
    the resource tracker end when the last worker has.
    """
    Thread(target=_await_parents_end, name="parent", daemon=True).start()


def _await_parents_end() -> None:
    parent = parent_process()
    if parent is not None:
        # Waits for the end of a pipe whose other end only the parent holds.
        parent.join()
        os._exit(1)
