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
from judgebatch.juries.describing import describe, description_text
from judgebatch.juries.judged import Judged, reduce_judgments, verdicts_of
from judgebatch.juries.judgment import Check, Judgment
from judgebatch.juries.live import Renamed, SeatJudge, from_judges, seat_for, vote
from judgebatch.juries.loading import jury_of, parse_jury
from judgebatch.juries.reducer import JuryReducer
from judgebatch.juries.rosters import Finding, Requirement, Roster, roll_up
from judgebatch.juries.single import AggregationError, aggregate_judgments
from judgebatch.juries.text import pointer
from judgebatch.juries.verdict import CompositeAttempt, Decision, Seat, Verdict

__all__ = [
    "AggregationError",
    "Cascade",
    "Check",
    "CompositeAttempt",
    "CustomJury",
    "CustomStrategy",
    "Decision",
    "Finding",
    "Judged",
    "Judgment",
    "Jury",
    "JuryReducer",
    "Member",
    "MetaJury",
    "Reduction",
    "Renamed",
    "Requirement",
    "Roster",
    "Seat",
    "SeatDefinition",
    "SeatJudge",
    "SimpleJury",
    "Tier",
    "Verdict",
    "aggregate_judgments",
    "describe",
    "description_text",
    "from_judges",
    "jury_of",
    "parse_jury",
    "pointer",
    "reduce_judgments",
    "roll_up",
    "seat_for",
    "verdicts_of",
    "vote",
]
