"""Small input tables for the tests of this package and of the command line."""

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from judgebatch.inputs import AcceptedBatch, InputKind, InputSpec, discover, read_file

NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


def times(count: int, unit: str = "us", zone: str | None = "UTC") -> pa.Array:
    return pa.array([NOON] * count).cast(pa.timestamp(unit, "UTC")).cast(pa.timestamp(unit, zone))


def episodes(count: int = 2, **other: Any) -> pa.Table:
    columns: dict[str, Any] = {
        "tenant_id": ["acme"] * count,
        "episode_id": [f"ep-{index}" for index in range(count)],
        "task_id": ["checkout"] * count,
        "arrived_at": times(count),
        "verifier_outcome": ["passed"] * count,
        "cost_usd": [0.25] * count,
        "latency_ms": [900.0] * count,
        "tool_calls": [4] * count,
        "tool_errors": [1] * count,
    }
    return pa.table(columns | other)


def verdicts(count: int = 2, **other: Any) -> pa.Table:
    columns: dict[str, Any] = {
        "tenant_id": ["acme"] * count,
        "verdict_id": [f"v-{index}" for index in range(count)],
        "task_id": ["checkout"] * count,
        "episode_id": [f"ep-{index}" for index in range(count)],
        "judged_at": times(count),
        "verdict": ['{"aggregated": {}}'] * count,
    }
    return pa.table(columns | other)


def answers(count: int = 2, **other: Any) -> pa.Table:
    columns: dict[str, Any] = {
        "tenant_id": ["acme"] * count,
        "episode_id": [f"ep-{index}" for index in range(count)],
        "question": ["relevant"] * count,
        "answered_at": times(count),
        "answer_type": ["noul"] * count,
        "probability": [0.5] * count,
    }
    return pa.table(columns | other)


def spec(folder: Path, kind: InputKind = InputKind.EPISODES, **other: Any) -> InputSpec:
    return InputSpec(**({"kind": kind, "root": folder, "path": "."} | other))


def read(table: pa.Table, folder: Path, kind: str = "episodes", **other: Any) -> AcceptedBatch:
    """Write a table to a file, read it as an input, and return its one batch."""
    folder.mkdir(exist_ok=True)
    pq.write_table(table, folder / "night.parquet")
    wanted = spec(folder, InputKind(kind), **other)
    (file,) = discover(wanted)
    (batch,) = read_file(file, wanted)
    return batch
