"""The three types of answer.

They hold what they are given: whether an answer is well formed is checked where a rule uses it,
so that a malformed answer that no rule names disturbs nobody.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NoulAnswer:
    """The probability, 0 to 1, that what was asked holds."""

    value: float


@dataclass(frozen=True, slots=True)
class ChoiceAnswer:
    """The chosen label, and the confidence in it, 0 to 1."""

    choice: str
    confidence: float


@dataclass(frozen=True, slots=True)
class ScoreAnswer:
    """The expected score, the confidence in it, and the probability of each level."""

    score: float
    confidence: float
    probabilities: Mapping[int, float]


Answer = NoulAnswer | ChoiceAnswer | ScoreAnswer
