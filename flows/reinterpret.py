"""The flow that reads all stored verdicts again, after judgebatch learned to read them better."""

from prefect import flow, get_run_logger
from prefect.artifacts import create_markdown_artifact

from flows.nightly import scheduled_start
from flows.parameters import Reading
from flows.tasks import task_mapper
from judgebatch.pipeline.reinterpreting import reinterpret
from judgebatch.settings import load_settings
from judgebatch.warehouse import open_warehouse


@flow(
    name="judgebatch-reinterpret",
    description="Read all stored verdicts again, as new readings beside the old ones.",
    log_prints=False,
)
def reinterpret_all(reading: Reading = Reading()) -> dict[str, int]:  # noqa: B008 - frozen
    """Read the warehouse's verdicts with today's rules.

    Parameters
    ----------
    reading
        Settings, logical time, and what does the work.
    """
    found = load_settings(reading.settings)
    warehouse = open_warehouse(found.warehouse, found.scratch)
    with task_mapper(reading.runner, reading.workers, reading.scheduler) as mapper:
        report = reinterpret(warehouse, reading.as_of or scheduled_start(), mapper)
    said = (
        f"Run {report.run}: {report.verdicts:,} verdicts read as reading version "
        f"{report.reading_version}; {report.changed:,} read differently than before."
    )
    get_run_logger().info("%s", said)
    create_markdown_artifact(
        key="judgebatch-reinterpret", markdown=said, description="What reading again came to."
    )
    return report._asdict()


if __name__ == "__main__":
    reinterpret_all()
