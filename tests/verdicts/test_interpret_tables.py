import gc
from typing import Any

import polars as pl
import pytest

from judgebatch.contracts.interpretations import (
    ReadChecks,
    ReadDefects,
    ReadInterpretations,
    ReadJudges,
    ReadStages,
)
from judgebatch.contracts.table import schema_of
from judgebatch.verdicts import InterpretedBatch, comparison_outcome, interpret, interpret_texts
from judgebatch.verdicts.batch import CHUNK
from tests.verdicts.documents import (
    accepted,
    aggregated,
    errored,
    judgment,
    known_cases,
    legacy,
    rejected,
    text,
    verdict,
)

TABLES = {
    "interpretations": ReadInterpretations,
    "stages": ReadStages,
    "judges": ReadJudges,
    "checks": ReadChecks,
    "defects": ReadDefects,
}


def read(*documents: Any) -> InterpretedBatch:
    return interpret_texts(pl.Series([text(one) for one in documents], dtype=pl.String))


def row(document: Any) -> dict[str, Any]:
    return read(document).interpretations.row(0, named=True)


@pytest.mark.parametrize(
    "texts", [[], ["{}"], ["nope"], [text(accepted()), "[]", text(legacy("PASS"))]]
)
def test_tables_have_the_columns_of_their_contracts_whatever_is_read(texts: list[str]) -> None:
    batch = interpret_texts(pl.Series(texts, dtype=pl.String))
    keys = {"source_file", "source_row", "item", "verdict_id"}
    for name, table in TABLES.items():
        expected = {k: v for k, v in schema_of(table).items() if k not in keys}
        frame = getattr(batch, name)
        assert {k: v for k, v in frame.schema.items() if k != "row"} == expected
        assert frame.schema["row"] == pl.Int64


def test_rows_are_numbers_of_the_texts_and_unreadable_ones_are_apart() -> None:
    batch = interpret_texts(
        pl.Series([None, text(accepted()), '{"a": }', "[1]", '{"a": NaN}', text(rejected()), "7"])
    )
    assert batch.interpretations["row"].to_list() == [1, 5]
    assert batch.judges["row"].to_list() == [1, 5]
    messages = dict(batch.unreadable.rows())
    assert sorted(messages) == [0, 2, 3, 4, 6]
    assert "line 1 column 7" in messages[2]
    assert messages[3] == "a list instead of a JSON object"


@pytest.mark.parametrize(
    "broken",
    ['{"a": 1e999}', '{"a": "\\ud800"}', '{"a": Infinity}', "[" * 1025 + "]" * 1025, "", "{"],
)
def test_text_outside_the_dialect_is_unreadable(broken: str) -> None:
    batch = interpret_texts(pl.Series([broken]))
    assert batch.unreadable.height == 1
    assert batch.interpretations.is_empty()


def test_the_last_of_duplicate_keys_wins() -> None:
    batch = interpret_texts(
        pl.Series(['{"aggregated":{"status":"pass"},"aggregated":{"status":"fail"}}'])
    )
    assert batch.interpretations["reading"].to_list() == ["REJECTED"]


def test_what_one_text_reads_as_does_not_depend_on_the_others() -> None:
    documents = [case["verdict"] for case in known_cases()[: 3 * CHUNK : 5]]
    together = read(*documents)
    for number, document in enumerate(documents[:12]):
        alone = read(document)
        for name in TABLES:
            expected = getattr(alone, name).drop("row")
            assert getattr(together, name).filter(row=number).drop("row").equals(expected)


def test_the_collector_is_left_as_it_was() -> None:
    assert gc.isenabled()
    read(accepted())
    assert gc.isenabled()
    gc.disable()
    try:
        read(accepted())
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("document", "outcome"),
    [
        (accepted(), "left"),
        (rejected(), "right"),
        (verdict(aggregated("pass", passes=1, fails=0, label="tie"), judgment("pass")), "tie"),
        (verdict(aggregated("fail", passes=0, fails=1, label="tie"), judgment("fail")), "tie"),
        (legacy("ABSTAIN", label="tie"), "undecided"),
        (legacy("not_applicable"), "not_applicable"),
        (errored(), "error"),
        (legacy("PASS"), "left"),
        ({}, "unattestable"),
        (verdict(aggregated("pass", passes=0, fails=1), judgment("fail")), "unattestable"),
    ],
)
def test_a_comparison_comes_to_what_its_verdict_says(document: Any, outcome: str) -> None:
    found = read(document).interpretations.select(comparison_outcome()).to_series().to_list()
    assert found == [outcome]


