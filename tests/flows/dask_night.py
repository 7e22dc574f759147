"""A night on a cluster of two Dask workers, in a process of its own.

    python -m tests.flows.dask_night SETTINGS NUMBER FOLDER SLICE_ROWS [STAGE PLACE]

A cluster imports the main module in its workers, so this is one. A worker that begins the stage
takes a file ``die-…`` out of the folder, waits until all of them are taken, and is killed at the
place: a failpoint, or ``end``, when the work is done and nobody knows. With a file ``die`` every
worker is. What is handed to tasks, and what they give back, is noted in ``passed.json``.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

from prefect_dask.task_runners import DaskTaskRunner, PrefectDaskFuture

from flows import nightly
from flows.parameters import Night, Runner
from judgebatch.cli.options import read_as_of
from judgebatch.warehouse.failpoints import VARIABLE
from tests.objects.corpora import NIGHTS
from tests.pipeline.passing import Passed

PATIENCE_SECONDS = 120
MAPPED_BY = {
    "ingest": "judgebatch.pipeline.run",
    "grade_shard": "judgebatch.pipeline.grading_stage",
    "finish_shard": "judgebatch.pipeline.grading_stage",
    "cut_shard": "judgebatch.pipeline.grading_stage",
    "consider_slice": "judgebatch.pipeline.slice_grading",
    "admit_shard": "judgebatch.pipeline.slice_grading",
    "fit_slice": "judgebatch.pipeline.slice_grading",
    "conclude_slice": "judgebatch.pipeline.slice_grading",
}


def deadly(stage: Callable[[Any], Any], folder: Path, place: str) -> Callable[[Any], Any]:
    """Return a stage that kills its worker as often as there are files for it."""

    def is_to_die() -> bool:
        if (folder / "die").exists():
            return True
        for one in sorted(folder.glob("die-*")):
            try:
                one.unlink()
            except FileNotFoundError:
                continue
            return True
        return False

    @wraps(stage)
    def working(task: Any) -> Any:
        if not is_to_die():
            return stage(task)
        until = time.monotonic() + PATIENCE_SECONDS
        while list(folder.glob("die-*")):
            assert time.monotonic() < until, "the other worker does not come"
            time.sleep(0.01)
        if place != "end":
            os.environ[VARIABLE] = place
            stage(task)
            raise AssertionError(f"the stage does not come to {place}")
        stage(task)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    # A function that is found under its own name goes to the workers as that name, and there the
    # name stands for the stage itself: this one is to be sent whole.
    working.__module__ = __name__
    return working


def note(passed: Passed) -> None:
    """Note from now on what the task runner is given and gives back."""
    submit, result = DaskTaskRunner.submit, PrefectDaskFuture.result

    def submitted(runner: Any, task: Any, parameters: Any, *more: Any, **named: Any) -> Any:
        passed.weigh(task.name, parameters)
        return submit(runner, task, parameters, *more, **named)

    def given(future: Any, *more: Any, **named: Any) -> Any:
        back = result(future, *more, **named)
        passed.weigh("results", back)
        return back

    DaskTaskRunner.submit, PrefectDaskFuture.result = submitted, given


def main(
    settings: str, number: str, told: str, slice_rows: str, stage: str = "", place: str = ""
) -> None:
    folder = Path(told)
    if stage:
        module = import_module(MAPPED_BY[stage])
        setattr(module, stage, deadly(getattr(module, stage), folder, place))
    passed = Passed()
    note(passed)
    as_of = read_as_of(NIGHTS[int(number) - 1])
    night = Night(
        settings=Path(settings),
        as_of=as_of,
        runner=Runner.DASK,
        workers=2,
        slice_rows=int(slice_rows),
    )
    try:
        nightly.nightly(night)
    finally:
        notes = {"most_bytes": passed.most_bytes, "frames": passed.frames}
        (folder / "passed.json").write_text(json.dumps(notes))


if __name__ == "__main__":
    main(*sys.argv[1:])
