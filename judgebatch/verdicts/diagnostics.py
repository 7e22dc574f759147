"""Counting what judges answered, so that nights add up.

Whether a judge can be relied on is a rate over these counts, and rates are not kept.
"""

from typing import NamedTuple

import polars as pl

from judgebatch.verdicts.pairwise import TIE_LABEL, comparison_outcome
from judgebatch.vocabulary import JudgeAnswer, Outcome, Status, Subject

ANSWERS_BY = ("tenant_id", "judge_id", "subject", "judge", "answer", "code")
AGREEMENT_BY = ("tenant_id", "judge_id", "subject", "first", "second", "ties", "undecided")
_WHOLE = ""

_OF_EPISODE = {Outcome.LEFT: JudgeAnswer.PASS, Outcome.RIGHT: JudgeAnswer.FAIL}
_OF_STATUS = {
    Status.PASS: JudgeAnswer.PASS,
    Status.FAIL: JudgeAnswer.FAIL,
    Status.ABSTAIN: JudgeAnswer.UNDECIDED,
    Status.NOT_APPLICABLE: JudgeAnswer.NOT_APPLICABLE,
    Status.ERROR: JudgeAnswer.ERROR,
}
_OF_PAIR = {JudgeAnswer.PASS: JudgeAnswer.LEFT, JudgeAnswer.FAIL: JudgeAnswer.RIGHT}


class JudgeCounts(NamedTuple):
    """Additive counts of a batch of verdicts, each sorted by its keys."""

    answers: pl.DataFrame
    """ANSWERS_BY and ``answers``."""
    agreement: pl.DataFrame
    """AGREEMENT_BY and ``verdicts``."""


def count_judges(readings: pl.DataFrame, judges: pl.DataFrame) -> JudgeCounts:
    """Count answers, and how the judges of one verdict split.

    Parameters
    ----------
    readings
        One row per verdict: ``row``, ``tenant_id``, ``judge_id`` (nullable),
        ``compared_episode_id`` (nullable), ``reading``, ``reading_support`` and ``label``.
    judges
        The judges of those verdicts, keyed by ``row``: ``stage_ordinal``, ``name``, ``status``,
        ``reason_code`` and ``label``. Only those of the root (stage 0) are counted.
    """
    paired = pl.col("compared_episode_id").is_not_null()
    subject = pl.when(paired).then(pl.lit(Subject.COMPARISON.value))
    keyed = readings.select(
        "row",
        "tenant_id",
        pl.col("judge_id").fill_null(""),
        subject.otherwise(pl.lit(Subject.EPISODE.value)).alias("subject"),
        paired.alias("paired"),
        comparison_outcome().alias("outcome"),
    )
    seated = _seated(keyed, judges)
    answers = pl.concat([_whole(keyed), seated.select(ANSWERS_BY)])
    counted = answers.group_by(ANSWERS_BY).agg(answers=pl.len().cast(pl.Int64))
    return JudgeCounts(counted.sort(ANSWERS_BY), _agreement(seated))


def _whole(keyed: pl.DataFrame) -> pl.DataFrame:
    """Return each verdict's answer as a whole; ``tie`` is one of a comparison alone."""
    outcome = pl.col("outcome")
    single = outcome.replace({token.value: answer.value for token, answer in _OF_EPISODE.items()})
    return keyed.with_columns(
        judge=pl.lit(_WHOLE),
        answer=pl.when("paired").then(outcome).otherwise(single),
        code=pl.lit(""),
    ).select(ANSWERS_BY)


def _seated(keyed: pl.DataFrame, judges: pl.DataFrame) -> pl.DataFrame:
    """Return the judges of the root with their ``answer`` and, of an error, its ``code``."""
    root = judges.filter(pl.col("stage_ordinal") == 0)
    plain = (
        pl.col("status")
        .replace_strict(
            {status.value: answer.value for status, answer in _OF_STATUS.items()},
            default=JudgeAnswer.UNATTESTABLE.value,
            return_dtype=pl.String,
        )
        .fill_null(JudgeAnswer.UNATTESTABLE.value)
    )
    of_pair = pl.col("plain").replace({one.value: two.value for one, two in _OF_PAIR.items()})
    decided = pl.col("plain").is_in([answer.value for answer in _OF_PAIR])
    tied = pl.col("paired") & decided & (pl.col("label") == TIE_LABEL).fill_null(value=False)
    return (
        root.select("row", "name", "label", "reason_code", plain.alias("plain"))
        .join(keyed, on="row", how="inner")
        .with_columns(
            judge=pl.col("name"),
            answer=pl.when(tied)
            .then(pl.lit(JudgeAnswer.TIE.value))
            .when("paired")
            .then(of_pair)
            .otherwise("plain"),
            code=pl.when(pl.col("plain") == JudgeAnswer.ERROR.value)
            .then(pl.col("reason_code").fill_null(""))
            .otherwise(pl.lit("")),
        )
    )


def _agreement(seated: pl.DataFrame) -> pl.DataFrame:
    def votes(*answers: JudgeAnswer) -> pl.Expr:
        named = [answer.value for answer in answers]
        return pl.col("answer").is_in(named).sum().cast(pl.Int64)

    split = seated.group_by("row", "tenant_id", "judge_id", "subject").agg(
        first=votes(JudgeAnswer.PASS, JudgeAnswer.LEFT),
        second=votes(JudgeAnswer.FAIL, JudgeAnswer.RIGHT),
        ties=votes(JudgeAnswer.TIE),
        undecided=votes(JudgeAnswer.UNDECIDED),
    )
    several = split.filter(pl.sum_horizontal("first", "second", "ties", "undecided") > 1)
    counted = several.group_by(AGREEMENT_BY).agg(verdicts=pl.len().cast(pl.Int64))
    return counted.sort(AGREEMENT_BY)
