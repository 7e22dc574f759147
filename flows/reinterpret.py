"""The flow that reads all stored verdicts again, after judgebatch learned to read them better."""

from datetime import datetime
from pathlib import Path

from prefect import flow, get_run_logger
from prefect.artifacts import create_markdown_artifact

from flows.nightly import TASK_RUNNER, scheduled_start
from flows.tasks import as_tasks
from judgebatch.pipeline.reinterpreting import reinterpret
from judgebatch.settings import load_settings
from judgebatch.warehouse import open_warehouse


@flow(
    name="judgebatch-reinterpret",
    description="Read all stored verdicts again, as new readings beside the old ones.",
    task_runner=TASK_RUNNER,
    log_prints=False,
)
def reinterpret_all(
    settings: Path = Path("judgebatch.toml"), as_of: datetime | None = None
) -> dict[str, int]:
    """Read the warehouse's verdicts with today's rules.

    Parameters
    ----------
    settings
        The settings file.
    as_of
        The logical time, with zone; the flow run's scheduled start by default, so that a run that
        is retried makes no second reading.
    """
    found = load_settings(settings)
    warehouse = open_warehouse(found.warehouse, found.scratch)
    report = reinterpret(warehouse, as_of or scheduled_start(), as_tasks)
    said = (
        f"Run {report.run}: {report.verdicts:,} verdicts read as reading version "
        f"{report.reading_version}; {report.changed:,} read differently than before."
    )
    get_run_logger().info(said)
    create_markdown_artifact(
        key="judgebatch-reinterpret", markdown=said, description="What reading again came to."
    )
    return report._asdict()


if __name__ == "__main__":
    reinterpret_all()
