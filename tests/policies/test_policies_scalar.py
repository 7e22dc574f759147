from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import pytest

from judgebatch import policies as p

QUESTIONS: dict[str, p.Question] = {
    "n": p.Noul(instructions="Is it so?"),
    "c": p.Choice(criteria={"yes": "", "no": ""}),
    "s": p.Score(criteria=["a", "b", "c"]),
}
HUGE = 10**5000


def policy(*rules: p.Rule) -> p.ValidatedPolicy:
    return p.validate_policy(p.Policy(rules), QUESTIONS)


def test_later_edits_of_a_question_change_nothing():
    labels = {"yes": "", "no": ""}
    scale = ["a", "b", "c"]
    questions = {"c": p.Choice(criteria=labels), "s": p.Score(criteria=scale)}
    bound = p.validate_policy(
        p.Policy([p.ChoiceRule("c", "yes"), p.ScoreRule("s", maximum=2)]), questions
    )
    labels.clear()
    scale.clear()
    questions.clear()
    answers = {"c": p.ChoiceAnswer("no", 0.5), "s": p.ScoreAnswer(2.0, 0.5, {})}
    assert [rule.passed for rule in p.evaluate_policy(bound, answers).rules] == [False, True]


def test_an_unmet_rule_does_not_stop_the_others():
    bound = policy(p.NoulRule("n", 0.5), p.ChoiceRule("c", "yes", 0.1))
    report = p.evaluate_policy(
        bound, {"c": p.ChoiceAnswer("yes", 0.5), "n": p.NoulAnswer(0), "x": p.NoulAnswer(7)}
    )
    assert not report.passed
    assert [(rule.question, rule.detail) for rule in report.rules] == [
        ("n", "noul 0 >= 0.5 -> fail"),
        ("c", "choice 'yes' == 'yes' and confidence 0.5 >= 0.1 -> pass"),
    ]


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ({}, "missing_answer"),
        ({"n": None}, "missing_answer"),
        ({"n": 0.7}, "wrong_answer_type"),
        ({"n": p.ChoiceAnswer("yes", 0.5)}, "wrong_answer_type"),
        ({"n": p.NoulAnswer(1.5)}, "malformed_answer"),
        ({"n": p.NoulAnswer(HUGE)}, "malformed_answer"),
        ({"n": p.NoulAnswer(True)}, "malformed_answer"),
    ],
)
def test_a_broken_answer_says_what_is_broken(answers: Any, reason: str):
    with pytest.raises(p.PolicyAnswerError) as caught:
        p.evaluate_policy(policy(p.NoulRule("n", 0.5)), answers)
    assert (caught.value.question, caught.value.reason) == ("n", reason)


def test_levels_of_any_size_are_printed():
    bound = policy(p.ScoreRule("s", level=1))
    report = p.evaluate_policy(bound, {"s": p.ScoreAnswer(1, 1, {HUGE: 1.0, -1: 0.5})})
    assert report.rules[0].detail == f"score level 1{'0' * 5000} == 1 -> fail"


@pytest.mark.parametrize("levels", [{"0": 1.0}, {0.0: 1.0}, {True: 1.0}, {0: "1"}, [0.5], None, 3])
def test_a_distribution_maps_whole_levels_to_numbers(levels: Any):
    with pytest.raises(p.PolicyAnswerError):
        p.evaluate_policy(policy(p.ScoreRule("s", level=1)), {"s": p.ScoreAnswer(1.0, 0.5, levels)})


def test_reports_are_checked():
    report = p.RuleReport("n", True, "noul 1 >= 0.5 -> pass")
    assert p.PolicyReport([report]).passed  # type: ignore[arg-type]
    for arguments in (("", True, ""), (1, True, ""), ("n", 1, ""), ("n", True, None)):
        with pytest.raises(p.PolicyDefinitionError):
            p.RuleReport(*arguments)
    for rules in ([], [report, report], ["x"], "x", None, 5, iter([report])):
        with pytest.raises(p.PolicyDefinitionError):
            p.PolicyReport(rules)


class Hostile(Mapping[Any, Any]):
    """A mapping that fails whatever is asked of it."""

    def __getitem__(self, key: Any) -> Any:
        raise RuntimeError(key)

    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError

    def __len__(self) -> int:
        raise RuntimeError

    def __repr__(self) -> str:
        raise RuntimeError


class Number(float):
    """A float with a mind of its own."""

    def __float__(self) -> float:
        raise RuntimeError

    def __ge__(self, other: object) -> bool:
        raise RuntimeError

    __le__ = __lt__ = __gt__ = __ge__

    def __repr__(self) -> str:
        return "mine"


