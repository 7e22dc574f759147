"""Groups beyond the lanes: the same answers, and standard errors that say how they came."""

import numpy as np
import polars as pl
import pytest

from judgebatch.strengths import components as components_module
from judgebatch.strengths import counts as counts_module
from judgebatch.strengths import fit_groups, large_errors
from judgebatch.vocabulary import TieModel
from tests.strengths.made import simulated


def ring(size: int) -> pl.DataFrame:
    """Return items that met their two neighbours only."""
    frame = pl.DataFrame({"left": range(size)}).with_columns(
        group=0, right=(pl.col("left") + 1) % size, outcome=pl.lit(0)
    )
    return pl.concat([frame] * 5)


def blocks() -> pl.DataFrame:
    """Return two crowds that met once."""
    crowd = simulated([100], 8000, seed=1)
    other = crowd.with_columns(pl.col("left", "right") + 100)
    return pl.concat(
        [crowd, other, crowd[:1].with_columns(left=0, right=100)], how="vertical_relaxed"
    )


@pytest.mark.parametrize("model", TieModel)
@pytest.mark.parametrize(("size", "comparisons"), [(12, 40), (20, 300), (24, 1000)])
def test_both_solvers_give_the_same_answers(monkeypatch, model, size, comparisons):
    frame = simulated([size, size], comparisons, ties=0.2, seed=size)
    lanes = fit_groups(frame, tie_model=model)
    # Lanes for nothing but pairs: every other group goes to the sparse solver.
    for module in (counts_module, components_module):
        monkeypatch.setattr(module, "SMALL", 2)
    sparse = fit_groups(frame, tie_model=model)
    for name in ("strength", "strength_se"):
        one, other = lanes.strengths[name], sparse.strengths[name]
        assert np.allclose(one, other, rtol=1e-12, atol=1e-12)
    if model is TieModel.DAVIDSON:
        ours, theirs = lanes.groups["tie_parameter"], sparse.groups["tie_parameter"]
        assert np.allclose(ours, theirs, rtol=1e-12)
    assert sparse.groups["fit_status"].to_list() == ["converged", "converged"]


@pytest.mark.parametrize("size", [101, 180])
def test_square_and_packed_elimination_agree(monkeypatch, size):
    frame = simulated([size], 6 * size, seed=2)
    square = fit_groups(frame).strengths
    monkeypatch.setattr(large_errors, "_PACKED_UP_TO", 200)
    packed = fit_groups(frame).strengths
    assert set(square["se_method"].drop_nulls()) == {"exact"}
    assert np.allclose(square["strength_se"], packed["strength_se"], rtol=1e-13)


@pytest.mark.parametrize("model", TieModel)
@pytest.mark.parametrize(
    ("frame", "method", "tolerance"),
    [
        (simulated([200], 30_000, seed=3), "local", 0.01),
        (simulated([200], 600, seed=4), "projected", 0.25),
        (ring(200), "projected", 0.25),
        (blocks(), "projected", 0.25),
    ],
    ids=["crowd", "sparse", "ring", "blocks"],
)
def test_approximate_errors_are_named_and_near(monkeypatch, frame, method, tolerance, model):
    """Two hundred projections err by 5 % of a standard error; 0.25 is five times that."""
    exact = fit_groups(frame, tie_model=model).strengths
    monkeypatch.setattr(large_errors, "EXACT_UP_TO", 50)
    monkeypatch.setattr(large_errors, "_PACKED_UP_TO", 50)
    near = fit_groups(frame, tie_model=model).strengths
    assert near["strength"].equals(exact["strength"])
    assert set(exact["se_method"].drop_nulls()) == {"exact"}
    assert set(near["se_method"].drop_nulls()) == {method}
    ratio = (near["strength_se"] / exact["strength_se"]).drop_nulls().to_numpy()
    assert np.abs(ratio - 1.0).max() < tolerance
    assert np.abs(ratio - 1.0).mean() < 0.1


@pytest.mark.soak
@pytest.mark.parametrize("model", TieModel)
@pytest.mark.parametrize("comparisons", [10_000_000, 1_500_000])
def test_a_group_of_a_hundred_thousand_items(comparisons, model):
    frame = simulated([100_000], comparisons, seed=6)
    strengths, groups = fit_groups(frame, tie_model=model)
    assert groups["fit_status"].to_list() == ["converged"]
    assert strengths["strength_se"].null_count() == strengths.height - groups["comparable_size"][0]
