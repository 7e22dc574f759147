"""What the verdicts of a run say, how far they carry it, and what older records made of them."""

import polars as pl

from judgebatch.contracts.accounting import AccountingCodes, Restatements
from judgebatch.contracts.diagnostics import JudgeAnswers
from judgebatch.contracts.grading import AuditVerdicts
from judgebatch.contracts.interpretations import READING_VERSION, Interpretations
from judgebatch.contracts.slices import Slice
from judgebatch.reporting.run_tables import Tables, scan_slice, slices
from judgebatch.reporting.subject import Subject
from judgebatch.reporting.tables import table
from judgebatch.reporting.texts import NOTHING, count, percent, shown
from judgebatch.verdicts import corpus_counts, instrument_sentence, pass_rates
from judgebatch.vocabulary import JudgeAnswer, Reading, ReadingSupport

MOST = 20
_NONE = "no reading"
_IDENTITY = ["tenant_id", "verdict_id"]


def readings(subject: Subject) -> str:
    """Return how the verdicts of the run read, by how far what is stored supports that."""
    found = (
        subject.tables.scan(Interpretations)
        .group_by("reading", "reading_support")
        .agg(pl.len().cast(pl.Int64).alias("verdicts"))
        .collect()
    )
    if found.is_empty():
        return "<p>No verdict was read in this run.</p>"
    by = {(reading, support): number for reading, support, number in found.rows()}
    total = sum(by.values())
    rows = []
    for reading in (*(one.value for one in Reading), None):
        numbers = [by.get((reading, support.value), 0) for support in ReadingSupport]
        if reading is not None or any(numbers):
            cells = [*map(count, numbers), count(sum(numbers)), percent(sum(numbers), total)]
            rows.append([reading or _NONE, *cells])
    titles = ["reading", *(one.value.lower() for one in ReadingSupport), "verdicts", "share"]
    return table("readings", "Verdicts read in this run, comparisons among them", titles, rows)


def restatement(subject: Subject) -> str:
    """Return what an older pipeline recorded of these verdicts beside what they say."""
    tables = subject.tables
    counts = corpus_counts(
        pl.concat(_corpus_counts(tables, part) for part in slices(tables, AuditVerdicts))
    )
    if counts.is_empty():
        return "<p>None of these verdicts carries what an older pipeline recorded.</p>"
    rates = pass_rates(counts).to_dicts()[0]
    rows = [
        [
            what,
            count(rates[f"{what}_passes"]),
            count(rates[f"{what}_non_passes"]),
            _rate(rates[f"{what}_pass_rate"]),
        ]
        for what in ("recorded", "restated")
    ]
    titles = ["", "passed", "not passed", "pass rate"]
    made = table("restated", "What was recorded, and what the verdicts say", titles, rows)
    return f"<p>{instrument_sentence(counts)}</p>{made}{_causes(subject)}"


def _corpus_counts(tables: Tables, part: Slice) -> pl.DataFrame:
    recorded = (
        scan_slice(tables, AuditVerdicts, part)
        .filter(pl.col("recorded_passed").is_not_null())
        .select(*_IDENTITY, "recorded_passed")
    )
    says = ["reading", "reading_support", "vacuous_pass"]
    read = (
        scan_slice(tables, Interpretations, part)
        .filter(pl.col("reading_version") == READING_VERSION)
        .select(*_IDENTITY, *says)
    )
    return corpus_counts(recorded.join(read, on=_IDENTITY, how="inner").collect())


def _rate(rate: float | None) -> str:
    return NOTHING if rate is None else f"{100 * rate:.1f} %"


def _causes(subject: Subject) -> str:
    found = (
        subject.tables.scan(Restatements)
        .group_by("cause")
        .agg(pl.len().cast(pl.Int64).alias("verdicts"))
        .sort("cause")
        .collect()
    )
    if found.is_empty():
        return "<p>What was recorded agrees with every verdict.</p>"
    rows = [[cause, count(number)] for cause, number in found.rows()]
    return table("causes", "Why the two disagree", ["cause", "verdicts"], rows)


def instrument_failures(subject: Subject) -> str:
    """Return the instrument's failures by code and judge, of whole verdicts and of judges."""
    whole = (
        subject.tables.scan(AccountingCodes)
        .group_by("judge_id", "code")
        .agg(pl.col("instrument_failures").sum().alias("failures"))
        .with_columns(judge=pl.lit(""))
    )
    seated = (
        subject.tables.scan(JudgeAnswers)
        .filter((pl.col("answer") == JudgeAnswer.ERROR.value) & (pl.col("judge") != ""))
        .group_by("judge_id", "judge", "code")
        .agg(pl.col("answers").sum().alias("failures"))
    )
    found = (
        pl.concat([whole, seated], how="diagonal")
        .sort("judge_id", "judge", "failures", "code", descending=[False, False, True, False])
        .collect()
    )
    if found.is_empty():
        return "<p>No instrument failed in this run.</p>"
    first = found.sort(
        "failures", "judge_id", "judge", "code", descending=[True, False, False, False]
    ).head(MOST)
    rows = [
        [
            shown(row["judge_id"]) if row["judge_id"] else "(not named)",
            shown(row["judge"]) if row["judge"] else "the jury as a whole",
            shown(row["code"]) if row["code"] else "(no code)",
            count(row["failures"]),
        ]
        for row in first.to_dicts()
    ]
    titles = ["judge_id", "judge", "code", "failures"]
    return table(
        "failures",
        "Instrument failures, most frequent first; none is charged to an episode",
        titles,
        rows,
        texts=titles[1:3],
        total=found.height,
        what="combinations",
    )
