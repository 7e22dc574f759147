"""Fingerprints of identities and contents: the same bits on every machine, in every version.

SHA-256 over an unambiguous encoding of the columns, cut to 128 bits and held as two Int64, so
that a sorted array of them can be searched without reading strings.
"""

from collections.abc import Sequence
from threading import local

import duckdb
import polars as pl

HALVES = ("high", "low")


_engines = local()


def _connection() -> duckdb.DuckDBPyConnection:
    """Return this thread's engine: starting one costs more than hashing a small frame."""
    if not hasattr(_engines, "connection"):
        _engines.connection = duckdb.connect()
    connection: duckdb.DuckDBPyConnection = _engines.connection
    return connection


def _encoded(frame: pl.DataFrame, columns: Sequence[str]) -> tuple[pl.DataFrame, list[str]]:
    """Return the columns as String or Int64, and the SQL term that encodes each."""
    plain: list[pl.Series] = []
    terms: list[str] = []
    for number, name in enumerate(columns):
        column = frame.get_column(name)
        alias = f"c{number}"
        if column.dtype == pl.String:
            terms.append(f"coalesce(strlen({alias})::VARCHAR || ':' || {alias}, '~')")
        else:
            if column.dtype == pl.Float64:
                # Bits, not text: -0.0 has been refused or normalised where rows are accepted.
                column = pl.Series(name, column.to_numpy().view("i8"), dtype=pl.Int64)
            terms.append(f"coalesce({alias}::VARCHAR || ';', '~')")
            column = column.to_physical().cast(pl.Int64)
        plain.append(column.alias(alias))
    return pl.DataFrame(plain), terms


def fingerprints(frame: pl.DataFrame, columns: Sequence[str], prefix: str) -> pl.DataFrame:
    """Return the rows' fingerprints as columns ``{prefix}_high`` and ``{prefix}_low``.

    Parameters
    ----------
    frame
        Any frame with the columns; null and text are told apart, and no two different rows
        encode alike.
    columns
        Which columns count, in order.
    prefix
        Of the two Int64 columns that come back, one row per row, in order.
    """
    names = [f"{prefix}_{half}" for half in HALVES]
    if frame.is_empty():
        return pl.DataFrame(schema=dict.fromkeys(names, pl.Int64))
    rows, terms = _encoded(frame, columns)
    connection = _connection()
    connection.register("fingerprinted", rows.to_arrow())
    hexes: pl.DataFrame = connection.sql(
        f"SELECT sha256({' || '.join(terms)}) AS hex FROM fingerprinted"  # noqa: S608 - own names
    ).pl()
    connection.unregister("fingerprinted")
    digest = pl.col("hex").str.slice(0, 32).str.decode("hex")
    return hexes.select(
        digest.bin.slice(8 * place, 8).bin.reinterpret(dtype=pl.Int64, endianness="big").alias(name)
        for place, name in enumerate(names)
    )


def with_fingerprints(frame: pl.DataFrame, columns: Sequence[str], prefix: str) -> pl.DataFrame:
    """Return ``frame`` with the two fingerprint columns added."""
    return frame.hstack(fingerprints(frame, columns, prefix))


def text_hashes(column: pl.Series, name: str) -> pl.Series:
    """Return a 64-bit fingerprint of each text, computed once per distinct text."""
    distinct = pl.DataFrame({"text": column.unique()})
    hashed = distinct.hstack(fingerprints(distinct, ["text"], "h"))
    joined = pl.DataFrame({"text": column}).join(
        hashed, on="text", how="left", nulls_equal=True, maintain_order="left"
    )
    return joined.get_column("h_high").alias(name)
