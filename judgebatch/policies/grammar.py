"""The JSON grammars of policies and of questions.

A policy::

    {"rules": [{"question": "safe", "pass": {"noul": {"min": 0.9}}},
               {"question": "tone", "pass": {"choice": "polite", "confidence": {"min": 0.5}}},
               {"question": "depth", "pass": {"score": {"min": 2, "max": 4}}},
               {"question": "form", "pass": {"score": {"level": 3}}}]}

Questions::

    {"safe": {"type": "noul", "instructions": "Is it safe?"},
     "tone": {"type": "choice", "criteria": {"polite": "…", "rude": "…"}},
     "depth": {"type": "score", "criteria": ["none", "some", "good", "deep", "complete"]}}

Both decode a text; reading files is somebody else's.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from judgebatch.errors import did_you_mean
from judgebatch.policies.arguments import shown
from judgebatch.policies.binding import ValidatedPolicy, bind_rule
from judgebatch.policies.errors import PolicyDefinitionError
from judgebatch.policies.json_text import Node, error_at, read_json
from judgebatch.policies.questions import Choice, Noul, Question, Score
from judgebatch.policies.rules import ChoiceRule, NoulRule, Policy, Rule, ScoreRule
from judgebatch.vocabulary import AnswerType

_PREDICATES = tuple(AnswerType)
_TYPE_NAMES: dict[type, str] = {
    dict: "an object",
    list: "an array",
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    type(None): "null",
}


def parse_policy(text: str, questions: Mapping[str, Question]) -> ValidatedPolicy:
    """Return the policy that ``text`` holds, bound to ``questions``.

    Numbers are rounded to doubles first and then checked against their range.

    Raises
    ------
    PolicyDefinitionError
        Whatever is wrong with the text or with the questions it names; the error carries the
        line and the column.
    """
    root = read_json(text)
    source = _Source(text)
    rules_node = source.members(root, "a policy", required=("rules",))["rules"]
    rules: list[Rule] = []
    names: set[str] = set()
    for node in source.items(rules_node, "rules"):
        rule, question_at = _rule(source, node)
        if rule.name in names:
            raise source.error(question_at, f"two rules on the question {shown(rule.name)}")
        names.add(rule.name)
        try:
            bind_rule(rule, questions)
        except PolicyDefinitionError as error:
            raise source.error(question_at, error.problem) from error
        rules.append(rule)
    return ValidatedPolicy(Policy(tuple(rules)), questions)


def parse_questions(text: str) -> dict[str, Question]:
    """Return the questions that ``text`` holds, in its order.

    Raises
    ------
    PolicyDefinitionError
        Whatever is wrong with the text; the error carries the line and the column.
    """
    root = read_json(text)
    source = _Source(text)
    questions: dict[str, Question] = {}
    for name, node in source.object(root, "the questions").items():
        if not name:
            raise source.key_error(node, "a question has a name")
        questions[name] = _question(source, node)
    return questions


@dataclass(frozen=True, slots=True)
class _Source:
    """The text that nodes came from: checks of their form, with the place in every error."""

    text: str

    def error(self, node: Node, problem: str) -> PolicyDefinitionError:
        return error_at(self.text, node.at, problem)

    def key_error(self, node: Node, problem: str) -> PolicyDefinitionError:
        return error_at(self.text, node.key_at, problem)

    def object(self, node: Node, what: str) -> dict[str, Node]:
        if isinstance(node.value, dict):
            return node.value
        raise self._wrong_type(node, what, "an object")

    def members(
        self, node: Node, what: str, required: tuple[str, ...] = (), optional: tuple[str, ...] = ()
    ) -> dict[str, Node]:
        """Return the members of an object that has all of ``required`` and no unknown one."""
        members = self.object(node, what)
        known = required + optional
        for name, member in members.items():
            if name not in known:
                raise self.key_error(
                    member,
                    f"{what} has no {shown(name)}{did_you_mean(name, known)}; "
                    f"it has {', '.join(known)}",
                )
        for name in required:
            if name not in members:
                raise self.error(node, f"{what} lacks {name!r}")
        return members

    def items(self, node: Node, what: str) -> list[Node]:
        """Return the items of a nonempty array."""
        if not isinstance(node.value, list):
            raise self._wrong_type(node, what, "an array")
        if not node.value:
            raise self.error(node, f"{what} is empty")
        return node.value

    def string(self, node: Node, what: str) -> str:
        if isinstance(node.value, str):
            return node.value
        raise self._wrong_type(node, what, "a text")

    def number(self, node: Node, what: str) -> float:
        if isinstance(node.value, int | float) and not isinstance(node.value, bool):
            return node.value
        raise self._wrong_type(node, what, "a number")

    def integer(self, node: Node, what: str) -> int:
        if isinstance(node.value, int) and not isinstance(node.value, bool):
            return node.value
        raise self._wrong_type(node, what, "a whole number, written without a point")

    def _wrong_type(self, node: Node, what: str, wanted: str) -> PolicyDefinitionError:
        return self.error(node, f"{what} is {_TYPE_NAMES[type(node.value)]}; it must be {wanted}")


def _rule(source: _Source, node: Node) -> tuple[Rule, Node]:
    """Return the rule, and the node of its question's name."""
    members = source.members(node, "a rule", required=("question", "pass"))
    name = source.string(members["question"], "question")
    if not name:
        raise source.error(members["question"], "question is empty")
    passing = members["pass"]
    present = source.members(passing, "pass", optional=(*_PREDICATES, "confidence"))
    predicates = [name for name in _PREDICATES if name in present]
    if len(predicates) != 1:
        raise source.error(
            passing,
            f"pass has {' and '.join(predicates) or 'no predicate'}; "
            "it has exactly one of noul, choice and score",
        )
    predicate = predicates[0]
    least = _least_confidence(source, present, predicate)
    try:
        return _predicate(source, present[predicate], predicate, name, least), members["question"]
    except PolicyDefinitionError as error:
        if error.line is not None:
            raise
        raise source.error(present[predicate], error.problem) from error


