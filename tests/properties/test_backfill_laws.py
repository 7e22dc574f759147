"""A backfill publishes what its nights publish one by one, and what one run at the end does."""

import tempfile
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import HealthCheck, given, settings

from judgebatch.contracts.registry import published as published_tables
from judgebatch.pipeline.backfilling import backfill
from judgebatch.settings import load_settings
from tests.conformance.nights import Nights
from tests.properties.test_grading_laws import NIGHTS, TENANTS, corpora, graded_by, published


def delivered(
    folder: str, episodes: list[dict[str, Any]], verdicts: list[dict[str, Any]]
) -> Nights:
    nights = Nights(Path(folder), 2)
    nights.configure(TENANTS)
    nights.deliver("all", episodes, verdicts)
    return nights


def replayed(nights: Nights) -> Nights:
    backfill(load_settings(nights.settings, environ={}), NIGHTS)
    return nights


def of_nights(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows without what tells when their files came."""
    rows = rows.drop(column for column in rows.columns if column.startswith("source_"))
    # A tenant whose rows wait is counted with zeros.
    return rows.filter(pl.col("count") > 0) if "count" in rows.columns else rows


@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(corpora())
def test_backfill_equals_the_nights_one_by_one_and_one_run_at_the_end(
    corpus: tuple[list[dict[str, Any]], list[dict[str, Any]]],
) -> None:
    episodes, verdicts = corpus
    with (
        tempfile.TemporaryDirectory() as filled,
        tempfile.TemporaryDirectory() as nightly,
        tempfile.TemporaryDirectory() as apart,
        tempfile.TemporaryDirectory() as once,
    ):
        whole = replayed(delivered(filled, episodes, verdicts))
        by_hand = delivered(nightly, episodes, verdicts)
        for as_of in NIGHTS:
            by_hand.run(as_of)
        assert whole.published_bytes() == by_hand.published_bytes()
        piecemeal = graded_by(apart, episodes, verdicts, nightly=True)
        for name, table in published_tables().items():
            ours, theirs = (of_nights(one.table(table)) for one in (whole, piecemeal))
            assert ours.equals(theirs, null_equal=True), name
        at_the_end = graded_by(once, episodes, verdicts, nightly=False)
        ours, theirs = published(whole), published(at_the_end)
        for name, rows in ours.items():
            assert rows.equals(theirs[name], null_equal=True), name