ANYTHING: list[Any] = [
    None,
    True,
    0,
    -1,
    HUGE,
    -HUGE,
    0.5,
    float("nan"),
    float("inf"),
    1j,
    "",
    "n",
    "\ud800",
    b"n",
    bytearray(b"{}"),
    [],
    [None],
    (),
    {},
    {"n": None},
    {None: 1},
    set(),
    object(),
    object,
    Hostile(),
    Number(0.5),
    defaultdict(Hostile),
    iter([]),
    lambda: 1,
    p.NoulRule("n", 0.5),
    p.Noul(),
    p.NoulAnswer(0.5),
    p.Choice(criteria=Hostile()),
    p.Score(criteria=Hostile()),  # type: ignore[arg-type]
]


def only_policy_errors(call: Any) -> None:
    with suppress(p.PolicyError):
        call()


@pytest.mark.parametrize("thing", ANYTHING, ids=lambda thing: type(thing).__name__)
def test_nothing_but_a_policy_error_escapes_from_any_argument(thing: Any):
    level = policy(p.ScoreRule("s", level=1), p.ChoiceRule("c", "yes"), p.NoulRule("n", 0.1))
    fine = {
        "n": p.NoulAnswer(0.5),
        "c": p.ChoiceAnswer("yes", 0.5),
        "s": p.ScoreAnswer(1.0, 0.5, {1: 1.0}),
    }
    rules = [p.NoulRule("n", 0.1), p.ChoiceRule("c", "yes"), p.ScoreRule("s", level=1)]
    calls = [
        lambda: p.NoulRule(thing, 0.5),
        lambda: p.NoulRule("n", thing),
        lambda: p.NoulRule("n", 0.1, thing),
        lambda: p.ChoiceRule(thing, "yes"),
        lambda: p.ChoiceRule("c", thing),
        lambda: p.ChoiceRule("c", "yes", thing),
        lambda: p.ScoreRule(thing, 1),
        lambda: p.ScoreRule("s", thing),
        lambda: p.ScoreRule("s", 0, thing),
        lambda: p.ScoreRule("s", level=thing),
        lambda: policy(p.ScoreRule("s", level=thing)),
        lambda: p.ScoreRule("s", 1, min_confidence=thing),
        lambda: p.Policy(thing),
        lambda: p.Policy([thing]),
        lambda: p.validate_policy(thing, QUESTIONS),
        lambda: p.parse_policy(thing, QUESTIONS),
        lambda: p.parse_policy('{"rules":[{"question":"n","pass":{"noul":{"min":0}}}]}', thing),
        lambda: p.parse_questions(thing),
        lambda: p.evaluate_policy(thing, fine),
        lambda: p.evaluate_policy(level, thing),
        lambda: p.RuleReport(thing, thing, thing),
        lambda: p.PolicyReport(thing),
        lambda: p.PolicyReport([thing]),
        *(
            call
            for rule in rules
            for call in (
                lambda rule=rule: p.validate_policy(p.Policy([rule]), thing),
                lambda rule=rule: p.validate_policy(p.Policy([rule]), {rule.name: thing}),
                lambda rule=rule: p.evaluate_policy(level, {**fine, rule.name: thing}),
            )
        ),
        lambda: policy(p.ChoiceRule("c", "yes")) and p.Choice(criteria=thing),
        lambda: p.validate_policy(
            p.Policy([p.ChoiceRule("c", "yes")]), {"c": p.Choice(criteria=thing)}
        ),
        lambda: p.validate_policy(p.Policy([p.ScoreRule("s", 1)]), {"s": p.Score(criteria=thing)}),
        lambda: p.evaluate_policy(level, {**fine, "n": p.NoulAnswer(thing)}),
        lambda: p.evaluate_policy(level, {**fine, "c": p.ChoiceAnswer(thing, 0.5)}),
        lambda: p.evaluate_policy(level, {**fine, "c": p.ChoiceAnswer("yes", thing)}),
        lambda: p.evaluate_policy(level, {**fine, "s": p.ScoreAnswer(thing, 0.5, {1: 1.0})}),
        lambda: p.evaluate_policy(level, {**fine, "s": p.ScoreAnswer(1.0, thing, {1: 1.0})}),
        lambda: p.evaluate_policy(level, {**fine, "s": p.ScoreAnswer(1.0, 0.5, thing)}),
        lambda: p.evaluate_policy(level, {**fine, "s": p.ScoreAnswer(1.0, 0.5, {0: thing})}),
    ]
    for call in calls:
        only_policy_errors(call)


def test_a_number_of_a_subclass_is_the_number_that_it_is():
    assert type(p.NoulRule("n", Number(0.5)).minimum) is float
    report = p.evaluate_policy(policy(p.NoulRule("n", 0.5)), {"n": p.NoulAnswer(Number(0.5))})
    assert report.rules[0].detail == "noul 0.5 >= 0.5 -> pass"
