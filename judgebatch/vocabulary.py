"""Every closed set of tokens, once, with a strict reader for each.

A set is a ``Token`` subclass: its members are the tokens in their documented order, and
``parse`` raises :class:`UnknownTokenError` on anything else.
"""

from difflib import get_close_matches
from enum import StrEnum
from typing import Self


class UnknownTokenError(ValueError):
    """A text that is not a member of a closed vocabulary."""


class Token(StrEnum):
    """A closed vocabulary; members compare equal to their text."""

    @classmethod
    def parse(cls, text: object) -> Self:
        """Return the member that ``text`` names, or raise :class:`UnknownTokenError`."""
        for member in cls:
            if (type(text) is str and member.value == text) or text is member:
                return member
        known = [member.value for member in cls]
        close = get_close_matches(text, known, n=1) if isinstance(text, str) else []
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise UnknownTokenError(
            f"unknown {cls.__name__} {text!r}{hint}; allowed: {', '.join(known)}"
        )


class Status(Token):
    """What a judge or a jury answered."""

    PASS = "pass"
    FAIL = "fail"
    ABSTAIN = "abstain"
    NOT_APPLICABLE = "not_applicable"
    ERROR = "error"


class ReasonCode(Token):
    """Why a judgment has its status; the order is the key order of ``errorCodeCounts``."""

    JUDGE_FAILED = "judge_failed"
    JUDGE_METADATA_UNREADABLE = "judge_metadata_unreadable"
    JUDGE_REPORTED = "judge_reported"
    UNDECLARED_NOT_APPLICABLE = "undeclared_not_applicable"
    ERRORS_PROPAGATED = "errors_propagated"
    NOT_APPLICABLE_REFUSED = "not_applicable_refused"
    AGGREGATION_FAILED = "aggregation_failed"
    STAGE_FAILED = "stage_failed"
    NO_TIER_DECIDED = "no_tier_decided"
    SUBJECT_EMPTY = "subject_empty"


JUDGE_CODES = (
    ReasonCode.JUDGE_FAILED,
    ReasonCode.JUDGE_METADATA_UNREADABLE,
    ReasonCode.JUDGE_REPORTED,
    ReasonCode.UNDECLARED_NOT_APPLICABLE,
)
"""Error codes whose origin is a judge."""

MACHINERY_CODES = (
    ReasonCode.NOT_APPLICABLE_REFUSED,
    ReasonCode.AGGREGATION_FAILED,
    ReasonCode.STAGE_FAILED,
    ReasonCode.NO_TIER_DECIDED,
)
"""Error codes whose origin is the jury itself."""

TERMINAL_CODES = JUDGE_CODES + MACHINERY_CODES
"""Error codes that name a cause; ``errors_propagated`` only wraps them."""


class ErrorPolicy(Token):
    """What a jury does with a judge's error."""

    PROPAGATE = "propagate"
    TREAT_AS_FAIL = "treatAsFail"
    TREAT_AS_ABSTAIN = "treatAsAbstain"
    IGNORE = "ignore"


class NotApplicablePolicy(Token):
    """What a jury does with a judge's exclusion."""

    REFUSE = "refuse"
    EXCLUDE = "exclude"
    TREAT_AS_FAIL = "treatAsFail"


class TiePolicy(Token):
    """What a majority of equal sides is."""

    PASS = "PASS"
    FAIL = "FAIL"
    ABSTAIN = "ABSTAIN"


class TierPolicy(Token):
    """When a cascade stops at a tier."""

    REJECT_ON_ANY_FAIL = "REJECT_ON_ANY_FAIL"
    ACCEPT_ON_ALL_PASS = "ACCEPT_ON_ALL_PASS"
    FINAL_TIER = "FINAL_TIER"


class Relation(Token):
    """How an attempt stands to the jury that made it."""

    CASCADE_TIER = "cascade_tier"
    META_MEMBER = "meta_member"


class Disposition(Token):
    """What became of an attempt."""

    USED = "used"
    STAGE_FAILED = "stage_failed"


class DispositionReason(Token):
    """Why an attempt's stage failed."""

    EXECUTION_FAILED = "execution_failed"
    CHILD_UNDECIDED = "child_undecided"
    UNDECLARED_NOT_APPLICABLE = "undeclared_not_applicable"


