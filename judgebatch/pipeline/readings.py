"""What the readings of a shard's verdicts are published as."""

from collections.abc import Sequence

import polars as pl

from judgebatch.contracts import interpretations as i
from judgebatch.contracts.accounting import Accounting, AccountingCodes, Restatements
from judgebatch.contracts.diagnostics import JudgeAgreement, JudgeAnswers
from judgebatch.contracts.table import Table, conform, empty
from judgebatch.grading.clock import Clock
from judgebatch.verdicts import InterpretedBatch, account, count_judges, restate
from judgebatch.warehouse import Pieces

IDENTITY = ["tenant_id", "task_id", "verdict_id"]
BATCH_TABLES: tuple[type[Table], ...] = (
    i.Interpretations,
    i.InterpretationStages,
    i.InterpretationJudges,
    i.InterpretationChecks,
    i.InterpretationDefects,
)
"""The tables of an InterpretedBatch, in its order."""

COUNTED_TABLES: tuple[type[Table], ...] = (
    Accounting,
    AccountingCodes,
    JudgeAnswers,
    JudgeAgreement,
)
"""Additive counts of first readings."""

_COUNTED = [
    "tenant_id",
    "task_id",
    "judge_id",
    "judged_at",
    "reading",
    "reading_support",
    "some_judge_errored",
    "error_codes",
]


class Readings:
    """Publishes interpretations chunk by chunk, and their accounting over all of them.

    Only first readings are counted: what is read again was counted when it was new.
    """

    def __init__(
        self, out: Pieces, shard: int, clock: Clock, reading_version: int = i.READING_VERSION
    ) -> None:
        self._out = out
        self._shard = shard
        self._clock = clock
        self._version = reading_version
        self._accounts: list[pl.DataFrame] = []
        self._codes: list[pl.DataFrame] = []
        self._answers: list[pl.DataFrame] = []
        self._agreement: list[pl.DataFrame] = []

    def publish(self, verdicts: pl.DataFrame, batch: InterpretedBatch, number: int) -> None:
        """Publish one chunk.

        Parameters
        ----------
        verdicts
            The verdicts in their order, with ``at``: the row in ``batch``.
        batch
            Their readings.
        number
            The chunk's number.
        """
        keys = verdicts.select(pl.col("at").alias("row"), *IDENTITY).with_columns(
            *self._clock.stamp(), reading_version=pl.lit(self._version, dtype=pl.Int64)
        )
        for table, frame in zip(BATCH_TABLES, batch, strict=False):
            # Rows of a chunk stand in the order of its verdicts, so this keeps the table's order.
            self._write(table, frame.join(keys, on="row", maintain_order="left"), number)
        read = batch.interpretations.join(
            verdicts.select(
                pl.col("at").alias("row"), *IDENTITY, "judge_id", "judged_at", "recorded_passed"
            ),
            on="row",
            maintain_order="left",
        ).with_columns(*self._clock.stamp(), reading_version=pl.lit(self._version, dtype=pl.Int64))
        self._write(Restatements, restate(read), number)
        if self._version > i.READING_VERSION:
            return
        counted = account(read.select(_COUNTED))
        self._accounts.append(counted.accounting)
        self._codes.append(counted.codes)
        pairs = verdicts.select(pl.col("at").alias("row"), "compared_episode_id")
        judges = count_judges(read.join(pairs, on="row"), batch.judges)
        self._answers.append(judges.answers)
        self._agreement.append(judges.agreement)

    def counted(self) -> dict[type[Table], pl.DataFrame]:
        """Return what is counted over all chunks, as rows of COUNTED_TABLES."""
        parts = (self._accounts, self._codes, self._answers, self._agreement)
        return {
            table: added_up(table, [rows.with_columns(self._clock.stamp()) for rows in frames])
            for table, frames in zip(COUNTED_TABLES, parts, strict=True)
        }

    def _write(self, table: type[Table], frame: pl.DataFrame, number: int) -> None:
        if not frame.is_empty():
            self._out.write(table, self._shard, conform(frame, table), number)


def added_up(table: type[Table], parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the sums of additive counts that come in parts."""
    keys = [*table.order, "run", "as_of"]
    rows = pl.concat([empty(table), *(conform(part, table) for part in parts)])
    return conform(rows.group_by(keys).agg(pl.exclude(keys).sum()).sort(table.order), table)
