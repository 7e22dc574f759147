"""Producing verdicts from the judgments of seats: juries, described, reduced, re-scored."""

from judgebatch.juries.custom import CustomStrategy
from judgebatch.juries.definition import (
    Cascade,
    CustomJury,
    Jury,
    Member,
    MetaJury,
    Reduction,
    SeatDefinition,
    SimpleJury,
    Tier,
)
from judgebatch.juries.judged import Judged, reduce_judgments, verdicts_of
from judgebatch.juries.judgment import Check, Judgment
from judgebatch.juries.single import aggregate_judgments
from judgebatch.juries.text import pointer
from judgebatch.juries.verdict import CompositeAttempt, Decision, Seat, Verdict

__all__ = [
    "Cascade",
    "Check",
    "CompositeAttempt",
    "CustomJury",
    "CustomStrategy",
    "Decision",
    "Judged",
    "Judgment",
    "Jury",
    "Member",
    "MetaJury",
    "Reduction",
    "Seat",
    "SeatDefinition",
    "SimpleJury",
    "Tier",
    "Verdict",
    "aggregate_judgments",
    "pointer",
    "reduce_judgments",
    "verdicts_of",
]
