"""How far the judges of a run can be relied on: every rate with its interval."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from judgebatch.contracts.diagnostics import JudgeAgreement, JudgeAnswers
from judgebatch.contracts.grading import AuditVerdicts, Comparisons, Graded, Ungraded
from judgebatch.contracts.interpretations import Interpretations
from judgebatch.contracts.slices import TASK, Slice
from judgebatch.contracts.table import Table
from judgebatch.reporting import charts
from judgebatch.reporting.run_tables import Tables, nano, scan_slice, slices
from judgebatch.reporting.subject import Subject
from judgebatch.reporting.tables import table
from judgebatch.reporting.texts import (
    NOTHING,
    count,
    money,
    number,
    percent_with_interval,
    shown,
)
from judgebatch.strengths import relative_interval
from judgebatch.vocabulary import USABLE_OUTCOMES, JudgeAnswer, Outcome, Reading, ReadingSupport

MOST = 15
_WORTH_DRAWING = 3
"""Fewer points are as quickly read in the table."""
_VOTES = ("first", "second", "ties", "undecided")
_USABLE = [outcome.value for outcome in USABLE_OUTCOMES]


def judges(subject: Subject) -> str:
    """Return the diagnostics of the judges whose answers this run read."""
    found = (
        subject.tables.scan(JudgeAnswers)
        .group_by("judge_id", "judge", "answer")
        .agg(pl.col("answers").sum())
        .sort("judge_id", "judge", "answer")
        .collect()
    )
    if found.is_empty():
        return "<p>No judge's answer was read in this run.</p>"
    counted: dict[tuple[str, str], dict[str, int]] = {}
    for judge_id, judge, answer, answers in found.rows():
        counted.setdefault((judge_id, judge), {})[answer] = answers
    whole = {key: counts for key, counts in counted.items() if not key[1]}
    seated = {key: counts for key, counts in counted.items() if key[1]}
    told = (
        "<p>Rates are over the answers read in this run, over all tenants, with 95 % Wilson "
        "intervals. A few answers tell little: look at the interval before the rate. The views "
        "judge_reliability, position_bias and judge_agreement have them over all runs.</p>"
    )
    parts = [
        told,
        _answers("judges", "Verdicts as wholes, by judge_id", whole),
        _chart(whole, seated),
        _measures(subject, sorted(judge_id for judge_id, _ in whole)),
    ]
    if seated:
        parts.append(_answers("seats", "Judges inside the juries, by name", seated))
    return "".join(parts)


def _largest(counted: Mapping[tuple[str, str], dict[str, int]]) -> list[tuple[str, str]]:
    return sorted(counted, key=lambda key: (-sum(counted[key].values()), key))


def _name(key: tuple[str, str]) -> str:
    judge_id = shown(key[0]) if key[0] else "(not named)"
    return f"{judge_id} · {shown(key[1])}" if key[1] else judge_id


def _answers(name: str, caption: str, counted: Mapping[tuple[str, str], dict[str, int]]) -> str:
    rows = []
    for key in _largest(counted)[:MOST]:
        of = counted[key]
        total = sum(of.values())
        ties = of.get(JudgeAnswer.TIE, 0)
        compared = of.get(JudgeAnswer.LEFT, 0) + of.get(JudgeAnswer.RIGHT, 0) + ties
        shares = (JudgeAnswer.ERROR, JudgeAnswer.UNDECIDED, JudgeAnswer.NOT_APPLICABLE)
        rows.append(
            [
                _name(key),
                count(total),
                *(percent_with_interval(of.get(answer, 0), total) for answer in shares),
                percent_with_interval(ties, compared),
            ]
        )
    titles = ["judge", "answers", "errors", "abstained", "did not apply", "ties of comparisons"]
    return table(name, caption, titles, rows, total=len(counted), what="judges")


def _chart(
    whole: Mapping[tuple[str, str], dict[str, int]],
    seated: Mapping[tuple[str, str], dict[str, int]],
) -> str:
    if len(whole) + len(seated) < _WORTH_DRAWING:
        return ""
    points = []
    for group, counted in (("verdicts as wholes", whole), ("judges in juries", seated)):
        letter = group[0].upper()
        for rank, key in enumerate(_largest(counted)[:MOST], start=1):
            of = counted[key]
            ends = relative_interval([of.get(JudgeAnswer.ERROR, 0)], [0], [sum(of.values())])
            middle, low, high = (float(end[0]) for end in ends)
            name = f"{letter}{rank} {shown(key[1] or key[0] or '(not named)', 18)}"
            points.append(charts.Interval(group, name, low, middle, high))
    return charts.drawn(
        charts.intervals(points, "error rate, 95 % interval", ".1%"),
        "error-rates",
        "Error rates of judges",
        "The judges with most answers, each with its error rate and its interval.",
    )


def _measures(subject: Subject, judge_ids: list[str]) -> str:
    """Return what is measured of whole verdicts: position, agreement, the verifier, cost."""
    alphas = _alphas(subject)
    sides = _sides(subject)
    verifier = _verifier(subject)
    costs = _costs(subject)
    rows = []
    for judge_id in judge_ids[:MOST]:
        pairs, left, right = sides.get(judge_id, (0, 0, 0))
        compared, disagreements = verifier.get(judge_id, (0, 0))
        usable, spent = costs.get(judge_id, (0, 0))
        alpha, units = alphas.get(judge_id, (None, 0))
        rows.append(
            [
                shown(judge_id) if judge_id else "(not named)",
                f"{count(left)} : {count(right)} over {count(pairs)}" if pairs else "none",
                percent_with_interval(left, left + right),
                f"{number(alpha)} over {count(units)}" if units else NOTHING,
                percent_with_interval(disagreements, compared),
                money(round(spent / usable), 4) if usable else NOTHING,
            ]
        )
    titles = [
        "judge_id",
        "left : right over pairs seen in both orders",
        "left of decided",
        "Krippendorff's alpha over verdicts",
        "disagrees with the verifier",
        "cost of a usable comparison",
    ]
    caption = "Position bias, agreement inside the jury, disagreement with the verifier, cost"
    told = (
        "<p>Position bias is read off pairs that a judge saw in both orders, in comparisons that "
        "ended in this run. Alpha is over judges of one verdict that passed, failed, tied or "
        "abstained: 1 is full agreement, 0 what chance gives. The verifier is compared where the "
        "verdict and the end of its task's episode fell into this run, the verifier said "
        "passed or failed, and the verdict accepts or rejects.</p>"
    )
    return told + table("measures", caption, titles, rows, total=len(judge_ids), what="judges")


def _alphas(subject: Subject) -> dict[str, tuple[float | None, int]]:
    found = (
        subject.tables.scan(JudgeAgreement)
        .group_by("judge_id", *_VOTES)
        .agg(pl.col("verdicts").sum())
        .sort("judge_id", *_VOTES)
        .collect()
    )
    return {
        str(judge_id): (_alpha(part), int(part["verdicts"].sum()))
        for (judge_id,), part in found.partition_by(
            "judge_id", as_dict=True, maintain_order=True
        ).items()
    }


def _alpha(split: pl.DataFrame) -> float | None:
    """Return Krippendorff's alpha for nominal answers; None where every answer is the same.

    ``1 - D_o / D_e`` with ``D_o = sum_u (m_u^2 - sum_c n_uc^2) / (m_u - 1)`` and
    ``D_e = (n^2 - sum_c n_c^2) / (n - 1)`` (Krippendorff 2011), over kinds of units, each as often
    as it occurs.
    """
    votes = split.select(_VOTES).to_numpy().astype(np.float64)
    raters = votes.sum(axis=1)
    paired = raters > 1
    votes, raters = votes[paired], raters[paired]
    times = split["verdicts"].to_numpy()[paired].astype(np.float64)
    totals = times @ votes
    answers = totals.sum()
    expected = answers**2 - (totals**2).sum()
    if expected == 0:
        return None
    observed = (times * (raters**2 - (votes**2).sum(axis=1)) / (raters - 1)).sum()
    return float(1 - observed * (answers - 1) / expected)


def _sides(subject: Subject) -> dict[str, tuple[int, int, int]]:
    """Return pairs seen in both orders equally often, and how often each side won there."""
    tables = subject.tables
    parts = [
        _sides_in(scan_slice(tables, Comparisons, part)) for part in slices(tables, Comparisons)
    ]
    counted = pl.concat(parts).group_by("judge_id").sum()
    return {judge_id: (pairs, left, right) for judge_id, pairs, left, right in counted.rows()}


def _sides_in(comparisons: pl.LazyFrame) -> pl.DataFrame:
    straight = pl.col("left") < pl.col("right")
    outcome = pl.col("outcome")
    pair = [
        pl.min_horizontal("left", "right").alias("a"),
        pl.max_horizontal("left", "right").alias("b"),
    ]
    return (
        comparisons.filter(outcome.is_in(_USABLE))
        .select(
            "tenant_id",
            pl.col("judge_id").fill_null(""),
            *pair,
            straight.alias("straight"),
            (outcome == Outcome.LEFT.value).alias("left_won"),
            (outcome == Outcome.RIGHT.value).alias("right_won"),
        )
        .group_by("tenant_id", "judge_id", "a", "b")
        .agg(
            pl.col("straight").sum().alias("straights"),
            (~pl.col("straight")).sum().alias("turned"),
            pl.col("left_won", "right_won").sum(),
        )
        .filter(pl.col("straights") == pl.col("turned"))
        .group_by("judge_id")
        .agg(pl.len().alias("pairs"), pl.col("left_won", "right_won").sum())
        .select("judge_id", pl.col("pairs", "left_won", "right_won").cast(pl.Int64))
        .collect()
    )


def _verifier(subject: Subject) -> dict[str, tuple[int, int]]:
    """Return by judge_id how many verdicts could disagree with the verifier, and how many did."""
    tables = subject.tables
    parts = [_verifier_in(tables, part) for part in slices(tables, AuditVerdicts)]
    counted = pl.concat(parts).group_by("judge_id").sum()
    return {judge_id: (compared, differ) for judge_id, compared, differ in counted.rows()}


def _verifier_in(tables: Tables, part: Slice) -> pl.DataFrame:
    identity = [*TASK, "episode_id"]

    def ended(of: type[Table]) -> pl.LazyFrame:
        said = pl.col("verifier_outcome").is_in(["passed", "failed"])
        return scan_slice(tables, of, part).filter(said).select(*identity, "verifier_outcome")

    single = (
        scan_slice(tables, AuditVerdicts, part)
        .filter(pl.col("compared_episode_id").is_null())
        .select(*identity, "verdict_id", pl.col("judge_id").fill_null(""))
        .join(pl.concat([ended(Graded), ended(Ungraded)]), on=identity, how="inner")
    )
    reading = pl.col("reading")
    decided = reading.is_in([Reading.ACCEPTED.value, Reading.REJECTED.value])
    attested = pl.col("reading_support") != ReadingSupport.CONTRADICTED.value
    differs = (reading == Reading.ACCEPTED.value) != (pl.col("verifier_outcome") == "passed")
    return (
        single.join(
            scan_slice(tables, Interpretations, part)
            .filter(decided & attested)
            .select("tenant_id", "verdict_id", "reading"),
            on=["tenant_id", "verdict_id"],
            how="inner",
        )
        .group_by("judge_id")
        .agg(pl.len().alias("compared"), differs.sum().alias("differ"))
        .select("judge_id", pl.col("compared", "differ").cast(pl.Int64))
        .collect()
    )


def _costs(subject: Subject) -> dict[str, tuple[int, int]]:
    """Return by judge_id the usable comparisons that ended, and what all that ended cost."""
    found = (
        subject.tables.scan(Comparisons)
        .group_by(pl.col("judge_id").fill_null(""))
        .agg(pl.col("outcome").is_in(_USABLE).sum().alias("usable"), nano().sum().alias("cost"))
        .collect()
    )
    return {judge_id: (usable, cost) for judge_id, usable, cost in found.rows()}
