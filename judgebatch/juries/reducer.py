"""A jury as judges attached to a run need it: checking, reducing, and standing in."""

from dataclasses import dataclass

import polars as pl

from judgebatch.contracts.judgments import Judgments
from judgebatch.contracts.table import schema_of
from judgebatch.juries.acceptance import as_judgments, find_faults
from judgebatch.juries.definition import Jury
from judgebatch.juries.judged import reduce_judgments
from judgebatch.juries.seating import simple_stages
from judgebatch.vocabulary import JudgeOutcome


@dataclass(frozen=True)
class JuryReducer:
    """Turns judgments into complete verdicts with one jury."""

    jury: Jury

    def checked(self, judgments: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return rows as the ``judgments`` table, and source_row and message of their faults.

        Raises
        ------
        InputError
            A required column is missing or of a type that cannot be taken.
        """
        table = as_judgments(judgments)
        return table, find_faults(table).select("source_row", "message")

    def failed(self, keys: pl.DataFrame, outcome: JudgeOutcome) -> pl.DataFrame:
        """Return the judgments of every seat for verdicts whose judge gave none.

        Parameters
        ----------
        keys
            tenant_id, verdict_id and ``message``, which becomes the reasoning.
        outcome
            ``raised`` or ``nothing``.
        """
        seats = pl.DataFrame(
            [
                {"stage": stage, "position": position, "name": seat.name}
                for stage, jury in simple_stages(self.jury)
                for position, seat in enumerate(jury.seats)
            ],
            schema={"stage": pl.String, "position": pl.Int64, "name": pl.String},
        )
        rows = keys.rename({"message": "reasoning"}).join(seats, how="cross")
        schema = schema_of(Judgments)
        rows = rows.with_columns(outcome=pl.lit(outcome.value))
        lacking = [name for name in schema if name not in rows.columns]
        return rows.with_columns(pl.lit(None, schema[name]).alias(name) for name in lacking).select(
            schema.names()
        )

    def verdicts(self, judgments: pl.DataFrame) -> tuple[pl.DataFrame, int]:
        """Return tenant_id, verdict_id and ``verdict``, and how many judgments had no seat.

        A verdict with two judgments for one seat is left out.
        """
        judged = reduce_judgments(judgments, self.jury)
        return judged.portable(), judged.unseated.height
