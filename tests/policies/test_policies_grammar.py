import json

import pytest

from judgebatch import policies as p
from judgebatch.errors import SettingsError
from judgebatch.policies.documents import (
    policy_digest,
    policy_document,
    read_document,
    read_policies,
)

QUESTIONS_TEXT = json.dumps(
    {
        "safe": {"type": "noul", "instructions": "Is it safe?"},
        "tone": {"type": "choice", "criteria": {"polite": "kind", "rude": "not"}},
        "depth": {"type": "score", "criteria": ["none", "some", "all"]},
    }
)
QUESTIONS = p.parse_questions(QUESTIONS_TEXT)
POLICY = """{"rules": [
  {"question": "safe", "pass": {"noul": {"min": 0.9}}},
  {"question": "tone", "pass": {"choice": "polite", "confidence": {"min": 0.5}}},
  {"question": "depth", "pass": {"score": {"min": -0.0, "max": 2}}}
]}"""


def test_questions_are_read():
    expected = {
        "safe": p.Noul(instructions="Is it safe?"),
        "tone": p.Choice(criteria={"polite": "kind", "rude": "not"}),
        "depth": p.Score(criteria=["none", "some", "all"]),
    }
    assert expected == QUESTIONS


@pytest.mark.parametrize(
    ("text", "line", "column", "said"),
    [
        ("", 1, 1, "the end of the text"),
        ("\ufeff{}", 1, 1, "byte order mark"),
        ('{"rules": [1, 2}', 1, 16, "',' or ']' belongs here"),
        ('{"rules":\n  [{"question": "safe"}]}', 2, 4, "lacks 'pass'"),
        (POLICY.replace('"min": 0.9', '"mn": 0.9'), 2, 42, "did you mean 'min'"),
        (POLICY.replace('"depth"', '"dpth"'), 4, 16, "did you mean 'depth'"),
        (POLICY.replace('"polite"', '"Polite"'), 3, 16, "not a label"),
        (POLICY.replace('"max": 2', '"max": 2.0000000000000004'), 4, 16, "scale ends at 2"),
        (POLICY.replace('"min": 0.5', '"min": 1.5'), 3, 75, "0..1"),
        (POLICY.replace('"min": 0.9', '"min": true'), 2, 49, "it must be a number"),
        (POLICY.replace('"tone"', '"safe"'), 3, 16, "two rules on the question"),
        ('{"rules": [], "rules": []}', 1, 15, "occurs twice"),
        ('{"rules": [], "\\u0072ules": []}', 1, 15, "occurs twice"),
        ('{"rules": ' + "[" * 100_000, 1, 75, "nested more than 64 deep"),
        ('{"rules": ' + '{"a":' * 100_000, 1, 331, "nested more than 64 deep"),
        ('{"rules": ' + "9" * 100_000 + "}", 1, 11, "too large"),
        ('{"rules": 1e999}', 1, 11, "too large"),
        ('{"rules": [NaN]}', 1, 12, "not 'NaN'"),
    ],
)
def test_errors_name_their_place(text: str, line: int, column: int, said: str):
    with pytest.raises(p.PolicyDefinitionError) as caught:
        p.parse_policy(text, QUESTIONS)
    error = caught.value
    assert said in error.problem
    assert (error.line, error.column) == (line, column)
    assert str(error) == f"line {line}, column {column}: {error.problem}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "must be an object"),
        ('{"": {"type": "noul"}}', "has a name"),
        ('{"a": {}}', "lacks 'type'"),
        ('{"a": {"type": "nuol"}}', "did you mean 'noul'"),
        ('{"a": {"type": 1}}', "must be a text"),
        ('{"a": {"type": "noul", "criteria": []}}', "has no 'criteria'"),
        ('{"a": {"type": "noul", "instructions": null}}', "must be a text"),
        ('{"a": {"type": "choice"}}', "lacks 'criteria'"),
        ('{"a": {"type": "choice", "criteria": {}}}', "empty"),
        ('{"a": {"type": "choice", "criteria": ["x"]}}', "must be an object"),
        ('{"a": {"type": "choice", "criteria": {"x": 1}}}', "must be a text"),
        ('{"a": {"type": "score", "criteria": []}}', "empty"),
        ('{"a": {"type": "score", "criteria": {"0": "x"}}}', "must be an array"),
        ('{"a": {"type": "noul"}, "a": {"type": "noul"}}', "occurs twice"),
    ],
)
def test_wrong_questions_are_refused(text: str, said: str):
    with pytest.raises(p.PolicyDefinitionError, match=said) as caught:
        p.parse_questions(text)
    assert caught.value.line == 1


def test_a_document_gives_the_policy_back():
    policy = p.parse_policy(POLICY, QUESTIONS)
    document = policy_document(policy)
    again = read_document(document)
    assert again == policy
    assert policy_document(again) == document
    assert str(again.policy.rules[2]) == str(policy.policy.rules[2])  # -0.0 stays -0.0
    assert len(policy_digest(document)) == 64
    other = p.parse_policy(POLICY.replace("0.9", "0.8"), QUESTIONS)
    assert policy_digest(policy_document(other)) != policy_digest(document)


def test_a_chosen_policy_must_be_there_and_right():
    texts = {"release": POLICY, "broken": POLICY.replace('"tone"', '"tune"')}
    found = read_policies(texts, QUESTIONS_TEXT, wanted=["release", "release"], folder="policies")
    assert list(found) == ["release"]
    with pytest.raises(SettingsError, match=r"no policies/relase\.json \(did you mean 'release'"):
        read_policies(texts, QUESTIONS_TEXT, wanted=["relase"], folder="policies")
    place = r"policies/broken\.json, line 3, column 16: there is no question 'tune'"
    with pytest.raises(SettingsError, match=place):
        read_policies(texts, QUESTIONS_TEXT, wanted=["broken"], folder="policies")
    with pytest.raises(SettingsError, match=r"policies/questions\.json, line 1, column 1"):
        read_policies(texts, "[]", wanted=["release"], folder="policies")


def test_half_a_surrogate_pair_is_refused_where_columns_must_hold_it():
    questions = '{"\\ud800": {"type": "noul"}}'
    text = '{"rules": [{"question": "\\ud800", "pass": {"noul": {"min": 0}}}]}'
    assert p.parse_policy(text, p.parse_questions(questions))
    with pytest.raises(SettingsError, match="half of a surrogate pair"):
        read_policies({"x": text}, questions, wanted=["x"], folder="policies")
