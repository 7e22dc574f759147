"""The nightly flow: one run, whose logical time is the scheduled start."""

from datetime import UTC, datetime

from prefect import flow, get_run_logger
from prefect.runtime import flow_run

from flows.artifacts import publish_night, publish_nothing, stage_progress
from flows.parameters import Night
from flows.tasks import task_mapper
from judgebatch.pipeline import run
from judgebatch.pipeline.night_summary import night_summary
from judgebatch.settings import load_settings
from judgebatch.warehouse import open_warehouse

KEY = "judgebatch-nightly"


@flow(
    name="judgebatch-nightly",
    description="Read what is new, grade what is due, publish it.",
    log_prints=False,
)
def nightly(night: Night = Night()) -> dict[str, object]:  # noqa: B008 - frozen
    """Do one night.

    Parameters
    ----------
    night
        Settings, logical time, and what does the work.
    """
    settings = load_settings(night.settings)
    with (
        task_mapper(night.runner, night.workers, night.scheduler) as mapper,
        stage_progress(KEY) as progress,
    ):
        report = run(
            settings,
            night.as_of or scheduled_start(),
            strict=night.strict,
            mapper=mapper,
            progress=progress,
            slice_rows=night.slice_rows,
        )
    logger = get_run_logger()
    for warning in report.warnings:
        logger.warning("%s", warning)
    logger.info("%s", report.message or f"published run {report.run}")
    if report.published and report.run is not None:
        warehouse = open_warehouse(settings.warehouse, settings.scratch)
        publish_night(KEY, report, night_summary(warehouse, report.run))
    else:
        publish_nothing(KEY, report)
    return {"run": report.run, "published": report.published, **report.summary}


def scheduled_start() -> datetime:
    """Return the flow run's scheduled start in whole seconds of UTC.

    It stays what it was when the run starts late or is retried.
    """
    return datetime.fromtimestamp(int(flow_run.get_scheduled_start_time().timestamp()), UTC)


if __name__ == "__main__":
    nightly()
