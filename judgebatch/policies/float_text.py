"""Doubles as text, equal to what Python prints, for whole columns."""

import numpy as np
import polars as pl

_PLAIN_ZEROS = r"^(-?)0\.0000([1-9])(\d*)$"
_BARE_POINT = r"\.e-05$"
_SHORT_EXPONENT = r"e-(\d)$"


def float_texts(values: pl.Series) -> pl.Series:
    """Return ``repr`` of every double; nulls stay null.

    Polars prints the same shortest round-trip digits. It differs in form between 1e-10 and 1e-4,
    where it writes ``0.00001`` and ``1e-6`` for ``1e-05`` and ``1e-06``, and in the letters of
    NaN.
    """
    texts = values.cast(pl.String)
    magnitude = values.abs()
    odd = ((magnitude < 1e-4) & (magnitude > 0.0)) | values.is_nan()
    rows = odd.fill_null(value=False).arg_true()
    if rows.is_empty():
        return texts
    mended = (
        texts.gather(rows)
        .str.replace(_PLAIN_ZEROS, "${1}${2}.${3}e-05")
        .str.replace(_BARE_POINT, "e-05")
        .str.replace(_SHORT_EXPONENT, "e-0${1}")
        .str.replace("NaN", "nan", literal=True)
    )
    source = np.arange(len(texts))
    source[rows.to_numpy()] = np.arange(len(texts), len(texts) + len(mended))
    return pl.concat([texts, mended.rename(texts.name)]).gather(pl.Series(source))
