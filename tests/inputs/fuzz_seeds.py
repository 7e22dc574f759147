"""Whole files as different writers leave them: what the fuzz of the readers damages.

Each is small, so that any byte of it is likely to be hit, and has several row groups and pages.
"""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import orjson
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tests.inputs.made import answers, episodes, times, verdicts

ROWS = 24


class Seed(NamedTuple):
    """A file and how it is read: ``episodes``, ``verdicts``, ``answers``, or a format of answers
    that ``judgebatch policy test`` takes."""

    kind: str
    content: bytes

    def __repr__(self) -> str:
        return f"<{len(self.content)} bytes of {self.kind}>"


def _arrow(table: pa.Table, **how: Any) -> bytes:
    sink = pa.BufferOutputStream()
    usual = {"compression": "none", "row_group_size": 10, "data_page_size": 64}
    pq.write_table(table, sink, **(usual | how))
    return bytes(sink.getvalue())


def _polars(table: pa.Table, **how: Any) -> bytes:
    sink = io.BytesIO()
    pl.DataFrame(table).write_parquet(sink, row_group_size=10, data_page_size=64, **how)
    return sink.getvalue()


def _duckdb(table: pa.Table, folder: Path, **how: str) -> bytes:
    path = folder / "duckdb.parquet"
    options = "".join(f", {name} {value}" for name, value in how.items())
    with duckdb.connect() as engine:
        engine.register("given", table)
        engine.sql("SELECT * FROM given").to_table("held")
        engine.execute(f"COPY held TO '{path}' (FORMAT parquet{options})")
    return path.read_bytes()


def _some(table: pa.Table) -> pa.Table:
    """Return a table with nulls, so that pages have definition levels."""
    return table.append_column(
        "variant", pa.array([None if row % 3 else f"v{row % 2}" for row in range(len(table))])
    )


