"""Amounts in USD as integer nano-dollars, rounded half-even, exactly and over whole columns."""

from decimal import Decimal
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from judgebatch.inputs.arrow import Array, pa, pc

NANO_PER_USD = 10**9
_SPLITTER = float(2**27 + 1)
_INT64_END = float(2**63)
MAX_SCALE = 38
"""Decimals of a larger scale leave no room for the dollars in the widest decimal type."""
_LIMBS = 4
_FAR = Decimal(10**11)


class NanoUsd(NamedTuple):
    """Amounts, and where they are too large for 64 bits (the amount is then 0)."""

    values: npt.NDArray[np.int64]
    too_large: npt.NDArray[np.bool_]


def nano_from_doubles(usd: npt.NDArray[np.float64]) -> NanoUsd:
    """Return doubles times 10^9, rounded half-even from the double as it stands.

    The product is formed without error as ``high + low`` (Dekker 1971): rounding the product
    alone would be wrong next to a half. Not-a-number gives 0 and infinities are too large.
    """
    sane = np.isfinite(usd) & (np.abs(usd) < 1e10)
    amount = np.where(sane, usd, 0.0)
    high = amount * float(NANO_PER_USD)
    big = _SPLITTER * amount
    upper = big - (big - amount)
    lower = amount - upper
    # 10^9 has 30 bits, 2^9 times an odd number of 21 bits: its own split is exact with itself.
    low = (upper * NANO_PER_USD - high) + lower * NANO_PER_USD

    nearest = np.rint(high)
    rest = high - nearest
    # Where high lies on a half, low decides; elsewhere it is too small to reach the next half.
    up = (rest == 0.5) & (low > 0)
    down = (rest == -0.5) & (low < 0)
    total = nearest + up - down
    too_large = ~sane & ~np.isnan(usd) | (np.abs(nearest) >= _INT64_END)
    whole = np.where(too_large, 0.0, total).astype(np.int64)
    # Above 2^52 high is whole and even, and low can be worth more than a half.
    beyond = np.where(np.abs(high) >= 2.0**52, np.rint(low), 0.0).astype(np.int64)
    room = np.iinfo(np.int64).max - np.abs(beyond)
    too_large |= np.abs(whole) > room
    return NanoUsd(np.where(too_large, 0, whole + np.where(too_large, 0, beyond)), too_large)


def nano_from_integers(usd: npt.NDArray[np.int64]) -> NanoUsd:
    """Return whole dollars times 10^9."""
    limit = np.iinfo(np.int64).max // NANO_PER_USD
    too_large = (usd > limit) | (usd < -limit)
    return NanoUsd(np.where(too_large, 0, usd) * NANO_PER_USD, too_large)


def nano_from_decimals(usd: Array) -> NanoUsd:
    """Return decimals (scale 0 to ``MAX_SCALE``) times 10^9, half-even; nulls give 0."""
    wide = usd.cast(pa.decimal256(76, usd.type.scale))
    far = pc.fill_null(pc.greater(pc.abs(wide), pa.scalar(_FAR, wide.type)), False)
    wide = pc.if_else(far, pa.scalar(None, wide.type), wide)
    if usd.type.scale > 9:
        wide = pc.round(wide, ndigits=9, round_mode="half_to_even")
    exact = pc.fill_null(wide.cast(pa.decimal256(76, 9)), pa.scalar(0).cast(pa.decimal256(76, 9)))
    limbs = np.frombuffer(exact.buffers()[1], dtype="<i8").reshape(-1, _LIMBS)
    limbs = limbs[exact.offset : exact.offset + len(exact)]
    lowest = limbs[:, 0].astype(np.int64)
    # It fits in 64 bits where the upper limbs only repeat the sign.
    too_large = (limbs[:, 1:] != (lowest >> 63)[:, None]).any(axis=1)
    too_large |= far.to_numpy(zero_copy_only=False)
    return NanoUsd(np.where(too_large, 0, lowest), too_large)
