"""Pairwise strengths: Bradley-Terry fits with intervals, relative scores, sequential decisions.

Pure numerics: frames and arrays in, frames and arrays out.
"""

from judgebatch.strengths.elementary import expit
from judgebatch.strengths.fit import FittedGroups, fit_groups
from judgebatch.strengths.relative import RelativeScores, relative_interval
from judgebatch.strengths.sequential import (
    Decisions,
    SequentialTest,
    boundaries,
    decide,
    decision_of,
    standing,
)

__all__ = [
    "Decisions",
    "FittedGroups",
    "RelativeScores",
    "SequentialTest",
    "boundaries",
    "decide",
    "decision_of",
    "expit",
    "fit_groups",
    "relative_interval",
    "standing",
]
