"""A run: open, ingest, grade, commit, publish."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from datetime import datetime
from functools import partial
from itertools import groupby
from logging import WARNING
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from judgebatch.contracts.judgments import WantedPairs
from judgebatch.contracts.promotions import PromotionPairs
from judgebatch.contracts.table import Table, empty
from judgebatch.errors import InputError
from judgebatch.grading.clock import Clock
from judgebatch.inputs import split_file
from judgebatch.judging import Counts
from judgebatch.logs import of_run, say
from judgebatch.pipeline.arrow_files import mapped
from judgebatch.pipeline.checkpoint import Checkpoint, check_files, shard_folder
from judgebatch.pipeline.deriving import publish_derived
from judgebatch.pipeline.grading_stage import SLICE_ROWS, grade_shards, weights
from judgebatch.pipeline.html_report import stage_report
from judgebatch.pipeline.ingest import Ingested, IngestTask, ingest, whole_file
from judgebatch.pipeline.judge import JudgeAtWork
from judgebatch.pipeline.mapping import Mapper, in_process
from judgebatch.pipeline.opening import Opened, as_consumed, empty_inputs, open_run
from judgebatch.pipeline.published import RUN_TABLES
from judgebatch.pipeline.releasing import stage_released
from judgebatch.pipeline.report import RunReport, conservation, summary
from judgebatch.pipeline.rereading import stage_set_aside, take_once
from judgebatch.pipeline.scratch import Scratch
from judgebatch.pipeline.shard import ShardGraded, ShardTask, promotion_of
from judgebatch.pipeline.shard_asking import promotion_pairs_in_shard, wanted_in_shard
from judgebatch.pipeline.spares import keep_spares
from judgebatch.pipeline.warnings import run_warnings
from judgebatch.settings import Settings
from judgebatch.vocabulary import RunKind
from judgebatch.warehouse import (
    Answer,
    Conservation,
    Manifest,
    RunFacts,
    Staging,
    decide_as_of,
)
from judgebatch.warehouse.locks import FileLock

T = TypeVar("T")

Progress = Callable[[str, int, int], None]
"""Told the stage, how many of its tasks are done, and how many there are."""


def silent(stage: str, done: int, total: int) -> None:
    """Show no progress."""


def run(
    settings: Settings,
    as_of: datetime,
    *,
    strict: bool = False,
    mapper: Mapper = in_process,
    progress: Progress = silent,
    kind: RunKind = RunKind.GRADING,
    slice_rows: int = SLICE_ROWS,
) -> RunReport:
    """Do one night.

    Parameters
    ----------
    settings
        The effective settings.
    as_of
        The logical time, with zone.
    strict
        Fail, with nothing published, if a row of this run's input files is quarantined.
    mapper
        Maps ingest over files and grading over shards.
    progress
        Told how far the stages are.
    kind
        ``grading`` or ``backfill``.
    slice_rows
        Shards with more rows are graded in slices of about so many: what a worker holds at once.

    Raises
    ------
    InputError
        An input file as a whole cannot be read; nothing is published.
    WarehouseConflictError
        Somebody else writes the warehouse, or the as_of was done under other settings.
    """
    started = time.monotonic()
    opened = open_run(settings)
    answer = decide_as_of(
        opened.log,
        as_of,
        opened.settings_hash,
        (as_consumed(one, opened.inputs.digests[one.name]) for one in opened.files),
    )
    if answer.answer != Answer.PROCEED:
        repeated = answer.run if answer.answer == Answer.REPEAT else None
        publish_derived(opened, repeated, started)
        number = answer.run.number if answer.run else None
        unread = len(opened.inputs.new) if answer.answer == Answer.SUPERSEDED else 0
        waiting = f"{unread} input files that no run has read wait for a later as-of."
        say("open", answer.message)
        if unread:
            say("open", waiting, WARNING)
        return RunReport(
            as_of,
            published=False,
            message=answer.message,
            run=number,
            warnings=(waiting,) if unread else (),
        )
    with ExitStack() as stack:
        manifest, warnings = commit_night(
            opened,
            as_of,
            kind,
            stack,
            strict=strict,
            mapper=mapper,
            progress=progress,
            slice_rows=slice_rows,
        )
        publish_derived(opened, manifest, started)
    return RunReport(
        as_of,
        published=True,
        run=manifest.number,
        summary=manifest.summary,
        warnings=warnings,
    )


def commit_night(
    opened: Opened,
    as_of: datetime,
    kind: RunKind,
    stack: ExitStack,
    held: FileLock | None = None,
    *,
    strict: bool = False,
    mapper: Mapper = in_process,
    progress: Progress = silent,
    slice_rows: int = SLICE_ROWS,
) -> tuple[Manifest, tuple[str, ...]]:
    """Read, grade and commit one night; return its manifest, and warnings.

    Parameters
    ----------
    opened
        What the night starts from.
    as_of, kind, strict, mapper, progress, slice_rows
        As for :func:`run`.
    stack
        Holds the warehouse until it is left, so that what is derived can be made first.
    held
        The warehouse's lock, where the caller holds it for several nights.
    """
    staging = stack.enter_context(opened.warehouse.begin(kind, as_of, opened.log, held))
    stack.enter_context(of_run(staging.number, staging.token))
    say("open", f"run {staging.number} begins, as of {as_of:%Y-%m-%dT%H:%M:%SZ}")
    check_files(opened.warehouse, staging.parent)
    clock = Clock(staging.number, as_of, opened.log.last_as_of)
    ingested = _ingest(opened, staging, mapper, progress)
    scratch = Scratch(staging.scratch / "ingest")
    checkpoints = _checkpoints(opened, staging, clock)
    taken_once = take_once(scratch, checkpoints, opened.inputs.changed)
    stage_set_aside(opened.warehouse, opened.log, scratch, opened.inputs.changed)
    released = stage_released(opened.warehouse, opened.log, scratch)
    tasks = _shard_tasks(opened, staging, checkpoints, clock)
    asked = _ask(opened, tasks, clock, mapper, progress)
    rows = weights(ingested, staging.parent, tasks)
    shards = grade_shards(tasks, rows, slice_rows, mapper, partial(progress, "grade"))
    say("grade", f"{len(shards)} of {len(tasks)} done")
    if strict:
        _refuse_quarantined(shards, ingested)
    warnings = run_warnings(
        opened.settings,
        empty_inputs(opened.settings, opened.files),
        opened.inputs.changed,
        shards,
        asked,
        clock,
    )
    counts = {**summary(shards, ingested, asked, warnings), "released": released}
    kept = conservation(shards, ingested, taken_once)
    manifest = _commit(opened, staging, shards, ingested, kept, counts, progress)
    for warning in warnings:
        say("commit", warning, WARNING)
    return manifest, warnings


def _followed(stage: str, results: Iterator[T], total: int, progress: Progress) -> Iterator[T]:
    progress(stage, 0, total)
    for done, result in enumerate(results, start=1):
        progress(stage, done, total)
        yield result
    say(stage, f"{total} of {total} done")


def _ingest(opened: Opened, staging: Staging, mapper: Mapper, progress: Progress) -> list[Ingested]:
    scratch = Scratch(staging.scratch / "ingest")
    tasks = [
        IngestTask(one.file, one.spec, span, place, scratch, opened.warehouse.n_shards)
        for place, one in enumerate(opened.inputs.new)
        for span in split_file(one.file, one.spec)
    ]
    parts = _followed("ingest", mapper(ingest, tasks), len(tasks), progress)
    by_file = groupby(zip(tasks, parts, strict=True), key=lambda pair: pair[0].place)
    ingested = [whole_file(part for _, part in pairs) for _, pairs in by_file]
    for one, read in zip(opened.inputs.new, ingested, strict=True):
        if read.digest != opened.inputs.digests[one.name]:
            raise InputError(
                f"{one.file.location} changed while it was read. Nothing was published; run "
                "again once its writer has finished."
            )
    return ingested


def _shard_tasks(
    opened: Opened, staging: Staging, checkpoints: list[Checkpoint], clock: Clock
) -> list[ShardTask]:
    """Return a task per shard, those with most new rows first: then no worker ends alone."""
    scratch = Scratch(staging.scratch / "ingest")
    shards = sorted(range(opened.warehouse.n_shards), key=lambda shard: -scratch.size(shard))
    return [
        ShardTask(
            shard=shard,
            clock=clock,
            settings=opened.settings,
            plan=opened.plan,
            judge_cost_nano_usd=opened.judge.cost_nano_usd if opened.judge else None,
            scratch=scratch,
            pieces=staging.pieces,
            checkpoint=checkpoints[shard],
            state_dir=staging.state_dir,
        )
        for shard in shards
    ]


def _checkpoints(opened: Opened, staging: Staging, clock: Clock) -> list[Checkpoint]:
    """Return what the run before left, by shard."""
    parent = staging.parent
    before = opened.warehouse.layout.run(parent.number) / "state" if parent else None
    return [
        Checkpoint(before / shard_folder(shard) if before else None, clock)
        for shard in range(opened.warehouse.n_shards)
    ]


def _ask(
    opened: Opened, tasks: list[ShardTask], clock: Clock, mapper: Mapper, progress: Progress
) -> Counts | None:
    """Ask the attached judge what grading wants, then what a promotion still needs."""
    if opened.judge is None:
        return None

    def found(
        stage: str, search: Callable[[ShardTask], Path | None], table: type[Table]
    ) -> pl.DataFrame:
        paths = _followed(stage, mapper(search, tasks), len(tasks), progress)
        return pl.concat([empty(table), *(mapped(path) for path in paths if path is not None)])

    promotion = promotion_of(opened.settings)
    with JudgeAtWork(opened.judge, opened.warehouse, tasks[0].scratch, clock) as judge:
        wanted = found("plan", wanted_in_shard, WantedPairs)
        progress("ask", 0, 1)
        judge.answer(wanted)
        progress("ask", 1, 1)
        if promotion is not None:
            pairs = found("plan promotions", promotion_pairs_in_shard, PromotionPairs)
            judge.answer_until_decided(
                pairs, promotion.test, partial(progress, "ask for promotions")
            )
        return judge.counts


def _refuse_quarantined(shards: list[ShardGraded], ingested: list[Ingested]) -> None:
    """Raise if a row of this run's files was quarantined."""
    own = {f"{file.kind}/{file.path}" for file in ingested}
    files = Counter[str]()
    reasons = Counter[str]()
    for shard in shards:
        for name, counts in shard.quarantined_by_file.items():
            if name in own:
                files[name] += sum(counts.values())
                reasons.update(counts)
    if files:
        name, count = max(files.items(), key=lambda item: (item[1], item[0]))
        why = ", ".join(f"{reason} {times}" for reason, times in sorted(reasons.items()))
        raise InputError(
            f"--strict: rows of this run's input files would be quarantined: {why}. The file with "
            f"most of them ({count}) is {name}. Nothing was published. Run without --strict to see "
            "each row with its message in audit/quarantine, or correct the files."
        )


