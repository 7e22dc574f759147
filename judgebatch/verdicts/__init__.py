"""Reading stored verdicts: interpretation, pairwise outcomes, accounting and restatement."""

from judgebatch.verdicts.accounting import Account, account
from judgebatch.verdicts.batch import InterpretedBatch, interpret_texts, unreadable_texts
from judgebatch.verdicts.diagnostics import JudgeCounts, count_judges
from judgebatch.verdicts.dialect import UnreadableVerdictError
from judgebatch.verdicts.model import Interpretation
from judgebatch.verdicts.pairwise import comparison_outcome
from judgebatch.verdicts.restatement import (
    corpus_counts,
    instrument_sentence,
    pass_rates,
    restate,
    restatement_cause,
)
from judgebatch.verdicts.scalar import interpret, interpret_many

__all__ = [
    "Account",
    "Interpretation",
    "InterpretedBatch",
    "JudgeCounts",
    "UnreadableVerdictError",
    "account",
    "comparison_outcome",
    "corpus_counts",
    "count_judges",
    "instrument_sentence",
    "interpret",
    "interpret_many",
    "interpret_texts",
    "pass_rates",
    "restate",
    "restatement_cause",
    "unreadable_texts",
]
