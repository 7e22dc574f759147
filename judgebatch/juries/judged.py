"""Reducing stored judgments with a jury, over whole columns."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import orjson
import polars as pl

from judgebatch.contracts.judgments import UnseatedJudgments
from judgebatch.contracts.table import conform
from judgebatch.juries.acceptance import Accepted, accept, as_judgments, set_aside
from judgebatch.juries.definition import Jury
from judgebatch.juries.evaluation import Evaluation
from judgebatch.juries.lanes import Bools
from judgebatch.juries.outcomes import Outcome
from judgebatch.juries.portable import Portable
from judgebatch.juries.seating import Seating, Stored, verdict_index
from judgebatch.juries.tables import attempt_table, verdict_table
from judgebatch.juries.verdict import Verdict
from judgebatch.vocabulary import JudgmentFault


@dataclass(frozen=True)
class Judged:
    """The verdicts a jury gave.

    Attributes
    ----------
    keys
        tenant_id and verdict_id, sorted; one row per verdict.
    unseated
        Judgments for which the jury has no seat, as the ``unseated_judgments`` table.
    quarantine
        Judgments that could not be reduced, as the ``judgment_quarantine`` table.
    """

    keys: pl.DataFrame
    outcome: Outcome
    evaluation: Evaluation
    unseated: pl.DataFrame
    quarantine: pl.DataFrame

    @cached_property
    def verdicts(self) -> pl.DataFrame:
        """The ``jury_verdicts`` table: one row per verdict."""
        return verdict_table(self.keys, self.outcome, self.evaluation)

    @cached_property
    def attempts(self) -> pl.DataFrame:
        """The ``jury_attempts`` table: one row per tier or member entered."""
        return attempt_table(self.keys, self.outcome)

    def portable(self) -> pl.DataFrame:
        """Return tenant_id, verdict_id and ``verdict``: each verdict as JSON text.

        The text is byte for byte what orjson gives for the verdict's document.
        """
        texts = Portable(self.evaluation).verdicts(self.outcome)
        return self.keys.with_columns(texts.alias("verdict"))


def reduce_judgments(judgments: pl.DataFrame, jury: Jury) -> Judged:
    """Reduce stored judgments with a jury.

    Parameters
    ----------
    judgments
        Rows of the ``judgments`` table in any order; optional columns may be missing.
    jury
        The jury; its built-in parts cost time per judgment, never Python per verdict.

    Returns
    -------
    Judged
        One verdict per (tenant_id, verdict_id) without faults.

    Raises
    ------
    InputError
        A required column is missing or has a type that cannot be taken.
    """
    accepted = accept(as_judgments(judgments))
    keys, seating = _seat(accepted, jury)
    contested = seating.contested()
    if contested.any():
        accepted = set_aside(accepted, _doubles(accepted, contested))
        keys, seating = _seat(accepted, jury)
    evaluation = Evaluation(Stored(seating))
    outcome = evaluation.of(jury, np.arange(keys.height))
    return Judged(keys, outcome, evaluation, _unseated(seating), accepted.quarantine)


def _seat(accepted: Accepted, jury: Jury) -> tuple[pl.DataFrame, Seating]:
    keys, verdict = verdict_index(accepted.judgments)
    return keys, Seating(jury, accepted.judgments, verdict, keys.height)


def _doubles(accepted: Accepted, contested: Bools) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "source_row": accepted.row_numbers().filter(pl.Series(contested)),
            "reason": JudgmentFault.TWO_JUDGMENTS.value,
            "message": "the verdict has another judgment for the same seat",
        }
    )


def _unseated(seating: Seating) -> pl.DataFrame:
    rows = seating.judgments.filter(pl.Series(~seating.seated(), dtype=pl.Boolean))
    return conform(rows.cast({"status": pl.String}), UnseatedJudgments).sort(
        UnseatedJudgments.order
    )


def verdicts_of(judged: Judged) -> list[Verdict]:
    """Return the verdicts as objects; for looking at some, not for millions."""
    texts = judged.portable()["verdict"]
    return [Verdict.of_document(orjson.loads(text)) for text in texts]
