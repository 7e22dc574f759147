from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judgebatch.contracts.grading import AuditVerdicts, Graded, References
from judgebatch.contracts.registry import published
from judgebatch.contracts.table import empty, schema_of
from judgebatch.warehouse import parquet, write_table
from judgebatch.warehouse.parquet import read_facts
from tests.warehouse.nights import rows_of

ODD_TEXTS = [
    "",
    " ",
    "007",
    "..",
    "/",
    "a=b",
    "'\"`",
    "line\nbreak\r\ttab",
    "\x00 nul",
    "😀👩‍👩‍👧",
    "שלום עולם",
    "\u202eright to left\u202c",
    "é",
    "é",
    "\U0010ffff",
    "x" * 10_000,
]


def pieces(frame: pl.DataFrame, seed: int) -> Iterator[pl.DataFrame]:
    random = np.random.default_rng(seed)
    at = 0
    while at < len(frame):
        step = int(random.choice([1, 2, 7, 50, 333]))
        yield frame.slice(at, step)
        at += step


@pytest.mark.parametrize("seed", range(5))
def test_equal_rows_give_equal_bytes_however_they_arrive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(parquet, "GROUP_ROWS", 400)
    monkeypatch.setattr(parquet, "GROUP_TEXT_BYTES", 50_000)
    frame = rows_of(Graded, 1, 1500)
    whole = write_table(tmp_path / "whole.parquet", Graded, frame)
    # A rechunked concatenation of filtered parts has other buffers, offsets and null bitmaps.
    other = pl.concat([frame.filter(pl.int_range(pl.len()) < 700), frame.slice(700)])
    cut = write_table(tmp_path / "cut.parquet", Graded, pieces(other, seed))
    assert whole == cut
    assert (tmp_path / "whole.parquet").read_bytes() == (tmp_path / "cut.parquet").read_bytes()
    assert pq.read_metadata(tmp_path / "whole.parquet").num_row_groups > 3


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    texts=st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"])), max_size=30),
    step=st.integers(1, 30),
)
def test_any_text_survives_and_the_cuts_leave_no_trace(
    tmp_path: Path, texts: list[str | None], step: int
) -> None:
    frame = rows_of(Graded, 1, len(texts)).with_columns(
        variant=pl.Series(texts, dtype=pl.String),
        episode_id=pl.Series([text or "none" for text in texts], dtype=pl.String),
    )
    one, two = tmp_path / "one.parquet", tmp_path / "two.parquet"
    facts = write_table(one, Graded, frame)
    cut = (frame.slice(at, step) for at in range(0, len(frame), step))
    assert write_table(two, Graded, cut) == facts
    assert one.read_bytes() == two.read_bytes()
    assert pl.read_parquet(one, glob=False).equals(frame)


def test_odd_ids_round_trip(tmp_path: Path) -> None:
    frame = rows_of(References, 1, len(ODD_TEXTS)).with_columns(
        tenant_id=pl.Series(ODD_TEXTS), task_id=pl.Series(ODD_TEXTS[::-1])
    )
    write_table(tmp_path / "odd.parquet", References, frame)
    assert pl.read_parquet(tmp_path / "odd.parquet").equals(frame)
    arrow = pq.read_table(tmp_path / "odd.parquet")
    assert arrow["tenant_id"].to_pylist() == ODD_TEXTS


@pytest.mark.parametrize("name", sorted(published()))
def test_an_empty_table_has_its_full_schema(tmp_path: Path, name: str) -> None:
    table = published()[name]
    facts = write_table(tmp_path / "empty.parquet", table, empty(table))
    assert facts.rows == 0
    assert pl.read_parquet_schema(tmp_path / "empty.parquet") == dict(schema_of(table))
    assert pl.read_parquet(tmp_path / "empty.parquet").is_empty()


def test_the_footer_names_table_version_and_content_and_nothing_of_the_writer(
    tmp_path: Path,
) -> None:
    path = tmp_path / "graded.parquet"
    facts = write_table(path, Graded, rows_of(Graded, 1, 3))
    assert read_facts(path) == facts
    assert set(pq.read_metadata(path).metadata) == {
        b"judgebatch.table",
        b"judgebatch.version",
        b"judgebatch.content",
    }


def test_a_foreign_file_has_no_facts(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "foreign.parquet")
    assert read_facts(tmp_path / "foreign.parquet") is None


def test_the_content_digest_sees_every_change(tmp_path: Path) -> None:
    frame = rows_of(AuditVerdicts, 1, 4)
    changed = {
        "as it is": frame,
        "rows swapped": frame.reverse(),
        "null for empty text": frame.with_columns(judge_id=pl.lit(None, pl.String)),
        "empty text for null": frame.with_columns(judge_id=pl.lit("")),
        "text moved over a border": frame.with_columns(
            verdict_id=pl.Series(["ab", "c", "d", "e"]), episode_id=pl.Series(["x"] * 4)
        ),
        "text moved back": frame.with_columns(
            verdict_id=pl.Series(["a", "bc", "d", "e"]), episode_id=pl.Series(["x"] * 4)
        ),
        "null for false": frame.with_columns(recorded_passed=pl.lit(None, pl.Boolean)),
        "false for null": frame.with_columns(recorded_passed=pl.lit(False)),
        "minus zero": frame.with_columns(cost_usd=pl.lit(-0.0)),
        "zero": frame.with_columns(cost_usd=pl.lit(0.0)),
        "a row less": frame.head(3),
    }
    digests = {
        what: write_table(tmp_path / "x.parquet", AuditVerdicts, rows).content
        for what, rows in changed.items()
    }
    assert len(set(digests.values())) == len(changed), digests


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_refused(tmp_path: Path, number: float) -> None:
    frame = rows_of(Graded, 1, 3).with_columns(score=pl.lit(number))
    with pytest.raises(ValueError, match="not finite in score"):
        write_table(tmp_path / "x.parquet", Graded, frame)


def test_a_null_where_the_contract_has_none_is_refused(tmp_path: Path) -> None:
    frame = rows_of(Graded, 1, 3).with_columns(score=pl.lit(None, pl.Float64))
    with pytest.raises(Exception, match="score"):
        write_table(tmp_path / "x.parquet", Graded, frame)


def test_another_tables_frame_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="table graded got"):
        write_table(tmp_path / "x.parquet", Graded, rows_of(References, 1, 3))


def test_row_groups_end_at_the_row_that_fills_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "GROUP_TEXT_BYTES", 100_000)
    frame = rows_of(AuditVerdicts, 1, 10).with_columns(verdict=pl.lit("v" * 40_000))
    write_table(tmp_path / "x.parquet", AuditVerdicts, frame)
    footer = pq.read_metadata(tmp_path / "x.parquet")
    groups = [footer.row_group(at).num_rows for at in range(footer.num_row_groups)]
    assert groups == [3, 3, 3, 1]
