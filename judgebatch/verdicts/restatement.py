"""What an older pipeline recorded beside what its verdicts say."""

import polars as pl

from judgebatch.vocabulary import Reading, ReadingSupport, RestatementCause

_NOT_PASSED_CAUSES = {
    Reading.NOT_ASSESSED: RestatementCause.INSTRUMENT_FAILURE_CHARGED,
    Reading.UNDECIDED: RestatementCause.ABSTENTION_CHARGED,
    Reading.NOT_APPLICABLE: RestatementCause.EXCLUSION_CHARGED,
    Reading.ACCEPTED: RestatementCause.PASS_UNDERSTATED,
}


def restatement_cause() -> pl.Expr:
    """Return why ``recorded_passed`` and ``reading`` disagree; null where they do not.

    Uses the columns ``recorded_passed``, ``reading`` and ``vacuous_pass``. A pass over an empty
    roster is vacuous whatever the verdict reads.
    """
    passed, reading = pl.col("recorded_passed"), pl.col("reading")
    cause = (
        pl.when(passed & pl.col("vacuous_pass"))
        .then(pl.lit(RestatementCause.EMPTY_ROSTER.value))
        .when(passed & (reading != Reading.ACCEPTED.value))
        .then(pl.lit(RestatementCause.PASS_OVERSTATED.value))
    )
    for read, name in _NOT_PASSED_CAUSES.items():
        cause = cause.when(~passed & (reading == read.value)).then(pl.lit(name.value))
    return cause.otherwise(None)


def restate(readings: pl.DataFrame) -> pl.DataFrame:
    """Return the readings that disagree with what was recorded, with their ``cause``.

    Parameters
    ----------
    readings
        One row per verdict, with ``recorded_passed`` (null where nothing was recorded),
        ``reading`` and ``vacuous_pass``.
    """
    return readings.with_columns(cause=restatement_cause()).filter(pl.col("cause").is_not_null())


COUNTED_BY = ("recorded_passed", "reading", "reading_support", "vacuous_pass")
"""What :func:`corpus_counts` counts by."""


def corpus_counts(readings: pl.DataFrame) -> pl.DataFrame:
    """Return how many verdicts with a recorded flag read what: additive, in the column ``count``.

    Parameters
    ----------
    readings
        One row per verdict, with ``recorded_passed``, ``reading``, ``reading_support`` and
        ``vacuous_pass``; or counts of several parts of a corpus.
    """
    weighted = readings if "count" in readings.columns else readings.with_columns(count=1)
    return (
        weighted.filter(pl.col("recorded_passed").is_not_null())
        .group_by(COUNTED_BY)
        .agg(pl.col("count").cast(pl.Int64).sum())
        .sort(COUNTED_BY)
    )


def instrument_sentence(counts: pl.DataFrame) -> str:
    """Return in one sentence what a corpus recorded of runs whose jury errored or abstained.

    Parameters
    ----------
    counts
        As of :func:`corpus_counts`.
    """
    silent = counts.filter(
        (pl.col("reading") == Reading.NOT_ASSESSED.value)
        | (pl.col("reading") == Reading.UNDECIDED.value)
    )
    runs, broken = _total(counts), _total(silent)
    charged = _total(silent.filter(~pl.col("recorded_passed")))
    had = f"{broken} of {runs} runs had a jury that errored or abstained"
    if broken == 0:
        return f"{had}."
    who = {broken: f"all {broken}", 0: "none"}.get(charged, str(charged))
    if charged == broken == 1:
        who = "it"
    were = "was" if charged == 1 else "were"
    return f"{had}; {who} {were} recorded as not passed."


def pass_rates(counts: pl.DataFrame) -> pl.DataFrame:
    """Return the recorded pass rate beside the restated one, each with its counts, in one row.

    Rates are null over nothing. The restated rate leaves out contradicted readings, missing ones,
    excluded subjects and what was not assessed.

    Parameters
    ----------
    counts
        As of :func:`corpus_counts`.
    """
    recorded, reading = pl.col("recorded_passed"), pl.col("reading")
    counted = pl.col("reading_support") != ReadingSupport.CONTRADICTED.value
    not_passed = (reading == Reading.REJECTED.value) | (reading == Reading.UNDECIDED.value)
    return counts.select(
        recorded_passes=_count_where(recorded),
        recorded_non_passes=_count_where(~recorded),
        restated_passes=_count_where(counted & (reading == Reading.ACCEPTED.value)),
        restated_non_passes=_count_where(counted & not_passed),
    ).with_columns(
        _rate("recorded_passes", "recorded_non_passes").alias("recorded_pass_rate"),
        _rate("restated_passes", "restated_non_passes").alias("restated_pass_rate"),
    )


def _total(counts: pl.DataFrame) -> int:
    return int(counts["count"].sum())


def _count_where(condition: pl.Expr) -> pl.Expr:
    return pl.col("count").filter(condition).sum()


def _rate(passes: str, non_passes: str) -> pl.Expr:
    total = pl.col(passes) + pl.col(non_passes)
    return pl.when(total > 0).then(pl.col(passes) / total)
