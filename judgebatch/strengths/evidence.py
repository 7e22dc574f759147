"""The anytime-valid e-value of wins and losses against "no difference"."""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from judgebatch.strengths.codes import Ints
from judgebatch.strengths.elementary import Floats, log, log1p

_EXACT_BELOW = 16
_HALF_LOG_HALF_PI = 0.5 * float(log(2.0 / 3.141592653589793))
_SMALL = 0.29
_BERNOULLI = [
    Fraction(1, 6),
    Fraction(-1, 30),
    Fraction(1, 42),
    Fraction(-1, 30),
    Fraction(5, 66),
    Fraction(-691, 2730),
    Fraction(7, 6),
]


def log_e_value(wins: npt.ArrayLike, losses: npt.ArrayLike) -> Floats:
    """Return ``ln [B(w + 1/2, l + 1/2) / B(1/2, 1/2) * 2**(w + l)]`` elementwise.

    The mixture likelihood ratio of a win probability with Jeffreys' prior against 1/2: under no
    difference it is at least ``1 / alpha`` at any time with probability at most alpha (Ville).

    Notes
    -----
    By Stirling's formula, of which ``n ln n`` cancels analytically: what remains,
    ``w ln(2 w / n) + l ln(2 l / n)``, is small where wins and losses balance.
    """
    w, v = (np.asarray(column, dtype=np.int64) for column in (wins, losses))
    n = w + v
    played = np.maximum(n, 1).astype(np.float64)
    lead = (w - v) / played
    entropy = w * _log_of_one_plus(lead, 2.0 * w / played)
    entropy += v * _log_of_one_plus(-lead, 2.0 * v / played)
    value = (entropy - 0.5 * log(played)) + _HALF_LOG_HALF_PI
    value += (_half_correction(w) + _half_correction(v)) - _factorial_correction(n)
    return np.asarray(np.where(n == 0, 0.0, value))


def _log_of_one_plus(x: Floats, one_plus_x: Floats) -> Floats:
    near = np.abs(x) < _SMALL
    close = log1p(np.where(near, x, 0.0))
    far = log(np.where(near | (one_plus_x <= 0.0), 1.0, one_plus_x))
    return np.where(near, close, far)


def _half_correction(k: Ints) -> Floats:
    """Return ``ln Gamma(k + 1/2) - (k ln k - k + ln(2 pi) / 2)``."""
    coefficients = [
        -(1 - Fraction(2) ** (1 - 2 * m)) * b / (2 * m * (2 * m - 1))
        for m, b in enumerate(_BERNOULLI, start=1)
    ]
    table = np.empty(_EXACT_BELOW)
    product = 1.0
    for small in range(_EXACT_BELOW):
        # Gamma(k + 1/2) / sqrt(pi) = 1/2 * 3/2 * ... is exact in this range.
        stirling = small * float(log(max(small, 1))) - small
        table[small] = (float(log(product)) - stirling) - 0.5 * float(log(2.0))
        product *= small + 0.5
    return _corrected(k, table, coefficients)


def _factorial_correction(n: Ints) -> Floats:
    """Return ``ln n! - (n ln n - n + ln(2 pi n) / 2)``; 0 at n = 0, where it is not used."""
    coefficients = [b / (2 * m * (2 * m - 1)) for m, b in enumerate(_BERNOULLI, start=1)]
    table = np.zeros(_EXACT_BELOW)
    product = 1.0
    for small in range(1, _EXACT_BELOW):
        product *= small
        stirling = small * float(log(small)) - small
        table[small] = (float(log(product)) - stirling) - 0.5 * float(
            log(2.0 * 3.141592653589793 * small)
        )
    return _corrected(n, table, coefficients)


def _corrected(k: Ints, table: Floats, coefficients: list[Fraction]) -> Floats:
    inverse = 1.0 / np.maximum(k, _EXACT_BELOW)
    square = inverse * inverse
    series = np.zeros(k.shape)
    for coefficient in reversed(coefficients):
        series = series * square + float(coefficient)
    return np.where(k < _EXACT_BELOW, table[np.minimum(k, _EXACT_BELOW - 1)], series * inverse)
