"""How stages become Prefect tasks: coarse ones, whose inputs are paths and never frames."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Any, TypeVar, cast

from prefect import Task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.futures import PrefectFuture
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from flows.parameters import Runner
from judgebatch.errors import JudgebatchError, UsageError
from judgebatch.pipeline.mapping import Mapper

T = TypeVar("T")
R = TypeVar("R")

RETRIES = 2
"""A stage only writes staging, so doing it again is safe."""
RETRY_DELAY_SECONDS = 1
_PATIENCE = {
    # A worker that died is started again. On a busy machine that takes longer than the seconds
    # after which Dask gives it up, and with the last one the work would wait for ever.
    "distributed.deploy.lost-worker-timeout": "10 minutes",
    "distributed.scheduler.no-workers-timeout": "15 minutes",
}

AnyRunner = TaskRunner[PrefectFuture[Any]]


def is_worth_a_retry(task: Task[..., Any], run: Any, state: State[Any]) -> bool:
    """Return whether doing it again can help: an expected error says the same again."""
    del task, run
    error = state.result(raise_on_failure=False)
    return not isinstance(error, JudgebatchError)


def as_task(function: Callable[[T], R]) -> Task[[T], R]:
    """Return a stage as a task."""
    return Task(
        function,
        name=function.__name__.replace("_", "-"),
        retries=RETRIES,
        retry_delay_seconds=RETRY_DELAY_SECONDS,
        retry_condition_fn=is_worth_a_retry,
        cache_policy=NO_CACHE,
        persist_result=False,
    )


@contextmanager
def task_mapper(runner: Runner, workers: int, scheduler: str | None = None) -> Iterator[Mapper]:
    """Give a mapper for the pipeline whose calls are tasks of the flow run.

    Parameters
    ----------
    runner
        What does the tasks.
    workers
        Threads, or processes of a Dask cluster that lives as long as the mapper.
    scheduler
        Address of a Dask cluster to be used instead.

    Raises
    ------
    UsageError
        Dask is asked for and not installed.
    """
    if runner == Runner.IN_PROCESS:
        yield _one_by_one
        return
    with _started(runner, workers, scheduler) as running:

        def mapped(function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
            stage = as_task(function)
            (parameter,) = signature(function).parameters
            futures = [running.submit(stage, {parameter: one}) for one in tasks]
            yield from (cast("R", future.result()) for future in futures)

        yield mapped


def _one_by_one(function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
    stage = as_task(function)
    for one in tasks:
        yield stage(one)


@contextmanager
def _started(runner: Runner, workers: int, scheduler: str | None) -> Iterator[AnyRunner]:
    if runner == Runner.THREADS:
        # The cast is for a type that Prefect declares invariant.
        with cast("AnyRunner", ThreadPoolTaskRunner(max_workers=workers)) as threads:
            yield threads
        return
    with _cluster(workers, scheduler) as dask:
        yield dask


@contextmanager
def _cluster(workers: int, scheduler: str | None) -> Iterator[AnyRunner]:
    """Start or join a Dask cluster; what becomes of a task without a living worker has a name."""
    try:
        import dask  # noqa: PLC0415 - an extra
        from distributed.client import FutureCancelledError  # noqa: PLC0415
        from distributed.scheduler import KilledWorker, NoWorkerError  # noqa: PLC0415
        from prefect_dask.task_runners import DaskTaskRunner  # noqa: PLC0415
    except ImportError as error:
        raise UsageError(
            "the task runner `dask` needs prefect-dask: pip install 'judgebatch[dask]', or choose "
            "`threads`."
        ) from error
    # Processes, each with one thread: stages hold the interpreter and use their own threads.
    cluster = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with (
        dask.config.set(_PATIENCE),
        DaskTaskRunner(address=scheduler, cluster_kwargs=None if scheduler else cluster) as runner,
    ):
        try:
            yield runner
        except KilledWorker as error:
            raise JudgebatchError(
                f"{error.allowed_failures + 1} workers of the Dask cluster died one after the "
                "other while they did the same task, perhaps for want of memory. Nothing was "
                "published: run again, with fewer workers or more memory for each."
            ) from error
        except NoWorkerError as error:
            raise JudgebatchError(
                f"the Dask cluster had no worker for {error.timeout:.0f} seconds: all have died, "
                "perhaps for want of memory. Nothing was published: run again, with fewer workers "
                "or more memory for each."
            ) from error
        except FutureCancelledError as error:
            raise JudgebatchError(
                f"the Dask cluster gave a task up ({error.reason}). Nothing was published: see "
                "that the scheduler runs, and run again."
            ) from error
