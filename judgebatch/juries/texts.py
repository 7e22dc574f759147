"""Putting JSON texts together, a column at a time."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import orjson
import polars as pl

from judgebatch.juries.lanes import Floats, Longs

Piece: TypeAlias = str | pl.Series
"""A text that is the same in every row, or a column of them."""

_ESCAPES = {'"': '\\"', "\\": "\\\\"} | {
    chr(point): orjson.dumps(chr(point)).decode()[1:-1] for point in range(0x20)
}
_SPECIAL = r'["\\\x00-\x1f]'


def quoted(text: str) -> str:
    """Return a text as JSON."""
    return orjson.dumps(text).decode()


def escaped(texts: pl.Series) -> pl.Series:
    """Return texts with the characters escaped that JSON does not take as they are."""
    special = texts.str.contains(_SPECIAL)
    if not special.any():
        return texts
    choice = pl.when("special").then(pl.col("text").str.replace_many(_ESCAPES)).otherwise("text")
    return pl.DataFrame({"text": texts, "special": special}).select(choice).to_series()


def join(pieces: Sequence[Piece], n: int) -> pl.Series:
    """Return n texts, the pieces put together row by row; a null piece adds nothing."""
    merged: list[Piece] = []
    for piece in pieces:
        before = merged[-1] if merged else None
        if isinstance(piece, str) and isinstance(before, str):
            merged[-1] = before + piece
        else:
            merged.append(piece)
    columns = {f"c{i}": piece for i, piece in enumerate(merged) if isinstance(piece, pl.Series)}
    if not columns:
        return pl.Series(["".join(str(piece) for piece in merged)]).new_from_index(0, n)
    parts = [
        pl.lit(piece) if isinstance(piece, str) else pl.col(f"c{i}")
        for i, piece in enumerate(merged)
    ]
    return pl.DataFrame(columns).select(pl.concat_str(parts, ignore_nulls=True)).to_series()


def after(start: str, texts: pl.Series, end: str = "") -> pl.Series:
    """Return texts between ``start`` and ``end``; null stays null."""
    parts = [pl.lit(start), pl.col("text"), pl.lit(end)]
    return pl.DataFrame({"text": texts}).select(pl.concat_str(parts)).to_series()


def listed(entries: Sequence[pl.Series], n: int) -> pl.Series:
    """Return entries joined with commas, those that are null left out."""
    if not entries:
        return pl.Series([""]).new_from_index(0, n)
    frame = pl.DataFrame({f"c{i}": entry for i, entry in enumerate(entries)})
    parts = pl.concat_str(frame.columns, separator=",", ignore_nulls=True)
    return frame.select(parts).to_series()


def numbers(values: Floats) -> pl.Series:
    """Return the shortest texts that read back as the numbers; null for NaN."""
    return pl.Series(values, nan_to_null=True).cast(pl.String)


def spread(texts: pl.Series, rows: Longs, n: int) -> pl.Series:
    """Return n texts with ``texts`` at ``rows`` and null elsewhere."""
    if len(rows) == n:
        return texts
    place = np.full(n, len(texts), np.int64)
    place[rows] = np.arange(len(rows))
    return pl.concat([texts, pl.Series([None], dtype=pl.String)], rechunk=True).gather(place)
