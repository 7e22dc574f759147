"""Fingerprints of identities and contents: the same bits on every machine, in every version.

SHA-256 over an unambiguous encoding of the columns, cut to 128 bits and held as two Int64, so
that a sorted array of them can be searched without reading strings.
"""

from collections.abc import Collection, Sequence
from hashlib import sha256
from threading import local

import duckdb
import polars as pl

HALVES = ("high", "low")
_TEXTS_AT_ONCE = 8_192

_engines = local()


def _connection() -> duckdb.DuckDBPyConnection:
    """Return this thread's engine: starting one costs more than hashing a small frame."""
    if not hasattr(_engines, "connection"):
        _engines.connection = duckdb.connect()
    connection: duckdb.DuckDBPyConnection = _engines.connection
    return connection


def _digests(texts: pl.Series) -> pl.Series:
    """Return the SHA-256 of each text, as hex text.

    Python per text, but only for documents: the library's hash is several times as fast as the
    engine's, and a document is longer than a call.
    """
    made = [pl.Series(texts.name, [], dtype=pl.Binary)]
    for first in range(0, len(texts), _TEXTS_AT_ONCE):
        some = texts.slice(first, _TEXTS_AT_ONCE).cast(pl.Binary).to_list()
        digests = [None if text is None else sha256(text).digest() for text in some]
        made.append(pl.Series(texts.name, digests, dtype=pl.Binary))
    return pl.concat(made).bin.encode("hex")


def _encoded(
    frame: pl.DataFrame, columns: Sequence[str], documents: Collection[str]
) -> tuple[pl.DataFrame, list[str]]:
    """Return the columns as String or Int64, and the SQL term that encodes each."""
    plain: list[pl.Series] = []
    terms: list[str] = []
    for number, name in enumerate(columns):
        column = frame.get_column(name)
        if name in documents:
            column = _digests(column)
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


def fingerprints(
    frame: pl.DataFrame,
    columns: Sequence[str],
    prefix: str,
    documents: Collection[str] = (),
) -> pl.DataFrame:
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
    documents
        Those of the columns that hold long texts: their SHA-256 stands for them.
    """
    names = [f"{prefix}_{half}" for half in HALVES]
    if frame.is_empty():
        return pl.DataFrame(schema=dict.fromkeys(names, pl.Int64))
    rows, terms = _encoded(frame, columns, documents)
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


def with_fingerprints(
    frame: pl.DataFrame,
    columns: Sequence[str],
    prefix: str,
    documents: Collection[str] = (),
) -> pl.DataFrame:
    """Return ``frame`` with the two fingerprint columns added; see :func:`fingerprints`."""
    return frame.hstack(fingerprints(frame, columns, prefix, documents))


def text_hashes(column: pl.Series, name: str) -> pl.Series:
    """Return a 64-bit fingerprint of each text, computed once per distinct text."""
    distinct = pl.DataFrame({"text": column.unique()})
    hashed = distinct.hstack(fingerprints(distinct, ["text"], "h"))
    joined = pl.DataFrame({"text": column}).join(
        hashed, on="text", how="left", nulls_equal=True, maintain_order="left"
    )
    return joined.get_column("h_high").alias(name)
