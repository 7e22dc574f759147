"""The nightly flow: one run, whose logical time is the scheduled start."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from prefect import flow, get_run_logger
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.futures import PrefectFuture
from prefect.runtime import flow_run
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from flows.tasks import as_tasks
from judgebatch.pipeline import RunReport, run
from judgebatch.settings import load_settings

TASK_RUNNER = cast("TaskRunner[PrefectFuture[Any]]", ThreadPoolTaskRunner(max_workers=2))
"""Two stages at once; the cast is for a type that Prefect declares invariant."""


@flow(
    name="judgebatch-nightly",
    description="Read what is new, grade what is due, publish it.",
    task_runner=TASK_RUNNER,
    log_prints=False,
)
def nightly(
    settings: Path = Path("judgebatch.toml"),
    as_of: datetime | None = None,
    *,
    strict: bool = False,
) -> dict[str, object]:
    """Do one night.

    Parameters
    ----------
    settings
        The settings file.
    as_of
        The logical time, with zone; the flow run's scheduled start by default, so that a run
        that starts late, or is retried, stands for the same night.
    strict
        Fail, publishing nothing, if a row of the night's files is quarantined.
    """
    moment = as_of or scheduled_start()
    report = run(load_settings(settings), moment, strict=strict, mapper=as_tasks)
    logger = get_run_logger()
    for warning in report.warnings:
        logger.warning(warning)
    logger.info(report.message or f"published run {report.run}")
    if report.published:
        publish_artifacts(report)
    return {"run": report.run, "published": report.published, **report.summary}


def scheduled_start() -> datetime:
    """Return the flow run's scheduled start in whole seconds of UTC."""
    start = flow_run.get_scheduled_start_time()
    return start.astimezone(UTC).replace(microsecond=0)


def publish_artifacts(report: RunReport) -> None:
    """Leave a summary and a table of counts in the Prefect UI."""
    counts = report.summary
    rows = [
        {"what": what, "which": which, "episodes": count}
        for what in ("graded", "ungraded", "waiting")
        for which, count in counts[what].items()
    ]
    graded, ungraded = (sum(counts[what].values()) for what in ("graded", "ungraded"))
    create_markdown_artifact(
        key="judgebatch-nightly",
        markdown=f"## Run {report.run}\n\nAs of {report.as_of:%Y-%m-%d %H:%M:%S} UTC: "
        f"{graded:,} episodes graded, {ungraded:,} ungraded with a reason, "
        f"{sum(counts['waiting'].values()):,} waiting, "
        f"{sum(counts['quarantined'].values()):,} rows quarantined.\n"
        + "".join(f"\n- {warning}" for warning in report.warnings),
        description="What the night came to.",
    )
    create_table_artifact(
        key="judgebatch-nightly-counts", table=rows, description="Episodes by kind and reason."
    )


if __name__ == "__main__":
    nightly()
