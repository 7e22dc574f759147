"""What a scorer's value means: a verdict, answers to questions, or that the scorer broke."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from judgebatch.imports.documents import verdict_text
from judgebatch.vocabulary import ReasonCode, Status

BROKEN = {"grader_failed", "scoring_failed"}
"""Reasons by which Inspect says that the instrument failed, not the model."""

PASSED, FAILED, PARTIAL, NO_ANSWER = "passed", "failed", "partial", "no_answer"
_WORDS = {
    "C": PASSED,
    "I": FAILED,
    "P": PARTIAL,
    "N": NO_ANSWER,
    "yes": PASSED,
    "true": PASSED,
    "no": FAILED,
    "false": FAILED,
}


class Held(NamedTuple):
    """What one value of a scorer becomes: verdict text, an answer, or a message why neither."""

    question: str
    verdict: str | None = None
    answer: Mapping[str, Any] | None = None
    problem: str | None = None


class Scored(NamedTuple):
    """A scorer's answer about a sample, as its log has it."""

    scorer: str
    value: Any
    reason: str | None = None
    explanation: str | None = None


def outcome_of(value: Any) -> str:
    """Return a verifier's value as a verifier outcome."""
    if isinstance(value, bool | int | float):
        if math.isnan(value):
            return "error"
        return PASSED if value >= 1 else FAILED if value <= 0 else PARTIAL
    if isinstance(value, str):
        return _WORDS.get(value) or _WORDS.get(value.lower()) or value or NO_ANSWER
    return orjson.dumps(value).decode()


def meaning(scored: Scored, scales: Sequence[str], pass_at: float | None) -> Iterator[Held]:
    """Yield what a scorer's answer becomes.

    Parameters
    ----------
    scored
        The answer.
    scales
        Questions whose numbers lie on a scale from 0 upwards, and not between 0 and 1.
    pass_at
        From which number on a judge accepts; None makes no verdicts of numbers.
    """
    if scored.reason in BROKEN:
        yield Held(scored.scorer, _broken(scored, scored.explanation or f"{scored.reason}"))
    elif isinstance(scored.value, Mapping):
        for key, value in scored.value.items():
            name = f"{scored.scorer}/{key}"
            if value is not None:
                yield _one(scored._replace(scorer=name, value=value), scales, pass_at)
    elif isinstance(scored.value, list | tuple):
        for place, value in enumerate(scored.value):
            name = f"{scored.scorer}/{place}"
            yield _one(scored._replace(scorer=name, value=value), scales, pass_at)
    else:
        yield _one(scored, scales, pass_at)


def broken_scorer(scorer: str, message: str) -> str:
    """Return the verdict of a scorer that was never reached, or raised."""
    return _broken(Scored(scorer, None), message)


def _one(scored: Scored, scales: Sequence[str], pass_at: float | None) -> Held:
    name, value = scored.scorer, scored.value
    if isinstance(value, bool):
        return Held(name, _judged(scored, PASSED if value else FAILED))
    if isinstance(value, str):
        word = _WORDS.get(value) or _WORDS.get(value.lower())
        if word:
            return Held(name, _judged(scored, word))
        # Inspect stores no confidence: 1 says that this is what the scorer answered.
        return Held(name, answer={"answer_type": "choice", "choice": value, "confidence": 1.0})
    if isinstance(value, int | float):
        return _number(scored, float(value), on_scale=name in scales, pass_at=pass_at)
    return Held(name, problem=f"a value of type {type(value).__name__} has no meaning here")


def _number(scored: Scored, value: float, *, on_scale: bool, pass_at: float | None) -> Held:
    name = scored.scorer
    if math.isnan(value):
        text = scored.explanation or "the scorer left NaN: it gave no score"
        return Held(name, _broken(scored, text))
    if on_scale:
        answer = {"answer_type": "score", "score": value, "confidence": 1.0}
    elif 0 <= value <= 1:
        answer = {"answer_type": "noul", "probability": value}
    else:
        return Held(
            name,
            problem=f"{value!r} does not lie between 0 and 1; if this scorer's numbers lie on a "
            f"scale, say so: --scale {name}",
        )
    if pass_at is None:
        return Held(name, answer=answer)
    passed = PASSED if value >= pass_at else FAILED
    return Held(name, _judged(scored, passed, None if on_scale else value), answer)


def _judged(scored: Scored, word: str, score: float | None = None) -> str:
    text = scored.explanation or ""
    if word == NO_ANSWER:
        return verdict_text(
            scored.scorer,
            Status.FAIL,
            text if text.strip() else "the model gave no answer",
            label=scored.reason or NO_ANSWER,
            code=ReasonCode.SUBJECT_EMPTY,
        )
    if word == PARTIAL:
        # Not a pass, and not hidden either: the scorer worked and did not call it correct.
        return verdict_text(scored.scorer, Status.FAIL, text, score=0.5, label=PARTIAL)
    status = Status.PASS if word == PASSED else Status.FAIL
    label = scored.reason if scored.reason and scored.reason.strip() else None
    return verdict_text(scored.scorer, status, text, score=score, label=label)


def _broken(scored: Scored, message: str) -> str:
    return verdict_text(
        scored.scorer,
        Status.ERROR,
        message if message.strip() else "the scorer failed",
        code=ReasonCode.JUDGE_FAILED,
    )
