"""What passes between a run and its tasks, weighed."""

import io
import pickle
from collections import defaultdict
from typing import Any

FRAMES = {"polars", "pyarrow", "numpy", "pandas"}
MOST_BYTES = 16 << 10
"""Paths, settings and counts, however many rows there are."""


class _Weighing(pickle.Pickler):
    def __init__(self, sink: io.BytesIO) -> None:
        super().__init__(sink)
        self.frames: set[str] = set()

    def reducer_override(self, obj: Any) -> Any:
        kind = type(obj)
        if kind.__module__.partition(".")[0] in FRAMES:
            self.frames.add(f"{kind.__module__}.{kind.__qualname__}")
        return NotImplemented


class Passed:
    """By stage: the most bytes that were handed over at once, and classes of frames and arrays."""

    def __init__(self) -> None:
        self.most_bytes: dict[str, int] = defaultdict(int)
        self.frames: dict[str, list[str]] = {}

    def weigh(self, stage: str, passed: Any) -> None:
        sink = io.BytesIO()
        pickler = _Weighing(sink)
        pickler.dump(passed)
        self.most_bytes[stage] = max(self.most_bytes[stage], len(sink.getvalue()))
        if pickler.frames:
            self.frames[stage] = sorted(pickler.frames)
