"""Rows that are not yet visible: kept in files that are not written again, opened in their time."""

from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from judgebatch.contracts.state import PendingEpisodes, PendingVerdicts
from judgebatch.contracts.table import conform, schema_of
from judgebatch.pipeline import pending
from judgebatch.pipeline.pending import open_pending
from judgebatch.warehouse import open_warehouse
from tests.conformance.nights import Nights
from tests.scenarios.rows import at, comparison, episode


def rows(*hours: float) -> pl.DataFrame:
    columns = {
        "tenant_id": "acme",
        "task_id": "checkout",
        "verifier_outcome": "passed",
        "cost_nano_usd": 1,
        "latency_ms": 1.0,
        "tool_calls": 1,
        "tool_errors": 0,
        "variant": None,
        "extra": None,
        "source_file": "f.parquet",
    }
    frame = pl.DataFrame(
        [
            {
                **columns,
                "episode_id": f"e{hour}-{number}",
                "arrived_at": at(hour),
                "source_row": number,
            }
            for number, hour in enumerate(hours)
        ],
        schema=schema_of(PendingEpisodes),
    )
    return conform(frame, PendingEpisodes)


def hours_of(frame: pl.DataFrame) -> list[float]:
    return [(moment - at(0)) / timedelta(hours=1) for moment in frame["arrived_at"]]


class Shelf:
    """A shard's folders, run after run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.run = 0
        self.previous: datetime | None = None
        self.kept: set[str] = set()

    def night(self, hour: float, new: pl.DataFrame) -> tuple[list[float], int]:
        """Return what became visible, and how many rows stayed unseen."""
        before = self.root / f"{self.run}" if self.run else None
        opened = open_pending(PendingEpisodes, before, self.previous, at(hour))
        visible, asleep = hours_of(opened.open().sort("arrived_at")), opened.asleep
        self.run += 1
        folder = self.root / f"{self.run}"
        folder.mkdir()
        self.kept = set(opened.with_new([new], folder, self.run))
        for name in self.kept:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).hardlink_to(self.root / f"{self.run - 1}" / name)
        self.previous = at(hour)
        return visible, asleep


@pytest.fixture(params=[3, 10_000])
def shelf(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    monkeypatch.setattr(pending, "BATCH_ROWS", request.param)
    return Shelf(tmp_path)


def test_each_row_is_opened_once_in_the_run_that_reaches_it(shelf: Shelf) -> None:
    nothing = rows()
    assert shelf.night(0, rows(5, 1, 2, 2, 2, 2, 2, 9, 7)) == ([], 0)
    assert shelf.night(1, nothing) == ([1], 8)
    assert shelf.night(1.5, nothing) == ([], 8)
    assert shelf.night(2, nothing) == ([2] * 5, 3)
    assert shelf.night(8, nothing) == ([5, 7], 1)
    assert shelf.night(9, nothing) == ([9], 0)
    assert shelf.night(10, nothing) == ([], 0)


def test_a_file_is_carried_over_until_its_last_row_is_visible(shelf: Shelf) -> None:
    shelf.night(0, rows(1, 2, 3))
    shelf.night(2, rows())
    assert shelf.kept == {"pending_episodes/000001.arrow"}
    shelf.night(3, rows())
    assert shelf.kept == set()


def test_files_are_merged_in_tiers_without_losing_or_repeating_rows(shelf: Shelf) -> None:
    seen = []
    for night in range(40):
        visible, _ = shelf.night(night, rows(night + 0.5, night + 7, night + 30))
        seen += visible
        files = list((shelf.root / f"{shelf.run}").rglob("*.arrow"))
        assert len(files) <= 6
    for night in range(40, 71):
        visible, _ = shelf.night(night, rows())
        seen += visible
    wanted = [night + later for night in range(40) for later in (0.5, 7, 30)]
    assert sorted(seen) == sorted(wanted)


def test_a_small_addition_does_not_rewrite_a_large_file(shelf: Shelf) -> None:
    shelf.night(0, rows(*range(1, 200)))
    shelf.night(1, rows(500))
    assert shelf.kept == {"pending_episodes/000001.arrow"}


def test_pending_rows_count_in_every_run_until_they_are_considered(tmp_path: Path) -> None:
    nights = Nights(tmp_path, 1)
    nights.configure({"acme": {"mode": "reference"}})
    nights.deliver(
        "n",
        [episode("a", 1), episode("b", 30), episode("c", 60)],
        [comparison("b", "a", 31, "left"), comparison("c", "a", 61, "right")],
    )
    told = [nights.run(at(hour)) for hour in (2, 20, 32, 70)]
    assert [one.summary["not_yet_visible"] for one in told] == [
        {"episodes": 2, "verdicts": 2},
        {"episodes": 2, "verdicts": 2},
        {"episodes": 1, "verdicts": 1},
        {"episodes": 0, "verdicts": 0},
    ]
    laws = [
        one.conservation["comparisons"] for one in open_warehouse(tmp_path / "warehouse").runs()
    ]
    assert [law.waiting_before for law in laws] == [0, 2, 2, 1]
    assert [law.waiting_after for law in laws] == [2, 2, 1, 0]
    counts = nights.table("audit/grading_counts").group_by("run").agg(pl.col("count").sum())
    assert counts.sort("run").rows() == [(1, 1), (2, 0), (3, 1), (4, 1)]


def test_texts_of_pending_verdicts_are_published_unchanged(tmp_path: Path) -> None:
    texts = [f'{{"note": "ü {number} 漢字", "score": {number}}}' for number in range(5)]
    nights = Nights(tmp_path, 1)
    nights.configure({"acme": {"mode": "reference"}})
    verdicts = [
        {**comparison("a", "b", hour, "left"), "verdict": text, "compared_episode_id": None}
        for hour, text in enumerate(texts, start=2)
    ]
    nights.deliver("n", [episode("a", 1)], verdicts)
    nights.run(at(1))
    nights.run(at(4))
    assert list((nights.folder / "warehouse").rglob(f"{PendingVerdicts.name}/*.arrow"))
    nights.run(at(40))
    published = nights.table("audit/verdicts").sort("judged_at")
    assert published["verdict"].to_list() == texts
    assert published["run"].to_list() == [2, 2, 2, 3, 3]
