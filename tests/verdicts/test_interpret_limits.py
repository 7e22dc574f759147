import math
from typing import Any

import orjson
import polars as pl
import pytest

from judgebatch.juries import Judgment, Verdict
from judgebatch.verdicts import UnreadableVerdictError, interpret, interpret_texts
from judgebatch.vocabulary import Status
from tests.verdicts.documents import accepted, aggregated, judgment, text, verdict


def nested(depth: int, inner: Any) -> dict[str, Any]:
    document = inner
    for _ in range(depth):
        attempt = {"name": "t", "relation": "cascade_tier", "policy": "FINAL_TIER"}
        document = verdict(
            aggregated("pass", passes=1, fails=0),
            judgment("pass"),
            decision={"kind": "tier", "tier": "t", "basis": "tier_outcome"},
            compositeAttempts=[attempt | {"disposition": "used", "verdict": document}],
        )
    return document


@pytest.mark.parametrize("depth", [64, 65, 200, 330])
def test_nesting_to_the_limit_of_the_dialect_is_read(depth: int) -> None:
    read = interpret(nested(depth, accepted()))
    assert len(read.stages) == 64
    assert read.reading == "ACCEPTED"
    assert (read.decided_by is None) == (depth > 64)


def test_aggregates_too_deep_for_an_encoder_are_compared() -> None:
    deep = orjson.loads("[" * 900 + "0.0" + "]" * 900)
    other = orjson.loads("[" * 900 + "-0.0" + "]" * 900)
    document = nested(1, accepted())
    attempt = document["compositeAttempts"][0]["verdict"]
    document["aggregated"]["more"] = attempt["aggregated"]["more"] = deep
    assert interpret(document).reading_support == "SUPPORTED"
    attempt["aggregated"] = attempt["aggregated"] | {"more": other}
    assert interpret(document).reading_support == "CONTRADICTED"


def test_lists_of_a_hundred_thousand_entries_are_read() -> None:
    size = 100_000
    document = {
        "aggregated": {"status": "pass", "checks": [{"name": "c", "passed": True}] * size},
        "individual": [1] * size,
        "seats": [{}] * size,
        "compositeAttempts": [3] * size,
        "subVerdicts": [{}] * (size // 10),
    }
    batch = interpret_texts(pl.Series([text(document)]))
    assert batch.judges.height == size
    assert batch.stages.height == size // 10
    last = batch.defects.filter(pl.col("field").str.starts_with("compositeAttempts["))[-1]
    assert last["field"].to_list() == [f"compositeAttempts[{size - 1}]"]


@pytest.mark.parametrize(
    ("number", "position"),
    [
        ("1e300", 2**31 - 1),
        ("-1e300", -(2**31)),
        ("18446744073709551615", 2**31 - 1),
        ("2.9", 2),
        ("-2.9", -2),
    ],
)
def test_positions_of_any_size_are_clamped(number: str, position: int) -> None:
    seat = f'{{"position":{number},"verdictKey":"a","keySource":"DECLARED"}}'
    batch = interpret_texts(pl.Series([f'{{"seats":[{seat}],"individual":[{{}}]}}']))
    assert batch.judges["position"].to_list() == [position]


@pytest.mark.parametrize(
    ("count", "read"),
    [("18446744073709551615", 2**63 - 1), ("1e300", 2**63 - 1), ("-1e300", -(2**63)), ("1.9", 1)],
)
def test_error_counts_of_any_size_are_clamped(count: str, read: int) -> None:
    block = f'{{"strategy":"consensus","errorCodeCounts":{{"judge_failed":{count}}}}}'
    one = f'{{"aggregated":{{"status":"pass","metadata":{{"aggregation":{block}}}}}}}'
    batch = interpret_texts(pl.Series([one]))
    assert orjson.loads(batch.interpretations["error_code_counts"][0]) == {"judge_failed": read}


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, 10**400, "\ud800", {1: 2}, {"a": object()}, {"\ud800": 1}, b"x"],
)
def test_a_mapping_that_is_no_json_is_refused(value: Any) -> None:
    with pytest.raises(UnreadableVerdictError):
        interpret({"aggregated": value})


def test_a_mapping_is_normalised_as_its_text_would_be() -> None:
    one = {"aggregated": {"status": "pass", "score": 1}, "seats": ({"position": 10**30},)}
    other = {"aggregated": {"status": "pass", "score": 1}, "seats": [{"position": 1e30}]}
    assert interpret(one) == interpret(other)


def test_the_mapping_is_not_changed() -> None:
    document = accepted() | {"seats": [3, {"position": 0}], "individual": [1, {}]}
    before = text(document)
    interpret(document)
    assert text(document) == before


def test_a_live_verdict_is_read_by_way_of_its_portable_form() -> None:
    live = Verdict.single("only", Judgment(status=Status.PASS, reasoning="fine"))
    assert interpret(live) == interpret(orjson.loads(live.portable()))
    assert interpret(live).reading == "ACCEPTED"
