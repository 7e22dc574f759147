import mpmath
import numpy as np
import pytest
from scipy.special import ndtri

from judgebatch.strengths import expit
from judgebatch.strengths.elementary import exp, exp_into, log, log1p
from judgebatch.strengths.evidence import log_e_value
from judgebatch.strengths.quantile import two_sided

ULP = 2.0**-52


def worst_relative_error(got, reference, x):
    with mpmath.workdps(40):
        exact = [reference(mpmath.mpf(float(value))) for value in x]
        return max(
            float(abs((mpmath.mpf(float(a)) - b) / b)) for a, b in zip(got, exact, strict=True) if b
        )


@pytest.mark.parametrize("reach", [1e-9, 1.0, 40.0, 700.0])
def test_exp_is_within_an_ulp(reach):
    x = np.random.default_rng(1).uniform(-reach, reach, 2000)
    assert worst_relative_error(exp(x), mpmath.exp, x) < ULP


@pytest.mark.parametrize("reach", [1e-9, 1.0, 40.0, 700.0])
def test_expit_is_within_two_ulps_on_both_sides(reach):
    x = np.random.default_rng(2).uniform(-reach, reach, 2000)
    reference = lambda t: 1 / (1 + mpmath.exp(-t))  # noqa: E731
    assert worst_relative_error(expit(x), reference, x) < 2 * ULP


def test_log_and_log1p_are_within_an_ulp():
    rng = np.random.default_rng(3)
    x = np.exp(rng.uniform(-700, 700, 2000))
    assert worst_relative_error(log(x), mpmath.log, x) < ULP
    near = 1.0 + rng.uniform(-1e-6, 1e-6, 2000)
    assert worst_relative_error(log(near), mpmath.log, near) < ULP
    x = rng.uniform(-0.29, 0.41, 2000)
    assert worst_relative_error(log1p(x), mpmath.log1p, x) < ULP


def test_edges():
    assert exp([800.0, -800.0, 0.0]).tolist() == [np.inf, 0.0, 1.0]
    assert np.isnan(exp([np.nan])).all()
    assert expit([800.0, -800.0, 0.0]).tolist() == [1.0, 0.0, 0.5]


def test_exp_in_place_has_the_same_bits():
    x = np.random.default_rng(4).uniform(-700, 700, (3, 1000))
    out = x.copy()
    exp_into(out, out, np.empty_like(x), np.empty_like(x))
    assert out.tobytes() == exp(x).tobytes()


@pytest.mark.parametrize("level", [0.01, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999])
def test_quantile_agrees_with_scipy(level):
    assert two_sided(level) == pytest.approx(ndtri((1 + level) / 2), abs=1e-12)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 95.0, float("nan")])
def test_a_level_outside_the_unit_interval_is_refused(level):
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        two_sided(level)


@pytest.mark.parametrize(
    ("wins", "losses"),
    [(0, 0), (1, 0), (0, 1), (7, 9), (15, 16), (16, 15), (3, 100), (900, 1100), (10**6, 10**6 - 7)],
)
def test_log_e_value_is_exact(wins, losses):
    with mpmath.workdps(50):
        half = mpmath.mpf("0.5")
        beta = sum(mpmath.loggamma(k + half) for k in (wins, losses)) - mpmath.loggamma(
            wins + losses + 1
        )
        exact = beta - mpmath.log(mpmath.pi) + (wins + losses) * mpmath.log(2)
    assert float(log_e_value(wins, losses)) == pytest.approx(float(exact), rel=1e-12, abs=1e-12)
