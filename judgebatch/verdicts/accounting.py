"""Counting readings without charging a broken instrument to the subject."""

from typing import NamedTuple

import orjson
import polars as pl

from judgebatch.vocabulary import Reading, ReadingSupport

BY = ("tenant_id", "task_id", "judge_id", "day")
"""What is counted by."""


class Account(NamedTuple):
    """Additive counts of readings, and instrument failures by code."""

    accounting: pl.DataFrame
    codes: pl.DataFrame


def attestable() -> pl.Expr:
    """Return whether a reading counts.

    Two policies have names: ``contradicted_never_counted``, and ``undetermined_counted`` (as what
    it reads).
    """
    contradicted = pl.col("reading_support") == ReadingSupport.CONTRADICTED.value
    return pl.col("reading").is_not_null() & ~contradicted


def account(readings: pl.DataFrame) -> Account:
    """Count readings.

    Parameters
    ----------
    readings
        One row per verdict: ``tenant_id``, ``task_id``, ``judge_id`` (nullable), ``judged_at``,
        ``reading``, ``reading_support``, ``some_judge_errored`` and ``error_codes``.

    Returns
    -------
    Account
        ``accounting`` has one row per group with ``passes``, ``non_passes``, ``excluded``,
        ``instrument_failures`` and ``unattestable``. The instrument failures overlap with the
        others on purpose: they hold verdicts with a reading in which some judge errored.
        ``codes`` has one row per group and code. Both are sorted.
    """
    by = readings.with_columns(
        pl.col("judge_id").fill_null(""), day=pl.col("judged_at").dt.date(), counts=attestable()
    )

    def counted(*of: Reading) -> pl.Expr:
        read = pl.any_horizontal(pl.col("reading") == reading.value for reading in of)
        return (pl.col("counts") & read).sum().cast(pl.Int64)

    not_assessed = pl.col("reading") == Reading.NOT_ASSESSED.value
    failed = pl.col("counts") & (not_assessed | pl.col("some_judge_errored"))
    accounting = by.group_by(BY).agg(
        passes=counted(Reading.ACCEPTED),
        non_passes=counted(Reading.REJECTED, Reading.UNDECIDED),
        excluded=counted(Reading.NOT_APPLICABLE),
        instrument_failures=failed.sum().cast(pl.Int64),
        unattestable=(~pl.col("counts")).sum().cast(pl.Int64),
    )
    return Account(accounting.sort(BY), _codes(by.filter(pl.col("counts") & not_assessed)))


def _codes(failures: pl.DataFrame) -> pl.DataFrame:
    """Return verdicts per group and code; one without a code counts under the empty one."""
    named = failures.select(
        *BY,
        # Codes are keys of a flat JSON object of integers: its texts are exactly the keys.
        code=pl.col("error_codes").str.extract_all(r'"(?:[^"\\]|\\.)*"'),
    )
    coded = named.explode("code", empty_as_null=True)
    words = coded["code"].unique().drop_nulls()
    read = pl.Series([orjson.loads(word) for word in words.to_list()], dtype=pl.String)
    coded = coded.with_columns(pl.col("code").replace(words, read).fill_null(""))
    counted = coded.group_by(*BY, "code").agg(instrument_failures=pl.len().cast(pl.Int64))
    return counted.sort(*BY, "code")
