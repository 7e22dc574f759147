"""The flow that re-scores stored judgments under a jury; unscheduled."""

from typing import Any

from prefect import flow, get_run_logger
from prefect.artifacts import create_table_artifact

from flows.parameters import Rescoring
from flows.tasks import as_task
from judgebatch.cli.rescore import summary
from judgebatch.pipeline.jury_files import load_jury
from judgebatch.pipeline.rescoring import rescore as rescore_inputs


def rescore_stored(task: Rescoring) -> dict[str, Any]:
    """Re-score and write; one stage."""
    jury = load_jury(task.jury)
    return summary(rescore_inputs(task.inputs, jury, task.out, task.columns))


@flow(
    name="judgebatch-rescore",
    description="Re-score stored judgments under a jury and say what changes.",
    log_prints=False,
)
def rescore(rescoring: Rescoring) -> dict[str, Any]:
    """Re-score stored judgments or verdicts.

    Parameters
    ----------
    rescoring
        What is read, under which jury, and where the results go.
    """
    report = as_task(rescore_stored)(rescoring)
    logger = get_run_logger()
    logger.info("%s verdicts re-scored, %s changed", report["verdicts"], report["changed"])
    for warning in report["warnings"]:
        logger.warning("%s", warning)
    create_table_artifact(
        key="judgebatch-rescore",
        table=report["matrix"],
        description="What was recorded, what it reads, what the jury says.",
    )
    return report
