"""Which hashes are equal, found with a table and no sorting."""

from typing import Any

import numpy as np
import numpy.typing as npt

_Hashes = npt.NDArray[np.uint64]
_Rows = npt.NDArray[np.integer[Any]]

_ODD = 0x9E3779B97F4A7C15
_ALL_BITS = (1 << 64) - 1


def same_hash(hashes: _Hashes) -> _Rows:
    """Return for each hash the position of one that equals it, the same for all equal ones.

    Notes
    -----
    Every hash has a place in a table; the last one there claims the place, and all that equal it
    are done. The others have other places, in a smaller table, in the next round.
    """
    found = np.empty(hashes.size, _numbers(hashes.size))
    left = np.arange(hashes.size)
    mine, factor = hashes, _ODD
    while left.size:
        claimed = _claimed(mine, factor)
        equal = mine[claimed] == mine
        if equal.all():
            found[left] = left[claimed]
            break
        found[left[equal]] = left[claimed[equal]]
        left = left[~equal]
        mine = hashes[left]
        factor = (factor + 2 * _ODD) & _ALL_BITS
    return found


def _claimed(hashes: _Hashes, factor: int) -> _Rows:
    """Return for each hash the position of the last one with its place; ``factor`` is odd."""
    bits = hashes.size.bit_length() + 1
    places = ((hashes * np.uint64(factor)) >> np.uint64(64 - bits)).view(np.int64)
    numbers = _numbers(hashes.size)
    table = np.empty(1 << bits, numbers)
    table[places] = np.arange(hashes.size, dtype=numbers)
    return table[places]


def _numbers(size: int) -> type[np.int32 | np.int64]:
    return np.int32 if size < 1 << 31 else np.int64
