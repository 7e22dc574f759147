"""Finding the first of equal rows, and evaluating episodes a slice at a time."""

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from judgebatch import policies as p
from judgebatch.policies import columnar, first_rows
from judgebatch.policies.columns import ANSWER_COLUMNS


def keys(rows: int, distinct: int) -> pl.DataFrame:
    rng = np.random.default_rng(rows)
    return pl.select(
        tenant_id=pl.Series(rng.integers(0, 3, rows)).cast(pl.String),
        episode_id=pl.format("épisode {}", pl.Series(rng.integers(0, distinct, rows))),
    )


def expected(frame: pl.DataFrame) -> list[int]:
    first = pl.col("row").first().over(frame.columns)
    return frame.with_row_index("row").select(first).to_series().to_list()


@pytest.mark.parametrize(
    "frame",
    [
        keys(0, 1),
        keys(1, 1),
        keys(1000, 1),
        keys(5000, 300),
        keys(5000, 10**9),
        pl.concat([keys(700, 90), keys(300, 90)], rechunk=False),
        pl.DataFrame({"tenant_id": ["", None, "", None], "episode_id": ["a", "", "a", ""]}),
    ],
    ids=["none", "one", "alike", "repeats", "distinct", "chunks", "nulls"],
)
def test_first_of_equal_rows(frame: pl.DataFrame):
    assert first_rows.first_rows(frame).tolist() == expected(frame)


def test_hashes_decide_nothing(monkeypatch: pytest.MonkeyPatch):
    """Where all keys share a place, each takes a round of its own."""
    frame = keys(200, 20)

    def crowded(rows: pl.DataFrame, seed: int) -> npt.NDArray[np.int64]:
        return np.zeros(len(rows), np.int64)

    monkeypatch.setattr(first_rows, "_claimed", crowded)
    assert first_rows.first_rows(frame).tolist() == expected(frame)


@pytest.mark.parametrize("assigned", [False, True])
def test_slices_of_episodes_change_nothing(monkeypatch: pytest.MonkeyPatch, *, assigned: bool):
    rows = 60
    drawn = np.random.default_rng(5).permutation(2 * rows)
    number = pl.Series(drawn % rows)
    empty = {name: pl.lit(None, dtype) for name, dtype in ANSWER_COLUMNS.items()}
    answers = pl.select(
        **{
            **empty,
            "tenant_id": (number % 2).cast(pl.String),
            "episode_id": number.cast(pl.String),
            "question": pl.Series(["safe", "kind"]).gather(drawn // rows),
            "answer_type": pl.lit("noul"),
            "probability": pl.Series(drawn / (2 * rows)),
        }
    ).filter(pl.Series(drawn % 7 > 0))
    policies = {
        name: p.validate_policy(
            p.Policy([p.NoulRule(question, 0.3) for question in order]),
            dict.fromkeys(order, p.Noul()),
        )
        for name, order in (("one", ("safe",)), ("both", ("kind", "safe")))
    }
    chosen = None
    if assigned:
        episode = pl.Series(np.arange(rows)[::-1])
        chosen = pl.select(
            tenant_id=(episode % 2).cast(pl.String),
            episode_id=episode.cast(pl.String),
            policy=pl.when(episode % 3 == 0).then(pl.lit("one")).otherwise(pl.lit("both")),
        )
    whole = columnar.evaluate_policies(answers, policies, assigned=chosen)
    monkeypatch.setattr(columnar, "_EPISODES_AT_ONCE", 7)
    sliced = columnar.evaluate_policies(answers, policies, assigned=chosen)
    assert sliced.results.equals(whole.results)
    assert sliced.reports.equals(whole.reports)
    assert set(whole.reports["error"]) == {None, "missing_answer"}
