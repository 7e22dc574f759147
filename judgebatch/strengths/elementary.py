"""Exponential, logistic function and logarithm with the same bits on every CPU.

NumPy's and the C library's versions choose code by CPU, and the choices differ in the last bit.
Here only ``+ - * /``, ``rint``, ``ldexp``, ``frexp``, integer work on the bits and comparisons
are used; IEEE 754 fixes each of them. Polynomials are evaluated in one written order.
"""

from math import factorial

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_LOG2_E = 1.4426950408889634
_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")  # 32 bits: k * _LN2_HIGH is exact
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
_EXP_TERMS = [1.0 / factorial(k) for k in range(13, -1, -1)]
_ROUNDER = 1.5 * 2.0**52
"""Added to a small number it leaves the nearest integer in the lowest bits."""
_EXP_MAX = 709.782712893384
_EXP_MIN = -745.2
_SQRT_HALF = 0.7071067811865476
_ATANH_TERMS = [1.0 / (2 * k + 1) for k in range(11, 0, -1)]


def exp_into(x: Floats, out: Floats, reduced: Floats, scratch: Floats) -> None:
    """Write ``exp(x)`` into ``out`` for finite ``|x| <= 708``, without allocating.

    ``reduced`` and ``scratch`` are work arrays of the shape of ``x``; ``out`` may be ``x``.
    ``x = k ln 2 + r`` with ``|r| <= ln 2 / 2`` (Cody and Waite), then a Taylor polynomial.
    """
    power = scratch
    np.multiply(x, _LOG2_E, out=power)
    np.add(power, _ROUNDER, out=power)
    exponent = power.view(np.int64) << 52
    np.subtract(power, _ROUNDER, out=power)
    np.multiply(power, _LN2_HIGH, out=reduced)
    np.subtract(x, reduced, out=reduced)
    np.multiply(power, _LN2_LOW, out=power)
    np.subtract(reduced, power, out=reduced)
    np.multiply(reduced, _EXP_TERMS[0], out=out)
    for term in _EXP_TERMS[1:-1]:
        np.add(out, term, out=out)
        np.multiply(out, reduced, out=out)
    np.add(out, 1.0, out=out)
    bits = out.view(np.int64)
    np.add(bits, exponent, out=bits)


def exp(x: npt.ArrayLike) -> Floats:
    """Return ``e**x`` elementwise; overflow gives infinity, underflow 0, NaN stays NaN."""
    values = np.asarray(x, dtype=np.float64)
    inside = np.where(values >= _EXP_MIN, np.where(values <= _EXP_MAX, values, _EXP_MAX), _EXP_MIN)
    power = np.rint(inside * _LOG2_E)
    reduced = (inside - power * _LN2_HIGH) - power * _LN2_LOW
    result = np.full_like(reduced, _EXP_TERMS[0])
    for term in _EXP_TERMS[1:]:
        result = result * reduced + term
    with np.errstate(under="ignore", over="ignore"):
        result = np.ldexp(result, power.astype(np.int32))
    result = np.where(values > _EXP_MAX, np.inf, result)
    return np.asarray(np.where(np.isnan(values), values, result))


def expit(x: npt.ArrayLike) -> Floats:
    """Return the logistic function ``1 / (1 + exp(-x))`` elementwise.

    Accurate relative to the result on both sides: ``exp`` is only taken of ``-|x|``.
    """
    values = np.asarray(x, dtype=np.float64)
    small = exp(-np.abs(values))
    return np.asarray(np.where(values >= 0.0, 1.0, small) / (1.0 + small))


def log(x: npt.ArrayLike) -> Floats:
    """Return the natural logarithm of positive finite numbers elementwise.

    ``x = m 2**k`` with ``m`` in [sqrt(1/2), sqrt(2)); ``ln m = 2 atanh((m - 1) / (m + 1))``.
    """
    mantissa, exponent = np.frexp(np.asarray(x, dtype=np.float64))
    low = mantissa < _SQRT_HALF
    mantissa = np.where(low, 2.0 * mantissa, mantissa)
    power = np.where(low, exponent - 1, exponent).astype(np.float64)
    return np.asarray(power * _LN2_HIGH + (log1p(mantissa - 1.0) + power * _LN2_LOW))


def log1p(x: npt.ArrayLike) -> Floats:
    """Return ``ln(1 + x)`` elementwise for ``x`` in [sqrt(1/2) - 1, sqrt(2) - 1]."""
    values = np.asarray(x, dtype=np.float64)
    ratio = values / (2.0 + values)
    square = ratio * ratio
    series = np.full_like(square, _ATANH_TERMS[0])
    for term in _ATANH_TERMS[1:]:
        series = series * square + term
    # 2 ratio = x - x ratio: the leading term keeps the exact x.
    return np.asarray(values - ratio * (values - 2.0 * square * series))
