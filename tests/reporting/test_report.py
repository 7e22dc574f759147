"""What the report of a run says, section by section, of rows whose answer is plain."""

import re
from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

import krippendorff
import numpy as np
import polars as pl
import pytest

from judgebatch.contracts.accounting import AccountingCodes, Restatements
from judgebatch.contracts.diagnostics import JudgeAgreement, JudgeAnswers
from judgebatch.contracts.grading import (
    AuditVerdicts,
    Budgets,
    Comparisons,
    Graded,
    GradingCounts,
    Groups,
    OpenEpisodes,
    Strengths,
    Ungraded,
)
from judgebatch.contracts.interpretations import Interpretations
from judgebatch.contracts.policies import PolicyCounts, PolicyResults
from judgebatch.contracts.promotions import PromotionSteps
from judgebatch.reporting import decisions, groups, judges, outcomes, readings
from judgebatch.reporting.page import report
from judgebatch.reporting.subject import night
from judgebatch.reporting.texts import number
from judgebatch.settings import load_settings
from judgebatch.vocabulary import ScoreKind, UngradedReason
from judgebatch.warehouse import RunFacts
from tests.reporting.made import AS_OF, subject, written

ODD = [
    "<script>alert(1)</script>",
    "\"quoted\" & 'more'",
    "</title></svg>",
    "\u202egnp.exe",
    "\u05e9\u05dc\u05d5\u05dd",
    "e\u0301\U0001f600",
    "two\nlines\x00\x1b[31m",
    "x" * 10_000,
    " ",
    "{{ 7*7 }}",
    "]]>",
]


