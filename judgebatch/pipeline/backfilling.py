"""A backfill: many nights in a row, in one process, over inputs that are read once.

Each night is an ordinary run with its own as_of. The first reads all new files; rows whose time
has not come wait in the checkpoint, and a later night opens those that become visible in it.
Nights that were done before are skipped, so a backfill that was killed goes on where it stopped,
and finishes what is derived from the nights before.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from logging import WARNING

from judgebatch.errors import UsageError
from judgebatch.inputs.reading import inspect_file
from judgebatch.logs import say
from judgebatch.pipeline.deriving import publish_derived
from judgebatch.pipeline.mapping import Mapper, in_process
from judgebatch.pipeline.opening import NewFiles, Opened, open_run
from judgebatch.pipeline.run import commit_night
from judgebatch.settings import Settings
from judgebatch.vocabulary import RunKind
from judgebatch.warehouse import Manifest

MOST_WARNINGS = 20
"""Warnings that a report keeps: a thousand nights may all say the same."""


@dataclass(frozen=True)
class Pace:
    """How far a backfill is."""

    done: int
    """Nights that this backfill published."""
    total: int
    """Nights that it has to publish."""
    seconds: float
    """Since it began."""
    last: Manifest | None = None
    """The run published last."""

    @property
    def seconds_left(self) -> float | None:
        """An estimate; None before the second night, since the first reads the files."""
        if self.done < 2:
            return None
        return self.seconds / self.done * (self.total - self.done)


Paced = Callable[[Pace], None]


def unwatched(pace: Pace) -> None:
    """Show no progress."""


@dataclass(frozen=True)
class InputPlan:
    """What would be read of one input."""

    files: int
    rows: int
    size: int
    """In bytes."""


@dataclass(frozen=True)
class BackfillPlan:
    """What a backfill would do."""

    nights: tuple[datetime, ...]
    """To be published, in order."""
    skipped: int
    """Nights at or before the last as_of."""
    last_as_of: datetime | None
    reads: dict[str, InputPlan]
    """By input: files that no run has read."""
    waiting: dict[str, int]
    """Rows of files read before that were not yet visible."""
    first_run: int
    """The number that the first night would get."""


@dataclass(frozen=True)
class BackfillReport:
    """What a backfill came to."""

    nights: int
    """Published."""
    skipped: int
    """Done before."""
    runs: tuple[int, int] | None
    """The first and the last run published."""
    rows_read: dict[str, int] = field(default_factory=dict)
    graded: dict[str, int] = field(default_factory=dict)
    ungraded: dict[str, int] = field(default_factory=dict)
    quarantined: dict[str, int] = field(default_factory=dict)
    waiting: dict[str, int] = field(default_factory=dict)
    """After the last night."""
    not_yet_visible: dict[str, int] = field(default_factory=dict)
    """After the last night."""
    warnings: tuple[str, ...] = ()


def plan_backfill(settings: Settings, nights: Sequence[datetime]) -> BackfillPlan:
    """Say what a backfill would read and write; of input files only the footers are read.

    Raises
    ------
    InputError
        An input is not there, or a file is not readable Parquet.
    """
    opened = open_run(settings)
    last = opened.log.last_grading
    reads: dict[str, InputPlan] = {}
    for one in opened.inputs.new:
        before = reads.get(one.kind.value, InputPlan(0, 0, 0))
        rows = inspect_file(one.file, one.spec).rows
        reads[one.kind.value] = InputPlan(
            before.files + 1, before.rows + rows, before.size + one.file.size
        )
    todo = _todo(opened, nights)
    return BackfillPlan(
        nights=tuple(todo),
        skipped=len(nights) - len(todo),
        last_as_of=last.as_of if last else None,
        reads=reads,
        waiting=dict(last.summary["not_yet_visible"]) if last else {},
        first_run=opened.log.newest + 1,
    )


def backfill(
    settings: Settings,
    nights: Sequence[datetime],
    *,
    mapper: Mapper = in_process,
    paced: Paced = unwatched,
) -> BackfillReport:
    """Replay nights in order.

    Parameters
    ----------
    settings
        The effective settings: in force for all nights.
    nights
        As-of times, ascending. Those at or before the warehouse's last as_of are skipped.
    mapper
        Maps ingest over files and grading over shards; kept for all nights.
    paced
        Told before the first night and after each.

    Raises
    ------
    UsageError
        The nights do not ascend.
    InputError
        An input file as a whole cannot be read; nothing is published.
    WarehouseConflictError
        Somebody else writes the warehouse.
    """
    if any(later <= earlier for earlier, later in pairwise(nights)):
        raise UsageError("the nights of a backfill must follow one another in time.")
    began = time.monotonic()
    opened = open_run(settings)
    todo = _todo(opened, nights)
    totals = _Totals(len(nights) - len(todo), _about_before(opened, len(todo) < len(nights)))
    paced(Pace(0, len(todo), 0.0))
    if not todo:
        last = opened.log.last_grading
        # As a run of each of these nights would: the last is repeated, others are superseded.
        publish_derived(opened, last if last and last.as_of in nights else None, began)
        return totals.report()
    with opened.warehouse.held() as lock, ExitStack() as leaving:
        # Also where a later night fails: what was published is to be seen.
        leaving.callback(_publish, opened, totals, began)
        current = opened
        for as_of in todo:
            with ExitStack() as night:
                manifest, told = commit_night(
                    current, as_of, RunKind.BACKFILL, night, lock, mapper=mapper
                )
            current = _after(current, manifest)
            if totals.last is None:
                opened.hints.save(opened.files, opened.inputs.digests, current.log)
            totals.add(manifest, told)
            paced(Pace(totals.nights, len(todo), time.monotonic() - began, manifest))
    return totals.report()


def _publish(opened: Opened, totals: "_Totals", began: float) -> None:
    if totals.last is not None or len(opened.log):
        publish_derived(opened, totals.last, began)


def _todo(opened: Opened, nights: Sequence[datetime]) -> list[datetime]:
    last = opened.log.last_as_of
    return [night for night in nights if last is None or night > last]


def _after(opened: Opened, manifest: Manifest) -> Opened:
    """Return what the next night starts from: there are no new files."""
    nothing_new = NewFiles([], [], opened.inputs.digests)
    return replace(opened, log=opened.log.extended(manifest), inputs=nothing_new)


def _about_before(opened: Opened, skipped: bool) -> list[str]:  # noqa: FBT001 - private
    """Return warnings about going on after earlier runs."""
    last = opened.log.last_grading
    if last is None:
        return []
    warnings = []
    if last.settings != opened.settings_hash:
        warnings.append(
            f"the settings are not those of run {last.number}; new values hold for epochs and "
            "waits that begin from now on."
        )
    if skipped and opened.inputs.new:
        warnings.append(
            f"{len(opened.inputs.new)} input files that no run has read are read now; rows of "
            f"theirs that belong to nights up to {last.as_of:%Y-%m-%dT%H:%M:%SZ} count as "
            "delivered late."
        )
    for warning in warnings:
        say("open", warning, WARNING)
    return warnings


class _Totals:
    """Counts over the nights of a backfill."""

    def __init__(self, skipped: int, warnings: list[str]) -> None:
        self.nights = 0
        self.last: Manifest | None = None
        self._first = 0
        self._skipped = skipped
        self._warnings = warnings
        self._unsaid = 0
        self._counts = {name: Counter[str]() for name in _SUMMED}

    def add(self, manifest: Manifest, warnings: Sequence[str]) -> None:
        self.nights += 1
        self.last = manifest
        self._first = self._first or manifest.number
        for name, counter in self._counts.items():
            counter.update(manifest.summary[name])
        for warning in warnings:
            if len(self._warnings) < MOST_WARNINGS:
                self._warnings.append(f"run {manifest.number}: {warning}")
            else:
                self._unsaid += 1

    def report(self) -> BackfillReport:
        last = self.last.summary if self.last else {}
        more = [f"{self._unsaid} more warnings are in the log."] if self._unsaid else []
        return BackfillReport(
            nights=self.nights,
            skipped=self._skipped,
            runs=(self._first, self.last.number) if self.last else None,
            **{name: dict(sorted(counter.items())) for name, counter in self._counts.items()},
            waiting=last.get("waiting", {}),
            not_yet_visible=last.get("not_yet_visible", {}),
            warnings=(*self._warnings, *more),
        )


_SUMMED = ("rows_read", "graded", "ungraded", "quarantined")
