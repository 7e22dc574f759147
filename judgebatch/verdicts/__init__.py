"""Reading stored verdicts: interpretation, pairwise outcomes, accounting and restatement."""

from judgebatch.verdicts.interpret import InterpretedBatch, interpret_texts
from judgebatch.verdicts.pairwise import comparison_outcome

__all__ = ["InterpretedBatch", "comparison_outcome", "interpret_texts"]
