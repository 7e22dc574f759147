"""The three types of question that a judge answers.

They hold what they are given. A policy checks the questions it names when it is bound to them,
and no others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from judgebatch.vocabulary import AnswerType


@dataclass(frozen=True, slots=True, kw_only=True)
class Noul:
    """A question answered by the probability that something holds."""

    instructions: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A question answered by one label of ``criteria``: label to what it stands for."""

    instructions: str | None = None
    criteria: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A question answered on the scale ``criteria``: what each level means, lowest first."""

    instructions: str | None = None
    criteria: Sequence[str]


Question = Noul | Choice | Score

QUESTION_TYPES: dict[AnswerType, type[Question]] = {
    AnswerType.NOUL: Noul,
    AnswerType.CHOICE: Choice,
    AnswerType.SCORE: Score,
}