def _extras() -> dict[str, pa.Array]:
    """Return columns outside the contract, of types that reach other decoders."""
    number = range(ROWS)
    return {
        "tags": pa.array([[f"t{row}", None] if row % 4 else None for row in number]),
        "nested": pa.array([[[row], []] for row in number], pa.list_(pa.list_(pa.int16()))),
        "point": pa.array([{"x": row, "y": {"z": row * 0.5}} for row in number]),
        "facts": pa.array([[("a", row)] for row in number], pa.map_(pa.string(), pa.int64())),
        "blob": pa.array([bytes([row]) * 7 for row in number], pa.binary(7)),
        "amount": pa.array(number, pa.int64()).cast(pa.decimal128(38, 4)),
        "day": pa.array([row - 5 for row in number], pa.int32()).cast(pa.date32()),
        "short": pa.array(number, pa.uint8()),
        "half": pa.array([row / 4 for row in number], pa.float16()),
        "clock": pa.array([row * 10**9 for row in number], pa.time64("ns")),
        "raw": pa.array([bytes([row % 7]) * row for row in number], pa.binary()),
        "group": pa.array(["a", "b", None] * (ROWS // 3)).dictionary_encode(),
        "views": pa.array([f"text-of-some-length-{row}" for row in number], pa.string_view()),
        "empty": pa.nulls(ROWS),
    }


def seeds(folder: Path) -> Mapping[str, Seed]:
    """Return every file by name; ``folder`` is for writers that want one."""
    plain = _some(episodes(ROWS))
    verdict = verdicts(ROWS, cost_usd=[0.125] * ROWS, recorded_passed=[True, None] * (ROWS // 2))
    compared = verdict.append_column(
        "compared_episode_id", pa.array([f"e{i}" for i in range(ROWS)])
    )
    answer = answers(ROWS, choice=[None, "yes"] * (ROWS // 2), score=[0.5, None] * (ROWS // 2))
    levels = pa.array([[("1", 0.25), ("2", 0.75)]] * ROWS, pa.map_(pa.string(), pa.float64()))
    typed = episodes(
        ROWS,
        cost_usd=pa.array(range(ROWS)).cast(pa.decimal128(30, 6)),
        arrived_at=times(ROWS, "ns"),
        latency_ms=pa.array([float(row) for row in range(ROWS)], pa.float32()),
        tool_calls=pa.array(range(ROWS), pa.uint32()),
        tool_errors=pa.array([0] * ROWS, pa.int8()),
        task_id=pa.array(["checkout"] * ROWS).dictionary_encode(),
    )
    deltas = {
        "episode_id": "DELTA_BYTE_ARRAY",
        "tenant_id": "DELTA_LENGTH_BYTE_ARRAY",
        "arrived_at": "DELTA_BINARY_PACKED",
        "tool_calls": "DELTA_BINARY_PACKED",
        "cost_usd": "BYTE_STREAM_SPLIT",
    }
    no_dictionary = {"use_dictionary": False}
    packed = {
        f"packed with {codec}": Seed("episodes", _arrow(plain, compression=codec))
        for codec in ("snappy", "gzip", "zstd", "brotli", "lz4")
    }
    rows = [
        {"tenant_id": "acme", "episode_id": f"e{row}", "question": "relevant"}
        | {"answer_type": "noul", "probability": 0.5, "probabilities": {"0": 0.25, "1": 0.75}}
        for row in range(6)
    ]
    text = answers(ROWS).drop_columns(["answered_at"])
    csv = (
        "tenant_id,episode_id,question,answer_type,probability\n"
        + "acme,e1,relevant,noul,0.5\n" * 3
    )
    return packed | {
        "plain": Seed("episodes", _arrow(plain, **no_dictionary)),
        "dictionaries": Seed("episodes", _arrow(plain)),
        "without the Arrow schema": Seed("episodes", _arrow(plain, store_schema=False)),
        "pages of version 2": Seed("episodes", _arrow(plain, data_page_version="2.0")),
        "packed pages of version 2": Seed(
            "episodes", _arrow(plain, data_page_version="2.0", compression="zstd")
        ),
        "deltas": Seed("episodes", _arrow(plain, column_encoding=deltas, **no_dictionary)),
        "checksums and an index": Seed(
            "episodes", _arrow(plain, write_page_checksum=True, write_page_index=True)
        ),
        "old format": Seed("episodes", _arrow(plain, version="1.0", flavor="spark")),
        "accepted variants of types": Seed("episodes", _arrow(typed)),
        "decimals as integers": Seed(
            "episodes", _arrow(typed, store_decimal_as_integer=True, **no_dictionary)
        ),
        "columns outside the contract": Seed("episodes", _arrow(episodes(ROWS, **_extras()))),
        "those plain, of version 2": Seed(
            "episodes",
            _arrow(episodes(ROWS, **_extras()), data_page_version="2.0", **no_dictionary),
        ),
        "those without the Arrow schema": Seed(
            "episodes", _arrow(episodes(ROWS, **_extras()), store_schema=False)
        ),
        "times without a zone": Seed(
            "episodes", _arrow(episodes(ROWS, arrived_at=times(ROWS, "ms", None)))
        ),
        "old times": Seed(
            "episodes", _arrow(plain, use_deprecated_int96_timestamps=True, store_schema=False)
        ),
        "by Polars": Seed("episodes", _polars(plain, compression="uncompressed")),
        "by Polars, packed": Seed("episodes", _polars(plain, compression="zstd")),
        "by DuckDB": Seed("episodes", _duckdb(plain, folder, compression="uncompressed")),
        "by DuckDB, of version 2": Seed(
            "episodes", _duckdb(plain, folder, compression="snappy", parquet_version="v2")
        ),
        "verdicts": Seed("verdicts", _arrow(verdict)),
        "comparisons": Seed("verdicts", _arrow(compared, compression="zstd", **no_dictionary)),
        "answers": Seed("answers", _arrow(answer, **no_dictionary)),
        "answers with maps": Seed("answers", _arrow(answer.append_column("probabilities", levels))),
        "answers of a file": Seed("policy.parquet", _arrow(text)),
        "answers of a file by Polars": Seed("policy.parquet", _polars(text, compression="lz4")),
        "answers in lines": Seed("policy.ndjson", b"\n".join(orjson.dumps(row) for row in rows)),
        "answers with commas": Seed("policy.csv", csv.encode()),
    }
