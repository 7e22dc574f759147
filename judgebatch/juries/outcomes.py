"""What juries made of a batch, before it becomes tables or text."""

from dataclasses import dataclass, field

from judgebatch.juries.definition import Jury
from judgebatch.juries.lanes import Aggregates, Bools, Floats, Ints, Longs, Small
from judgebatch.juries.verdict import Verdict
from judgebatch.vocabulary import DispositionReason

REASONS = (None, *DispositionReason)
"""Why a stage failed, by lane value; 0 is a used stage."""
USED, EXECUTION_FAILED, CHILD_UNDECIDED, UNDECLARED = range(4)
NO_TIER = -1


@dataclass(slots=True)
class Outcome:
    """What a jury made of n verdicts.

    Attributes
    ----------
    aggregates
        The juries' own judgments.
    undecided
        (n,) whether nobody decided.
    missing
        (n,) whether the jury raised or returned nothing.
    any_failed, all_passed
        (n,) of the individuals that the verdict names.
    rejection
        (n,) whether following the decisions ends at an individual rejection.
    """

    jury: Jury
    stage: str
    aggregates: Aggregates
    undecided: Bools
    missing: Bools
    any_failed: Bools
    all_passed: Bools
    rejection: Bools


@dataclass(slots=True)
class SimpleOutcome(Outcome):
    """Of a simple jury; ``index`` is (seats, n) into the pool, ``weight`` (seats, n)."""

    index: Ints
    weight: Floats


@dataclass(slots=True)
class Run:
    """A tier or member as it was entered: for which rows, and why it failed there."""

    name: str
    rows: Longs
    outcome: Outcome
    reason: Small


@dataclass(slots=True)
class MetaOutcome(Outcome):
    """Of a meta-jury, whose members all run for all rows."""

    runs: list[Run] = field(default_factory=list)


@dataclass(slots=True)
class CascadeOutcome(Outcome):
    """Of a cascade; ``tier`` (n,) decided, -1 for none, where ``rejected`` on an individual."""

    runs: list[Run]
    tier: Small
    rejected: Bools


@dataclass(slots=True)
class CustomOutcome(Outcome):
    """Of a custom jury: its verdicts; None where missing."""

    verdicts: list[Verdict | None]
