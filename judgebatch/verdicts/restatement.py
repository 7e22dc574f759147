"""What an older pipeline recorded beside what its verdicts say."""

import polars as pl

from judgebatch.vocabulary import Reading, RestatementCause

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


def instrument_sentence(readings: pl.DataFrame) -> str:
    """Return what a corpus recorded of the runs in which a jury errored or abstained.

    Parameters
    ----------
    readings
        One row per verdict, with ``recorded_passed`` and ``reading``; rows without a recorded flag
        do not count.
    """
    runs = readings.filter(pl.col("recorded_passed").is_not_null())
    silent = runs.filter(
        (pl.col("reading") == Reading.NOT_ASSESSED.value)
        | (pl.col("reading") == Reading.UNDECIDED.value)
    )
    broken, charged = silent.height, silent.filter(~pl.col("recorded_passed")).height
    had = f"{broken} of {runs.height} runs had a jury that errored or abstained"
    if broken == 0:
        return f"{had}."
    were = "was" if charged == 1 else "were"
    who = {broken: f"all {broken}", 0: "none"}.get(charged, str(charged))
    if charged == broken == 1:
        who = "it"
    return f"{had}; {who} {were} recorded as not passed."


def pass_rates(readings: pl.DataFrame) -> pl.DataFrame:
    """Return the recorded pass rate beside the restated one, each with its counts, in one row.

    Rates are null over nothing. Contradicted readings and missing ones are left out of the
    restated rate; so are verdicts that exclude their subject or were not assessed.
    """
    runs = readings.filter(pl.col("recorded_passed").is_not_null())
    passes = (pl.col("counted") == Reading.ACCEPTED.value).sum()
    non_passes = (
        (pl.col("counted") == Reading.REJECTED.value)
        | (pl.col("counted") == Reading.UNDECIDED.value)
    ).sum()
    recorded = pl.col("recorded_passed")
    counted = runs.with_columns(
        counted=pl.when(pl.col("reading_support") != "CONTRADICTED").then(pl.col("reading"))
    ).select(
        recorded_passes=recorded.sum().cast(pl.Int64),
        recorded_non_passes=(~recorded).sum().cast(pl.Int64),
        restated_passes=passes.cast(pl.Int64),
        restated_non_passes=non_passes.cast(pl.Int64),
    )
    return counted.with_columns(
        _rate("recorded_passes", "recorded_non_passes").alias("recorded_pass_rate"),
        _rate("restated_passes", "restated_non_passes").alias("restated_pass_rate"),
    )


def _rate(passes: str, non_passes: str) -> pl.Expr:
    total = pl.col(passes) + pl.col(non_passes)
    return pl.when(total > 0).then(pl.col(passes) / total)
