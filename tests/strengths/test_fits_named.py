"""Nothing silent: every odd group has a correct finite answer or a named status."""

import numpy as np
import polars as pl
import pytest

from judgebatch.strengths import fit_groups, safeguard
from judgebatch.strengths import lanes as lanes_module
from judgebatch.strengths import large as large_module
from tests.strengths.made import counted, exact_half_win, simulated

STRENGTHS = {
    "strength": pl.Float64,
    "strength_se": pl.Float64,
    "strength_low": pl.Float64,
    "strength_high": pl.Float64,
    "wins": pl.Int64,
    "losses": pl.Int64,
    "ties": pl.Int64,
    "never_won": pl.Boolean,
    "never_lost": pl.Boolean,
    "isolated": pl.Boolean,
    "component": pl.Int64,
    "in_component": pl.Boolean,
    "se_method": pl.String,
}
GROUPS = {
    "size": pl.Int64,
    "comparable_size": pl.Int64,
    "comparisons": pl.Int64,
    "fit_status": pl.String,
    "iterations": pl.Int64,
    "gradient_norm": pl.Float64,
    "tie_parameter": pl.Float64,
}
MODELS = ["half_win", "davidson"]


def _nothing(_model):
    """Rescue nothing."""


def status(fitted):
    return fitted.groups["fit_status"].to_list()


@pytest.mark.parametrize("kind", [pl.String, pl.Int64, pl.Int32])
@pytest.mark.parametrize("model", MODELS)
def test_nothing_in_gives_full_schemas(kind, model):
    empty = pl.DataFrame(schema={"group": kind, "left": kind, "right": kind, "outcome": pl.String})
    strengths, groups = fit_groups(empty, tie_model=model)
    assert strengths.schema == pl.Schema({"group": kind, "item": kind, **STRENGTHS})
    assert groups.schema == pl.Schema({"group": kind, **GROUPS})


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("size", [3, 30])
def test_frames_have_the_same_schema_with_rows(model, size):
    strengths, groups = fit_groups(simulated([size, size], 90, strings=True), tie_model=model)
    assert strengths.schema == pl.Schema({"group": pl.String, "item": pl.String, **STRENGTHS})
    assert groups.schema == pl.Schema({"group": pl.String, **GROUPS})


@pytest.mark.parametrize("model", MODELS)
def test_undefeated_and_winless_are_flagged_and_finite(model):
    rows = [("a", "b", "left", 5), ("a", "c", "left", 4), ("b", "c", "left", 3)]
    fitted = fit_groups(counted(rows), tie_model=model)
    assert status(fitted) == ["converged"]
    assert fitted.strengths["never_lost"].to_list() == [True, False, False]
    assert fitted.strengths["never_won"].to_list() == [False, False, True]
    assert fitted.strengths["strength"].is_sorted(descending=True)
    assert fitted.strengths["strength_se"].is_finite().all()


def test_a_tie_is_neither_a_win_never_won_nor_a_loss_never_lost():
    rows = [
        ("a", "b", "left", 5),
        ("a", "c", "left", 4),
        ("b", "c", "left", 3),
        ("a", "c", "tie", 1),
    ]
    strengths = fit_groups(counted(rows)).strengths
    assert strengths["never_lost"].to_list() == [False, False, False]
    assert strengths["never_won"].to_list() == [False, False, False]


@pytest.mark.parametrize("model", MODELS)
def test_only_the_largest_component_is_fitted(model):
    rows = [("a", "b", "left", 2), ("c", "d", "left", 1), ("d", "e", "right", 1)]
    fitted = fit_groups(counted(rows), tie_model=model)
    assert fitted.groups.select("size", "comparable_size", "comparisons").rows() == [(5, 3, 4)]
    assert fitted.strengths["component"].to_list() == [0, 0, 1, 1, 1]
    assert fitted.strengths["in_component"].to_list() == [False, False, True, True, True]
    assert fitted.strengths["strength"].is_null().to_list() == [True, True, False, False, False]
    assert fitted.strengths["se_method"].to_list() == [None, None, "exact", "exact", "exact"]
    assert fitted.strengths["wins"].to_list() == [2, 0, 1, 0, 1]
    alone = fit_groups(counted(rows[1:]), tie_model=model)
    assert alone.strengths["strength"].to_list() == fitted.strengths["strength"][2:].to_list()


def test_of_equal_components_the_one_with_the_smallest_item_is_fitted():
    rows = [("b", "d", "left", 1), ("a", "c", "left", 1)]
    strengths = fit_groups(counted(rows)).strengths
    assert strengths.filter("in_component")["item"].to_list() == ["a", "c"]


