"""How stages become Prefect tasks: coarse ones, whose inputs are paths and never frames."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from prefect import Task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State

from judgebatch.errors import JudgebatchError

T = TypeVar("T")
R = TypeVar("R")

RETRIES = 2
"""A stage only writes staging, so doing it again is safe."""


def is_worth_a_retry(task: Task[..., Any], run: Any, state: State[Any]) -> bool:
    """Return whether doing it again can help: an expected error says the same again."""
    del task, run
    error = state.result(raise_on_failure=False)
    return not isinstance(error, JudgebatchError)


def as_tasks(function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
    """Map a stage with the flow's task runner; a mapper for the pipeline."""
    stage: Task[[T], R] = Task(
        function,
        name=function.__name__.replace("_", "-"),
        retries=RETRIES,
        retry_delay_seconds=1,
        retry_condition_fn=is_worth_a_retry,
        cache_policy=NO_CACHE,
        persist_result=False,
    )
    futures = [stage.submit(one) for one in tasks]
    yield from (future.result() for future in futures)
