"""``judgebatch backfill``: many nights in a row."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer

from judgebatch.cli import console
from judgebatch.cli.options import SETTINGS_FILE, JsonOption, SettingsOption
from judgebatch.errors import UsageError
from judgebatch.pipeline.backfilling import (
    BackfillPlan,
    BackfillReport,
    Pace,
    plan_backfill,
)
from judgebatch.pipeline.backfilling import backfill as replay
from judgebatch.pipeline.mapping import in_processes
from judgebatch.pipeline.nights import nights_between
from judgebatch.settings import load_settings
from judgebatch.settings.values import positive_duration_us


def backfill(
    *,
    first: Annotated[
        str,
        typer.Option("--from", help="The first night's as-of: a time, or a day.", metavar="TIME"),
    ],
    last: Annotated[
        str,
        typer.Option("--to", help="The last night's as-of, or a time after it.", metavar="TIME"),
    ],
    every: Annotated[
        str, typer.Option("--every", help="The time between two nights.", metavar="DURATION")
    ] = "1d",
    timezone: Annotated[
        str,
        typer.Option(
            "--timezone",
            help="The zone of times that name none, and whose days --every counts.",
            metavar="ZONE",
        ),
    ] = "UTC",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be read and written, and stop.")
    ] = False,
    settings: SettingsOption = SETTINGS_FILE,
    processes: Annotated[
        int, typer.Option("--processes", "-p", min=1, help="Local processes to use.")
    ] = 1,
    as_json: JsonOption = False,
) -> None:
    """Replay many nights in order, as if each had run at its time.

    Inputs are read once; every night grades what had arrived by then. Nights up to the last run's
    as-of are skipped, so a backfill that was interrupted goes on where it stopped.

    For example:

        judgebatch backfill --from 2026-01-01T03:00Z --to 2026-03-31T03:00Z --dry-run

        judgebatch backfill --from 2026-01-01T03:00 --to 2026-03-31T03:00 --timezone Europe/Berlin
    """
    zone = read_zone(timezone)
    nights = nights_between(
        read_time("--from", first, zone), read_time("--to", last, zone), read_every(every), zone
    )
    effective = load_settings(settings)
    if dry_run:
        tell_plan(plan_backfill(effective, nights), as_json=as_json)
        return
    with console.paced("backfill", "nights") as step, in_processes(processes) as mapper:

        def paced(pace: Pace) -> None:
            step(pace.done, pace.total, pace.seconds_left)

        report = replay(effective, nights, mapper=mapper, paced=paced)
    tell(report, as_json=as_json)


def read_zone(name: str) -> tzinfo:
    """Return the zone that ``--timezone`` names.

    Raises
    ------
    UsageError
        There is no such zone.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            f"--timezone {name!r} is not a zone of the IANA database. Write it as in "
            "--timezone Europe/Berlin."
        ) from None


def read_time(option: str, text: str, zone: tzinfo) -> datetime:
    """Return the instant that an option names; a time without zone is one of ``zone``.

    Raises
    ------
    UsageError
        The text is not a moment of ISO 8601.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{option} {text!r} is not a time. Write it as in {option} 2026-03-02T03:00:00Z."
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise UsageError(f"{option} {text!r} lies outside the years 1 to 9999.") from None


def read_every(text: str) -> timedelta:
    """Return the time between two nights.

    Raises
    ------
    UsageError
        The text is not a duration above zero.
    """
    try:
        return timedelta(microseconds=positive_duration_us(text))
    except ValueError as error:
        raise UsageError(f"--every {text!r}: {error}.") from None


def tell_plan(plan: BackfillPlan, *, as_json: bool) -> None:
    """Print what a backfill would do."""
    if as_json:
        console.say_json({**asdict(plan), "nights": list(plan.nights)})
        return
    for line in plan_lines(plan):
        console.say(line)


def plan_lines(plan: BackfillPlan) -> Iterator[str]:
    """Yield what a backfill would do, in sentences."""
    if plan.skipped and plan.last_as_of:
        yield (
            f"{console.counted(plan.skipped, 'night')} up to {_shown(plan.last_as_of)}, the last "
            "run's as-of, would be skipped."
        )
    if not plan.nights:
        yield "Nothing to do."
        return
    for name, one in plan.reads.items():
        yield (
            f"Would read, once: {console.counted(one.files, 'file')} of {name} with "
            f"{console.counted(one.rows, 'row')}, {one.size / 1e6:,.1f} MB."
        )
    if not plan.reads:
        yield "Would read no input file: all have been read before."
    waiting = ", ".join(f"{count:,} {name}" for name, count in plan.waiting.items() if count)
    if waiting:
        yield f"Would open as they become visible: {waiting} read before."
    count = len(plan.nights)
    last = plan.first_run + count - 1
    runs = f"run {last}" if count == 1 else f"runs {plan.first_run} to {last}"
    yield (
        f"Would publish {console.counted(count, 'night')}, {_shown(plan.nights[0])} to "
        f"{_shown(plan.nights[-1])}, as {runs}."
    )


def _shown(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def tell(report: BackfillReport, *, as_json: bool) -> None:
    """Print what a backfill came to."""
    for warning in report.warnings:
        console.warn_again(warning)
    if as_json:
        console.say_json(asdict(report))
        return
    if report.runs is None:
        console.say(
            f"{console.counted(report.skipped, 'night')} up to the last run's as-of: nothing to do."
        )
        return
    first, last = report.runs
    runs = f"Run {first}" if first == last else f"Runs {first} to {last}"
    skipped = f", {report.skipped:,} were done before" if report.skipped else ""
    console.say_table(
        f"{runs}: {console.counted(report.nights, 'night')} published{skipped}",
        ["what", "rows"],
        list(report_lines(asdict(report))),
        right=["rows"],
    )


def report_lines(report: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield what a backfill came to, as (what, rows)."""
    for table, count in report["rows_read"].items():
        yield f"{table} read", count
    for part in ("graded", "ungraded", "quarantined"):
        for which, count in report[part].items():
            yield f"{part}: {which}", count
    for cause, count in report["waiting"].items():
        yield f"waiting for {cause}", count
    for table, count in report["not_yet_visible"].items():
        yield f"not yet visible: {table}", count