def _least_confidence(
    source: _Source, present: dict[str, Node], predicate: AnswerType
) -> float | None:
    node = present.get("confidence")
    if node is None:
        return None
    if predicate is AnswerType.NOUL:
        raise source.key_error(node, "a noul answer has no confidence; bound its probability")
    least = source.members(node, "confidence", required=("min",))["min"]
    value = source.number(least, "min")
    if not 0 <= value <= 1:
        raise source.error(least, f"the least confidence is {shown(value)}; it is in 0..1")
    return value


def _predicate(
    source: _Source, node: Node, predicate: AnswerType, name: str, least: float | None
) -> Rule:
    if predicate is AnswerType.CHOICE:
        return ChoiceRule(name, source.string(node, "choice"), least)
    if predicate is AnswerType.NOUL:
        minimum, maximum = _range(source, source.members(node, "noul", optional=("min", "max")))
        return NoulRule(name, minimum, maximum)
    members = source.members(node, "score", optional=("min", "max", "level"))
    minimum, maximum = _range(source, members)
    level = source.integer(members["level"], "level") if "level" in members else None
    return ScoreRule(name, minimum, maximum, least, level)


def _range(source: _Source, members: dict[str, Node]) -> tuple[float | None, float | None]:
    minimum = source.number(members["min"], "min") if "min" in members else None
    maximum = source.number(members["max"], "max") if "max" in members else None
    return minimum, maximum


def _question(source: _Source, node: Node) -> Question:
    members = source.object(node, "a question")
    if "type" not in members:
        raise source.error(node, "a question lacks 'type'")
    written = source.string(members["type"], "type")
    if written not in _PREDICATES:
        raise source.error(
            members["type"],
            f"there is no question type {shown(written)}{did_you_mean(written, _PREDICATES)}; "
            "there are noul, choice and score",
        )
    kind = AnswerType(written)
    required = ("type",) if kind is AnswerType.NOUL else ("type", "criteria")
    source.members(node, f"a {kind} question", required, optional=("instructions",))
    instructions = (
        source.string(members["instructions"], "instructions")
        if "instructions" in members
        else None
    )
    if kind is AnswerType.NOUL:
        return Noul(instructions=instructions)
    criteria = members["criteria"]
    if kind is AnswerType.SCORE:
        levels = [source.string(item, "a level") for item in source.items(criteria, "criteria")]
        return Score(instructions=instructions, criteria=levels)
    labels = source.object(criteria, "criteria")
    if not labels:
        raise source.error(criteria, "criteria is empty")
    return Choice(
        instructions=instructions,
        criteria={label: source.string(item, "a label's text") for label, item in labels.items()},
    )
