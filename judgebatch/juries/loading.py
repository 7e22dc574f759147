"""Juries from TOML or JSON text.

    strategy = "weightedAverage"
    threshold = 0.6
    require_declared_names = true

    [[seats]]
    name = "correctness"
    weight = 2.0

    [[seats]]
    name = "tone"
    not_applicable_when = "the answer is code only"

A cascade has ``[[tiers]]`` with ``name``, ``policy`` and a ``jury`` each; a meta-jury has its own
reduction and ``[[members]]`` with ``name`` and ``jury``.
"""

import tomllib
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from judgebatch.errors import JuryDefinitionError, did_you_mean
from judgebatch.juries.custom import ENTRY_POINTS, CustomStrategy
from judgebatch.juries.definition import (
    Cascade,
    Jury,
    Member,
    MetaJury,
    Reduction,
    SeatDefinition,
    SimpleJury,
    Tier,
)
from judgebatch.vocabulary import Strategy

_REDUCTION = ("error_policy", "not_applicable_policy", "tie_policy", "threshold")


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class _Seat(_Part):
    name: str = ""
    weight: int | float = 1.0
    not_applicable_when: str = ""


class _Jury(_Part):
    """Any jury; which kind it is, its keys say."""

    strategy: str = ""
    error_policy: str = ""
    not_applicable_policy: str = ""
    tie_policy: str = ""
    threshold: int | float = 0.5
    require_declared_names: bool = False
    seats: list[_Seat] = Field(default_factory=list)
    tiers: list["_Tier"] = Field(default_factory=list)
    members: list["_Member"] = Field(default_factory=list)


class _Tier(_Part):
    name: str
    policy: str
    jury: _Jury


class _Member(_Part):
    name: str
    jury: _Jury


def parse_jury(
    text: str,
    form: Literal["toml", "json"] = "toml",
    *,
    strategies: Mapping[str, CustomStrategy] | None = None,
) -> Jury:
    """Return the jury that a TOML or JSON text defines.

    Parameters
    ----------
    text
        The definition.
    form
        ``toml`` or ``json``.
    strategies
        Custom strategies by name, beside the built-in ones.

    Raises
    ------
    JuryDefinitionError
        The text cannot be read, or defines a jury that is refused; the message names the seat,
        tier or member.
    """
    try:
        document: Any = tomllib.loads(text) if form == "toml" else orjson.loads(text)
    except (tomllib.TOMLDecodeError, orjson.JSONDecodeError) as error:
        raise JuryDefinitionError(f"the jury is not {form.upper()}: {error}") from None
    return jury_of(document, strategies=strategies)


def jury_of(document: object, *, strategies: Mapping[str, CustomStrategy] | None = None) -> Jury:
    """Return the jury that a mapping defines; raises as :func:`parse_jury`."""
    if not isinstance(document, Mapping):
        raise JuryDefinitionError("a jury is a table of settings")
    try:
        spec = _Jury.model_validate(document)
    except ValidationError as error:
        raise JuryDefinitionError(_said(error, document)) from None
    return _build(spec, strategies or {}, ())


def _build(spec: _Jury, strategies: Mapping[str, CustomStrategy], where: tuple[str, ...]) -> Jury:
    given = spec.model_fields_set
    kinds = [kind for kind in ("seats", "tiers", "members") if kind in given]
    if len(kinds) != 1:
        raise _at(where, "a jury has either seats, or tiers, or members")
    (kind,) = kinds
    if kind == "tiers":
        unwanted = sorted(given - {"tiers"})
        if unwanted:
            raise _at(where, f"a cascade reduces nothing; remove {', '.join(unwanted)}")
        tiers = tuple(
            Tier(tier.name, tier.policy, _build(tier.jury, strategies, (*where, _tier(tier))))  # type: ignore[arg-type]
            for tier in spec.tiers
        )
        return _made(where, lambda: Cascade(tiers))
    reduction = _made(where, lambda: _reduction(spec, strategies))
    if kind == "members":
        if "require_declared_names" in given:
            raise _at(where, "require_declared_names stands on a jury with seats")
        members = tuple(
            Member(member.name, _build(member.jury, strategies, (*where, _member(member))))
            for member in spec.members
        )
        return _made(where, lambda: MetaJury(reduction, members))
    seats = tuple(
        SeatDefinition(**{name: getattr(seat, name) for name in sorted(seat.model_fields_set)})
        for seat in spec.seats
    )
    return _made(
        where,
        lambda: SimpleJury(reduction, seats, require_declared_names=spec.require_declared_names),
    )


def _tier(tier: _Tier) -> str:
    return f"tier {tier.name!r}"


def _member(member: _Member) -> str:
    return f"member {member.name!r}"


def _reduction(spec: _Jury, strategies: Mapping[str, CustomStrategy]) -> Reduction:
    settings = {name: getattr(spec, name) for name in _REDUCTION if name in spec.model_fields_set}
    if "strategy" not in spec.model_fields_set:
        raise JuryDefinitionError("a jury needs a strategy")
    strategy: Any = spec.strategy
    if strategy not in list(Strategy):
        known = [*Strategy, *sorted(strategies)]
        if strategy not in strategies:
            raise JuryDefinitionError(
                f"unknown strategy {strategy!r}{did_you_mean(strategy, known)}; allowed:"
                f" {', '.join(known)}, and what an entry point of {ENTRY_POINTS} names"
            )
        strategy = strategies[strategy]
    return Reduction(strategy=strategy, **settings)


def _at(where: tuple[str, ...], what: str) -> JuryDefinitionError:
    return JuryDefinitionError(": ".join([*where, what]))


_T = TypeVar("_T")


def _made(where: tuple[str, ...], make: Callable[[], _T]) -> _T:
    try:
        return make()
    except JuryDefinitionError as error:
        raise _at(where, str(error)) from None


def _said(error: ValidationError, document: object) -> str:
    """Return the first thing that pydantic found, with the names of tiers and members."""
    first = error.errors(include_url=False)[0]
    where: list[str] = []
    value: Any = document
    for step in first["loc"]:
        value = _inside(value, step)
        if isinstance(step, int):
            kind = where.pop().removesuffix("s") if where else "entry"
            name = value.get("name") if isinstance(value, Mapping) else None
            where.append(f"{kind} {step}" + (f" ({name!r})" if isinstance(name, str) else ""))
        elif step not in {"jury", "int", "float"}:
            where.append(str(step))
    message = first["msg"]
    if first["type"] == "extra_forbidden":
        known = sorted({*_Jury.model_fields, *_Seat.model_fields, *_Tier.model_fields})
        message = f"there is no such setting{did_you_mean(where[-1], known)}"
    elif first["input"] is None:
        message = "it must not be null; leave it out for the default"
    return ": ".join([*where, message])


def _inside(value: Any, step: int | str) -> Any:
    try:
        return value[step]
    except (KeyError, IndexError, TypeError):
        return value
