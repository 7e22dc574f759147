"""Policies and questions as texts: the user's files, and the documents that a run keeps.

A document holds a policy with the questions that it names, so that an episode is decided by the
policy that was in force when its wait began, whatever has become of the files since.
"""

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from judgebatch.errors import SettingsError, did_you_mean
from judgebatch.policies.binding import BoundRule, ValidatedPolicy
from judgebatch.policies.columns import check_representable
from judgebatch.policies.errors import PolicyDefinitionError
from judgebatch.policies.grammar import parse_policy, parse_questions
from judgebatch.policies.questions import Question
from judgebatch.policies.rules import ChoiceRule, NoulRule, Rule


def read_policy(text: str, questions: Mapping[str, Question], *, file: str) -> ValidatedPolicy:
    """Return the policy that the text of ``file`` holds.

    Raises
    ------
    SettingsError
        It holds none that fits ``questions``; names the file, line, column and reason.
    """
    try:
        policy = parse_policy(text, questions)
        check_representable(policy)
    except PolicyDefinitionError as error:
        raise _settings_error(file, error) from error
    return policy


def read_questions(text: str, *, file: str) -> dict[str, Question]:
    """Return the questions that the text of ``file`` holds.

    Raises
    ------
    SettingsError
        It holds none; names the file, line, column and reason.
    """
    try:
        return parse_questions(text)
    except PolicyDefinitionError as error:
        raise _settings_error(file, error) from error


def read_policies(
    texts: Mapping[str, str], questions_text: str, *, wanted: Iterable[str], folder: str
) -> dict[str, ValidatedPolicy]:
    """Return the policies that the settings choose.

    Parameters
    ----------
    texts
        The text of ``NAME.json`` by name.
    questions_text
        The text of ``questions.json``.
    wanted
        The names that the settings choose.
    folder
        Where the files are, for messages.

    Raises
    ------
    SettingsError
        A chosen name has no file, or a file is wrong; names the file and the reason.
    """
    questions = read_questions(questions_text, file=f"{folder}/questions.json")
    policies: dict[str, ValidatedPolicy] = {}
    for name in dict.fromkeys(wanted):
        if name not in texts:
            raise SettingsError(
                f"The settings choose the policy {name!r}, but there is no {folder}/{name}.json"
                f"{did_you_mean(name, texts)}. Add the file, or correct `policies`."
            )
        policies[name] = read_policy(texts[name], questions, file=f"{folder}/{name}.json")
    return policies


def policy_document(policy: ValidatedPolicy) -> str:
    """Return the policy and its questions as JSON text; equal policies give equal texts.

    Instructions and the texts of criteria are not part of it: they decide nothing.
    """
    document = {
        "policy": {"rules": [_rule(bound.rule) for bound in policy.bound]},
        "questions": {bound.rule.name: _question(bound) for bound in policy.bound},
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def policy_digest(document: str) -> str:
    """Return the SHA-256 of a document, in hexadecimal."""
    return sha256(document.encode()).hexdigest()


def read_document(document: str) -> ValidatedPolicy:
    """Return the policy that :func:`policy_document` wrote.

    Raises
    ------
    PolicyDefinitionError
        The text is no such document.
    """
    try:
        parts = json.loads(document)
        policy, questions = json.dumps(parts["policy"]), json.dumps(parts["questions"])
    except (ValueError, KeyError, TypeError) as error:
        raise PolicyDefinitionError(f"this is no document of a policy: {error}") from error
    return parse_policy(policy, parse_questions(questions))


def _settings_error(file: str, error: PolicyDefinitionError) -> SettingsError:
    where = file if error.line is None else f"{file}, line {error.line}, column {error.column}"
    return SettingsError(f"{where}: {error.problem}. Correct the file.")


def _rule(rule: Rule) -> dict[str, Any]:
    if isinstance(rule, NoulRule):
        passing: dict[str, Any] = {"noul": _range(rule.minimum, rule.maximum)}
        return {"question": rule.name, "pass": passing}
    if isinstance(rule, ChoiceRule):
        passing = {"choice": rule.choice}
    elif rule.level is not None:
        passing = {"score": {"level": rule.level}}
    else:
        passing = {"score": _range(rule.minimum, rule.maximum)}
    if rule.min_confidence is not None:
        passing["confidence"] = {"min": rule.min_confidence}
    return {"question": rule.name, "pass": passing}


def _range(minimum: float | None, maximum: float | None) -> dict[str, float]:
    bounds = {"min": minimum, "max": maximum}
    return {name: bound for name, bound in bounds.items() if bound is not None}


def _question(bound: BoundRule) -> dict[str, Any]:
    if isinstance(bound.rule, NoulRule):
        return {"type": "noul"}
    if isinstance(bound.rule, ChoiceRule):
        return {"type": "choice", "criteria": dict.fromkeys(bound.labels, "")}
    return {"type": "score", "criteria": [""] * (bound.top + 1)}
