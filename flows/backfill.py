"""The backfill flow: many nights in a row, in one process."""

from dataclasses import asdict
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from prefect import flow, get_run_logger
from prefect.artifacts import create_markdown_artifact

from flows.artifacts import ProgressBar
from flows.parameters import Nights
from judgebatch.cli.backfill import plan_lines, report_lines
from judgebatch.pipeline.backfilling import Pace, backfill, plan_backfill
from judgebatch.pipeline.mapping import in_processes
from judgebatch.pipeline.nights import nights_between
from judgebatch.settings import load_settings
from judgebatch.settings.values import positive_duration_us

KEY = "judgebatch-backfill"


@flow(
    name="judgebatch-backfill",
    description="Replay many nights in order, as if each had run at its time.",
    # A night is published or not: a backfill that is retried goes on with the next one.
    retries=1,
    retry_delay_seconds=10,
    log_prints=False,
)
def backfill_nights(nights: Nights) -> dict[str, Any]:
    """Replay nights.

    Parameters
    ----------
    nights
        Settings, which nights, and how many processes share the work.
    """
    every = timedelta(microseconds=positive_duration_us(nights.every))
    moments = nights_between(nights.first, nights.last, every, ZoneInfo(nights.timezone))
    settings = load_settings(nights.settings)
    if nights.dry_run:
        plan = plan_backfill(settings, moments)
        create_markdown_artifact(
            key=KEY, markdown="\n\n".join(plan_lines(plan)), description="What would be done."
        )
        return {"nights": len(plan.nights), "skipped": plan.skipped, "runs": None}
    bar = ProgressBar(f"{KEY}-progress", "Nights published")

    def paced(pace: Pace) -> None:
        left = pace.seconds_left
        estimate = f", about {timedelta(seconds=round(left))} left" if left else ""
        bar.update(pace.done, pace.total, estimate)

    with in_processes(nights.processes) as mapper:
        report = backfill(settings, moments, mapper=mapper, paced=paced)
    logger = get_run_logger()
    for warning in report.warnings:
        logger.warning("%s", warning)
    lines = [f"- {what}: {count:,}" for what, count in report_lines(asdict(report))]
    if report.runs is None:
        title = f"{report.skipped:,} nights were done before: nothing to do."
    else:
        title = f"Runs {report.runs[0]} to {report.runs[1]}: {report.nights:,} nights published."
    logger.info("%s", title)
    create_markdown_artifact(
        key=KEY,
        markdown="\n".join([title, "", *lines, *(f"- {one}" for one in report.warnings)]),
        description="What the backfill came to.",
    )
    return asdict(report)
