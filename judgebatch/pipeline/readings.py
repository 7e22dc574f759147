"""What the readings of a shard's verdicts are published as."""

import polars as pl

from judgebatch.contracts import interpretations as i
from judgebatch.contracts.accounting import Accounting, AccountingCodes, Restatements
from judgebatch.contracts.diagnostics import JudgeAgreement, JudgeAnswers
from judgebatch.contracts.table import Table, conform
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

    def finish(self) -> None:
        """Publish what is counted over all chunks."""
        counted: tuple[tuple[type[Table], list[pl.DataFrame]], ...] = (
            (Accounting, self._accounts),
            (AccountingCodes, self._codes),
            (JudgeAnswers, self._answers),
            (JudgeAgreement, self._agreement),
        )
        for table, parts in counted:
            if parts:
                whole = (
                    pl.concat(parts)
                    .group_by(name for name in table.order)
                    .agg(pl.exclude(table.order).sum())
                    .sort(table.order)
                )
                self._write(table, whole.with_columns(self._clock.stamp()), 0)

    def _write(self, table: type[Table], frame: pl.DataFrame, number: int) -> None:
        if not frame.is_empty():
            self._out.write(table, self._shard, conform(frame, table), number)
