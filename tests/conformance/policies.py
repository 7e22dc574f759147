"""Cases of the policy rules: parsing, evaluating and constructing.

NaN and the infinities stand as texts in numeric places.
"""

import json
from typing import Any

from judgebatch import policies as p

_NUMBERS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def matches(case: dict[str, Any]) -> bool:
    """Say whether ``case`` is one of policies."""
    return "expect" in case and ("policy_text" in case or ("rules" in case and "group" in case))


def check(case: dict[str, Any]) -> list[str]:
    """Return what differs from the expected result; nothing where it agrees."""
    expected = case["expect"]
    try:
        if "answers" in case:
            observed = _evaluated(case)
        elif "policy_text" in case:
            policy = p.parse_policy(case["policy_text"], questions_of(case["questions"]))
            observed = {"ok": True, "rules": _rules(policy.policy)}
        else:
            observed = _constructed(case)
    except p.PolicyError as error:
        observed = {"ok": False, "error": type(error).__name__}
    wanted = {key: value for key, value in expected.items() if key != "why"}
    if _canonical(wanted) == _canonical({key: observed.get(key) for key in wanted}):
        return []
    return [f"expected {wanted!r}, got {observed!r}"]


def _canonical(value: Any) -> str:
    """Return a text that tells 1 from 1.0 and 0.0 from -0.0."""
    return json.dumps(value, sort_keys=True)


def questions_of(described: dict[str, Any]) -> dict[str, p.Question]:
    """Return typed questions."""
    return {name: _question(question) for name, question in described.items()}


def answers_of(described: dict[str, Any]) -> dict[str, Any]:
    """Return typed answers; raw ones as the plain values that they are."""
    return {name: _answer(answer) for name, answer in described.items()}


def _question(described: dict[str, Any]) -> p.Question:
    if described["type"] == "noul":
        return p.Noul()
    if described["type"] == "choice":
        return p.Choice(criteria=dict.fromkeys(described["labels"], "what it stands for"))
    return p.Score(criteria=[f"level {level}" for level in range(described["levels"])])


def _answer(described: dict[str, Any]) -> Any:
    if described["type"] == "noul":
        return p.NoulAnswer(number(described["probability"]))
    if described["type"] == "choice":
        return p.ChoiceAnswer(described["choice"], number(described["confidence"]))
    if described["type"] == "score":
        levels = described["probabilities"]
        if isinstance(levels, dict):
            levels = {int(level): number(value) for level, value in levels.items()}
        score, confidence = number(described["score"]), number(described["confidence"])
        return p.ScoreAnswer(score, confidence, levels)
    return described["value"]


def number(value: Any) -> Any:
    """Return a number that stands as a text, and anything else as it is."""
    return _NUMBERS.get(value, value) if isinstance(value, str) else value


def _evaluated(case: dict[str, Any]) -> dict[str, Any]:
    policy = p.parse_policy(case["policy_text"], questions_of(case["questions"]))
    report = p.evaluate_policy(policy, answers_of(case["answers"]))
    rules = [
        {"question": rule.question, "passed": rule.passed, "detail": rule.detail}
        for rule in report.rules
    ]
    return {"ok": True, "passed": report.passed, "rules": rules}


def _constructed(case: dict[str, Any]) -> dict[str, Any]:
    stage = "rule"
    try:
        rules = [_rule(rule) for rule in case["rules"]]
        stage = "policy"
        policy = p.Policy(rules)  # type: ignore[arg-type]  # lists are accepted
        if "questions" in case:
            stage = "validate"
            policy = p.validate_policy(policy, questions_of(case["questions"])).policy
    except p.PolicyError as error:
        return {"ok": False, "error": type(error).__name__, "stage": stage}
    return {"ok": True, "rules": _rules(policy)}


def _rule(described: dict[str, Any]) -> p.Rule:
    kinds = {"noul": p.NoulRule, "choice": p.ChoiceRule, "score": p.ScoreRule}
    text = ("name", "choice")
    fields = {
        key: value if key in text else number(value)
        for key, value in described.items()
        if key != "type"
    }
    return kinds[described["type"]](**fields)


def _rules(policy: p.Policy) -> list[dict[str, Any]]:
    return [_normalised(rule) for rule in policy.rules]


def _normalised(rule: p.Rule) -> dict[str, Any]:
    if isinstance(rule, p.NoulRule):
        return {"type": "noul", "question": rule.name, "min": rule.minimum, "max": rule.maximum}
    if isinstance(rule, p.ChoiceRule):
        return {
            "type": "choice",
            "question": rule.name,
            "choice": rule.choice,
            "min_confidence": rule.min_confidence,
        }
    return {
        "type": "score",
        "question": rule.name,
        "min": rule.minimum,
        "max": rule.maximum,
        "level": rule.level,
        "min_confidence": rule.min_confidence,
    }
