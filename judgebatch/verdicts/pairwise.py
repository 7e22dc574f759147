"""What the verdict of a comparison says: the question was whether the left one is better."""

import polars as pl

from judgebatch.vocabulary import Outcome, Reading, ReadingSupport

TIE_LABEL = "tie"


def comparison_outcome() -> pl.Expr:
    """Return the outcome token of each row of ``interpretations``.

    Uses the columns ``reading``, ``reading_support`` and ``label``. A contradicted reading or none
    is unattestable and never used; an undetermined one is used.
    """
    reading = pl.col("reading")
    decided = reading.is_in([Reading.ACCEPTED.value, Reading.REJECTED.value])
    contradicted = pl.col("reading_support") == ReadingSupport.CONTRADICTED.value
    return (
        pl.when(reading.is_null() | contradicted)
        .then(pl.lit(Outcome.UNATTESTABLE.value))
        .when(decided & (pl.col("label") == TIE_LABEL))
        .then(pl.lit(Outcome.TIE.value))
        .when(reading == Reading.ACCEPTED.value)
        .then(pl.lit(Outcome.LEFT.value))
        .when(reading == Reading.REJECTED.value)
        .then(pl.lit(Outcome.RIGHT.value))
        .when(reading == Reading.UNDECIDED.value)
        .then(pl.lit(Outcome.UNDECIDED.value))
        .when(reading == Reading.NOT_APPLICABLE.value)
        .then(pl.lit(Outcome.NOT_APPLICABLE.value))
        .otherwise(pl.lit(Outcome.ERROR.value))
    )
