"""The normal quantile of a confidence level, with the same bits on every CPU."""

from judgebatch.strengths.elementary import exp

_INVERSE_SQRT_TWO_PI = 0.3989422804014327


def two_sided(level: float) -> float:
    """Return z with ``P(|Z| <= z) = level`` for a standard normal Z.

    Newton's method on ``P(|Z| <= x) = 2 phi(x) (x + x**3/3 + x**5/15 + ...)``, all terms
    positive. The probability is concave for x > 0, so the steps from 0 rise to the root.

    Raises
    ------
    ValueError
        ``level`` is not strictly between 0 and 1.
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"a confidence level lies strictly between 0 and 1, not {level}")
    z = 0.0
    while True:
        density = 2.0 * _INVERSE_SQRT_TWO_PI * float(exp(-0.5 * z * z))
        term = series = z
        k = 1
        while series + term != series:
            k += 2
            term *= z * z / k
            series += term
        better = z + (level - density * series) / density
        if better <= z:
            return z
        z = better
