import krippendorff
import numpy as np
import polars as pl
import pytest

from judgebatch.verdicts import count_judges

READINGS = {
    "row": pl.Int64,
    "tenant_id": pl.String,
    "judge_id": pl.String,
    "compared_episode_id": pl.String,
    "reading": pl.String,
    "reading_support": pl.String,
    "label": pl.String,
}
JUDGES = {
    "row": pl.Int64,
    "stage_ordinal": pl.Int64,
    "name": pl.String,
    "status": pl.String,
    "reason_code": pl.String,
    "label": pl.String,
}


def readings(*rows: tuple[object, ...]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=READINGS, orient="row")


def judges(*rows: tuple[object, ...]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=JUDGES, orient="row")


def answers(frame: pl.DataFrame) -> dict[tuple[str, str, str, str], int]:
    keys = frame.select("subject", "judge", "answer", "code").rows()
    return dict(zip(keys, frame["answers"], strict=True))


def test_no_verdicts_count_nothing() -> None:
    counts = count_judges(readings(), judges())
    assert counts.answers.is_empty()
    assert counts.agreement.is_empty()


def test_a_verdict_counts_once_as_a_whole_and_once_for_each_judge() -> None:
    counts = count_judges(
        readings(
            (0, "t", "j", None, "ACCEPTED", "SUPPORTED", None),
            (1, "t", "j", "e2", "REJECTED", "SUPPORTED", None),
            (2, "t", "j", "e2", "ACCEPTED", "UNDETERMINED", "tie"),
            (3, "t", None, "e2", "ACCEPTED", "CONTRADICTED", None),
            (4, "t", "j", None, "NOT_ASSESSED", "SUPPORTED", None),
        ),
        judges(
            (0, 0, "a", "pass", None, "tie"),
            (0, 0, "b", "abstain", None, None),
            (1, 0, "a", "fail", None, None),
            (1, 1, "a", "pass", None, None),
            (2, 0, "a", "fail", None, "tie"),
            (3, 0, "a", None, None, None),
            (4, 0, "a", "error", "judge_failed", None),
            (4, 0, "b", "error", None, None),
            (4, 0, "c", "not_applicable", "judge_failed", None),
        ),
    )
    assert answers(counts.answers.filter(pl.col("judge_id") == "j")) == {
        ("episode", "", "pass", ""): 1,
        ("comparison", "", "right", ""): 1,
        ("comparison", "", "tie", ""): 1,
        ("episode", "", "error", ""): 1,
        ("episode", "a", "pass", ""): 1,
        ("episode", "b", "undecided", ""): 1,
        ("comparison", "a", "right", ""): 1,
        ("comparison", "a", "tie", ""): 1,
        ("episode", "a", "error", "judge_failed"): 1,
        ("episode", "b", "error", ""): 1,
        ("episode", "c", "not_applicable", ""): 1,
    }
    assert answers(counts.answers.filter(pl.col("judge_id") == "")) == {
        ("comparison", "", "unattestable", ""): 1,
        ("comparison", "a", "unattestable", ""): 1,
    }


def test_only_verdicts_with_two_votes_tell_of_agreement() -> None:
    counts = count_judges(
        readings(
            (0, "t", "j", None, "ACCEPTED", "SUPPORTED", None),
            (1, "t", "j", None, "ACCEPTED", "SUPPORTED", None),
            (2, "t", "j", None, "ACCEPTED", "SUPPORTED", None),
        ),
        judges(
            (0, 0, "a", "pass", None, None),
            (0, 0, "b", "fail", None, None),
            (0, 0, "c", "error", "judge_failed", None),
            (1, 0, "a", "pass", None, None),
            (1, 0, "b", "not_applicable", None, None),
            (2, 0, "a", "abstain", None, None),
            (2, 0, "b", "pass", None, None),
        ),
    )
    split = counts.agreement.select("first", "second", "ties", "undecided", "verdicts").rows()
    assert split == [(1, 0, 0, 1, 1), (1, 1, 0, 0, 1)]


@pytest.mark.parametrize("seed", range(5))
def test_the_split_of_verdicts_is_all_that_alpha_needs(seed: int) -> None:
    random = np.random.default_rng(seed)
    status = random.choice(
        ["pass", "fail", "abstain", "error"], size=(60, 4), p=[0.5, 0.3, 0.1, 0.1]
    )
    rows = [(row, "t", "j", None, "ACCEPTED", "SUPPORTED", None) for row in range(60)]
    seats = [
        (row, 0, f"judge {seat}", status[row, seat], None, None)
        for row in range(60)
        for seat in range(4)
    ]
    split = count_judges(readings(*rows), judges(*seats)).agreement
    counts = split.select("first", "second", "ties", "undecided").to_numpy()
    whole = np.repeat(counts, split["verdicts"].to_numpy(), axis=0)
    votes = np.select([status == "pass", status == "fail", status == "abstain"], [1, 2, 3], np.nan)
    expected = krippendorff.alpha(reliability_data=votes.T, level_of_measurement="nominal")
    found = krippendorff.alpha(value_counts=whole, level_of_measurement="nominal")
    assert found == pytest.approx(expected)
