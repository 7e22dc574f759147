"""Derive what stands beside a committed run: views, hints about inputs, metrics."""

import time
from datetime import UTC, datetime
from pathlib import Path

from judgebatch.inputs import InputKind
from judgebatch.pipeline.opening import Opened
from judgebatch.reporting.metrics import metrics_text, write_metrics
from judgebatch.warehouse import Manifest
from judgebatch.warehouse.publishing import publish


def publish_derived(opened: Opened, manifest: Manifest | None, started: float) -> None:
    """Derive views and metrics from the log; what fails here is made good by the next run.

    Also for who finds nothing to do: the run before may have been killed after its commit.

    Parameters
    ----------
    opened
        What the run started from.
    manifest
        The newest run that grades. None leaves the metrics alone, which tell of a success.
    started
        When it began, by the monotonic clock.
    """
    publish(opened.warehouse)
    opened.hints.save(opened.files, opened.inputs.digests, opened.warehouse.runs())
    textfile = opened.settings.metrics_textfile
    if textfile is not None and manifest is not None:
        _write_metrics(textfile, manifest, time.monotonic() - started)


def _write_metrics(textfile: Path, manifest: Manifest, seconds: float) -> None:
    counts = manifest.summary
    write_metrics(
        textfile,
        metrics_text(
            run=manifest.number,
            as_of=manifest.as_of,
            graded=counts["graded"],
            ungraded=counts["ungraded"],
            quarantined=counts["quarantined"],
            waiting={
                "episodes": sum(counts["waiting"].values()),
                "comparisons": manifest.conservation["comparisons"].waiting_after,
                "answers": manifest.conservation["answers"].waiting_after,
            },
            rows_read={kind.value: 0 for kind in InputKind} | counts["rows_read"],
            judge=counts["judge"] or {},
            duration_seconds=seconds,
            succeeded_at=datetime.now(UTC),
        ),
    )
