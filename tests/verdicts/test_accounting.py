from datetime import UTC, date, datetime
from typing import Any

import polars as pl

from judgebatch.verdicts import account


def readings(*rows: dict[str, Any]) -> pl.DataFrame:
    plain = {
        "tenant_id": "t",
        "task_id": "k",
        "judge_id": None,
        "judged_at": datetime(2026, 3, 1, 23, 59, tzinfo=UTC),
        "reading": "ACCEPTED",
        "reading_support": "SUPPORTED",
        "some_judge_errored": False,
        "error_codes": None,
    }
    return pl.DataFrame(
        [plain | row for row in rows],
        schema={
            **dict.fromkeys(("tenant_id", "task_id", "judge_id"), pl.String),
            "judged_at": pl.Datetime("us", "UTC"),
            "reading": pl.String,
            "reading_support": pl.String,
            "some_judge_errored": pl.Boolean,
            "error_codes": pl.String,
        },
    )


def counts(*rows: dict[str, Any]) -> dict[str, Any]:
    return account(readings(*rows)).accounting.row(0, named=True)


def test_readings_are_counted_by_task_judge_and_day() -> None:
    accounting = account(
        readings(
            {"reading": "ACCEPTED"},
            {"reading": "REJECTED"},
            {"reading": "UNDECIDED", "judge_id": "b"},
            {"reading": "NOT_APPLICABLE", "judged_at": datetime(2026, 3, 2, tzinfo=UTC)},
        )
    ).accounting
    assert accounting.select("judge_id", "day", "passes", "non_passes", "excluded").rows() == [
        ("", date(2026, 3, 1), 1, 1, 0),
        ("", date(2026, 3, 2), 0, 0, 1),
        ("b", date(2026, 3, 1), 0, 1, 0),
    ]


def test_an_instrument_failure_is_not_charged_to_the_subject() -> None:
    found = counts({"reading": "NOT_ASSESSED", "error_codes": '{"judge_failed":1}'})
    assert (found["passes"], found["non_passes"], found["instrument_failures"]) == (0, 0, 1)


def test_a_verdict_with_a_reading_in_which_a_judge_errored_counts_twice_on_purpose() -> None:
    found = counts({"reading": "ACCEPTED", "some_judge_errored": True})
    assert (found["passes"], found["instrument_failures"]) == (1, 1)


def test_a_contradicted_reading_is_never_counted_and_an_undetermined_one_is() -> None:
    found = counts(
        {"reading_support": "CONTRADICTED", "some_judge_errored": True},
        {"reading_support": "UNDETERMINED"},
        {"reading": None, "reading_support": "UNDETERMINED"},
    )
    assert (found["passes"], found["unattestable"], found["instrument_failures"]) == (1, 2, 0)


def test_failures_are_counted_by_code() -> None:
    codes = account(
        readings(
            {"reading": "NOT_ASSESSED", "error_codes": '{"judge_failed":2,"stage_failed":1}'},
            {"reading": "NOT_ASSESSED", "error_codes": '{"judge_failed":1}'},
            {"reading": "NOT_ASSESSED", "error_codes": "{}"},
            {"reading": "NOT_ASSESSED", "error_codes": '{"a\\"b:1":1}'},
            {
                "reading": "NOT_ASSESSED",
                "error_codes": '{"judge_failed":1}',
                "reading_support": "CONTRADICTED",
            },
        )
    ).codes
    assert dict(codes.select("code", "instrument_failures").iter_rows()) == {
        "": 1,
        'a"b:1': 1,
        "judge_failed": 2,
        "stage_failed": 1,
    }


def test_nothing_read_is_nothing_counted() -> None:
    nothing = account(readings())
    assert nothing.accounting.is_empty()
    assert nothing.codes.is_empty()


def test_counts_of_parts_add_up_to_those_of_the_whole() -> None:
    rows = [{"reading": r} for r in ("ACCEPTED", "REJECTED", "NOT_ASSESSED", None)] * 3
    whole = account(readings(*rows)).accounting
    parts = [account(readings(*rows[:5])).accounting, account(readings(*rows[5:])).accounting]
    keys = ["tenant_id", "task_id", "judge_id", "day"]
    assert pl.concat(parts).group_by(keys).agg(pl.all().sum()).equals(whole)
