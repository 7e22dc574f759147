"""The verdicts' texts of a shard: fetched where they are needed, read once, published.

Texts are most of a night's bytes, so they are never all in memory: accepted verdicts are read in
chunks, in the order in which they are published.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from judgebatch.contracts.grading import AuditVerdicts
from judgebatch.contracts.table import Table, conform
from judgebatch.grading.clock import Clock
from judgebatch.grading.consideration import PLACE
from judgebatch.grading.money import usd
from judgebatch.pipeline.arrow_files import mapped
from judgebatch.pipeline.readings import Readings
from judgebatch.verdicts import comparison_outcome, interpret_texts, unreadable_texts
from judgebatch.warehouse import Pieces

CHUNK = 10_000
"""Verdicts read at once."""
HELD_BYTES = 128 << 20
"""Texts that are fetched before the files that hold them are let go."""

_READ = {
    "piece": pl.Int64,
    "row": pl.Int64,
    "outcome": pl.String,
    "error_codes": pl.String,
    "unreadable": pl.String,
}


class ShardTexts:
    """Texts of one shard, where each row names its ``piece`` and its ``row`` there.

    Parameters
    ----------
    pieces
        Where texts lie: frames with the column ``verdict``, or Arrow files of such. Files stay
        mapped until ``HELD_BYTES`` of their texts were fetched, so that few of their pages are
        held.
    out
        Where published rows are written; None: nothing is published.
    shard
        The shard's number.
    clock
        The run's logical time.
    first
        The number of the first piece of each published table.
    """

    def __init__(
        self,
        pieces: Sequence[pl.DataFrame | Path],
        out: Pieces | None,
        shard: int,
        clock: Clock,
        first: int = 0,
    ) -> None:
        self._pieces = pieces
        self._out = out
        self._shard = shard
        self._clock = clock
        self._first = first
        self._mapped: dict[int, pl.Series] = {}
        self._fetched = 0
        self._readings = None if out is None else Readings(out, shard, clock)

    def with_texts(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return ``rows`` with the column ``verdict``."""
        if rows.is_empty():
            return rows.with_columns(verdict=pl.lit(None, dtype=pl.String))
        piece, row = (rows[name].to_numpy() for name in PLACE)
        order = np.argsort(piece, kind="stable")
        numbers, starts = np.unique(piece[order], return_index=True)
        texts = pl.concat(
            self._texts(number).gather(row[part])
            for number, part in zip(numbers, np.split(order, starts[1:]), strict=True)
        )
        self._fetched += int(texts.str.len_bytes().sum())
        if self._fetched > HELD_BYTES:
            self._mapped.clear()
            self._fetched = 0
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return rows.with_columns(verdict=texts.gather(back))

    def _texts(self, number: int) -> pl.Series:
        if number not in self._mapped:
            piece = self._pieces[number]
            frame = mapped(piece, ["verdict"]) if isinstance(piece, Path) else piece
            self._mapped[number] = frame.get_column("verdict")
        return self._mapped[number]

    def accept(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Read accepted verdicts in their order, and publish verdicts and readings."""
        read = [pl.DataFrame(schema=_READ)]
        for number, texts in self._chunks(rows):
            batch = interpret_texts(texts["verdict"])
            chunk = texts.with_row_index("at").with_columns(pl.col("at").cast(pl.Int64))
            outcomes = batch.interpretations.select(
                pl.col("row").alias("at"), comparison_outcome().alias("outcome"), "error_codes"
            )
            broken = batch.unreadable.select(
                pl.col("row").alias("at"), pl.col("message").alias("unreadable")
            )
            read.append(
                chunk.select("at", *PLACE)
                .join(outcomes, on="at", how="left", maintain_order="left")
                .join(broken, on="at", how="left", maintain_order="left")
                .select(*_READ)
            )
            if self._out is None or self._readings is None:
                continue
            readable = chunk.join(broken, on="at", how="anti", maintain_order="left")
            published = readable.with_columns(*self._clock.stamp(), cost_usd=usd())
            self._out.write(AuditVerdicts, self._shard, conform(published, AuditVerdicts), number)
            self._readings.publish(readable, batch, number)
        return pl.concat(read)

    def counted(self) -> dict[type[Table], pl.DataFrame]:
        """Return what is counted over all accepted verdicts, by table."""
        return {} if self._readings is None else self._readings.counted()

    def unreadable(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return which texts cannot be read, and why."""
        found = [pl.DataFrame(schema={name: _READ[name] for name in (*PLACE, "unreadable")})]
        for _, chunk in self._chunks(rows):
            broken = unreadable_texts(chunk["verdict"])
            at = broken["row"]
            found.append(
                chunk.select(pl.col(PLACE).gather(at)).with_columns(unreadable=broken["message"])
            )
        return pl.concat(found)

    def _chunks(self, rows: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame]]:
        for number, first in enumerate(range(0, rows.height, CHUNK), start=self._first):
            yield number, self.with_texts(rows.slice(first, CHUNK))
