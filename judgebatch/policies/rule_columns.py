"""One rule over a column of answers: the same checks, comparisons and words as for one answer."""

import polars as pl

from judgebatch.policies.arguments import number_text
from judgebatch.policies.binding import BoundRule
from judgebatch.policies.columns import TYPES, is_representable
from judgebatch.policies.distributions import most_probable_levels
from judgebatch.policies.float_text import float_texts
from judgebatch.policies.rules import ChoiceRule, NoulRule, ScoreRule
from judgebatch.vocabulary import AnswerError, AnswerType

_Words = list[str | pl.Expr]
"""Pieces of a text: literal ones and columns."""

_Comparison = tuple[pl.Expr, _Words]
"""Whether it holds, and the comparison in words."""


FLOATS = ("probability", "score", "confidence")
"""The columns whose values detail texts print."""


def evaluate_rule(
    bound: BoundRule, answers: pl.DataFrame, rows: pl.Series, *, details: bool
) -> pl.DataFrame:
    """Return passed, detail and error for the answers in ``rows``; a null row is no answer.

    ``answers`` holds the columns of :func:`~judgebatch.policies.columns.check_columns`.
    """
    kind, names, valid, comparisons = _rule(bound)
    taken = ["answer_type", *names, *(c for c in ("conflicting",) if c in answers.columns)]
    picked = answers.select(pl.col(taken).gather(pl.lit(rows)))
    picked = _with_level(picked, bound).with_columns(rows.is_null().alias("absent"))
    error = _error(kind, valid, conflicting="conflicting" in picked.columns)
    met = pl.all_horizontal(holds for holds, _ in comparisons)
    outcome = picked.with_columns(error.alias("error")).with_columns(
        pl.when(pl.col("error").is_null()).then(met).alias("passed")
    )
    if not details:
        return outcome.select("passed", pl.lit(None, pl.String).alias("detail"), "error")
    texts = [float_texts(outcome[name]).alias(f"{name}_text") for name in names if name in FLOATS]
    return outcome.with_columns(texts).select(
        "passed", _detail([words for _, words in comparisons]).alias("detail"), "error"
    )


def _rule(bound: BoundRule) -> tuple[AnswerType, list[str], pl.Expr, list[_Comparison]]:
    """Return the answer type, its columns, when they are well formed, and the comparisons."""
    rule = bound.rule
    confident = pl.col("confidence").is_between(0.0, 1.0)
    if isinstance(rule, NoulRule):
        probability = pl.col("probability")
        comparisons = _bounds("noul", "probability", rule.minimum, rule.maximum)
        return AnswerType.NOUL, ["probability"], probability.is_between(0.0, 1.0), comparisons
    if isinstance(rule, ChoiceRule):
        labels = pl.Series([label for label in bound.labels if is_representable(label)])
        valid = confident & pl.col("choice").is_in(labels.implode())
        observed = pl.col("choice")
        words: _Words = ["choice '", observed, f"' == '{rule.choice}'"]
        comparisons = [(observed == rule.choice, words), *_confidence(rule.min_confidence)]
        return AnswerType.CHOICE, ["choice", "confidence"], valid, comparisons
    valid = confident & pl.col("score").is_between(0.0, float(bound.top))
    names = ["score", "confidence"]
    if rule.level is None:
        comparisons = _bounds("score", "score", rule.minimum, rule.maximum)
    else:
        names.append("probabilities")
        valid &= pl.col("level").is_not_null()
        observed = pl.col("level")
        words = ["score level ", observed.cast(pl.String), f" == {rule.level}"]
        comparisons = [(observed == rule.level, words)]
    return AnswerType.SCORE, names, valid, [*comparisons, *_confidence(rule.min_confidence)]


def _with_level(picked: pl.DataFrame, bound: BoundRule) -> pl.DataFrame:
    if not isinstance(bound.rule, ScoreRule) or bound.rule.level is None:
        return picked
    level = most_probable_levels(picked["probabilities"])
    return picked.drop("probabilities").with_columns(level.alias("level"))


def _bounds(
    what: str, column: str, minimum: float | None, maximum: float | None
) -> list[_Comparison]:
    value, text = pl.col(column), pl.col(f"{column}_text")
    found: list[_Comparison] = []
    if minimum is not None:
        found.append((value >= minimum, [f"{what} ", text, f" >= {number_text(minimum)}"]))
    if maximum is not None:
        found.append((value <= maximum, [f"{what} ", text, f" <= {number_text(maximum)}"]))
    return found


def _confidence(least: float | None) -> list[_Comparison]:
    if least is None:
        return []
    text = pl.col("confidence_text")
    return [(pl.col("confidence") >= least, ["confidence ", text, f" >= {number_text(least)}"])]


def _error(kind: AnswerType, valid: pl.Expr, *, conflicting: bool) -> pl.Expr:
    """Return the first reason that applies; null for a well-formed answer."""
    conflict = pl.col("conflicting") if conflicting else pl.lit(value=False)
    return (
        pl.when("absent")
        .then(pl.lit(AnswerError.MISSING_ANSWER.value))
        .when(conflict)
        .then(pl.lit(AnswerError.CONFLICTING_ANSWER.value))
        .when(pl.col("answer_type").ne_missing(pl.lit(kind.value, TYPES)))
        .then(pl.lit(AnswerError.WRONG_ANSWER_TYPE.value))
        .when(valid.fill_null(value=False).not_())
        .then(pl.lit(AnswerError.MALFORMED_ANSWER.value))
    )


def _detail(words: list[_Words]) -> pl.Expr:
    """Join the comparisons with `` and `` and end with what they come to; null without."""
    pieces: _Words = []
    for place, comparison in enumerate(words):
        pieces.extend([" and ", *comparison] if place else comparison)
    merged: _Words = []
    for piece in pieces:
        if isinstance(piece, str) and merged and isinstance(merged[-1], str):
            merged[-1] += piece
        else:
            merged.append(piece)
    ending = pl.when("passed").then(pl.lit(" -> pass")).otherwise(pl.lit(" -> fail"))
    columns = [pl.lit(piece) if isinstance(piece, str) else piece for piece in merged]
    return pl.when(pl.col("passed").is_not_null()).then(pl.concat_str([*columns, ending]))
