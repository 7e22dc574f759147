from typing import Any

import polars as pl
import pytest

from judgebatch.verdicts import (
    corpus_counts,
    instrument_sentence,
    interpret_texts,
    pass_rates,
    restate,
)
from tests.verdicts.documents import (
    accepted,
    aggregated,
    errored,
    judgment,
    legacy,
    rejected,
    text,
    verdict,
)

VACUOUS = verdict(
    aggregated("pass", passes=1, fails=0), judgment("pass", metadata={"criteriaTotal": 0})
)


def read(*runs: tuple[Any, bool | None]) -> pl.DataFrame:
    batch = interpret_texts(pl.Series([text(document) for document, _ in runs]))
    flags = pl.Series("recorded_passed", [flag for _, flag in runs], dtype=pl.Boolean)
    return batch.interpretations.with_columns(flags)


@pytest.mark.parametrize(
    ("document", "recorded", "cause"),
    [
        (VACUOUS, True, "empty_roster"),
        (errored(), False, "instrument_failure_charged"),
        (legacy("ABSTAIN"), False, "abstention_charged"),
        (legacy("not_applicable"), False, "exclusion_charged"),
        (rejected(), True, "pass_overstated"),
        (legacy("ABSTAIN"), True, "pass_overstated"),
        (legacy("not_applicable"), True, "pass_overstated"),
        (errored(), True, "pass_overstated"),
        (accepted(), False, "pass_understated"),
    ],
)
def test_each_disagreement_has_its_cause(document: Any, recorded: bool, cause: str) -> None:  # noqa: FBT001
    assert restate(read((document, recorded)))["cause"].to_list() == [cause]


@pytest.mark.parametrize(
    ("document", "recorded"),
    [
        (accepted(), True),
        (rejected(), False),
        (accepted(), None),
        (errored(), None),
        ({}, True),
        ({}, False),
    ],
)
def test_agreement_or_nothing_recorded_or_nothing_read_is_no_restatement(
    document: Any,
    recorded: bool | None,  # noqa: FBT001
) -> None:
    assert restate(read((document, recorded))).is_empty()


def test_a_vacuous_pass_that_was_recorded_as_failed_is_understated() -> None:
    assert restate(read((VACUOUS, False)))["cause"].to_list() == ["pass_understated"]


def corpus_of_39() -> list[tuple[Any, bool | None]]:
    broken = [(errored(), False)] * 8 + [(legacy("ABSTAIN"), False)] * 12
    return broken + [(accepted(), True)] * 11 + [(rejected(), False)] * 8


def test_a_corpus_says_in_one_sentence_what_broken_instruments_were_charged_with() -> None:
    assert instrument_sentence(corpus_counts(read(*corpus_of_39()))) == (
        "20 of 39 runs had a jury that errored or abstained; all 20 were recorded as not passed."
    )


@pytest.mark.parametrize(
    ("runs", "sentence"),
    [
        ([(accepted(), True)], "0 of 1 runs had a jury that errored or abstained."),
        (
            [(errored(), False), (accepted(), True)],
            "1 of 2 runs had a jury that errored or abstained; it was recorded as not passed.",
        ),
        (
            [(errored(), True)],
            "1 of 1 runs had a jury that errored or abstained; none were recorded as not passed.",
        ),
        (
            [(errored(), True), (errored(), False), (errored(), None)],
            "2 of 2 runs had a jury that errored or abstained; 1 was recorded as not passed.",
        ),
        (
            [(errored(), True), (errored(), False), (legacy("abstain"), False)],
            "3 of 3 runs had a jury that errored or abstained; 2 were recorded as not passed.",
        ),
    ],
)
def test_the_sentence_fits_its_numbers(runs: list[tuple[Any, bool | None]], sentence: str) -> None:
    assert instrument_sentence(corpus_counts(read(*runs))) == sentence


def test_the_recorded_pass_rate_stands_beside_the_restated_one() -> None:
    assert pass_rates(corpus_counts(read(*corpus_of_39()))).row(0, named=True) == {
        "recorded_passes": 11,
        "recorded_non_passes": 28,
        "restated_passes": 11,
        "restated_non_passes": 20,
        "recorded_pass_rate": 11 / 39,
        "restated_pass_rate": 11 / 31,
    }


def test_a_rate_over_nothing_is_null() -> None:
    rates = pass_rates(corpus_counts(read((errored(), False)))).row(0, named=True)
    assert rates["restated_pass_rate"] is None
    assert rates["recorded_pass_rate"] == 0.0


def test_counts_of_parts_make_the_counts_of_the_corpus() -> None:
    runs = corpus_of_39()
    parts = [corpus_counts(read(*runs[:17])), corpus_counts(read(*runs[17:]))]
    assert corpus_counts(pl.concat(parts)).equals(corpus_counts(read(*runs)))
