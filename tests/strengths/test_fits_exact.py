"""Fits against the same objective maximised with 40 digits."""

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize

from judgebatch.strengths import fit_groups
from tests.strengths.made import exact_half_win, pair_counts, simulated


@pytest.mark.parametrize("size", [2, 3, 4, 5, 7, 8, 11, 16, 24])
@pytest.mark.parametrize(("per_item", "spread"), [(1, 1.0), (4, 3.0), (40, 0.3)])
def test_strengths_and_errors_agree_to_1e_12(size, per_item, spread):
    frame = simulated([size], per_item * size, spread=spread, seed=size)
    strengths, groups = fit_groups(frame)
    members = strengths.filter("in_component")["item"].to_list()
    place = {item: at for at, item in enumerate(members)}
    inside = {
        (place[i], place[j]): cell
        for (i, j), cell in pair_counts(frame, size).items()
        if i in place and j in place
    }
    fitted = strengths.filter("in_component")
    expected, errors = exact_half_win(inside, len(members), fitted["strength"])
    assert groups["fit_status"].to_list() == ["converged"]
    for got, want in ((fitted["strength"], expected), (fitted["strength_se"], errors)):
        for a, b in zip(got, want, strict=True):
            assert abs(a - b) <= 1e-12 * max(1, abs(b))


def test_weak_links_between_strong_blocks_stay_exact():
    wide = [(0, 1, 2**40, 2**41), (1, 2, 2**40, 2**39), (0, 2, 2**41, 2**40), (2, 3, 1, 0)]
    wide += [(3, 4, 2**50, 2**49), (4, 5, 2**50, 1), (3, 5, 1, 2**45)]
    rows = [(i, j, o, n) for i, j, a, b in wide for o, n in ((1, a), (-1, b)) if n]
    frame = pl.DataFrame(rows, schema=["left", "right", "outcome", "count"], orient="row")
    frame = frame.with_columns(group=0)
    strengths, groups = fit_groups(frame)
    expected, errors = exact_half_win(pair_counts(frame, 6), 6, strengths["strength"])
    assert groups["fit_status"].to_list() == ["converged"]
    assert np.allclose(strengths["strength"], [float(x) for x in expected], rtol=1e-12, atol=1e-12)
    assert np.allclose(strengths["strength_se"], [float(x) for x in errors], rtol=1e-12)


def test_davidson_maximises_its_objective():
    """The gradient of an independently written objective vanishes at the fit."""
    frame = simulated([6], 80, ties=0.4, seed=5)
    strengths, groups = fit_groups(frame, tie_model="davidson")
    pairs = pair_counts(frame, 6)
    pseudo = 0.5 * 5 / 80

    def loss(x):
        theta, eta = x[:6], x[6]
        total = 0.5e-4 * (theta @ theta) + 0.5 * (eta - np.log(0.5)) ** 2
        for (i, j), (a, b, t) in pairs.items():
            half = 0.5 * (theta[i] - theta[j])
            norm = np.logaddexp(np.logaddexp(half, -half), eta)
            extra = 0.5 * pseudo * (a + b + t)
            total -= (a + extra) * (half - norm) + (b + extra) * (-half - norm) + t * (eta - norm)
        return total

    best = minimize(loss, np.append(np.zeros(6), -1.0), method="BFGS", options={"gtol": 1e-7})
    assert np.allclose(best.x[:6] - best.x[:6].mean(), strengths["strength"], atol=1e-5)
    assert np.exp(best.x[6]) == pytest.approx(groups["tie_parameter"][0], rel=1e-5)
