"""What is read at once has no part in what is read: a batch is its verdicts, each one alone."""

from itertools import pairwise
from typing import Any

import polars as pl
import pytest

from judgebatch.verdicts import InterpretedBatch, interpret_texts
from tests.verdicts.documents import aggregated, judgment, known_cases, text, verdict

TABLES = ("interpretations", "stages", "judges", "checks", "defects", "unreadable")


def together(*parts: InterpretedBatch) -> dict[str, pl.DataFrame]:
    """Return the tables of consecutive batches as those of one; each part has one text."""
    return {
        name: pl.concat(
            getattr(part, name).with_columns(pl.col("row") + at) for at, part in enumerate(parts)
        )
        for name in TABLES
    }


def assert_each_is_read_alone(texts: list[str | None]) -> None:
    batch = interpret_texts(pl.Series(texts, dtype=pl.String))
    alone = together(*(interpret_texts(pl.Series([one], dtype=pl.String)) for one in texts))
    for name, expected in alone.items():
        assert getattr(batch, name).equals(expected), name


def with_evidence(**more: Any) -> str:
    root = aggregated("pass", passes=1, fails=0)
    root["metadata"]["aggregation"] |= more
    return text(verdict(root, judgment("pass")))


def test_evidence_that_python_takes_for_the_same_is_told_apart() -> None:
    values = [1, 1.0, True, "1", None, [1], {"1": 1}, 0, 0.0, -0.0, False, "", 2**63, 2.0**63]
    counts = [{"x": value} for value in values]
    assert_each_is_read_alone(
        [with_evidence(passCount=value) for value in values]
        + [with_evidence(threshold=value) for value in values]
        + [with_evidence(errorCodeCounts=value) for value in (*values, *counts)]
        + [with_evidence(strategy=value) for value in values]
    )


def test_evidence_shared_by_many_verdicts_is_wrong_in_each_of_them() -> None:
    broken = with_evidence(passCount="1", errorCodeCounts={"a": "x", "b": 2, "c": None}, strategy=3)
    sound = with_evidence()
    batch = interpret_texts(pl.Series([broken, sound, broken, sound, broken]))
    assert batch.defects["row"].unique(maintain_order=True).to_list() == [0, 2, 4]
    first, *others = (batch.defects.filter(row=row).drop("row") for row in (0, 2, 4))
    assert first["field"].to_list() == [
        "metadata.aggregation.strategy",
        "metadata.aggregation.errorCodeCounts.a",
        "metadata.aggregation.errorCodeCounts.c",
        "metadata.aggregation.passCount",
        "metadata.aggregation.strategy",
    ]
    assert all(other.equals(first) for other in others)


def test_evidence_too_deep_for_an_encoder_is_read() -> None:
    deep = "[" * 900 + "]" * 900
    nested = with_evidence(more="DEEP").replace('"DEEP"', deep)
    assert_each_is_read_alone([nested, with_evidence(), nested])


def test_propagated_errors_name_the_codes_of_their_own_evidence() -> None:
    def propagated(counts: dict[str, Any]) -> str:
        root = aggregated("error", passes=0, fails=0, reasonCode="errors_propagated")
        evidence = {"inputCount": 1, "errorCount": 1, "errorCodeCounts": counts}
        root["metadata"]["aggregation"] |= evidence
        return text(verdict(root, judgment("error", reasonCode="judge_failed")))

    texts = [
        propagated({"judge_failed": 1}),
        propagated({"errors_propagated": 1, "judge_timeout": 2, "none": 0}),
        with_evidence(),
        propagated({}),
        propagated({"judge_failed": 1}),
    ]
    found = interpret_texts(pl.Series(texts)).interpretations["error_codes"].to_list()
    assert found == ['{"judge_failed":1}', '{"judge_timeout":2}', None, "{}", '{"judge_failed":1}']


def test_batches_of_any_size_read_the_same() -> None:
    documents = [text(case["verdict"]) for case in known_cases()]
    texts: list[str | None] = [*documents, "{", None, "[]"] * 3
    whole = interpret_texts(pl.Series(texts, dtype=pl.String))
    cuts = [0, 1, 2, 500, 501, 2_000, len(texts)]
    parts = [
        (first, interpret_texts(pl.Series(texts[first:last], dtype=pl.String)))
        for first, last in pairwise(cuts)
    ]
    for name in TABLES:
        cut = pl.concat(
            getattr(part, name).with_columns(pl.col("row") + first) for first, part in parts
        )
        assert getattr(whole, name).equals(cut), name


BLANKS = {*range(0x09, 0x0E), *range(0x1C, 0x21), 0x1680, *range(0x2000, 0x2007)} | {
    *range(0x2008, 0x200B), 0x2028, 0x2029, 0x205F, 0x3000
}  # fmt: skip


@pytest.mark.parametrize("form", ["{}", "{}{}", " {}", "{}x", "x{}"])
def test_a_check_without_a_visible_name_is_dropped(form: str) -> None:
    points = [at for at in range(0x3100) if not 0xD800 <= at < 0xE000] + [0xFEFF, 0x1F600]
    names = ["", *(form.format(chr(at), chr(at)) for at in points)]
    checks = [{"name": name, "passed": True, "message": ""} for name in names]
    document = verdict(aggregated("pass", passes=1, fails=0), judgment("pass", checks=checks))
    kept = interpret_texts(pl.Series([text(document)])).checks["name"].to_list()
    assert kept == [name for name in names if any(ord(letter) not in BLANKS for letter in name)]
