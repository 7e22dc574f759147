"""Rules, each a threshold on the answer to one question, and the policy that they make up."""

from dataclasses import dataclass

from judgebatch.policies.arguments import (
    as_double,
    plain_items,
    plain_number,
    plain_text,
    shown,
)
from judgebatch.policies.errors import PolicyDefinitionError


@dataclass(frozen=True, slots=True)
class NoulRule:
    """Inclusive bounds, 0 to 1, on a probability; at least one of them.

    Raises
    ------
    PolicyDefinitionError
        The name is not a nonempty text, or a bound is not a number in its range.
    """

    name: str
    minimum: float | None = None
    maximum: float | None = None

    def __post_init__(self) -> None:
        _set(self, "name", _name(self.name))
        _set(self, "minimum", _bound(self.minimum, "minimum", self.name, 1.0))
        _set(self, "maximum", _bound(self.maximum, "maximum", self.name, 1.0))
        if self.minimum is None and self.maximum is None:
            raise PolicyDefinitionError(f"the rule on {shown(self.name)} has no bound")
        _check_order(self.name, self.minimum, self.maximum)


@dataclass(frozen=True, slots=True)
class ChoiceRule:
    """The required label, and the least confidence in it.

    Raises
    ------
    PolicyDefinitionError
        The name is not a nonempty text, the label not a text, or the confidence not in 0..1.
    """

    name: str
    choice: str
    min_confidence: float | None = None

    def __post_init__(self) -> None:
        _set(self, "name", _name(self.name))
        label = plain_text(self.choice)
        if label is None:
            raise PolicyDefinitionError(
                f"the rule on {shown(self.name)} requires {shown(self.choice)}; a label is a text"
            )
        _set(self, "choice", label)
        _set(self, "min_confidence", _confidence(self.min_confidence, self.name))


@dataclass(frozen=True, slots=True)
class ScoreRule:
    """Inclusive bounds on the expected score, or the exact most probable level.

    Raises
    ------
    PolicyDefinitionError
        The name is not a nonempty text, a number is not in its range, there is neither a bound
        nor a level, or a level stands beside a bound.
    """

    name: str
    minimum: float | None = None
    maximum: float | None = None
    min_confidence: float | None = None
    level: int | None = None

    def __post_init__(self) -> None:
        _set(self, "name", _name(self.name))
        _set(self, "minimum", _bound(self.minimum, "minimum", self.name, None))
        _set(self, "maximum", _bound(self.maximum, "maximum", self.name, None))
        _set(self, "min_confidence", _confidence(self.min_confidence, self.name))
        _set(self, "level", _level(self.level, self.name))
        bounded = self.minimum is not None or self.maximum is not None
        if self.level is not None and bounded:
            raise PolicyDefinitionError(
                f"the rule on {shown(self.name)} has a level beside a minimum or maximum; "
                "keep one of them"
            )
        if self.level is None and not bounded:
            raise PolicyDefinitionError(
                f"the rule on {shown(self.name)} has no minimum, maximum or level"
            )
        _check_order(self.name, self.minimum, self.maximum)


Rule = NoulRule | ChoiceRule | ScoreRule


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules in order; an episode passes where all of them do.

    Raises
    ------
    PolicyDefinitionError
        ``rules`` is not a list or tuple, is empty, holds something that is not a rule, or names
        a question twice.
    """

    rules: tuple[Rule, ...]

    def __post_init__(self) -> None:
        given = plain_items(self.rules)
        if given is None:
            raise PolicyDefinitionError(
                f"the rules of a policy are a list or tuple, not {shown(self.rules)}"
            )
        rules: list[Rule] = []
        names: set[str] = set()
        for rule in given:
            if not isinstance(rule, NoulRule | ChoiceRule | ScoreRule):
                raise PolicyDefinitionError(
                    f"{shown(rule)} is not a NoulRule, ChoiceRule or ScoreRule"
                )
            if rule.name in names:
                raise PolicyDefinitionError(
                    f"two rules on the question {shown(rule.name)}; a question has one rule"
                )
            names.add(rule.name)
            rules.append(rule)
        if not rules:
            raise PolicyDefinitionError("a policy has at least one rule")
        _set(self, "rules", tuple(rules))


def _set(target: object, field: str, value: object) -> None:
    object.__setattr__(target, field, value)


def _name(value: object) -> str:
    name = plain_text(value)
    if not name:
        raise PolicyDefinitionError(
            f"a rule is named by its question, a nonempty text, not {shown(value)}"
        )
    return name


def _bound(value: object, what: str, name: str, highest: float | None) -> float | None:
    """Return ``value`` as a double in 0..``highest``."""
    if value is None:
        return None
    number = plain_number(value)
    double = None if number is None else as_double(number)
    if double is None:
        raise PolicyDefinitionError(
            f"the {what} of {shown(name)} is {shown(value)}; it is a finite number"
        )
    if double < 0.0 or (highest is not None and double > highest):
        allowed = "at least 0" if highest is None else f"between 0 and {highest:g}"
        raise PolicyDefinitionError(f"the {what} of {shown(name)} is {double!r}; it is {allowed}")
    return double


def _confidence(value: object, name: str) -> float | None:
    return _bound(value, "least confidence", name, 1.0)


def _level(value: object, name: str) -> int | None:
    if value is None:
        return None
    level = plain_number(value)
    if not isinstance(level, int) or level < 0:
        raise PolicyDefinitionError(
            f"the level of {shown(name)} is {shown(value)}; it is a whole number, 0 or more"
        )
    return level


def _check_order(name: str, minimum: float | None, maximum: float | None) -> None:
    if minimum is not None and maximum is not None and minimum > maximum:
        raise PolicyDefinitionError(
            f"the minimum of {shown(name)}, {minimum!r}, is above its maximum, {maximum!r}"
        )
