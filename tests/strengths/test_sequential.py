from datetime import timedelta

import numpy as np
import polars as pl
import pytest

from judgebatch.contracts.promotions import Promotions, SequentialSums
from judgebatch.contracts.table import schema_of
from judgebatch.strengths import SequentialTest, decide, decision_of
from judgebatch.vocabulary import SequentialDecision
from tests.conformance.strengths import sequential_frame


def frame(outcomes, **columns):
    made = sequential_frame({"outcomes": outcomes})
    return made.with_columns(**{name: pl.lit(value) for name, value in columns.items()})


def many(seed=0, tests=60, length=120):
    rng = np.random.default_rng(seed)
    parts = []
    for test in range(tests):
        weights = rng.dirichlet([8, 6, 2, 1, 1, 1])
        outcomes = "".join(rng.choice(list("LRTUEN"), length, p=weights))
        task = None if test % 5 == 0 else f"task-{test}"
        part = frame(outcomes, tenant_id=f"t{test % 7}", variant=f"v{test}")
        parts.append(part.with_columns(task_id=pl.lit(task, pl.String)))
    everything = pl.concat(parts)
    return everything.with_columns(
        verdict_id=pl.format("{}-{}", "verdict_id", "variant"),
    )


def test_schemas_are_those_of_the_contracts_also_when_empty():
    for comparisons in (many(), many().clear()):
        decisions = decide(comparisons)
        wanted = {k: v for k, v in schema_of(Promotions).items() if k not in ("run", "as_of")}
        assert dict(decisions.promotions.schema) == wanted
        assert decisions.sums.schema == schema_of(SequentialSums)
    stamped = decide(many()).promotions.with_columns(
        run=pl.lit(1, pl.Int64), as_of=pl.col("decided_at")
    )
    Promotions.validate(stamped.select(schema_of(Promotions).names()))
    SequentialSums.validate(decide(many()).sums)


def test_accepts_at_the_first_crossing_and_says_where():
    promotions, sums = decide(frame("L" * 30))
    row = promotions.row(0, named=True)
    assert (row["decision"], row["decided_after"], row["verdict_id"]) == ("accept", 17, "v000016")
    assert row["llr"] >= row["accept_at"] > row["llr"] - np.log(1.2)
    assert (row["wins"], row["losses"]) == (17, 0)
    assert sums["wins"].to_list() == [30]


def test_later_comparisons_do_not_undo_a_decision():
    promotions, sums = decide(frame("L" * 17 + "R" * 300))
    assert promotions["decision"].to_list() == ["accept"]
    assert sums.select("decision", "decided_after", "losses").rows() == [("accept", 17, 300)]
    assert sums["llr"][0] == promotions["llr"][0]


def test_ties_and_the_undecided_are_counted_and_do_not_move_the_likelihood():
    without = decide(frame("L" * 20)).promotions.row(0, named=True)
    row = decide(frame("LTUENT" * 20)).promotions.row(0, named=True)
    assert row["llr"] == without["llr"]
    assert row["decided_after"] == 16 * 6 + 1
    assert [row[n] for n in ("ties", "undecided", "errors", "not_applicable")] == [32, 16, 16, 16]


def test_a_bound_met_exactly_is_met():
    promotions, _ = decide(frame("LR" + "L"), SequentialTest(0.05, 0.95, 0.05, 0.05))
    assert promotions.select("decision", "decided_after").rows() == [("accept", 1)]


def test_every_split_into_batches_gives_the_same_decisions_and_sums():
    comparisons = many().sort("judged_at", "verdict_id")
    whole = decide(comparisons)
    rng = np.random.default_rng(1)
    for _ in range(4):
        cuts = np.sort(rng.integers(0, comparisons.height, 5))
        carried, found = None, []
        for begin, end in zip([0, *cuts], [*cuts, comparisons.height], strict=True):
            decisions = decide(comparisons[int(begin) : int(end)], carried=carried)
            carried = decisions.sums
            found.append(decisions.promotions)
        assert carried.equals(whole.sums)
        together = pl.concat(found).sort(Promotions.order, nulls_last=False)
        assert together.equals(whole.promotions)


