"""Laws of grading, over generated nights run through the whole pipeline."""

import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judgebatch.contracts import grading as g
from tests.conformance.nights import Nights
from tests.scenarios.rows import START, at, comparison, episode

IDS = st.sampled_from(
    ["007", "..", "a/b", "x=y", " ", "é", "e\u0301", "🙂", "שלום", "a\nb", '"q"', "7"]
)
OUTCOMES = st.sampled_from(
    ["left", "right", "tie", "undecided", "not_applicable", "error", "unattestable"]
)
TENANTS = {
    "ref": {"mode": "reference", "judging_window": "6h", "unknown_episode_window": "20h"},
    "tour": {
        "mode": "tournament",
        "quorum": 3,
        "min_group_size": 2,
        "group_timeout": "5h",
        "judging_window": "4h",
        "unknown_episode_window": "20h",
    },
    "poor": {
        "mode": "tournament",
        "quorum": 2,
        "group_timeout": "4h",
        "judging_window": "3h",
        "unknown_episode_window": "20h",
        "grading_ceiling_usd": 0.05,
        "budget_period": "day",
    },
}
HOURS = 40
NIGHTS = [at(10), at(22), at(31), at(HOURS)]


@st.composite
def corpora(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return episodes and comparisons, each visible at its own time."""
    episodes, verdicts = [], []
    for tenant in draw(st.lists(st.sampled_from(sorted(TENANTS)), min_size=1, unique=True)):
        names = draw(st.lists(IDS, min_size=1, max_size=8, unique=True))
        times = {}
        for name in names:
            times[name] = draw(st.integers(0, 30 * 4)) / 4
            episodes.append(
                episode(
                    name,
                    times[name],
                    tenant_id=tenant,
                    task_id=draw(st.sampled_from(["t1", "t2"])),
                    verifier_outcome=draw(st.sampled_from(["passed", "passed", "failed"])),
                    cost_usd=draw(st.sampled_from([0.0, 0.1, 0.3])),
                )
            )
        tasks = {
            row["episode_id"]: row["task_id"] for row in episodes if row["tenant_id"] == tenant
        }
        for number in range(draw(st.integers(0, 14))):
            left, right = draw(st.sampled_from(names)), draw(st.sampled_from(names))
            hours = max(times[left], times[right]) + draw(st.integers(0, 24)) / 4
            verdicts.append(
                comparison(left, right, hours, draw(OUTCOMES), tenant_id=tenant)
                | {
                    "verdict_id": f"{draw(IDS)}{number}",
                    "task_id": tasks[left],
                    "cost_usd": draw(st.sampled_from([0.0, 0.01, 0.03])),
                }
            )
    return episodes, verdicts


def published(nights: Nights) -> dict[str, pl.DataFrame]:
    """Return what must not depend on how the nights fell."""
    return {
        table.name: nights.table(table)
        .drop("run", "as_of", strict=False)
        .sort(table.order, nulls_last=False)
        for table in (
            g.Graded,
            g.Ungraded,
            g.Groups,
            g.Strengths,
            g.References,
            g.Ledger,
            g.Comparisons,
        )
    }


def graded_by(
    folder: str,
    episodes: list[dict[str, Any]],
    verdicts: list[dict[str, Any]],
    *,
    nightly: bool,
    shards: int = 2,
) -> Nights:
    """Run the corpus, delivered as it became visible or all at the end."""
    nights = Nights(Path(folder), shards)
    nights.configure(TENANTS)
    if not nightly:
        nights.deliver("all", episodes, verdicts)
        nights.run(NIGHTS[-1])
        return nights
    before = START - timedelta(hours=1)
    for number, as_of in enumerate(NIGHTS):
        nights.deliver(
            f"n{number}",
            [row for row in episodes if before < row["arrived_at"] <= as_of],
            [row for row in verdicts if before < row["judged_at"] <= as_of],
        )
        nights.run(as_of)
        before = as_of
    return nights


def assert_equal(one: dict[str, pl.DataFrame], other: dict[str, pl.DataFrame]) -> None:
    for name, frame in one.items():
        assert frame.equals(other[name], null_equal=True), name


FEW = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
MANY = settings(FEW, max_examples=300)


def nightly_equals_once(corpus: Any) -> None:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        nightly = graded_by(one, *corpus, nightly=True)
        once = graded_by(two, *corpus, nightly=False)
        assert_equal(published(nightly), published(once))
        check_each_night(nightly)


def check_each_night(nights: Nights) -> None:
    """Check the laws that hold in every warehouse."""
    graded, ungraded = nights.table(g.Graded), nights.table(g.Ungraded)
    ended = pl.concat(
        [graded.select("tenant_id", "episode_id"), ungraded.select("tenant_id", "episode_id")]
    )
    assert ended.is_unique().all()
    assert "score" not in ungraded.columns
    usable = graded["wins"] + graded["losses"] + graded["ties"]
    assert (usable > 0).all()
    half = graded.filter((pl.col("score_kind") == "relative") & (pl.col("score") == 0.5))
    assert (half["wins"] == half["losses"]).all()
    reasoned = ungraded.filter(pl.col("ungraded_reason") == "no_usable_comparison")
    causes = ["errors", "undecided", "not_applicable", "unattestable", "missing", "disconnected"]
    assert (reasoned.select(pl.sum_horizontal(causes)).to_series() > 0).all()
    spent = (
        nights.table(g.Ledger)
        .filter(pl.col("tenant_id") == "poor")
        .group_by("period")
        .agg((pl.col("cost_usd") * 1e9).round().cast(pl.Int64).sum())
    )
    assert (spent["cost_usd"] <= 50_000_000).all()
    for path in (nights.folder / "warehouse").rglob("*"):
        assert not any(odd in path.name for odd in ("🙂", "é", "=", "007"))


@FEW
@given(corpora())
def test_night_by_night_gives_what_one_run_at_the_end_gives(corpus: Any) -> None:
    nightly_equals_once(corpus)


@pytest.mark.soak
@MANY
@given(corpora())
def test_night_by_night_gives_what_one_run_at_the_end_gives_at_length(corpus: Any) -> None:
    nightly_equals_once(corpus)


def order_never_matters(corpus: Any, random: Any) -> None:
    episodes, verdicts = corpus
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        straight = graded_by(one, episodes, verdicts, nightly=False)
        shuffled = Nights(Path(two), 2)
        shuffled.configure(TENANTS)
        pieces: dict[int, tuple[list[Any], list[Any]]] = {0: ([], []), 1: ([], []), 2: ([], [])}
        for kind, rows in enumerate((episodes, verdicts)):
            for row in random.sample(rows, len(rows)):
                pieces[random.randrange(3)][kind].append(row)
        for number, (some_episodes, some_verdicts) in pieces.items():
            shuffled.deliver(f"p{number}", some_episodes, some_verdicts)
        shuffled.run(NIGHTS[-1])
        quarantine = "tables/audit/quarantine"
        one_bytes, two_bytes = straight.published_bytes(), shuffled.published_bytes()
        assert one_bytes.keys() == two_bytes.keys()
        for name, content in one_bytes.items():
            if quarantine not in name:
                assert content == two_bytes[name], name


@FEW
@given(corpora(), st.randoms(use_true_random=False))
def test_order_of_rows_and_files_never_matters(corpus: Any, random: Any) -> None:
    order_never_matters(corpus, random)


@pytest.mark.soak
@MANY
@given(corpora(), st.randoms(use_true_random=False))
def test_order_of_rows_and_files_never_matters_at_length(corpus: Any, random: Any) -> None:
    order_never_matters(corpus, random)


@FEW
@given(corpora())
def test_a_tenant_alone_gives_the_same_rows_as_among_others(corpus: Any) -> None:
    episodes, verdicts = corpus
    tenant = episodes[0]["tenant_id"]
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        together = published(graded_by(one, episodes, verdicts, nightly=True))
        alone = published(
            graded_by(
                two,
                [row for row in episodes if row["tenant_id"] == tenant],
                [row for row in verdicts if row["tenant_id"] == tenant],
                nightly=True,
            )
        )
        own = {
            name: frame.filter(pl.col("tenant_id") == tenant) for name, frame in together.items()
        }
        assert_equal(own, alone)
