"""What a flow run leaves in the Prefect UI."""

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from prefect.artifacts import (
    create_link_artifact,
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)

from judgebatch.pipeline.night_summary import NightSummary
from judgebatch.pipeline.report import RunReport
from judgebatch.pipeline.run import Progress

_SECONDS_BETWEEN_UPDATES = 2.0
_MOST_TENANTS = 20
_MOST_ROWS = 1_000
_STAGES = {"ingest": "files read", "grade": "shards graded", "plan": "shards asked about"}


class ProgressBar:
    """One progress artifact, updated every few seconds."""

    def __init__(self, key: str, description: str) -> None:
        self._description = description
        self._told = time.monotonic()
        made = create_progress_artifact(0.0, key=key, description=description)
        self._id = made if isinstance(made, UUID) else UUID(str(made))

    def update(self, done: int, total: int, more: str = "") -> None:
        """Tell how much is done, where that is news."""
        now = time.monotonic()
        if done < total and now - self._told < _SECONDS_BETWEEN_UPDATES:
            return
        self._told = now
        update_progress_artifact(
            self._id,
            100.0 * done / total if total else 100.0,
            description=f"{self._description}: {done:,} of {total:,}{more}",
        )


@contextmanager
def stage_progress(key: str) -> Iterator[Progress]:
    """Give a progress callback that keeps one artifact for each long stage."""
    bars: dict[str, ProgressBar] = {}

    def progress(stage: str, done: int, total: int) -> None:
        if stage not in _STAGES or total == 0:
            return
        if stage not in bars:
            bars[stage] = ProgressBar(f"{key}-{stage}", _STAGES[stage].capitalize())
        bars[stage].update(done, total)

    yield progress


def publish_night(key: str, report: RunReport, summary: NightSummary) -> None:
    """Leave a summary, a table by tenant and outcome, and a link to the report."""
    create_markdown_artifact(
        key=key, markdown=markdown(report, summary), description="What the night came to."
    )
    create_table_artifact(
        key=f"{key}-counts",
        table=summary.by_tenant[:_MOST_ROWS],
        description="Episodes decided, by tenant and score kind or reason"
        + (
            f"; the first {_MOST_ROWS:,} rows of {len(summary.by_tenant):,}."
            if len(summary.by_tenant) > _MOST_ROWS
            else "."
        ),
    )
    if summary.report.exists():
        create_link_artifact(
            key=f"{key}-report",
            link=summary.report.as_uri(),
            link_text=f"Report of run {report.run}",
            description="On the machine that ran the flow.",
        )


def publish_nothing(key: str, report: RunReport) -> None:
    """Leave a note that there was nothing to do."""
    lines = [f"Nothing to do: {report.message}.", *_bullets("Warnings", report.warnings)]
    create_markdown_artifact(
        key=key, markdown="\n".join(lines), description="What the night came to."
    )


def markdown(report: RunReport, summary: NightSummary) -> str:
    """Return a night as Markdown."""
    counts = report.summary
    graded, ungraded, waiting, quarantined = (
        sum(counts[part].values()) for part in ("graded", "ungraded", "waiting", "quarantined")
    )
    told = (
        f"As of {report.as_of:%Y-%m-%d %H:%M:%S} UTC: **{graded:,}** episodes graded, "
        f"**{ungraded:,}** ungraded with a reason, {waiting:,} waiting, {quarantined:,} rows "
        "quarantined."
    )
    lines = [
        f"# Run {report.run}",
        "",
        told,
        "",
        *_counted("Graded", "score kind", counts["graded"]),
        *_counted("Ungraded", "reason", counts["ungraded"]),
        *_counted("Waiting", "for", counts["waiting"]),
        *_counted("Not yet visible", "rows", counts["not_yet_visible"]),
        *_counted("Quarantined", "reason", counts["quarantined"]),
    ]
    if summary.never_graded:
        named = [escaped(name) for name in summary.never_graded[:_MOST_TENANTS]]
        more = len(summary.never_graded) - len(named)
        lines += [
            "## Tenants with nothing graded",
            "",
            "Episodes were decided and none was graded: "
            + ", ".join(named)
            + (f" and {more:,} more" if more else "")
            + ". The report says for each what would change it.",
            "",
        ]
    if summary.restatement:
        lines += ["## What older pipelines recorded", "", summary.restatement, ""]
    lines += _bullets("Warnings", report.warnings)
    lines.append(
        f"Report: `{summary.report}`"
        if summary.report.exists()
        else f"Report: none was written; `judgebatch report --run {report.run}` makes one."
    )
    return "\n".join(lines)


def _counted(title: str, column: str, counts: Mapping[str, Any]) -> list[str]:
    rows = {which: count for which, count in counts.items() if count}
    if not rows:
        return []
    return [
        f"| {title}: {column} | count |",
        "|---|---:|",
        *(f"| {escaped(which)} | {count:,} |" for which, count in rows.items()),
        "",
    ]


def _bullets(title: str, lines: tuple[str, ...]) -> list[str]:
    return ["", f"## {title}", "", *(f"- {escaped(line)}" for line in lines), ""] if lines else []


def escaped(text: str) -> str:
    """Return a text that Markdown shows as it is: ids are any Unicode."""
    return re.sub(r"([\\`*_|<>\[\]])", r"\\\1", " ".join(text.split()))