def test_row_order_does_not_matter_and_tests_do_not_meet():
    comparisons = many()
    whole = decide(comparisons)
    shuffled = decide(comparisons.sample(fraction=1.0, shuffle=True, seed=3))
    assert shuffled.sums.equals(whole.sums)
    assert shuffled.promotions.equals(whole.promotions)
    for variant in ("v3", "v5"):
        alone = decide(comparisons.filter(pl.col("variant") == variant))
        assert alone.sums.equals(whole.sums.filter(pl.col("variant") == variant))
        assert alone.promotions.equals(whole.promotions.filter(pl.col("variant") == variant))


def test_vectorised_decisions_are_those_of_a_plain_loop():
    comparisons = many(seed=5)
    test = SequentialTest(0.45, 0.6, 0.02, 0.1)
    decisions = decide(comparisons, test)
    for row in decisions.sums.iter_rows(named=True):
        mine = comparisons.filter(
            pl.col("tenant_id") == row["tenant_id"], pl.col("variant") == row["variant"]
        ).sort("judged_at", "verdict_id")
        wins = losses = 0
        decision, after = SequentialDecision.CONTINUE, None
        for seen, outcome in enumerate(mine["outcome"], start=1):
            wins += outcome == "left"
            losses += outcome == "right"
            decision = decision_of(wins, losses, test)
            if decision is not SequentialDecision.CONTINUE:
                after = seen
                break
        assert (row["decision"], row["decided_after"]) == (decision, after)


def test_equal_times_are_ordered_by_verdict():
    rows = frame("L" * 17 + "R" * 40)
    at_once = rows.with_columns(judged_at=rows["judged_at"][0] + timedelta(0))
    assert decide(at_once).promotions["verdict_id"].to_list() == ["v000016"]


@pytest.mark.parametrize(
    "test",
    [
        SequentialTest(p0=0.6, p1=0.5),
        SequentialTest(p0=0.0),
        SequentialTest(p1=1.0),
        SequentialTest(alpha=0.5, beta=0.5),
        SequentialTest(alpha=0.0),
    ],
)
def test_bounds_that_allow_no_test_are_refused(test):
    with pytest.raises(ValueError, match="0 < p0 < p1 < 1"):
        decide(frame("L"), test)


def test_unknown_outcomes_and_nulls_are_refused():
    with pytest.raises(ValueError, match="unknown Outcome 'won'"):
        decide(frame("L").with_columns(outcome=pl.lit("won")))
    with pytest.raises(ValueError, match="judged_at of the comparisons holds nulls"):
        decide(frame("L").with_columns(judged_at=pl.lit(None, pl.Datetime("us", "UTC"))))


def test_error_rates_hold():
    """Wald's bounds, with a margin for noise; overshoot makes the true rates smaller."""
    rng = np.random.default_rng(7)
    test = SequentialTest(0.5, 0.65, 0.05, 0.1)
    n_tests, length = 1500, 400
    for truth, wrong, bound in ((0.5, "accept", 0.05), (0.65, "reject", 0.1)):
        won = rng.random((n_tests, length)) < truth
        rows = pl.DataFrame(
            {
                "tenant_id": "t",
                "variant": np.repeat(np.arange(n_tests), length).astype(str),
                "outcome": np.where(won.ravel(), "left", "right"),
                "verdict_id": np.tile(np.arange(length), n_tests),
            }
        ).with_columns(
            task_id=pl.lit(None, pl.String),
            baseline=pl.lit("old"),
            judged_at=pl.datetime(2026, 1, 1, time_zone="UTC"),
            verdict_id=pl.col("verdict_id").cast(pl.String).str.zfill(4),
        )
        decisions = decide(rows, test)
        rate = (decisions.sums["decision"] == wrong).mean()
        noise = 3.0 * np.sqrt(bound * (1 - bound) / n_tests)
        assert rate <= bound + noise
        assert (decisions.sums["decision"] == "continue").mean() < 0.01
        if truth == 0.5:
            assert decisions.sums["e_value_crossed_after"].is_not_null().mean() <= 0.05 + noise
