"""Values and types at the edge: exact, set aside, or refused by name."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from judgebatch.errors import InputError
from tests.inputs import made
from tests.inputs.hostile import project, published, ran_once
from tests.inputs.made import episodes, read


def read_kind(folder: Path, kind: str, **columns: Any) -> tuple[pl.DataFrame, pl.DataFrame]:
    batch = read(getattr(made, kind)(2, **columns), folder, kind)
    return batch.rows, batch.quarantined


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("width", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    ("kind", "column"),
    [("episodes", "cost_usd"), ("episodes", "latency_ms"), ("verdicts", "cost_usd")],
)
def test_numbers_that_are_none_set_their_row_aside(tmp_path, kind, column, width, value):
    given = pa.array(np.array([value, 1.0]), pa.float64()).cast(pa.type_for_alias(width))
    rows, bad = read_kind(tmp_path / "in", kind, **{column: given})
    assert len(rows) == 1
    assert bad["message"][0].startswith(f"{column} is not finite")


@pytest.mark.parametrize("column", ["tool_calls", "tool_errors"])
def test_whole_numbers_that_are_stored_as_floats_are_refused(tmp_path, column):
    with pytest.raises(InputError, match=f"column {column} should be a whole number"):
        read(episodes(2, **{column: [1.0, float("nan")]}), tmp_path / "in")


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
@pytest.mark.parametrize(
    ("kind", "column"),
    [("episodes", "arrived_at"), ("verdicts", "judged_at"), ("answers", "answered_at")],
)
def test_the_calendar_ends_with_the_years_1_and_9999(tmp_path, kind, column, unit):
    per = {"s": 1, "ms": 1_000, "us": 1_000_000}[unit]
    most = 2**53 if unit == "s" else 2**63 - 1
    ends = [-62_135_596_800 * per, 253_402_300_800 * per - 1]
    good = pa.array(ends, pa.int64()).cast(pa.timestamp(unit, "UTC"))
    rows, bad = read_kind(tmp_path / "good", kind, **{column: good})
    assert bad.is_empty()
    held = [end * 1_000_000 // per for end in ends]
    assert rows[column].dt.timestamp("us").to_list() == held
    for name, far in (("near", [ends[0] - 1, ends[1] + 1]), ("far", [-most, most])):
        beyond = pa.array(far, pa.int64()).cast(pa.timestamp(unit, "UTC"))
        rows, bad = read_kind(tmp_path / name, kind, **{column: beyond})
        assert rows.is_empty()
        assert bad["message"].to_list() == [f"{column} lies outside the years 1 to 9999"] * 2


def test_decimals_of_any_width_are_exact_or_set_aside(tmp_path):
    for kind, large in ((pa.decimal128(38, 9), "1" * 29), (pa.decimal256(76, 38), "9" * 38)):
        given = pa.array([Decimal("0.000000001"), Decimal(large)], kind)
        rows, bad = read_kind(tmp_path / str(kind.bit_width), "episodes", cost_usd=given)
        assert rows["cost_nano_usd"].to_list() == [1]
        assert bad["message"][0].startswith(f"cost_usd is too large: {large}")


def test_unsigned_numbers_are_exact_or_set_aside(tmp_path):
    given = pa.array([2**64 - 1, 2**63 - 1], pa.uint64())
    rows, bad = read_kind(tmp_path / "calls", "episodes", tool_calls=given, x=given)
    assert rows["tool_calls"].to_list() == [2**63 - 1]
    assert bad["message"][0] == f"tool_calls is too large: {2**64 - 1}"
    assert orjson.loads(bad["content"][0])["x"] == 2**64 - 1


ODD = {
    "list": pa.array([["a"], []]),
    "struct": pa.array([{"a": 1}, None]),
    "map": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64())),
    "binary": pa.array([b"\xff", b""]),
    "time": pa.array([1, 2], pa.time64("ns")),
    "duration": pa.array([1, 2], pa.duration("us")),
    "date": pa.array([-(2**31), 2**31 - 1], pa.int32()).cast(pa.date32()),
    "dictionary of decimals": pa.array([Decimal("1.5"), None]).dictionary_encode(),
}
CONTRACT = [
    (kind, name)
    for kind in ("episodes", "verdicts")
    for name in getattr(made, kind)(1).schema.names
]


@pytest.mark.parametrize(("kind", "column"), CONTRACT)
def test_a_nested_or_foreign_type_in_a_contract_column_is_refused_by_name(tmp_path, kind, column):
    for name, odd in ODD.items():
        if name == "dictionary of decimals" and column == "cost_usd":
            continue
        with pytest.raises(InputError, match=rf"column {column} should be .* and is "):
            read_kind(tmp_path / name, kind, **{column: odd})


def test_any_type_is_carried_along_also_beside_a_bad_row(tmp_path):
    texts = pa.array(["a", "b"])
    views = {
        "view": texts.cast(pa.string_view()),
        "views": pa.array([["a"], ["b"]], pa.list_(pa.string_view())),
        "bytes": pa.array([b"\0", b"\1"], pa.binary_view()),
    }
    rows, bad = read_kind(tmp_path / "in", "episodes", tool_calls=[4, -1], **ODD, **views)
    first, second = orjson.loads(rows["extra"][0]), orjson.loads(bad["content"][0])
    assert first["view"] == "a"
    assert first["views"] == ["a"]
    assert first["bytes"] == "00"
    assert first["time"] == "00:00:00.000000001"
    assert first["dictionary of decimals"] == "1.5"
    assert second["views"] == ["b"]
    assert second["date"] == "2147483647 days since 1970"


def test_texts_that_are_stored_as_views_are_ids_like_any(tmp_path):
    ids = pa.array(["ep-0", "ep-1"]).cast(pa.string_view())
    rows, _ = read_kind(tmp_path / "in", "episodes", episode_id=ids, tool_calls=[4, 4])
    assert rows["episode_id"].to_list() == ["ep-0", "ep-1"]


def test_files_of_one_input_may_differ_in_order_and_types(tmp_path, capsys):
    settings = project(tmp_path, episodes(2))
    other = episodes(2, episode_id=["x", "y"], tool_calls=pa.array([4, 4], pa.uint8()), more=[1, 2])
    pq.write_table(other.select(other.column_names[::-1]), tmp_path / "episodes/other.parquet")
    ran = ran_once(capsys, settings)
    assert ran.code == 0, ran.err
    assert published(tmp_path) == {"ep-0", "ep-1", "x", "y"}
    pq.write_table(episodes(2, tool_calls=["4", "4"]), tmp_path / "episodes/third.parquet")
    ran = ran_once(capsys, settings, "2026-10-02T03:00:00Z")
    assert ran.code == 3
    assert "third.parquet: column tool_calls should be a whole number and is string" in ran.err
    assert published(tmp_path) == {"ep-0", "ep-1", "x", "y"}
