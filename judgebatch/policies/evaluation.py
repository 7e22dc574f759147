"""Evaluating one policy over one episode's answers.

Comparisons are inclusive and exact on doubles: no tolerance, one unit in the last place decides.
"""

import math
from collections.abc import Mapping

from judgebatch.policies.answers import Answer, ChoiceAnswer, NoulAnswer, ScoreAnswer
from judgebatch.policies.arguments import (
    entry,
    number_text,
    plain_keys,
    plain_number,
    plain_text,
    shown,
)
from judgebatch.policies.binding import BoundRule, ValidatedPolicy
from judgebatch.policies.errors import PolicyAnswerError, PolicyDefinitionError
from judgebatch.policies.reports import PolicyReport, RuleReport
from judgebatch.policies.rules import ChoiceRule, NoulRule, ScoreRule
from judgebatch.vocabulary import AnswerError

ANSWER_TYPES: dict[type, type] = {
    NoulRule: NoulAnswer,
    ChoiceRule: ChoiceAnswer,
    ScoreRule: ScoreAnswer,
}


def evaluate_policy(policy: ValidatedPolicy, answers: Mapping[str, Answer]) -> PolicyReport:
    """Return what each rule of ``policy`` says of ``answers``, in order.

    An unmet rule is a decision, and every rule is reported. Answers that no rule names are
    ignored, malformed ones too.

    Raises
    ------
    PolicyAnswerError
        A selected answer is missing, of another type, or malformed. There is no partial report.
    PolicyDefinitionError
        ``policy`` is not a :class:`ValidatedPolicy`.
    """
    if not isinstance(policy, ValidatedPolicy):
        raise PolicyDefinitionError(
            f"{shown(policy)} is not a ValidatedPolicy; validate_policy makes one"
        )
    if not isinstance(answers, Mapping):
        raise PolicyAnswerError(f"answers map questions to answers, unlike {shown(answers)}")
    return PolicyReport(tuple(_evaluate(bound, answers) for bound in policy.bound))


def _evaluate(bound: BoundRule, answers: Mapping[str, Answer]) -> RuleReport:
    rule = bound.rule
    answer = entry(answers, rule.name)
    if answer is None:
        raise PolicyAnswerError(
            f"there is no answer to {shown(rule.name)}",
            question=rule.name,
            reason=AnswerError.MISSING_ANSWER,
        )
    if isinstance(rule, NoulRule) and isinstance(answer, NoulAnswer):
        parts = _noul(rule, answer)
    elif isinstance(rule, ChoiceRule) and isinstance(answer, ChoiceAnswer):
        parts = _choice(rule, answer, bound.labels)
    elif isinstance(rule, ScoreRule) and isinstance(answer, ScoreAnswer):
        parts = _score(rule, answer, bound.top)
    else:
        raise PolicyAnswerError(
            f"the answer to {shown(rule.name)} is {shown(answer)}; "
            f"its rule needs a {ANSWER_TYPES[type(rule)].__name__}",
            question=rule.name,
            reason=AnswerError.WRONG_ANSWER_TYPE,
        )
    passed = all(met for met, _ in parts)
    detail = " and ".join(text for _, text in parts) + (" -> pass" if passed else " -> fail")
    return RuleReport(rule.name, passed, detail)


_Part = tuple[bool, str]
"""Whether one comparison holds, and the comparison in words."""


def _noul(rule: NoulRule, answer: NoulAnswer) -> list[_Part]:
    value = _in_range(answer.value, 1, "probability", rule.name)
    return _bounds("noul", value, rule.minimum, rule.maximum)


def _choice(rule: ChoiceRule, answer: ChoiceAnswer, labels: tuple[str, ...]) -> list[_Part]:
    confidence = _in_range(answer.confidence, 1, "confidence", rule.name)
    choice = plain_text(answer.choice)
    if choice is None or choice not in labels:
        raise _malformed(rule.name, f"{shown(answer.choice)} is not one of its labels")
    parts = [(choice == rule.choice, f"choice '{choice}' == '{rule.choice}'")]
    return parts + _confidence(confidence, rule.min_confidence)


def _score(rule: ScoreRule, answer: ScoreAnswer, top: int) -> list[_Part]:
    confidence = _in_range(answer.confidence, 1, "confidence", rule.name)
    score = _in_range(answer.score, top, "score", rule.name)
    if rule.level is None:
        parts = _bounds("score", score, rule.minimum, rule.maximum)
    else:
        level = _most_probable_level(answer.probabilities, rule.name)
        text = f"score level {number_text(level)} == {number_text(rule.level)}"
        parts = [(level == rule.level, text)]
    return parts + _confidence(confidence, rule.min_confidence)


def _bounds(what: str, value: float, minimum: float | None, maximum: float | None) -> list[_Part]:
    parts = []
    observed = f"{what} {number_text(value)}"
    if minimum is not None:
        parts.append((value >= minimum, f"{observed} >= {number_text(minimum)}"))
    if maximum is not None:
        parts.append((value <= maximum, f"{observed} <= {number_text(maximum)}"))
    return parts


def _confidence(value: float, least: float | None) -> list[_Part]:
    if least is None:
        return []
    return [(value >= least, f"confidence {number_text(value)} >= {number_text(least)}")]


def _in_range(value: object, highest: int, what: str, question: str) -> float:
    number = plain_number(value)
    if number is None or not 0 <= number <= highest:
        raise _malformed(question, f"its {what} is {shown(value)}, not in 0..{highest}")
    return number


def _most_probable_level(probabilities: object, question: str) -> int:
    """Return the level of the largest probability; of equal ones the lowest.

    Only the order of the numbers matters: they need not be probabilities, and levels outside the
    scale take part. NaN has no place in an order, so that the mapping's order would decide.
    """
    levels = plain_keys(probabilities)
    if not levels:
        raise _malformed(question, f"its distribution is {shown(probabilities)}")
    best: tuple[float, int] | None = None
    for key in levels:
        level = plain_number(key)
        weight = _weight(probabilities, key)
        if not isinstance(level, int) or weight is None:
            raise _malformed(question, f"its distribution is {shown(probabilities)}")
        if best is None or weight > best[0] or (weight == best[0] and level < best[1]):
            best = (weight, level)
    if best is None:
        raise _malformed(question, "its distribution is empty")
    return best[1]


def _weight(probabilities: object, key: object) -> float | None:
    """Return the number under ``key``, infinities included; ``None`` for NaN and non-numbers."""
    weight = entry(probabilities, key)
    if isinstance(weight, float) and math.isinf(weight):
        return float.__pos__(weight)
    return plain_number(weight)


def _malformed(question: str, what: str) -> PolicyAnswerError:
    return PolicyAnswerError(
        f"the answer to {shown(question)} is malformed: {what}", question=question
    )
