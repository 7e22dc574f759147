import re

import polars as pl

from judgebatch.verdicts import interpret, interpret_many, interpret_texts
from tests.verdicts.documents import (
    accepted,
    aggregated,
    errored,
    judgment,
    known_cases,
    text,
    verdict,
)


def test_a_summary_says_reading_support_and_status() -> None:
    assert interpret(accepted()).summary == (
        "Accepted, supported by what is stored: the aggregate's status is pass. By consensus, "
        "inputs 1, eligible 1."
    )


def test_a_summary_names_judges_without_a_vote_stages_and_defects() -> None:
    broken = judgment("error", reasonCode="judge_failed")
    attempt = {
        "name": "first",
        "relation": "meta_member",
        "disposition": "stage_failed",
        "dispositionReason": "execution_failed",
        "failure": {"code": "jury_execution_failed"},
    }
    root = aggregated("pass", passes=1, fails=0)
    document = verdict(root, judgment("pass"), broken, compositeAttempts=[attempt, 3])
    assert interpret(document).summary == (
        "Accepted, supported by what is stored: the aggregate's status is pass. By consensus, "
        "inputs 1, eligible 1. Judges without a vote: j1 error (judge_failed). Stages: first "
        "stage_failed (execution_failed). Defects: UNPARSEABLE."
    )


def test_a_summary_of_many_judges_stays_short() -> None:
    many = [judgment("abstain")] * 1000
    document = verdict(aggregated("abstain", passes=0, fails=0), *many)
    assert "j4 abstain and others." in interpret(document).summary
    assert len(interpret(document).summary) < 500


def test_every_number_in_a_summary_stands_in_the_fields() -> None:
    for one in interpret_many(case["verdict"] for case in known_cases()[::3]):
        fields = one.model_dump_json(by_alias=True, exclude={"summary"})
        for number in re.findall(r"\d+", one.summary):
            assert number in fields


def test_the_same_verdict_gives_the_same_summary_wherever_it_stands() -> None:
    texts = [text(accepted()), text(errored()), text(accepted())]
    summaries = interpret_texts(pl.Series(texts)).interpretations["summary"]
    assert summaries[0] == summaries[2] == interpret(accepted()).summary
