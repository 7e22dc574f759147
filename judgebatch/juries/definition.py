"""What a jury is: seats, tiers, members and the settings of their reduction.

Everything that can be refused is refused here, when a jury is made; nothing is looked at again
while verdicts are reduced.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import polars as pl

from judgebatch.errors import JuryDefinitionError
from judgebatch.juries.text import fault_of_stage_name, is_blank
from judgebatch.vocabulary import (
    ErrorPolicy,
    KeySource,
    NotApplicablePolicy,
    Strategy,
    TiePolicy,
    TierPolicy,
    Token,
    UnknownTokenError,
)

if TYPE_CHECKING:
    from judgebatch.juries.custom import CustomStrategy
    from judgebatch.juries.verdict import Verdict

DEEPEST = 8
MOST_ATTEMPTS = 32
DEFAULT_THRESHOLD = 0.5

_THRESHOLD_STRATEGIES = (
    Strategy.AVERAGE,
    Strategy.WEIGHTED_AVERAGE,
    Strategy.MEDIAN,
    Strategy.CONJUNCTIVE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction:
    """How judgments become one: strategy, policies and threshold.

    Raises
    ------
    JuryDefinitionError
        No or an unknown strategy or policy; a threshold outside [0, 1]; a conjunctive reduction
        without a threshold.
    """

    strategy: "Strategy | CustomStrategy"
    error_policy: ErrorPolicy = ErrorPolicy.PROPAGATE
    not_applicable_policy: NotApplicablePolicy = NotApplicablePolicy.REFUSE
    tie_policy: TiePolicy = TiePolicy.FAIL
    threshold: float | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        if self.strategy is None:
            raise JuryDefinitionError("a jury needs a strategy")
        if isinstance(self.strategy, str):
            put(self, "strategy", _token(Strategy, self.strategy, "strategy"))
        put(self, "error_policy", _token(ErrorPolicy, self.error_policy, "error policy"))
        put(
            self,
            "not_applicable_policy",
            _token(NotApplicablePolicy, self.not_applicable_policy, "not-applicable policy"),
        )
        put(self, "tie_policy", _token(TiePolicy, self.tie_policy, "tie policy"))
        threshold = self.threshold
        if threshold is not None:
            if isinstance(threshold, bool) or not isinstance(threshold, int | float):
                raise JuryDefinitionError(f"threshold {threshold!r} is not a number")
            if not (math.isfinite(threshold) and 0.0 <= threshold <= 1.0):
                raise JuryDefinitionError(f"threshold {threshold!r} is not in [0, 1]")
            put(self, "threshold", float(threshold))
        elif self.strategy is Strategy.CONJUNCTIVE:
            raise JuryDefinitionError("a conjunctive jury needs a threshold; it has no default")
        elif self.strategy in _THRESHOLD_STRATEGIES:
            put(self, "threshold", DEFAULT_THRESHOLD)

    @property
    def strategy_name(self) -> str:
        """The token of the strategy, or the name of a custom one."""
        return self.strategy.value if isinstance(self.strategy, Strategy) else self.strategy.name

    @property
    def refuses_exclusions(self) -> bool:
        """Whether an exclusion is never allowed."""
        return self.not_applicable_policy is NotApplicablePolicy.REFUSE

    @property
    def excludes(self) -> bool:
        """Whether excluded judgments leave the denominator."""
        return self.not_applicable_policy is NotApplicablePolicy.EXCLUDE


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatDefinition:
    """A place for one judge.

    ``name`` None makes the seat positional; then it can declare no capability. ``weight`` None
    takes the recorded weight, or 1. ``judge`` is who answers in a live batch; ``unreadable``
    says that its metadata could not be read, so that it is never run.
    """

    name: str | None = None
    weight: float | None = None
    not_applicable_when: str | None = None
    judge: Any = None
    key_source: KeySource = KeySource.DECLARED
    unreadable: bool = False

    @property
    def capable(self) -> bool:
        """Whether the seat declares when it does not apply."""
        return self.name is not None and self.not_applicable_when is not None

    def fault(self) -> str | None:
        """Return what is wrong with the seat, or None."""
        fault = None
        weight = self.weight
        if self.name is not None and (not isinstance(self.name, str) or is_blank(self.name)):
            fault = "the name is blank"
        elif self.not_applicable_when is not None and (
            not isinstance(self.not_applicable_when, str) or is_blank(self.not_applicable_when)
        ):
            fault = "the condition under which it does not apply is blank"
        elif weight is not None and (
            isinstance(weight, bool) or not isinstance(weight, int | float)
        ):
            fault = f"weight {weight!r} is not a number"
        elif weight is not None and not (math.isfinite(weight) and weight >= 0):
            fault = f"weight {weight!r} is negative or not finite"
        return fault


@dataclass(frozen=True, slots=True)
class SimpleJury:
    """Judges whose judgments are reduced by one strategy.

    Raises
    ------
    JuryDefinitionError
        No seat; a blank name or condition; a bad weight; a seat that may exclude under a
        reduction that refuses exclusions; with ``require_declared_names``, a positional seat or
        two seats with one key.
    """

    reduction: Reduction
    seats: tuple[SeatDefinition, ...]
    require_declared_names: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "seats", tuple(self.seats))
        if not isinstance(self.reduction, Reduction):
            raise JuryDefinitionError("a jury needs a strategy")
        if not self.seats:
            raise JuryDefinitionError("a jury needs at least one judge")
        for position, seat in enumerate(self.seats):
            what = f"seat {position}" + (f" ({seat.name!r})" if seat.name is not None else "")
            fault = seat.fault()
            if fault:
                raise JuryDefinitionError(f"{what}: {fault}")
            if seat.capable and self.reduction.refuses_exclusions:
                raise JuryDefinitionError(
                    f"{what} declares when it does not apply, but the not-applicable policy is"
                    " refuse; set it to exclude or treatAsFail"
                )
            if self.require_declared_names and seat.name is None:
                raise JuryDefinitionError(f"{what} has no name, and declared names are required")
        if self.require_declared_names:
            repeated = _first_repeated(self.keys)
            if repeated is not None:
                raise JuryDefinitionError(
                    f"two seats have the key {repeated!r}, and declared names are required"
                )

    @property
    def keys(self) -> tuple[str, ...]:
        """The seats' keys in a verdict."""
        return tuple(
            positional_key(position) if seat.name is None else seat.name
            for position, seat in enumerate(self.seats)
        )

    @property
    def key_sources(self) -> tuple[KeySource, ...]:
        """Where the seats' keys come from."""
        return tuple(
            KeySource.POSITIONAL if seat.name is None else seat.key_source for seat in self.seats
        )

    @property
    def may_exclude(self) -> bool:
        """Whether the jury may be not applicable."""
        return self.reduction.excludes and any(seat.capable for seat in self.seats)


