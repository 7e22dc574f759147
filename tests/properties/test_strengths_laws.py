"""Laws of strengths, for any counts."""

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from judgebatch.strengths import decide, fit_groups, relative_interval
from judgebatch.vocabulary import TieModel
from tests.conformance.strengths import sequential_frame

# A busy machine is no failure.
patient = settings(deadline=None, max_examples=40)
MODELS = st.sampled_from(list(TieModel))


@st.composite
def groups(draw, largest=9):
    size = draw(st.integers(2, largest))
    pairs = [(i, j) for i in range(size) for j in range(size) if i != j]
    counts = st.one_of(st.integers(0, 4), st.integers(0, 10**6))
    rows = draw(
        st.lists(
            st.tuples(st.sampled_from(pairs), st.sampled_from(["left", "right", "tie"]), counts),
            min_size=1,
            max_size=3 * size,
        )
    )
    return pl.DataFrame(
        [(f"e{i}", f"e{j}", outcome, count) for (i, j), outcome, count in rows],
        schema={"left": pl.String, "right": pl.String, "outcome": pl.String, "count": pl.Int64},
        orient="row",
    ).with_columns(group=pl.lit("g"))


@patient
@given(groups(), MODELS)
def test_every_group_has_a_status_and_converged_ones_have_finite_numbers(frame, model):
    strengths, found = fit_groups(frame, tie_model=model)
    status = found["fit_status"][0]
    assert status in ("converged", "no_comparisons")
    inside = strengths.filter("in_component")
    assert inside.height == (found["comparable_size"][0] if status == "converged" else 0)
    assert strengths["strength"].is_not_null().to_list() == strengths["in_component"].to_list()
    if status == "converged":
        numbers = inside.select("strength", "strength_se", "strength_low", "strength_high")
        assert numbers.to_numpy().size == 4 * inside.height
        assert np.isfinite(numbers.to_numpy()).all()
        assert abs(inside["strength"].sum()) < 1e-12 * (1.0 + inside["strength"].abs().max())
        assert (inside["strength_se"] > 0.0).all()
        assert (inside["strength_low"] < inside["strength"]).all()


@patient
@given(groups())
def test_counts_are_conserved(frame):
    strengths, found = fit_groups(frame)
    assert strengths["wins"].sum() == strengths["losses"].sum()
    assert strengths["wins"].sum() + strengths["ties"].sum() // 2 == frame["count"].sum()
    assert found["comparisons"].to_list() == [frame["count"].sum()]


@patient
@given(groups(), MODELS, st.randoms(use_true_random=False))
def test_order_splitting_and_mirroring_of_rows_change_no_bit(frame, model, random):
    turned = {"left": "right", "right": "left", "tie": "tie"}
    rows = []
    for left, right, outcome, count, group in frame.iter_rows():
        part = random.randint(0, count)
        rows.append((left, right, outcome, part, group))
        rows.append((right, left, turned[outcome], count - part, group))
    random.shuffle(rows)
    other = pl.DataFrame(rows, schema=frame.schema, orient="row")
    one, two = fit_groups(frame, tie_model=model), fit_groups(other, tie_model=model)
    assert one.strengths.equals(two.strengths)
    assert one.groups.equals(two.groups)


@patient
@given(groups(), MODELS)
def test_exchanging_all_winners_and_losers_negates_the_strengths(frame, model):
    turned = {"left": "right", "right": "left", "tie": "tie"}
    other = frame.with_columns(pl.col("outcome").replace_strict(turned))
    one = fit_groups(frame, tie_model=model).strengths.filter("in_component")
    two = fit_groups(other, tie_model=model).strengths.filter("in_component")
    scale = 1.0 + (one["strength"].abs().max() or 0.0)
    assert np.allclose(one["strength"], -two["strength"], atol=1e-11 * scale)
    assert np.allclose(one["strength_se"], two["strength_se"], rtol=1e-9)


@patient
@given(groups(), MODELS)
def test_renaming_items_moves_their_numbers_with_them(frame, model):
    names = {f"e{i}": f"z{9 - i}" for i in range(9)}
    renamed = frame.with_columns(pl.col("left", "right").replace_strict(names))
    one = fit_groups(frame, tie_model=model).strengths
    two = fit_groups(renamed, tie_model=model).strengths
    if one["component"].max() > 0:
        return  # which of equal components is fitted depends on the names
    two = two.with_columns(pl.col("item").replace_strict({v: k for k, v in names.items()}))
    two = two.sort("item")
    scale = 1.0 + (one["strength"].abs().max() or 0.0)
    assert np.allclose(one["strength"], two["strength"], atol=1e-11 * scale)
    assert np.allclose(one["strength_se"], two["strength_se"], rtol=1e-9)


@patient
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.floats(0.01, 0.999))
def test_a_relative_score_lies_in_its_interval_and_that_in_the_unit_interval(
    wins, lost, tied, level
):
    if wins + lost + tied == 0:
        return
    score, low, high = relative_interval([wins], [tied], [wins + lost + tied], level)
    assert 0.0 <= low[0] <= score[0] + 1e-15
    assert score[0] - 1e-15 <= high[0] <= 1.0


@patient
@given(st.text("LRTUEN", max_size=80), st.integers(0, 80))
def test_a_decision_is_that_of_its_prefix(outcomes, extra):
    whole = decide(sequential_frame({"outcomes": outcomes + "L" * extra}))
    if not whole.promotions.height:
        return
    after = whole.promotions["decided_after"][0]
    prefix = decide(sequential_frame({"outcomes": (outcomes + "L" * extra)[:after]}))
    assert prefix.promotions.equals(whole.promotions)
    before = decide(sequential_frame({"outcomes": (outcomes + "L" * extra)[: after - 1]}))
    assert not before.promotions.height
