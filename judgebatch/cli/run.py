"""``judgebatch run``: one night."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from judgebatch.cli import console
from judgebatch.cli.options import SETTINGS_FILE, AsOfOption, JsonOption, SettingsOption, read_as_of
from judgebatch.pipeline import Progress, RunReport
from judgebatch.pipeline import run as run_night
from judgebatch.pipeline.grading_stage import SLICE_ROWS
from judgebatch.pipeline.mapping import in_processes
from judgebatch.settings import load_settings

STAGES = {
    "ingest": "files",
    "plan": "shards",
    "ask": "judges",
    "plan promotions": "shards",
    "ask for promotions": "promotions",
    "grade": "shards",
    "commit": "steps",
}


def run(
    *,
    settings: SettingsOption = SETTINGS_FILE,
    as_of: AsOfOption = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Fail, publishing nothing, if any row is quarantined."),
    ] = False,
    processes: Annotated[
        int, typer.Option("--processes", "-p", min=1, help="Local processes to use.")
    ] = 1,
    slice_rows: Annotated[
        int,
        typer.Option(
            "--slice-rows",
            metavar="N",
            min=1,
            help="About how many rows of a shard a process grades at once, cut by tenant and task: "
            "fewer take less memory.",
        ),
    ] = SLICE_ROWS,
    as_json: JsonOption = False,
) -> None:
    """Do one night: read what is new, grade what is due, publish it.

    The same as-of again does nothing; an earlier one than the last is superseded. Results do not
    depend on the number of processes or on how shards are cut.

    For example:

        judgebatch run

        judgebatch run --as-of 2026-03-02T03:00:00Z --processes 2
    """
    moment = read_as_of(as_of)
    if moment > datetime.now(UTC) + timedelta(days=1):
        console.warn(
            f"--as-of {moment:%Y-%m-%dT%H:%M:%SZ} lies in the future. Once it is published, every "
            "earlier night is superseded."
        )
    with shown_progress() as progress, in_processes(processes) as mapper:
        report = run_night(
            load_settings(settings),
            moment,
            strict=strict,
            mapper=mapper,
            progress=progress,
            slice_rows=slice_rows,
        )
    tell(report, as_json=as_json)


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """Show each stage's progress in turn."""
    current: list[Any] = []

    def leave() -> None:
        if current:
            current.pop().__exit__(None, None, None)

    def progress(stage: str, done: int, total: int) -> None:
        if done == 0:
            leave()
            display = console.progress(stage, total, STAGES[stage])
            step = display.__enter__()
            current.append(display)
            steps.append(step)
        else:
            steps[-1](1)

    steps: list[console.Step] = []
    try:
        yield progress
    finally:
        leave()


def tell(report: RunReport, *, as_json: bool) -> None:
    """Print what a run came to."""
    for warning in report.warnings:
        console.warn_again(warning)
    if as_json:
        console.say_json(
            {
                "as_of": report.as_of,
                "published": report.published,
                "run": report.run,
                "message": report.message,
                **report.summary,
            }
        )
        return
    if not report.published:
        console.say(report.message)
        return
    console.say_table(
        f"Run {report.run}, as of {report.as_of:%Y-%m-%d %H:%M:%S} UTC",
        ["what", "rows"],
        list(_lines(report.summary)),
        right=["rows"],
    )


def _lines(summary: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    for table, count in summary["rows_read"].items():
        yield f"{table} read", count
    for table, count in summary["released"].items():
        yield f"{table} released from quarantine", count
    for kind, count in summary["graded"].items():
        yield f"graded: {kind}", count
    for reason, count in summary["ungraded"].items():
        yield f"ungraded: {reason}", count
    for what, count in (summary["judge"] or {}).items():
        yield f"judge: {what}", count
    for policy, outcomes in summary["policies"].items():
        for outcome, count in outcomes.items():
            yield f"policy {policy}: {outcome}", count
    for cause, count in summary["waiting"].items():
        yield f"waiting for {cause}", count
    for table, count in summary["not_yet_visible"].items():
        yield f"not yet visible: {table}", count
    for reason, count in summary["quarantined"].items():
        yield f"quarantined: {reason}", count
