"""Reading stored verdicts: interpretation, pairwise outcomes, accounting and restatement."""

from judgebatch.verdicts.dialect import UnreadableVerdictError
from judgebatch.verdicts.interpret import InterpretedBatch, interpret_texts
from judgebatch.verdicts.model import Interpretation
from judgebatch.verdicts.pairwise import comparison_outcome
from judgebatch.verdicts.scalar import interpret, interpret_many

__all__ = [
    "Interpretation",
    "InterpretedBatch",
    "UnreadableVerdictError",
    "comparison_outcome",
    "interpret",
    "interpret_many",
    "interpret_texts",
]
