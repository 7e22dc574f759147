"""The columnar evaluator gives what the scalar evaluator gives, to the bit."""

import math
from typing import Any

import polars as pl
from hypothesis import example, given, settings
from hypothesis import strategies as st

from judgebatch import policies as p
from judgebatch.policies.columnar import evaluate_policies
from judgebatch.policies.columns import ANSWER_COLUMNS
from judgebatch.policies.float_text import float_texts

LABELS = ("yes", "no", "", "it's", "é\u2028", "' == '")
LEVELS = 4

SPECIAL = (0.0, -0.0, 5e-324, 2.2250738585072014e-308, 1e-5, 9.999999999999999e-05, 1e-4, 0.1, 1.0)
BROKEN = (math.nan, math.inf, -math.inf, -5e-324, math.nextafter(1.0, 2.0), -0.1, 3.5, None)


def bounds(highest: float) -> st.SearchStrategy[float]:
    top = st.sampled_from([*SPECIAL, highest, math.nextafter(highest, 0.0)])
    return st.one_of(top, st.floats(0.0, highest), st.just(0.5))


def optional(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


@st.composite
def rules(draw: st.DrawFn, name: str) -> tuple[p.Rule, p.Question]:
    kind = draw(st.sampled_from(["noul", "choice", "score", "level"]))
    least = draw(optional(bounds(1.0)))
    if kind == "choice":
        labels = draw(st.lists(st.sampled_from(LABELS), min_size=1, unique=True))
        return p.ChoiceRule(name, labels[0], least), p.Choice(criteria=dict.fromkeys(labels, ""))
    scale = p.Score(criteria=["level"] * LEVELS)
    if kind == "level":
        return p.ScoreRule(
            name, level=draw(st.integers(0, LEVELS - 1)), min_confidence=least
        ), scale
    highest = 1.0 if kind == "noul" else float(LEVELS - 1)
    pair = sorted([draw(bounds(highest)), draw(bounds(highest))])
    minimum, maximum = draw(st.sampled_from([(pair[0], None), (None, pair[1]), tuple(pair)]))
    if kind == "noul":
        return p.NoulRule(name, minimum, maximum), p.Noul()
    return p.ScoreRule(name, minimum, maximum, least), scale


def near(values: list[float]) -> st.SearchStrategy[float | None]:
    """Values on a bound, one unit in the last place beside it, ordinary and broken ones."""
    around = [v for b in values for v in (b, math.nextafter(b, -9.0), math.nextafter(b, 9.0))]
    plain = st.floats(0.0, 3.0) | st.sampled_from(SPECIAL)
    return st.one_of(st.sampled_from(around or [0.5]), plain, plain, st.sampled_from(BROKEN))


@st.composite
def distributions(draw: st.DrawFn) -> list[dict[str, Any]] | None:
    if draw(st.integers(0, 9)) == 0:
        return None
    levels = draw(st.lists(st.integers(-2, 6), max_size=5, unique=True))
    weight = st.sampled_from([0.2, 0.2, 0.30000000000000004, 0.3, -0.0, 0.0, math.inf, -math.inf])
    weights = draw(st.lists(weight, min_size=len(levels), max_size=len(levels)))
    entries = [{"level": a, "probability": b} for a, b in zip(levels, weights, strict=True)]
    if draw(st.integers(0, 9)) == 0:
        broken = [{"level": None, "probability": 0.1}, {"level": 9, "probability": None}]
        entries.append(draw(st.sampled_from([*broken, {"level": 9, "probability": math.nan}])))
    return entries


@st.composite
def answers(draw: st.DrawFn, rule: p.Rule) -> dict[str, Any]:
    values = [getattr(rule, name, None) for name in ("minimum", "maximum")]
    confidences = [getattr(rule, "min_confidence", None)]
    kind = {p.NoulRule: "noul", p.ChoiceRule: "choice", p.ScoreRule: "score"}[type(rule)]
    others = ["noul", "choice", "score", "Noul", "", None]
    value = near([v for v in values if v is not None])
    return {
        "answer_type": kind if draw(st.integers(0, 9)) else draw(st.sampled_from(others)),
        "probability": draw(value),
        "choice": draw(st.sampled_from([*LABELS, getattr(rule, "choice", ""), "off", None])),
        "confidence": draw(near([v for v in confidences if v is not None])),
        "score": draw(value),
        "probabilities": draw(distributions()),
    }


@st.composite
def nights(draw: st.DrawFn) -> tuple[dict[str, p.ValidatedPolicy], list[dict[str, Any]]]:
    names = ["q0", "q 1", "é"][: draw(st.integers(1, 3))]
    drawn = {name: draw(rules(name)) for name in names}
    questions = {name: question for name, (_, question) in drawn.items()}
    chosen = {
        "all": list(drawn),
        "reversed": list(drawn)[::-1],
        "first": names[:1],
    }
    policies = {
        key: p.validate_policy(p.Policy([drawn[n][0] for n in order]), questions)
        for key, order in chosen.items()
    }
    rows = []
    for episode in range(draw(st.integers(1, 4))):
        who = {"tenant_id": f"t{episode % 2}", "episode_id": f"e{episode // 2}"}
        for name, (rule, _) in drawn.items():
            if draw(st.integers(0, 9)):
                rows.append({**who, "question": name, **draw(answers(rule))})
        rows.append({**who, "question": "extra", **draw(answers(p.NoulRule("n", 0.5)))})
    return policies, draw(st.permutations(rows))


def scalar_answer(row: dict[str, Any]) -> Any:
    if row["answer_type"] == "noul":
        return p.NoulAnswer(row["probability"])
    if row["answer_type"] == "choice":
        return p.ChoiceAnswer(row["choice"], row["confidence"])
    if row["answer_type"] == "score":
        levels = row["probabilities"]
        if levels is not None:
            levels = {entry["level"]: entry["probability"] for entry in levels}
        return p.ScoreAnswer(row["score"], row["confidence"], levels)
    return "of no type"


def assert_same(policies: dict[str, p.ValidatedPolicy], rows: list[dict[str, Any]]) -> None:
    frame = pl.DataFrame(rows, schema=ANSWER_COLUMNS)
    results, reports = evaluate_policies(frame, policies)
    plain = evaluate_policies(frame, policies, details=False)
    assert plain.results.equals(results)
    assert plain.reports.drop("detail").equals(reports.drop("detail"))
    assert plain.reports["detail"].null_count() == len(reports)
    by_rule: dict[Any, list[dict[str, Any]]] = {}
    for row in reports.to_dicts():
        by_rule.setdefault((row["tenant_id"], row["episode_id"], row["policy"]), []).append(row)
    by_episode: dict[Any, dict[str, Any]] = {}
    for row in rows:
        episode = by_episode.setdefault((row["tenant_id"], row["episode_id"]), {})
        episode[row["question"]] = scalar_answer(row)
    assert len(results) == len(by_episode) * len(policies)
    for result in results.to_dicts():
        key = (result["tenant_id"], result["episode_id"], result["policy"])
        policy = policies[result["policy"]]
        given_answers = by_episode[key[:2]]
        told = by_rule[key]
        assert [row["question"] for row in told] == [rule.name for rule in policy.policy.rules]
        assert [row["rule"] for row in told] == list(range(len(told)))
        report, error = evaluated(policy, given_answers)
        if error is not None:
            assert (result["policy_passed"], result["error"]) == (None, error.reason)
            first = next(row for row in told if row["error"] is not None)
            assert (first["question"], first["error"]) == (error.question, error.reason)
        else:
            assert (result["policy_passed"], result["error"]) == (report.passed, None)
        for row, rule in zip(told, policy.policy.rules, strict=True):
            alone = p.ValidatedPolicy(p.Policy([rule]), _questions(policy))
            one, wrong = evaluated(alone, given_answers)
            observed = (row["passed"], row["detail"], row["error"])
            if wrong is not None:
                assert observed == (None, None, wrong.reason)
            else:
                assert observed == (one.rules[0].passed, one.rules[0].detail, None)


def evaluated(policy: p.ValidatedPolicy, given_answers: dict[str, Any]) -> tuple[Any, Any]:
    try:
        return p.evaluate_policy(policy, given_answers), None
    except p.PolicyAnswerError as error:
        return None, error


def _questions(policy: p.ValidatedPolicy) -> dict[str, p.Question]:
    made: dict[str, p.Question] = {}
    for bound in policy.bound:
        if isinstance(bound.rule, p.NoulRule):
            made[bound.rule.name] = p.Noul()
        elif isinstance(bound.rule, p.ChoiceRule):
            made[bound.rule.name] = p.Choice(criteria=dict.fromkeys(bound.labels, ""))
        else:
            made[bound.rule.name] = p.Score(criteria=[""] * (bound.top + 1))
    return made


@settings(max_examples=400, deadline=None)
@given(nights())
def test_columnar_is_scalar(night: tuple[dict[str, p.ValidatedPolicy], list[dict[str, Any]]]):
    assert_same(*night)


doubles = st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True)
small = st.builds(
    lambda digits, exponent: float(f"{digits}e{exponent}"),
    st.integers(-(10**17), 10**17),
    st.integers(-340, 20),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(doubles | small | st.floats(1e-12, 1e-3), min_size=1, max_size=200))
@example([1e-05, 1.5e-05, -1e-05, 1e-09, 9.5e-10, 1e-10, 1e16, 9999999999999998.0, 5e-324, -0.0])
def test_texts_of_doubles_are_those_of_python(values: list[float]):
    assert float_texts(pl.Series(values, dtype=pl.Float64)).to_list() == [repr(v) for v in values]
