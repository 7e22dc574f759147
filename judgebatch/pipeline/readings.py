"""What the readings of a shard's verdicts are published as."""

import polars as pl

from judgebatch.grading.clock import Clock
from judgebatch.verdicts.interpret import InterpretedBatch
from judgebatch.warehouse import Pieces


class Readings:
    """Publishes interpretations chunk by chunk, and their accounting at the end."""

    def __init__(self, out: Pieces, shard: int, clock: Clock) -> None:
        self._out = out
        self._shard = shard
        self._clock = clock

    def publish(self, verdicts: pl.DataFrame, batch: InterpretedBatch, number: int) -> None:
        """Publish one chunk."""

    def finish(self) -> None:
        """Publish what is counted over all chunks."""
