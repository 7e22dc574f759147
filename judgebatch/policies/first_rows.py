"""Which row of a frame was the first with the same keys, without sorting and in little memory."""

import numpy as np
import numpy.typing as npt
import polars as pl

Rows = npt.NDArray[np.int64]

_ROWS_AT_ONCE = 1 << 17


def first_rows(keys: pl.DataFrame) -> Rows:
    """Return for each row of ``keys`` the first row that equals it in all columns.

    Notes
    -----
    Every key has a place in a table, by its hash. The first row there claims the place, and all
    rows that equal it are done; the others go on with other hashes and a table of their own. What
    is compared in the end are the keys, so that hashes only decide how many rounds it takes.
    """
    first = np.empty(len(keys), np.int64)
    open_rows = np.arange(len(keys))
    seed = 0
    while open_rows.size:
        mine = keys if open_rows.size == len(keys) else keys[open_rows]
        claimed = _claimed(mine, seed)
        equal = _equal_rows(mine, claimed)
        first[open_rows[equal]] = open_rows[claimed[equal]]
        open_rows = open_rows[~equal]
        seed += 1
    return first


def _claimed(keys: pl.DataFrame, seed: int) -> Rows:
    """Return for each row the first one with the same place in the table."""
    n, size = len(keys), 2 << len(keys).bit_length()
    places = (keys.hash_rows(seed).to_numpy() & np.uint64(size - 1)).view(np.int64)
    table = np.empty(size, np.int32 if n < 1 << 31 else np.int64)
    # Of several rows with one place the last assignment counts: from last row to first.
    table[places[::-1]] = np.arange(n - 1, -1, -1)
    return table[places].astype(np.int64)


def _equal_rows(keys: pl.DataFrame, others: Rows) -> npt.NDArray[np.bool_]:
    """Say which rows equal those numbered ``others``; a row equals itself unseen."""
    equal = np.ones(len(keys), np.bool_)
    differ = np.flatnonzero(others != np.arange(len(keys)))
    for begin in range(0, differ.size, _ROWS_AT_ONCE):
        part = differ[begin : begin + _ROWS_AT_ONCE]
        mine, theirs = (
            keys.select(pl.all().gather(pl.Series(rows))) for rows in (part, others[part])
        )
        same = pl.all_horizontal(pl.col(name).eq_missing(theirs[name]) for name in keys.columns)
        equal[part] = mine.select(same).to_series().to_numpy()
    return equal
