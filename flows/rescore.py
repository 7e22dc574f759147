"""The flow that re-scores stored judgments under a jury; unscheduled."""

from pathlib import Path

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import NO_CACHE

from flows.tasks import RETRIES, is_worth_a_retry
from judgebatch.cli.rescore import summary
from judgebatch.pipeline.jury_files import load_jury
from judgebatch.pipeline.rescoring import rescore as rescore_inputs


@task(
    name="rescore",
    retries=RETRIES,
    retry_delay_seconds=1,
    retry_condition_fn=is_worth_a_retry,
    cache_policy=NO_CACHE,
    persist_result=False,
)
def rescore_task(
    inputs: list[Path], jury: Path, out: Path, columns: dict[str, str]
) -> dict[str, object]:
    """Re-score and write; one stage."""
    return summary(rescore_inputs(inputs, load_jury(jury), out, columns))


@flow(
    name="judgebatch-rescore",
    description="Re-score stored judgments under a jury and say what changes.",
)
def rescore(
    inputs: list[Path], jury: Path, out: Path, columns: dict[str, str] | None = None
) -> dict[str, object]:
    """Re-score stored judgments or verdicts.

    Parameters
    ----------
    inputs
        Parquet files, or folders of them.
    jury
        The jury, TOML or JSON.
    out
        A new folder.
    columns
        Names of the tables' columns to what the inputs call them.
    """
    report = rescore_task(inputs, jury, out, columns or {})
    logger = get_run_logger()
    logger.info("%s verdicts re-scored, %s changed", report["verdicts"], report["changed"])
    for warning in report["warnings"]:  # type: ignore[attr-defined]
        logger.warning(warning)
    create_table_artifact(
        key="judgebatch-rescore",
        table=report["matrix"],  # type: ignore[arg-type]
        description="What was recorded, what it reads, what the jury says.",
    )
    return report
