"""What a jury is, as a stable document, before anything runs."""

from typing import Any

import orjson

from judgebatch.juries.definition import (
    Cascade,
    CustomJury,
    Jury,
    MetaJury,
    Reduction,
    SimpleJury,
    depth,
    possible_attempts,
)
from judgebatch.vocabulary import Strategy

DESCRIPTION_VERSION = 2


def describe(jury: Jury) -> dict[str, Any]:
    """Return a jury's structure, policies, keys, capabilities and their conditions.

    The same jury gives the same document on every machine; ``descriptionVersion`` rises with
    every change of its shape. A custom part that says nothing of itself is ``opaque``.
    """
    return {
        "descriptionVersion": DESCRIPTION_VERSION,
        "depth": depth(jury),
        "possibleAttempts": possible_attempts(jury),
        **_jury(jury),
    }


def description_text(jury: Jury) -> str:
    """Return the description as indented JSON text that ends with a line feed."""
    return orjson.dumps(describe(jury), option=orjson.OPT_INDENT_2).decode() + "\n"


def _jury(jury: Jury) -> dict[str, Any]:
    if isinstance(jury, SimpleJury):
        return _simple(jury)
    if isinstance(jury, Cascade):
        return {
            "kind": "cascade",
            "mayBeNotApplicable": jury.may_exclude,
            "tiers": [
                {"name": tier.name, "policy": tier.policy.value, "jury": _jury(tier.jury)}
                for tier in jury.tiers
            ],
        }
    if isinstance(jury, MetaJury):
        return {
            "kind": "meta",
            "mayBeNotApplicable": jury.may_exclude,
            "reduction": _reduction(jury.reduction),
            "members": [
                {"name": member.name, "jury": _jury(member.jury)} for member in jury.members
            ],
        }
    return _custom(jury)


def _simple(jury: SimpleJury) -> dict[str, Any]:
    seats = []
    for position, (seat, key, source) in enumerate(
        zip(jury.seats, jury.keys, jury.key_sources, strict=True)
    ):
        entry: dict[str, Any] = {"position": position, "key": key, "keySource": source.value}
        entry["weight"] = "recorded, else 1.0" if seat.weight is None else float(seat.weight)
        entry["mayExclude"] = seat.capable
        if seat.capable:
            entry["notApplicableWhen"] = seat.not_applicable_when
        seats.append(entry)
    return {
        "kind": "simple",
        "mayBeNotApplicable": jury.may_exclude,
        "reduction": _reduction(jury.reduction),
        "requireDeclaredNames": jury.require_declared_names,
        "seats": seats,
    }


def _reduction(reduction: Reduction) -> dict[str, Any]:
    strategy = reduction.strategy
    document: dict[str, Any] = {"strategy": reduction.strategy_name}
    if not isinstance(strategy, Strategy):
        document["strategyKind"] = "opaque" if strategy.description is None else "custom"
        if strategy.description is not None:
            document["strategyDescription"] = strategy.description
    document["errorPolicy"] = reduction.error_policy.value
    document["notApplicablePolicy"] = reduction.not_applicable_policy.value
    if strategy is Strategy.MAJORITY:
        document["tiePolicy"] = reduction.tie_policy.value
    if reduction.threshold is not None:
        document["threshold"] = reduction.threshold
    return document


def _custom(jury: CustomJury) -> dict[str, Any]:
    document: dict[str, Any] = {"kind": "opaque" if jury.description is None else "custom"}
    document["mayBeNotApplicable"] = jury.may_exclude
    if jury.description is not None:
        document["description"] = jury.description
    return document