def test_components_of_a_large_group():
    frame = simulated([40, 30], 400, strings=True)
    joined = frame.with_columns(
        pl.lit("one").alias("group"),
        *(pl.concat_str("group", item, separator="-").alias(item) for item in ("left", "right")),
    )
    fitted = fit_groups(joined)
    assert fitted.groups.select("size", "comparable_size").rows() == [(70, 40)]
    alone = fit_groups(frame.filter(pl.col("group") == "g000000"))
    inside = fitted.strengths.filter("in_component")
    assert inside["strength"].to_list() == alone.strengths["strength"].to_list()
    assert inside["strength_se"].to_list() == alone.strengths["strength_se"].to_list()


def test_items_without_a_comparison_are_isolated():
    rows = [("a", "b", "left", 1), ("c", "d", "tie", 0)]
    fitted = fit_groups(counted(rows))
    assert fitted.strengths["isolated"].to_list() == [False, False, True, True]
    assert fitted.groups.select("size", "comparable_size").rows() == [(4, 2)]


def test_a_group_without_comparisons_says_so():
    fitted = fit_groups(counted([("a", "b", "left", 0)]))
    assert fitted.groups.drop("group").rows() == [(2, 1, 0, "no_comparisons", None, None, None)]
    assert fitted.strengths["strength"].null_count() == 2
    assert not fitted.strengths["in_component"].any()


@pytest.mark.parametrize("model", MODELS)
def test_one_comparison_is_fitted(model):
    fitted = fit_groups(counted([("a", "b", "left", 1)]), tie_model=model)
    assert status(fitted) == ["converged"]
    first, second = fitted.strengths["strength"]
    assert first == -second > 0.5
    assert fitted.strengths["strength_low"][0] < 0 < fitted.strengths["strength_high"][0]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("size", [2, 5, 30])
def test_all_ties_are_equal_strengths_without_negative_zeros(model, size):
    rows = [(f"{i:02}", f"{(i + 1) % size:02}", "tie", 2) for i in range(size)]
    strengths, groups = fit_groups(counted(rows), tie_model=model)
    assert groups["fit_status"].to_list() == ["converged"]
    assert np.abs(strengths["strength"]).max() < 1e-13
    assert not np.signbit(strengths["strength"].to_numpy()[strengths["strength"] == 0.0]).any()
    assert (strengths["strength_se"] > 0.1).all()


@pytest.mark.parametrize("n", [10**6, 2**53, 2**60])
def test_identical_comparisons_by_the_million_and_beyond(n):
    strengths, groups = fit_groups(counted([("a", "b", "left", n)]))
    expected, errors = exact_half_win({(0, 1): [n, 0, 0]}, 2, strengths["strength"])
    assert groups["fit_status"].to_list() == ["converged"]
    assert groups["comparisons"].to_list() == [n]
    assert strengths["strength"][0] == pytest.approx(float(expected[0]), rel=1e-12)
    assert strengths["strength_se"][0] == pytest.approx(float(errors[0]), rel=1e-12)


def test_a_million_rows_are_their_count():
    rows = pl.DataFrame({"group": 0, "left": 1, "right": 2, "outcome": pl.Series([1] * 10**6)})
    counts = pl.DataFrame({"group": [0], "left": [1], "right": [2], "outcome": [1]})
    counts = counts.with_columns(count=10**6)
    assert fit_groups(rows).strengths.equals(fit_groups(counts).strengths)


@pytest.mark.parametrize("model", MODELS)
def test_a_ladder_too_long_for_damped_steps_is_climbed(model):
    rows = [(f"{i:02}", f"{i + 1:02}", "left", 10**9) for i in range(23)]
    strengths, groups = fit_groups(counted(rows), tie_model=model)
    assert groups["fit_status"].to_list() == ["converged"]
    assert strengths["strength"].is_sorted(descending=True)
    assert strengths["strength"][0] > 100.0
    if model == "half_win":
        expected, _ = exact_half_win(
            {(i, i + 1): [10**9, 0, 0] for i in range(23)}, 24, strengths["strength"]
        )
        assert np.allclose(strengths["strength"], [float(x) for x in expected], rtol=1e-12)


def test_a_large_ladder_is_climbed():
    rows = [(f"{i:02}", f"{i + 1:02}", "left", 10**6) for i in range(40)]
    strengths, groups = fit_groups(counted(rows))
    expected, errors = exact_half_win(
        {(i, i + 1): [10**6, 0, 0] for i in range(40)}, 41, strengths["strength"]
    )
    assert groups["fit_status"].to_list() == ["converged"]
    assert np.allclose(strengths["strength"], [float(x) for x in expected], rtol=1e-11)
    assert np.allclose(strengths["strength_se"], [float(x) for x in errors], rtol=1e-11)