class FailureCode(Token):
    """What stands in an attempt that has no verdict."""

    JURY_EXECUTION_FAILED = "jury_execution_failed"


class DecisionKind(Token):
    """Who decided a verdict."""

    OWN = "own"
    TIER = "tier"
    UNDECIDED = "undecided"


class DecisionBasis(Token):
    """On what a tier decided."""

    TIER_OUTCOME = "tier_outcome"
    INDIVIDUAL_REJECTION = "individual_rejection"


class KeySource(Token):
    """Where a seat's key comes from."""

    DECLARED = "DECLARED"
    DEDUPLICATED = "DEDUPLICATED"
    POSITIONAL = "POSITIONAL"


class Strategy(Token):
    """How a jury reduces its judgments."""

    CONSENSUS = "consensus"
    MAJORITY = "majority"
    AVERAGE = "average"
    WEIGHTED_AVERAGE = "weightedAverage"
    MEDIAN = "median"
    ALL_MUST_PASS = "allMustPass"
    CONJUNCTIVE = "conjunctive"


class Reading(Token):
    """What a stored verdict says."""

    ACCEPTED = "ACCEPTED"
    REJECTED = "REJECTED"
    UNDECIDED = "UNDECIDED"
    NOT_APPLICABLE = "NOT_APPLICABLE"
    NOT_ASSESSED = "NOT_ASSESSED"


class ReadingSupport(Token):
    """How far the evidence carries a reading."""

    SUPPORTED = "SUPPORTED"
    CONTRADICTED = "CONTRADICTED"
    UNDETERMINED = "UNDETERMINED"


class DefectKind(Token):
    """What is wrong with a member of a stored verdict."""

    ABSENT = "ABSENT"
    UNPARSEABLE = "UNPARSEABLE"
    UNKNOWN_VOCABULARY = "UNKNOWN_VOCABULARY"
    INCONSISTENT = "INCONSISTENT"


class RestatementCause(Token):
    """Why a recorded flag and its verdict's reading disagree; the first that applies."""

    EMPTY_ROSTER = "empty_roster"
    INSTRUMENT_FAILURE_CHARGED = "instrument_failure_charged"
    ABSTENTION_CHARGED = "abstention_charged"
    EXCLUSION_CHARGED = "exclusion_charged"
    PASS_OVERSTATED = "pass_overstated"
    PASS_UNDERSTATED = "pass_understated"


class Mode(Token):
    """How a tenant's episodes are compared."""

    REFERENCE = "reference"
    TOURNAMENT = "tournament"


class BudgetPeriod(Token):
    """Over what a grading ceiling holds (UTC, half-open)."""

    DAY = "day"
    MONTH = "month"
    ALL = "all"


class UnknownTenants(Token):
    """What becomes of rows of a tenant that the settings do not name."""

    QUARANTINE = "quarantine"
    DEFAULTS = "defaults"


class ScoreKind(Token):
    """What a score is relative to."""

    RELATIVE = "relative"
    TOURNAMENT = "tournament"


class UngradedReason(Token):
    """Why an episode has no score."""

    NO_REFERENCE = "no_reference"
    BUDGET_EXHAUSTED = "budget_exhausted"
    INSUFFICIENT_GROUP = "insufficient_group"
    NO_USABLE_COMPARISON = "no_usable_comparison"


class EpisodeState(Token):
    """The life of an episode."""

    PENDING = "Pending"
    GRADING = "Grading"
    GRADED = "Graded"
    UNGRADED = "Ungraded"


def is_reducible(state: str) -> bool:
    """Return whether storage held for an episode in ``state`` may be reduced."""
    return EpisodeState.parse(state) in {EpisodeState.GRADED, EpisodeState.UNGRADED}


class CloseReason(Token):
    """What closed an epoch."""

    QUORUM = "quorum"
    TIMEOUT = "timeout"


class Outcome(Token):
    """What a comparison of left with right came to."""

    LEFT = "left"
    RIGHT = "right"
    TIE = "tie"
    UNDECIDED = "undecided"
    NOT_APPLICABLE = "not_applicable"
    ERROR = "error"
    UNATTESTABLE = "unattestable"


USABLE_OUTCOMES = (Outcome.LEFT, Outcome.RIGHT, Outcome.TIE)
"""Outcomes that are fitted; all others are counted."""


