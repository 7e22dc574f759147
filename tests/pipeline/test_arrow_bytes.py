"""Equal rows give equal bytes in an Arrow file, whatever made them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgebatch.pipeline.arrow_bytes import same_bytes, write_same_bytes

SCHEMA = {
    "text": pl.String,
    "flag": pl.Boolean,
    "count": pl.Int64,
    "number": pl.Float64,
    "moment": pl.Datetime("us", "UTC"),
    "day": pl.Date,
    "sure": pl.Boolean,
    "shares": pl.List(pl.Struct({"of": pl.String, "share": pl.Float64})),
}
START = datetime(2026, 3, 1, tzinfo=UTC)
SHARE = st.fixed_dictionaries(
    {"of": st.none() | st.text(max_size=3), "share": st.none() | st.floats(0, 1)}
)
ROWS = st.lists(
    st.tuples(
        st.none() | st.text(),
        st.none() | st.booleans(),
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | st.floats(allow_nan=False),
        st.none() | st.integers(0, 10**6).map(lambda one: START + timedelta(microseconds=one)),
        st.none() | st.integers(0, 999).map(lambda one: (START + timedelta(days=one)).date()),
        st.booleans(),
        st.none() | st.lists(st.none() | SHARE, max_size=3),
    ),
    max_size=40,
)


def frame(rows: list[Any]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def written(rows: pl.DataFrame) -> bytes:
    batch = same_bytes(rows)
    batch.validate(full=True)
    sink = pa.BufferOutputStream()
    with pyarrow.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


@given(ROWS, ROWS, st.data())
def test_bytes_follow_from_the_values_alone(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[Any],
    others: list[Any],
    data: st.DataObject,
) -> None:
    plain = frame(rows)
    at = data.draw(st.integers(0, len(rows)))
    wanted = written(plain)
    assert pl.read_ipc(wanted).equals(plain)
    cut = pl.concat([plain.slice(0, at), plain.slice(at)], rechunk=False)
    among = pl.concat([frame(others), plain, frame(others)])
    marked = among.with_row_index("row")
    mine = pl.col("row").is_between(len(others), len(others) + len(rows), closed="left")
    for made in (
        cut,
        among.slice(len(others), len(rows)),
        marked.filter(mine).drop("row"),
        among.select(pl.all().gather(range(len(others), len(others) + len(rows)))),
        plain.sample(fraction=0).vstack(plain).rechunk(),
        # A value is left under each null.
        plain.with_columns(
            pl.when(pl.col(name).is_null()).then(None).otherwise(pl.col(name)).alias(name)
            for name in SCHEMA
        ),
    ):
        assert made.equals(plain)
        assert written(made) == wanted
    path = tmp_path_factory.mktemp("files") / "rows.arrow"
    write_same_bytes(path, cut)
    once = path.read_bytes()
    write_same_bytes(path, plain)
    assert path.read_bytes() == once
    assert pl.read_ipc(path).equals(plain)
