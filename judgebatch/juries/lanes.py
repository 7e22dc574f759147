"""Lanes: one value per verdict, for judgments and for the aggregates made of them.

Statuses and codes are held as their index in the vocabulary, absent codes as -1, absent numbers
as NaN. All verdicts of a batch are reduced together, lane by lane.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from judgebatch.juries.definition import Jury, Reduction
from judgebatch.vocabulary import MACHINERY_CODES, TERMINAL_CODES, ReasonCode, Status

Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Small: TypeAlias = NDArray[np.int8]
Ints: TypeAlias = NDArray[np.int32]
Longs: TypeAlias = NDArray[np.int64]

STATUSES = tuple(Status)
CODES = tuple(ReasonCode)
PASS, FAIL, ABSTAIN, NOT_APPLICABLE, ERROR = range(len(STATUSES))
NO_CODE = -1


def code_index(code: ReasonCode) -> int:
    """Return the lane value of a reason code."""
    return CODES.index(code)


WRAPPER = code_index(ReasonCode.ERRORS_PROPAGATED)
TERMINAL = np.array([code_index(code) for code in TERMINAL_CODES], dtype=np.int8)
MACHINERY = np.array([code_index(code) for code in MACHINERY_CODES], dtype=np.int8)
TERMINAL_COLUMN = np.full(len(CODES) + 1, -1, dtype=np.int8)
"""Column of a code in a block of error code counts; -1 for the others (and for no code)."""
TERMINAL_COLUMN[TERMINAL] = np.arange(len(TERMINAL), dtype=np.int8)
MACHINERY_COLUMNS = np.isin(TERMINAL, MACHINERY)
IS_MACHINERY = np.zeros(len(CODES) + 1, dtype=np.bool_)
"""Whether a code is the machinery's, by code (and False for no code)."""
IS_MACHINERY[MACHINERY] = True


class Count(IntEnum):
    """The counts of an aggregate's evidence, in the order of its keys."""

    INPUT = 0
    ELIGIBLE = 1
    ABSTAIN = 2
    NOT_APPLICABLE = 3
    ERROR = 4
    IGNORED = 5
    AS_ABSTAIN = 6
    AS_FAIL = 7
    NOT_APPLICABLE_AS_FAIL = 8
    PASSED = 9
    FAILED = 10
    BINDING = 11


class Evidence(IntEnum):
    """How much evidence an aggregate carries."""

    NONE = 0
    COMMON = 1
    FULL = 2
    WEIGHTS = 3


class Note(IntEnum):
    """Why a reduction failed."""

    NONE = 0
    COUNT_TOO_LARGE = 1
    BAD_WEIGHT = 2
    NO_WEIGHT = 3
    STRATEGY_RAISED = 4
    STRATEGY_SILENT = 5
    STRATEGY_MALFORMED = 6
    STRATEGY_EXCLUDED = 7
    STRATEGY_CODE = 8


@dataclass(slots=True)
class Aggregates:
    """The aggregates of n verdicts.

    Attributes
    ----------
    status, code
        (n,) indices into the vocabularies.
    score, input_weight, eligible_weight
        (n,) numbers; NaN where absent.
    rule
        (n,) index into the rulebook of what made the aggregate; -1 for none.
    evidence
        (n,) :class:`Evidence`.
    note
        (n,) a :class:`Note` of a failed reduction, or the bits of the stages a failure names.
    counts
        (12, n) rows as in :class:`Count`.
    codes
        (n, 8) counts by terminal code, or None where no verdict has an error.
    foreign
        (n,) index of an aggregate that a custom part made itself; -1 for none.
    """

    status: Small
    code: Small
    score: Floats
    rule: NDArray[np.int16]
    evidence: Small
    note: Longs
    counts: Ints
    codes: Longs | None
    input_weight: Floats
    eligible_weight: Floats
    foreign: Ints

    @classmethod
    def blank(cls, n: int) -> "Aggregates":
        """Return n aggregates that say nothing yet."""
        nothing = np.full(n, np.nan)
        return cls(
            status=np.zeros(n, np.int8),
            code=np.full(n, NO_CODE, np.int8),
            score=nothing,
            rule=np.full(n, -1, np.int16),
            evidence=np.zeros(n, np.int8),
            note=np.zeros(n, np.int64),
            counts=np.zeros((len(Count), n), np.int32),
            codes=None,
            input_weight=nothing.copy(),
            eligible_weight=nothing.copy(),
            foreign=np.full(n, -1, np.int32),
        )

    def put(self, rows: Longs, other: "Aggregates", source: Longs) -> None:
        """Copy the aggregates ``source`` of ``other`` to ``rows``."""
        for name in (
            "status",
            "code",
            "score",
            "rule",
            "evidence",
            "note",
            "input_weight",
            "eligible_weight",
            "foreign",
        ):
            getattr(self, name)[rows] = getattr(other, name)[source]
        self.counts[:, rows] = other.counts[:, source]
        if other.codes is not None:
            if self.codes is None:
                self.codes = np.zeros((len(self.status), len(TERMINAL)), np.int64)
            self.codes[rows] = other.codes[source]

    def fail(self, rows: Bools, code: ReasonCode, note: Longs | int, rule: int) -> None:
        """Make ``rows`` errors of the machinery that carry no evidence."""
        self.status[rows] = ERROR
        self.code[rows] = code_index(code)
        self.score[rows] = np.nan
        self.rule[rows] = rule
        self.evidence[rows] = Evidence.NONE
        self.note[rows] = note if isinstance(note, int) else note[rows]
        self.foreign[rows] = -1


class Rulebook:
    """Everything that makes aggregates in a jury, numbered."""

    def __init__(self) -> None:
        self.rules: list[Reduction | Jury] = []

    def add(self, rule: Reduction | Jury) -> int:
        """Return the number of ``rule``."""
        self.rules.append(rule)
        return len(self.rules) - 1