class ComparisonDisposition(Token):
    """How a comparison ended."""

    USED = "used"
    UNDECIDED = "undecided"
    NOT_APPLICABLE = "not_applicable"
    ERROR = "error"
    UNATTESTABLE = "unattestable"
    OVER_BUDGET = "over_budget"
    LATE = "late"
    CROSS_GROUP = "cross_group"
    NOT_NEEDED = "not_needed"


class QuarantineReason(Token):
    """Why a row was not accepted; the first that applies, in this order."""

    BAD_ROW = "bad_row"
    UNREADABLE_VERDICT = "unreadable_verdict"
    UNKNOWN_TENANT = "unknown_tenant"
    CONFLICTING_DUPLICATE = "conflicting_duplicate"
    ITSELF = "itself"
    UNKNOWN_EPISODE = "unknown_episode"
    TWO_TASKS = "two_tasks"
    CONFLICTING_ANSWER = "conflicting_answer"


class TieModel(Token):
    """How ties enter a pairwise fit."""

    HALF_WIN = "half_win"
    DAVIDSON = "davidson"


class FitStatus(Token):
    """How a group's fit ended."""

    CONVERGED = "converged"
    NOT_CONVERGED = "not_converged"
    NO_COMPARISONS = "no_comparisons"


class SeMethod(Token):
    """How the standard errors of a fit were computed."""

    EXACT = "exact"
    LOCAL = "local"
    PROJECTED = "projected"


class WaitsFor(Token):
    """What an episode in Grading waits for."""

    CLOSING = "closing"
    COMPARISONS = "comparisons"
    FIT_FAILED = "fit_failed"


class SequentialDecision(Token):
    """What a sequential test says."""

    ACCEPT = "accept"
    REJECT = "reject"
    CONTINUE = "continue"


class RunKind(Token):
    """What a run does; only the first two consume inputs and move as_of."""

    GRADING = "grading"
    BACKFILL = "backfill"
    REINTERPRET = "reinterpret"
    RECURATE = "recurate"
    RELEASE = "release"


class AnswerType(Token):
    """What a question asks for, and so what answers it."""

    NOUL = "noul"
    CHOICE = "choice"
    SCORE = "score"


class AnswerError(Token):
    """Why a rule was not evaluated; the first that applies, in this order."""

    MISSING_ANSWER = "missing_answer"
    CONFLICTING_ANSWER = "conflicting_answer"
    WRONG_ANSWER_TYPE = "wrong_answer_type"
    MALFORMED_ANSWER = "malformed_answer"


class AnswerDisposition(Token):
    """How an accepted answer ended."""

    USED = "used"
    LATE = "late"
    NOT_NEEDED = "not_needed"
    ALREADY_KNOWN = "already_known"


class JudgeOutcome(Token):
    """What came of asking a judge."""

    RETURNED = "returned"
    RAISED = "raised"
    NOTHING = "nothing"


class Subject(Token):
    """What a verdict is about."""

    EPISODE = "episode"
    COMPARISON = "comparison"


class JudgeAnswer(Token):
    """What a judge or a whole jury answered, as judges are counted."""

    PASS = "pass"
    FAIL = "fail"
    LEFT = "left"
    RIGHT = "right"
    TIE = "tie"
    UNDECIDED = "undecided"
    NOT_APPLICABLE = "not_applicable"
    ERROR = "error"
    UNATTESTABLE = "unattestable"


class JudgmentFault(Token):
    """Why a stored judgment cannot be reduced; the first that applies, in this order."""

    UNREADABLE_VERDICT = "unreadable_verdict"
    NO_JUDGMENTS = "no_judgments"
    MISSING_VALUE = "missing_value"
    UNKNOWN_OUTCOME = "unknown_outcome"
    UNKNOWN_STATUS = "unknown_status"
    BAD_POSITION = "bad_position"
    BAD_SCORE = "bad_score"
    BAD_WEIGHT = "bad_weight"
    BAD_LABEL = "bad_label"
    BAD_REASON_CODE = "bad_reason_code"
    BAD_ERROR_CODE_COUNTS = "bad_error_code_counts"
    BAD_CHECKS = "bad_checks"
    TWO_JUDGMENTS = "two_judgments"
    SAME_VERDICT = "same_verdict"
