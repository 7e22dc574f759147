"""Tasks are handed paths, settings and counts, and give back no more: never frames."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import polars as pl
import pytest

from judgebatch.cli.options import read_as_of
from judgebatch.pipeline import run
from judgebatch.settings import load_settings
from judgebatch.synthesis import synthesize
from tests.pipeline.passing import MOST_BYTES, Passed

T = TypeVar("T")
R = TypeVar("R")

WHOLE = {"ingest", "grade_shard"}
SLICED = {
    "ingest",
    "cut_shard",
    "consider_slice",
    "admit_shard",
    "fit_slice",
    "conclude_slice",
    "finish_shard",
}


@pytest.mark.parametrize(("slice_rows", "stages"), [(100_000, WHOLE), (20, SLICED | WHOLE)])
def test_tasks_pass_paths_and_never_frames(
    tmp_path: Path, slice_rows: int, stages: set[str]
) -> None:
    synthesize(tmp_path / "corpus", episodes=120, tenants=3, nights=1, seed=3)
    passed = Passed()

    def mapper(function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        for task in tasks:
            passed.weigh(function.__name__, task)
            result = function(task)
            passed.weigh(function.__name__, result)
            yield result

    settings = load_settings(tmp_path / "corpus" / "judgebatch.toml")
    night = run(settings, read_as_of("2026-03-02T03:00:00Z"), mapper=mapper, slice_rows=slice_rows)
    assert night.published
    assert set(passed.most_bytes) == stages
    assert passed.frames == {}
    assert max(passed.most_bytes.values()) < MOST_BYTES, passed.most_bytes


def test_a_frame_would_be_noticed() -> None:
    passed = Passed()
    passed.weigh("stage", {"paths": [Path("x")], "rows": (pl.DataFrame({"a": [1]}),)})
    assert passed.frames == {"stage": ["polars.dataframe.frame.DataFrame"]}
