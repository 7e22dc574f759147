"""Which answers are considered, and how those to one question stand to each other.

An answer's time is fixed when a run first considers it: ``max(answered_at, previous as_of + 1
µs)`` where an earlier run already knew its tenant, else ``answered_at``. So late deliveries
decide nothing in the past.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

import polars as pl

from judgebatch.contracts.policies import AnswerRows, HeldAnswers
from judgebatch.contracts.rows import QuarantineRows
from judgebatch.contracts.table import conform, empty, schema_of
from judgebatch.vocabulary import QuarantineReason

TIME = pl.Datetime("us", "UTC")
KEY = ["tenant_id", "episode_id", "question"]
CONTENT = ["answer_type", "probability", "choice", "confidence", "score", "probabilities"]

Copy = pl.Enum(["first", "same", "other"])
"""How an answer stands to the first answer to its question."""


class Admission(NamedTuple):
    """What became of the answers' rows."""

    considered: pl.DataFrame
    """HeldAnswers with their ``considered_at``."""
    pending: pl.DataFrame
    """HeldAnswers answered after as_of."""
    quarantined: pl.DataFrame
    """Conforms to QuarantineRows: rows of unknown tenants."""


def admit_answers(
    rows: pl.DataFrame,
    held: pl.DataFrame,
    tenants: pl.DataFrame,
    *,
    previous_as_of: datetime | None,
    as_of: datetime,
) -> Admission:
    """Give visible answers of accepted tenants their time.

    Parameters
    ----------
    rows
        AnswerRows of this run's files.
    held
        HeldAnswers of the previous checkpoint.
    tenants
        tenant_id, ``accepting`` (whether its new rows are considered), ``known`` (whether an
        earlier run considered an episode of it) and unknown_episode_window_us.
    previous_as_of
        Of the last grading run; ``None`` in the first.
    as_of
        The run's logical time.
    """
    unconsidered = pl.concat(
        [rows.pipe(as_held), held.filter(pl.col("considered_at").is_null())], how="vertical"
    )
    visible = pl.col("answered_at") <= pl.lit(as_of, TIME)
    pending = unconsidered.filter(~visible)
    unconsidered = unconsidered.filter(visible)
    accepting = tenants.filter("accepting")
    strangers = unconsidered.join(accepting, on="tenant_id", how="anti")
    floor = previous_as_of + timedelta(microseconds=1) if previous_as_of else None
    considered = (
        unconsidered.drop("unknown_episode_window_us")
        .join(accepting.select("tenant_id", "known", "unknown_episode_window_us"), on="tenant_id")
        .with_columns(
            pl.when(pl.col("known") & pl.lit(floor, TIME).is_not_null())
            .then(pl.max_horizontal("answered_at", pl.lit(floor, TIME)))
            .otherwise("answered_at")
            .alias("considered_at")
        )
    )
    before = held.filter(pl.col("considered_at").is_not_null())
    return Admission(
        considered=pl.concat([before, conform(considered, HeldAnswers)]),
        pending=conform(pending, HeldAnswers),
        quarantined=quarantined_answers(
            strangers,
            QuarantineReason.UNKNOWN_TENANT,
            pl.format("tenant {} is not in the settings", "tenant_id"),
        ),
    )


def quarantined_answers(
    rows: pl.DataFrame, reason: QuarantineReason, message: pl.Expr
) -> pl.DataFrame:
    """Return answers as QuarantineRows; the content is the row as it was accepted, as JSON."""
    if rows.is_empty():
        return empty(QuarantineRows)
    content = [name for name in schema_of(AnswerRows) if not name.startswith("source_")]
    return conform(
        rows.select(
            pl.lit("answers").alias("input"),
            "tenant_id",
            pl.col("question").alias("id"),
            "source_file",
            "source_row",
            pl.lit(reason.value).alias("reason"),
            message.alias("message"),
            pl.struct(content).struct.json_encode().alias("content"),
        ),
        QuarantineRows,
    )


def as_held(rows: pl.DataFrame) -> pl.DataFrame:
    """Return AnswerRows that no run has considered as HeldAnswers."""
    missing = [
        pl.lit(None, dtype).alias(name)
        for name, dtype in schema_of(HeldAnswers).items()
        if name not in rows.columns
    ]
    return conform(rows.with_columns(missing), HeldAnswers)


def compare_answers(rows: pl.DataFrame) -> pl.DataFrame:
    """Return considered answers with ``copy``, in no particular order.

    ``first`` is the earliest answer to its question, of equally early ones the smallest in
    content; ``same`` says what the first says; ``other`` says something else.
    """
    repeated = pl.struct(KEY).is_duplicated()
    first = pl.lit("first", Copy)
    several = (
        rows.filter(repeated)
        .with_columns(exact=_text(signed=True), content=_text(signed=False))
        .sort(*KEY, "considered_at", "answered_at", "exact", "source_file", "source_row")
        .with_columns(
            pl.when(pl.struct(KEY).is_first_distinct())
            .then(first)
            .when(pl.col("content") == pl.col("content").first().over(KEY))
            .then(pl.lit("same", Copy))
            .otherwise(pl.lit("other", Copy))
            .alias("copy")
        )
        .drop("exact", "content")
    )
    return pl.concat([rows.filter(~repeated).with_columns(copy=first), several])


def _text(*, signed: bool) -> pl.Expr:
    """Return what an answer says as one text; unsigned, both zeros are one.

    A distribution is a mapping: the order of its levels says nothing.
    """

    def number(value: pl.Expr) -> pl.Expr:
        unsigned = pl.when(value == 0.0).then(0.0).otherwise(value)
        return (value if signed else unsigned).cast(pl.String).fill_null("null")

    level = pl.element().struct.field("level").cast(pl.String).fill_null("null")
    entry = pl.concat_str([level, pl.lit(":"), number(pl.element().struct.field("probability"))])
    levels = pl.col("probabilities").list.eval(entry).list.sort().list.join(",").fill_null("null")
    return pl.concat_str(
        [
            number(pl.col("probability")),
            number(pl.col("confidence")),
            number(pl.col("score")),
            levels,
            pl.col("answer_type").str.len_bytes().cast(pl.String).fill_null("null"),
            pl.col("answer_type").fill_null(""),
            pl.col("choice").is_null().cast(pl.String),
            pl.col("choice").fill_null(""),
        ],
        separator=" ",
    )