def test_errors_name_their_terminal_codes() -> None:
    wrapper = judgment(
        "error",
        reasonCode="errors_propagated",
        metadata={
            "aggregation": {
                "strategy": "consensus",
                "errorCodeCounts": {
                    "judge_failed": 2,
                    "errors_propagated": 1,
                    "stage_failed": 0,
                    "odd": 1,
                },
            }
        },
    )
    assert row(verdict(wrapper))["error_codes"] == '{"judge_failed":2,"odd":1}'
    assert row(errored("no_tier_decided"))["error_codes"] == '{"no_tier_decided":1}'
    assert row(errored('a"b'))["error_codes"] == '{"a\\"b":1}'
    assert row(legacy("error"))["error_codes"] == "{}"
    assert row(accepted())["error_codes"] is None


def test_a_judge_of_the_root_that_errored_is_noticed_whatever_the_reading() -> None:
    root = aggregated("pass", passes=1, fails=0)
    broken = judgment("ERROR", reasonCode="judge_failed")
    assert row(verdict(root, judgment("pass"), broken))["some_judge_errored"]
    assert not row(accepted())["some_judge_errored"]
    attempt = {"name": "m", "relation": "meta_member", "verdict": verdict(root, broken)}
    assert not row(verdict(root, compositeAttempts=[attempt]))["some_judge_errored"]


@pytest.mark.parametrize("total", ["criteriaTotal", "constraintsTotal"])
def test_a_pass_over_an_empty_roster_is_vacuous(total: str) -> None:
    root = aggregated("pass", passes=1, fails=0)
    assert row(verdict(root, judgment("pass", metadata={total: 0})))["vacuous_pass"]
    assert row(verdict(root | {"metadata": root["metadata"] | {total: 0.0}}))["vacuous_pass"]
    assert not row(verdict(root, judgment("pass", metadata={total: 1})))["vacuous_pass"]
    assert not row(verdict(root, judgment("fail", metadata={total: 0})))["vacuous_pass"]
    assert not row(verdict(root, judgment("pass", metadata={total: False})))["vacuous_pass"]
    assert not row(verdict(root, judgment("pass", metadata={total: "0"})))["vacuous_pass"]


def test_counts_of_defects_are_those_of_the_table() -> None:
    batch = read(*(case["verdict"] for case in known_cases()[:400]))
    counted = batch.defects.group_by("row", "kind").len()
    for kind in ("absent", "unparseable", "unknown_vocabulary", "inconsistent"):
        expected = dict(counted.filter(kind=kind.upper()).select("row", "len").iter_rows())
        found = batch.interpretations.select("row", kind).filter(pl.col(kind) > 0)
        assert dict(found.iter_rows()) == expected


def test_ordinals_number_the_parts_of_each_verdict() -> None:
    batch = read(*(case["verdict"] for case in known_cases()[:400]))
    for name, first in (("stages", 1), ("judges", 0), ("checks", 0), ("defects", 0)):
        frame = getattr(batch, name)
        expected = first + pl.int_range(pl.len()).over("row")
        assert frame.select((pl.col("ordinal") == expected).all()).item()
        assert frame["row"].is_sorted()


def test_names_on_the_way_are_a_json_pointer() -> None:
    inner = verdict(aggregated("pass", passes=1, fails=0), judgment("pass"))
    attempt = {"name": "a/b~c", "relation": "meta_member", "disposition": "used", "verdict": inner}
    document = verdict(aggregated("pass", passes=1, fails=0), compositeAttempts=[attempt])
    assert read(document).stages["path"].to_list() == ["/a~1b~0c"]
    assert interpret(document).stages[0].path == ("a/b~c",)


def test_labels_are_carried_without_a_defect() -> None:
    batch = read(
        verdict(aggregated("pass", passes=1, fails=0, label="tie"), judgment("pass", label=3))
    )
    assert batch.interpretations["label"].to_list() == ["tie"]
    assert batch.judges["label"].to_list() == [None]
    assert batch.defects.is_empty()
