"""Binding a policy to the questions that it names."""

from collections.abc import Mapping
from dataclasses import dataclass

from judgebatch.errors import did_you_mean
from judgebatch.policies.arguments import entry, plain_items, plain_keys, plain_text, shown
from judgebatch.policies.errors import PolicyDefinitionError
from judgebatch.policies.questions import Choice, Noul, Question, Score
from judgebatch.policies.rules import ChoiceRule, NoulRule, Policy, Rule, ScoreRule


@dataclass(frozen=True, slots=True)
class BoundRule:
    """A rule with what it needs to know of its question, copied from it.

    ``labels`` are those of a choice question, in its order, and empty otherwise; ``top`` is the
    highest level of a score question, and 0 otherwise.
    """

    rule: Rule
    labels: tuple[str, ...] = ()
    top: int = 0


@dataclass(frozen=True, slots=True, init=False)
class ValidatedPolicy:
    """A policy whose questions exist and fit; later edits of the questions change nothing.

    Raises
    ------
    PolicyDefinitionError
        ``policy`` is not a :class:`Policy`, or a rule does not fit its question.
    """

    policy: Policy
    bound: tuple[BoundRule, ...]

    def __init__(self, policy: Policy, questions: Mapping[str, Question]) -> None:
        if not isinstance(policy, Policy):
            raise PolicyDefinitionError(f"{shown(policy)} is not a Policy")
        object.__setattr__(self, "policy", policy)
        bound = tuple(bind_rule(rule, questions) for rule in policy.rules)
        object.__setattr__(self, "bound", bound)


def validate_policy(policy: Policy, questions: Mapping[str, Question]) -> ValidatedPolicy:
    """Return ``policy`` bound to ``questions``.

    Raises
    ------
    PolicyDefinitionError
        A rule names a question that is not there or of another type, a label that is not among
        the choices, or a bound or level above the scale.
    """
    return ValidatedPolicy(policy, questions)


def bind_rule(rule: Rule, questions: Mapping[str, Question]) -> BoundRule:
    """Return ``rule`` with the labels and the scale limit of its question.

    Raises
    ------
    PolicyDefinitionError
        As :func:`validate_policy`.
    """
    question = entry(questions, rule.name)
    if question is None:
        raise PolicyDefinitionError(
            f"there is no question {shown(rule.name)}{_meant(rule.name, questions)}"
        )
    if isinstance(rule, NoulRule) and isinstance(question, Noul):
        return BoundRule(rule)
    if isinstance(rule, ChoiceRule) and isinstance(question, Choice):
        return BoundRule(rule, labels=_labels(rule, question))
    if isinstance(rule, ScoreRule) and isinstance(question, Score):
        return BoundRule(rule, top=_top(rule, question))
    raise PolicyDefinitionError(
        f"the rule on {shown(rule.name)} is a {type(rule).__name__}, but the question is "
        f"{shown(question) if not isinstance(question, Question) else type(question).__name__}"
    )


def _meant(name: str, questions: object) -> str:
    known = [key for key in plain_keys(questions) or () if isinstance(key, str)]
    return did_you_mean(name, known)


def _labels(rule: ChoiceRule, question: Choice) -> tuple[str, ...]:
    given = plain_keys(question.criteria)
    if given is None:
        raise PolicyDefinitionError(
            f"the criteria of {shown(rule.name)} are {shown(question.criteria)}; "
            "those of a choice map labels to texts"
        )
    labels = [label for label in map(plain_text, given) if label is not None]
    if len(labels) != len(given):
        raise PolicyDefinitionError(f"a label of {shown(rule.name)} is not a text: {shown(given)}")
    if rule.choice not in labels:
        raise PolicyDefinitionError(
            f"{shown(rule.choice)} is not a label of {shown(rule.name)}"
            f"{did_you_mean(rule.choice, labels)}; its labels: {shown(labels)}"
        )
    return tuple(labels)


def _top(rule: ScoreRule, question: Score) -> int:
    criteria = plain_items(question.criteria)
    if not criteria:
        raise PolicyDefinitionError(
            f"the criteria of {shown(rule.name)} are {shown(question.criteria)}; "
            "those of a score are a nonempty list"
        )
    top = len(criteria) - 1
    for what, value in (
        ("minimum", rule.minimum),
        ("maximum", rule.maximum),
        ("level", rule.level),
    ):
        if value is not None and value > top:
            raise PolicyDefinitionError(
                f"the {what} of {shown(rule.name)} is {shown(value)}, but its scale ends at {top}"
            )
    return top