@dataclass(frozen=True, slots=True)
class Tier:
    """One tier of a cascade."""

    name: str
    policy: TierPolicy
    jury: "Jury"


@dataclass(frozen=True, slots=True)
class Cascade:
    """Tiers that are asked in order until one decides.

    Raises
    ------
    JuryDefinitionError
        No tier; a last tier that is not FINAL_TIER; a bad or repeated name; a tree that is too
        deep or has too many possible attempts.
    """

    tiers: tuple[Tier, ...]

    def __post_init__(self) -> None:
        if not self.tiers:
            raise JuryDefinitionError("a cascade needs at least one tier")
        read = []
        for tier in self.tiers:
            policy = _token(TierPolicy, tier.policy, f"policy of tier {tier.name!r}")
            read.append(Tier(tier.name, policy, tier.jury))
        object.__setattr__(self, "tiers", tuple(read))
        _check_children("tier", self.tiers)
        if self.tiers[-1].policy is not TierPolicy.FINAL_TIER:
            raise JuryDefinitionError(
                f"the last tier, {self.tiers[-1].name!r}, must have the policy FINAL_TIER"
            )
        _check_size(self)

    @property
    def may_exclude(self) -> bool:
        """Whether the jury may be not applicable."""
        return any(tier.jury.may_exclude for tier in self.tiers)


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a meta-jury."""

    name: str
    jury: "Jury"


@dataclass(frozen=True, slots=True)
class MetaJury:
    """Juries whose aggregates are reduced by one strategy.

    Raises
    ------
    JuryDefinitionError
        No member; a bad or repeated name; a member that may be not applicable under a reduction
        that refuses exclusions; a tree that is too deep or has too many possible attempts.
    """

    reduction: Reduction
    members: tuple[Member, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", tuple(self.members))
        if not isinstance(self.reduction, Reduction):
            raise JuryDefinitionError("a jury needs a strategy")
        if not self.members:
            raise JuryDefinitionError("a meta-jury needs at least one member")
        _check_children("member", self.members)
        if self.reduction.refuses_exclusions:
            for member in self.members:
                if member.jury.may_exclude:
                    raise JuryDefinitionError(
                        f"member {member.name!r} may be not applicable, but the not-applicable"
                        " policy is refuse; set it to exclude or treatAsFail"
                    )
        _check_size(self)

    @property
    def may_exclude(self) -> bool:
        """Whether the jury may be not applicable."""
        return self.reduction.excludes and any(member.jury.may_exclude for member in self.members)


@dataclass(frozen=True, slots=True)
class CustomJury:
    """A jury of one's own.

    ``vote`` takes the rows of the batch that concern the verdicts asked for (judgments when
    stored ones are reduced, subjects in a live batch), in the order of the verdicts, and the
    jury's stage, and gives one verdict, or None, for each. It declares no exclusion capability.
    """

    vote: Callable[[pl.DataFrame, str], Sequence["Verdict | None"]]
    description: str | None = None

    @property
    def may_exclude(self) -> bool:
        """Whether the jury may be not applicable: it cannot say so."""
        return False


Jury: TypeAlias = SimpleJury | Cascade | MetaJury | CustomJury


def children(jury: Jury) -> Sequence[Tier | Member]:
    """Return the tiers or members of a jury; none for a simple or custom one."""
    if isinstance(jury, Cascade):
        return jury.tiers
    if isinstance(jury, MetaJury):
        return jury.members
    return ()


def positional_key(position: int) -> str:
    """Return the key of a seat without a name."""
    return f"Judge#{position + 1}"


def depth(jury: Jury) -> int:
    """Return how deep the tree is; the children of the outermost jury are at depth 1."""
    return max((1 + depth(child.jury) for child in children(jury)), default=0)


def possible_attempts(jury: Jury) -> int:
    """Return how many attempts a verdict can have at most; an opaque jury counts as one."""
    return sum(1 + possible_attempts(child.jury) for child in children(jury))


def _check_size(jury: Jury) -> None:
    if depth(jury) > DEEPEST:
        raise JuryDefinitionError(f"the jury is {depth(jury)} levels deep; {DEEPEST} are allowed")
    attempts = possible_attempts(jury)
    if attempts > MOST_ATTEMPTS:
        raise JuryDefinitionError(
            f"the jury has {attempts} tiers and members; {MOST_ATTEMPTS} are allowed"
        )


def _check_children(kind: str, entries: Sequence[Tier] | Sequence[Member]) -> None:
    for entry in entries:
        fault = fault_of_stage_name(entry.name)
        if fault:
            raise JuryDefinitionError(f"name {entry.name!r} of a {kind} {fault}")
        if not isinstance(entry.jury, SimpleJury | Cascade | MetaJury | CustomJury):
            raise JuryDefinitionError(f"{kind} {entry.name!r} has no jury")
    repeated = _first_repeated([entry.name for entry in entries])
    if repeated is not None:
        raise JuryDefinitionError(f"two {kind}s are called {repeated!r}")


def _first_repeated(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


_TokenT = TypeVar("_TokenT", bound=Token)


def _token(vocabulary: type[_TokenT], value: object, what: str) -> _TokenT:
    if value is None:
        raise JuryDefinitionError(f"the {what} must not be null; leave it out for the default")
    try:
        return vocabulary.parse(value)
    except UnknownTokenError as error:
        raise JuryDefinitionError(f"{what}: {error}") from None