@pytest.mark.parametrize("size", [8, 40])
def test_a_fit_that_fails_everywhere_is_named_and_has_no_numbers(monkeypatch, size):
    """Steps too few to converge, and a safeguard that does nothing, stand in for what fails."""
    for module in (lanes_module, large_module):
        monkeypatch.setattr(module, "MOST_STEPS", 1)
        monkeypatch.setattr(module, "climb", _nothing)
    monkeypatch.setattr(lanes_module, "bisect", _nothing)
    monkeypatch.setattr(large_module, "bisect_pool", _nothing)
    good = counted([("a", "b", "tie", 1), ("b", "c", "tie", 1), ("a", "c", "tie", 1)], group="even")
    bad = simulated([size], 300, strings=True)
    fitted = fit_groups(pl.concat([good.drop("count"), bad]))
    assert dict(zip(fitted.groups["group"], status(fitted), strict=True)) == {
        "even": "converged",
        "g000000": "not_converged",
    }
    failed = fitted.strengths.filter(pl.col("group") == "g000000")
    for name in ("strength", "strength_se", "strength_low", "strength_high", "se_method"):
        assert failed[name].null_count() == size
    assert failed["wins"].sum() > 0
    assert fitted.strengths.filter(pl.col("group") == "even")["strength"].null_count() == 0


@pytest.mark.parametrize("rescue", ["climb", "bisect"])
def test_each_safeguard_alone_rescues(monkeypatch, rescue):
    frame = simulated([5, 8], 60, spread=3.0)
    expected = fit_groups(frame).strengths
    monkeypatch.setattr(lanes_module, "MOST_STEPS", 4)
    monkeypatch.setattr(lanes_module, "climb", _nothing)
    monkeypatch.setattr(lanes_module, "bisect", _nothing)
    assert status(fit_groups(frame)) == ["not_converged", "not_converged"]
    monkeypatch.setattr(lanes_module, rescue, getattr(safeguard, rescue))
    fitted = fit_groups(frame)
    assert status(fitted) == ["converged", "converged"]
    assert np.allclose(fitted.strengths["strength"], expected["strength"], atol=1e-12)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("rescue", ["climb", "bisect_pool"])
def test_each_safeguard_alone_rescues_large_groups(monkeypatch, rescue, model):
    frame = simulated([26, 40], 300, ties=0.3, spread=2.0)
    expected = fit_groups(frame, tie_model=model)
    monkeypatch.setattr(large_module, "MOST_STEPS", 4)
    real = getattr(large_module, rescue)
    for name in ("climb", "bisect_pool"):
        monkeypatch.setattr(large_module, name, _nothing)
    assert status(fit_groups(frame, tie_model=model)) == ["not_converged", "not_converged"]
    monkeypatch.setattr(large_module, rescue, real)
    fitted = fit_groups(frame, tie_model=model)
    assert status(fitted) == ["converged", "converged"]
    for name in ("strength", "strength_se"):
        assert np.allclose(fitted.strengths[name], expected.strengths[name], atol=1e-12)
    alone = fit_groups(frame.filter(pl.col("group") == 1), tie_model=model)
    assert alone.strengths.equals(fitted.strengths.filter(pl.col("group") == 1))


@pytest.mark.parametrize(
    ("frame", "error", "message"),
    [
        (counted([("a", "a", "left", 1)]), ValueError, "'a' of group 'g' is compared with itself"),
        (counted([("a", "b", "left", -1)]), ValueError, "-1 of comparisons is negative"),
        (counted([("a", "b", "error", 1)]), ValueError, "'error' cannot be fitted"),
        (counted([("a", "b", None, 1)]), ValueError, "outcome of the comparisons holds nulls"),
        (counted([("a", None, "left", 1)]), ValueError, "right of the comparisons holds nulls"),
        (counted([("a", "b", "left", None)]), ValueError, "count of the comparisons holds nulls"),
        (counted([("a", "b", "left", 2**61)]), ValueError, "2\\*\\*61 or more"),
        (
            counted([("a", "b", "left", 1)]).with_columns(pl.col("count").cast(pl.Float64)),
            TypeError,
            "not an integer",
        ),
        (
            counted([("a", "b", "left", 1)]).with_columns(left=pl.lit(1)),
            TypeError,
            "left and right are alike",
        ),
        (
            pl.DataFrame({"group": [1], "left": [1], "right": [2], "outcome": [2]}),
            ValueError,
            "integer outcomes are",
        ),
        (
            pl.DataFrame({"group": [1], "left": [1], "right": [2], "outcome": [0.5]}),
            TypeError,
            "not String",
        ),
    ],
)
def test_what_cannot_be_counted_is_refused(frame, error, message):
    with pytest.raises(error, match=message):
        fit_groups(frame)