def plain(html: str) -> str:
    """Return the text of a piece of HTML, its tags as spaces."""
    text = re.sub(r"<svg.*?</svg>", " ", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", text).replace("\u200b", "").split())


def counts(tenant: str, **of: int) -> list[dict[str, object]]:
    tokens = [token.value for token in (*ScoreKind, *UngradedReason)]
    return [{"tenant_id": tenant, "outcome": one, "count": of.get(one, 0)} for one in tokens]


def test_an_empty_run_says_so_in_every_section(tmp_path: Path) -> None:
    text = plain(report(subject(tmp_path)).decode())
    for said in (
        "No episode was decided in the last nights.",
        "Every tenant of which something was decided had a graded episode.",
        "No episode waits.",
        "0 budgets with a ceiling, 0 without",
        "No tournament group was decided.",
        "No group was fitted.",
        "No sequential test got a comparison in this run.",
        "No episode was held against a policy in this run.",
        "No verdict was read in this run.",
        "None of these verdicts carries what an older pipeline recorded.",
        "No instrument failed in this run.",
        "No judge's answer was read in this run.",
        "No row was quarantined.",
    ):
        assert said in text


def test_the_nights_stand_beside_each_other(tmp_path: Path) -> None:
    before = night(
        2,
        AS_OF - timedelta(days=1),
        RunFacts(summary={"graded": {"relative": 7}, "ungraded": {"no_reference": 1}}),
        written(tmp_path / "before", {}),
    )
    summary = {"graded": {"relative": 6, "tournament": 3}, "ungraded": {"budget_exhausted": 1}}
    html = outcomes.outcomes(subject(tmp_path / "now", summary=summary, earlier=[before]))
    text = plain(html)
    assert "relative yes 6 60.0 % -1" in text
    assert "budget_exhausted no 1 10.0 % +1" in text
    assert "no_reference no 0 0.0 % -1" in text
    assert "2026-03-03 03:00 2 7 0 1 0 0 0 87.5 %" in text
    assert html.count("<svg") == 1


def test_a_tenant_that_is_never_graded_is_told_what_would_change_it(tmp_path: Path) -> None:
    settings = tmp_path / "judgebatch.toml"
    settings.write_text(
        """
        [tenants.zero]
        grading_ceiling_usd = 0
        [tenants.spent]
        grading_ceiling_usd = 2.5
        [tenants.small]
        mode = "tournament"
        group_timeout = "6h"
        """
    )
    rows = [
        *counts("graded", relative=1, no_reference=9),
        *counts("novel", no_reference=4),
        *counts("zero", budget_exhausted=2),
        *counts("spent", budget_exhausted=1),
        *counts("small", insufficient_group=3),
        *counts("broken", no_usable_comparison=5),
        *counts("idle"),
    ]
    cause = {"missing": 1, "errors": 7, "undecided": 2, "not_applicable": 0}
    broken = {"tenant_id": "broken", **cause, "unattestable": 0, "disconnected": 0}
    tables = {
        GradingCounts: rows,
        Ungraded: [broken],
        Groups: [{"tenant_id": "small", "group_size": 2}],
    }
    rules = load_settings(settings, environ={}).tenant
    text = plain(outcomes.never_engages(subject(tmp_path / "run", tables, rules=rules)))
    assert text.startswith("5 tenants had episodes decided in this run and none of them graded.")
    for said in (
        "novel 4 no_reference 4 Each of these tasks was seen for the first time",
        "zero 2 budget_exhausted 2 grading_ceiling_usd is 0",
        "spent 1 budget_exhausted 1 A higher grading_ceiling_usd (now $2.50 for the period month).",
        (
            "The largest group had 2 members of the 3 that min_group_size wants: a longer "
            "group_timeout (now 6h)"
        ),
        (
            "Comparisons came out missing 1, errors 7, undecided 2. What helps most: mend the "
            "instrument"
        ),
    ):
        assert said in text
    assert "idle" not in text


def test_what_waits_has_its_first_deadline(tmp_path: Path) -> None:
    rows = [
        {"tenant_id": "t", "episode_id": f"e{at}", "waits_for": what, "deadline": AS_OF + delay}
        for at, (what, delay) in enumerate(
            [("closing", timedelta(hours=2)), ("closing", timedelta(hours=1))]
        )
    ]
    text = plain(outcomes.waiting(subject(tmp_path, {OpenEpisodes: rows})))
    assert "for their group to close 2 2026-03-04 04:00" in text


def test_budgets_that_are_used_up_come_first(tmp_path: Path) -> None:
    def budget(tenant: str, ceiling: float | None, spent: float, *, refused: bool = False):
        row = {"tenant_id": tenant, "period": "2026-03", "refused": refused}
        return {**row, "ceiling_usd": ceiling, "spent_usd": spent}

    rows = [
        budget("half", 2.0, 1.0),
        budget("full", 1.0, 0.9, refused=True),
        budget("free", None, 0.1),
        budget("zero", 0.0, 0.0),
    ]
    text = plain(groups.budgets(subject(tmp_path, {Budgets: rows})))
    assert "3 budgets with a ceiling, 1 without; $2.00 spent" in text
    assert "full 2026-03 $0.90 $1.00 90.0 % yes" in text
    assert text.index("full") < text.index("zero") < text.index("half")


def test_groups_are_told_by_what_closed_them_and_how_large_they_were(tmp_path: Path) -> None:
    sizes = [("quorum", 8), ("quorum", 8), ("timeout", 1), ("timeout", 2), ("timeout", 5)]
    rows = [
        {"tenant_id": "t", "close_reason": reason, "group_size": size, "group_epoch": at}
        | {"ungraded_reason": None if size > 2 else "insufficient_group"}
        for at, (reason, size) in enumerate(sizes)
    ]
    text = plain(groups.groups(subject(tmp_path, {Groups: rows})))
    assert "quorum 2 0 8 8 8" in text
    assert "timeout 3 2 1 2 5" in text


def test_strengths_of_the_biggest_groups_have_intervals(tmp_path: Path) -> None:
    names = {"tenant_id": "t", "task_id": "k", "verifier_outcome": "passed"}
    fitted = [
        {**names, "group_epoch": epoch, "comparable_size": size, "fit_status": "converged"}
        for epoch, size in enumerate([3, 40, 4, 5])
    ]
    members = [
        {**names, "group_epoch": 1, "episode_id": f"e{at:02d}", "strength": float(-at)}
        | {"strength_low": -at - 1.0, "strength_high": -at + 1.0, "wins": 1, "losses": 2, "ties": 3}
        for at in range(40)
    ]
    html = groups.strengths(subject(tmp_path, {Groups: fitted, Strengths: members}))
    text = plain(html)
    assert "A 1 e00 0.00 -1.00 to 1.00 1 / 2 / 3" in text
    assert "A 40 e39 -39.00 -40.00 to -38.00 1 / 2 / 3" in text
    assert "e20" not in text
    assert "The first 10 of 40 members of these groups." in text


def test_policies_that_were_not_evaluated_are_in_no_rate(tmp_path: Path) -> None:
    row = {"tenant_id": "t", "policy": "release", "met": 3, "unmet": 1, "not_evaluated": 6}
    lacking = {"tenant_id": "t", "episode_id": "e", "policy": "release", "error": "missing_answer"}
    tables = {PolicyCounts: [row], PolicyResults: [lacking]}
    text = plain(groups.policies(subject(tmp_path, tables)))
    assert "release 3 1 6 75.0 % (30.1 to 95.4)" in text
    assert "missing_answer 1" in text


def test_readings_restatement_and_instrument_failures(tmp_path: Path) -> None:
    says = [("ACCEPTED", True), ("NOT_ASSESSED", False), ("UNDECIDED", False), (None, None)]
    verdicts = [
        {"tenant_id": "t", "verdict_id": f"v{at}", "recorded_passed": recorded}
        for at, (_, recorded) in enumerate(says)
    ]
    read = [
        {"tenant_id": "t", "verdict_id": f"v{at}", "reading_version": 1, "reading": reading}
        | {"reading_support": "SUPPORTED", "vacuous_pass": False}
        for at, (reading, _) in enumerate(says)
    ]
    codes = {"tenant_id": "t", "judge_id": "", "code": "stage_failed", "instrument_failures": 2}
    seat = {"tenant_id": "t", "judge_id": "j", "judge": "strict", "answer": "error"}
    tables = {
        AuditVerdicts: verdicts,
        Interpretations: read,
        Restatements: [{"tenant_id": "t", "verdict_id": "v1", "cause": "abstention_charged"}],
        AccountingCodes: [codes],
        JudgeAnswers: [{**seat, "subject": "episode", "code": "judge_failed", "answers": 3}],
    }
    run = subject(tmp_path, tables)
    assert "no reading 1 0 0 1 25.0 %" in plain(readings.readings(run))
    text = plain(readings.restatement(run))
    assert text.startswith(
        "2 of 3 runs had a jury that errored or abstained; all 2 were recorded as not passed."
    )
    assert "recorded 1 2 33.3 %" in text
    assert "restated 1 1 50.0 %" in text
    assert "abstention_charged 1" in text
    text = plain(readings.instrument_failures(run))
    assert "(not named) the jury as a whole stage_failed 2" in text
    assert "j strict judge_failed 3" in text


def test_judges_are_told_with_intervals(tmp_path: Path) -> None:
    def answer(judge: str, said: str, answers: int) -> dict[str, object]:
        row = {"tenant_id": "t", "judge_id": "j", "judge": judge, "subject": "comparison"}
        return {**row, "answer": said, "code": "", "answers": answers}

    def compared(at: int, left: str, right: str, outcome: str) -> dict[str, object]:
        row = {"tenant_id": "t", "verdict_id": f"v{at}", "left": left, "right": right}
        return {**row, "outcome": outcome, "judge_id": "j", "cost_usd": 0.01}

    split = {"tenant_id": "t", "judge_id": "j", "subject": "comparison", "ties": 0, "undecided": 0}
    episode = {"tenant_id": "t", "task_id": "k", "episode_id": "e", "verifier_outcome": "failed"}
    verdict = {
        "tenant_id": "t",
        "task_id": "k",
        "verdict_id": "s",
        "episode_id": "e",
        "judge_id": "j",
    }
    read = {"tenant_id": "t", "task_id": "k", "verdict_id": "s", "reading": "ACCEPTED"}
    tables = {
        JudgeAnswers: [answer("", "left", 3), answer("", "error", 1), answer("a", "tie", 2)],
        JudgeAgreement: [
            {**split, "first": 2, "second": 0, "verdicts": 3},
            {**split, "first": 0, "second": 2, "verdicts": 3},
        ],
        Comparisons: [
            compared(1, "a", "b", "left"),
            compared(2, "b", "a", "left"),
            compared(3, "a", "c", "error"),
        ],
        Graded: [episode],
        AuditVerdicts: [{**verdict, "compared_episode_id": None}],
        Interpretations: [{**read, "reading_support": "SUPPORTED"}],
    }
    text = plain(judges.judges(subject(tmp_path, tables)))
    assert "j 4 25.0 % (4.6 to 69.9) 0.0 % (0.0 to 49.0) 0.0 % (0.0 to 49.0)" in text
    assert "2 : 0 over 1 100.0 % (34.2 to 100.0) 1.00 over 6 100.0 % (20.7 to 100.0)" in text
    assert "$0.0150" in text
    assert "j · a 2" in text


def test_agreement_is_krippendorffs_alpha(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    votes = rng.integers(0, 4, size=(30, 4))
    times = rng.integers(1, 9, size=30)
    split = {"tenant_id": "t", "judge_id": "j", "subject": "comparison"}
    names = ("first", "second", "ties", "undecided")
    rows = [
        {**split, **dict(zip(names, map(int, one), strict=True)), "verdicts": int(many)}
        for one, many in zip(votes, times, strict=True)
    ]
    whole = {"tenant_id": "t", "judge_id": "j", "judge": "", "subject": "comparison", "code": ""}
    tables = {JudgeAgreement: rows, JudgeAnswers: [{**whole, "answer": "left", "answers": 1}]}
    expected = krippendorff.alpha(
        value_counts=np.repeat(votes, times, axis=0), level_of_measurement="nominal"
    )
    text = plain(judges.judges(subject(tmp_path, tables)))
    assert f"{number(float(expected))} over {times.sum()}" in text


def test_sequential_tests_have_their_path_over_the_nights(tmp_path: Path) -> None:
    key = {"tenant_id": "t", "task_id": None, "variant": "v2", "baseline": "v1"}
    bounds = {"accept_at": 2.9, "reject_at": -2.9}
    before = written(
        tmp_path / "before",
        {PromotionSteps: [{**key, **bounds, "decision": "continue", "llr": 1.5}]},
    )
    earlier = night(2, AS_OF - timedelta(days=1), RunFacts(), before)
    now = {**key, **bounds, "decision": "accept", "llr": 3.0, "decided_after": 20}
    run = subject(tmp_path / "now", {PromotionSteps: [now]}, earlier=[earlier])
    text = plain(decisions.decisions(run))
    assert text.startswith("1 test got comparisons in this run: 1 is decided, 0 pending.")
    assert "1. t · all tasks: v2 against v1 03-03 · 2 1.50" in text
    assert "1. t · all tasks: v2 against v1 03-04 · 3 3.00" in text


def odd_subject(folder: Path):
    everyone = [row for name in ODD for row in counts(name, no_reference=1)]
    names = {"task_id": ODD[0], "verifier_outcome": ODD[3], "group_epoch": 0}
    tables = {
        GradingCounts: everyone,
        Budgets: [
            {"tenant_id": name, "period": ODD[0], "ceiling_usd": 1.0, "spent_usd": 0.5}
            for name in ODD
        ],
        Groups: [{**names, "tenant_id": ODD[1], "comparable_size": len(ODD), "fit_status": "c"}],
        Strengths: [{**names, "tenant_id": ODD[1], "episode_id": name} for name in ODD],
        PolicyCounts: [{"tenant_id": "t", "policy": name} for name in ODD],
        JudgeAnswers: [
            {"tenant_id": "t", "judge_id": name, "judge": name, "answer": "error", "code": name}
            for name in ODD
        ],
        PromotionSteps: [
            {"tenant_id": name, "task_id": name, "variant": name, "baseline": name} for name in ODD
        ],
    }
    return subject(folder, tables, {"warnings": ODD, "quarantined": {"bad_row": 1}})


def test_no_id_is_ever_markup(tmp_path: Path) -> None:
    html = report(odd_subject(tmp_path)).decode()
    body = re.sub(r"<style>.*?</style>", "", html, count=1, flags=re.DOTALL)
    assert "<script" not in body
    assert "onerror" not in body
    assert "\u202e" not in body
    assert "\x00" not in body
    assert "&lt;script&gt;" in body
    # Void elements apart the page is well-formed, so that no id ended one too early.
    closed = re.sub(r"<(meta|link)([^>]*[^/])>", r"<\1\2/>", html.replace("<!doctype html>", ""))
    ET.fromstring(closed)  # noqa: S314 - our own bytes
    ids = re.findall(r' id="([^"]+)"', body)
    assert len(ids) == len(set(ids))


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    first = report(odd_subject(tmp_path / "one"))
    assert report(odd_subject(tmp_path / "two")) == first


def test_every_chart_has_a_title_a_description_and_a_table(tmp_path: Path) -> None:
    html = report(odd_subject(tmp_path)).decode()
    for svg in re.findall(r"<svg.*?</svg>.*?(?=<svg|</section>)", html, re.DOTALL):
        assert 'role="img"' in svg
        assert re.search(r"<title [^>]+>[^<]+</title><desc [^>]+>[^<]+</desc>", svg)
    sections = re.findall(r"<section.*?</section>", html, re.DOTALL)
    assert all("<table" in section for section in sections if "<svg" in section)


def test_fifty_thousand_tenants_make_no_larger_page(tmp_path: Path) -> None:
    tokens = [token.value for token in (*ScoreKind, *UngradedReason)]
    tenants = pl.DataFrame({"tenant_id": [f"tenant {at:05d}" for at in range(50_000)]})
    everyone = (
        tenants.join(pl.DataFrame({"outcome": tokens}), how="cross")
        .with_columns(
            run=pl.lit(3, dtype=pl.Int64),
            as_of=pl.lit(AS_OF, dtype=pl.Datetime("us", "UTC")),
            count=pl.when(pl.col("outcome") == "no_reference").then(2).otherwise(0).cast(pl.Int64),
        )
        .select(GradingCounts.column_names())
        .sort(GradingCounts.order)
    )
    budget = tenants.with_columns(
        run=pl.lit(3, dtype=pl.Int64),
        as_of=pl.lit(AS_OF, dtype=pl.Datetime("us", "UTC")),
        period=pl.lit("2026-03"),
        ceiling_usd=pl.lit(1.0),
        spent_usd=pl.lit(0.5),
        refused=pl.lit(value=False),
    ).select(Budgets.column_names())
    run = subject(tmp_path, {GradingCounts: everyone, Budgets: budget})
    html = report(run)
    assert len(html) < 100_000
    text = plain(html.decode())
    assert "The first 20 of 50,000 tenants." in text
    assert "50,000 budgets with a ceiling" in text
    assert "The first 20 of 50,000 budgets." in text


@pytest.mark.parametrize("longest", [10, 60])
def test_long_ids_keep_both_ends(longest: int) -> None:
    from judgebatch.reporting.texts import shown  # noqa: PLC0415

    text = shown("a" * 500 + "z" * 500, longest)
    assert len(text) == longest
    assert text.startswith("aaa")
    assert text.endswith("zzz")
