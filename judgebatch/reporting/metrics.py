"""The metrics of a run, as a Prometheus textfile. Tenants are never labels."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from judgebatch.vocabulary import QuarantineReason, ScoreKind, UngradedReason
from judgebatch.warehouse.durable import replace, sweep_abandoned, writing
from judgebatch.warehouse.failpoints import failpoint

JUDGE_OUTCOMES = ("answered", "raised", "short", "twice", "malformed", "unasked", "unseated")
"""What can come of asking a judge, as the summary of a run counts it."""


def metrics_text(
    *,
    run: int,
    as_of: datetime,
    graded: Mapping[str, int],
    ungraded: Mapping[str, int],
    quarantined: Mapping[str, int],
    waiting: Mapping[str, int],
    rows_read: Mapping[str, int],
    judge: Mapping[str, int],
    duration_seconds: float,
    succeeded_at: datetime,
) -> bytes:
    """Return the textfile of one successful run.

    Parameters
    ----------
    run, as_of
        The run's number and logical time.
    graded
        Episodes graded in the run by score kind.
    ungraded
        Episodes ungraded in the run by reason.
    quarantined
        Rows quarantined in the run by reason.
    waiting
        What waits after the run, by what waits: episodes, comparisons.
    rows_read
        Rows read by input table.
    judge
        What came of asking an attached judge; nothing without one.
    duration_seconds
        How long the run took, by the wall clock.
    succeeded_at
        When it ended, by the wall clock.

    Raises
    ------
    UnknownTokenError
        A kind or reason is not in its vocabulary.
    """
    registry = CollectorRegistry()

    def gauge(name: str, doc: str, value: float) -> None:
        Gauge(f"judgebatch_{name}", doc, registry=registry).set(value)

    def series(name: str, doc: str, label: str, values: Mapping[str, int]) -> None:
        family = Gauge(f"judgebatch_{name}", doc, [label], registry=registry)
        for key, value in sorted(values.items()):
            family.labels(key).set(value)

    gauge("last_run", "Number of the last successful run.", run)
    gauge("last_as_of_timestamp_seconds", "Its logical time.", as_of.timestamp())
    gauge("last_success_timestamp_seconds", "When it ended.", succeeded_at.timestamp())
    gauge("run_duration_seconds", "How long it took.", duration_seconds)
    series(
        "graded_episodes",
        "Episodes graded in the run.",
        "score_kind",
        {kind.value: 0 for kind in ScoreKind}
        | {ScoreKind.parse(kind).value: count for kind, count in graded.items()},
    )
    series(
        "ungraded_episodes",
        "Episodes that ended without a score in the run.",
        "reason",
        {reason.value: 0 for reason in UngradedReason}
        | {UngradedReason.parse(reason).value: count for reason, count in ungraded.items()},
    )
    series(
        "quarantined_rows",
        "Rows not accepted in the run.",
        "reason",
        {reason.value: 0 for reason in QuarantineReason}
        | {QuarantineReason.parse(reason).value: count for reason, count in quarantined.items()},
    )
    series("waiting_rows", "What waits after the run.", "input", waiting)
    series("read_rows", "Rows read in the run.", "input", rows_read)
    series(
        "judge_pairs",
        "Pairs that an attached judge was asked about in the run, by what came of it.",
        "outcome",
        {outcome: judge.get(outcome, 0) for outcome in JUDGE_OUTCOMES},
    )
    return generate_latest(registry)


def write_metrics(path: Path, text: bytes) -> None:
    """Write the textfile by rename, so that a scraper never sees half of it.

    Raises
    ------
    WarehouseWriteError
        There is no room or no permission.
    """
    with writing("metrics", path, "The run itself is committed; the next one writes them anew."):
        failpoint("metrics.write")
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep_abandoned(path.parent)
        replace(path, text)
        failpoint("metrics.rename")