def _commit(
    opened: Opened,
    staging: Staging,
    shards: list[ShardGraded],
    ingested: list[Ingested],
    kept: dict[str, Conservation],
    counts: dict[str, Any],
    progress: Progress,
) -> Manifest:
    progress("commit", 0, 1)
    staging.assemble(*RUN_TABLES)
    for shard in shards:
        for relative in shard.carried:
            staging.link_from_parent(relative)
    keep_spares(staging)
    text = opened.settings.effective_text()
    facts = RunFacts(
        settings=opened.warehouse.store_text(text, "toml"),
        texts={
            name: opened.warehouse.store_text(policy, "json")
            for name, policy in sorted(opened.plan.texts.items())
        },
        inputs=tuple(
            as_consumed(one, read.digest, read.rows)
            for one, read in zip(opened.inputs.new, ingested, strict=True)
        ),
        conservation=kept,
        summary=counts,
    )
    # Of a backfill's nights `judgebatch report` makes one when it is asked for.
    if opened.settings.writes_report and staging.kind == RunKind.GRADING:
        stage_report(staging, opened.warehouse, opened.log, facts, opened.settings)
    manifest = staging.commit(facts)
    progress("commit", 1, 1)
    say("commit", f"run {manifest.number} is published: {_counted(manifest.summary)}")
    return manifest


def _counted(counts: Mapping[str, Any]) -> str:
    parts = ("graded", "ungraded", "waiting", "quarantined")
    return ", ".join(f"{sum(counts[part].values())} {part}" for part in parts)
