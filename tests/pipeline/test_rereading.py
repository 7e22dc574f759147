"""An input file that is rewritten between nights changes nothing: its rows are taken once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from judgebatch.contracts import grading as g
from judgebatch.pipeline.rebuilding import rebuild_state
from judgebatch.pipeline.releasing import release_rows
from judgebatch.warehouse import open_warehouse, verify
from tests.conformance.nights import Nights, settings_text
from tests.scenarios.rows import answer, at, comparison, episode

Rows = list[dict[str, Any]]
Rewriting = Callable[[Path, int], None]

TENANTS = {"acme": {"mode": "reference", "judging_window": "6h"}}
SHORT = {"unknown_episode_window": "4h"}
EXTRA = '[inputs.answers]\npath = "answers"\n'
NIGHTS = (4, 8, 24, 48)
QUARANTINE = ["input", "tenant_id", "id", "reason", "content"]

EPISODES = [
    episode("first", 1),
    episode("first", 1, cost_usd=0.5),
    episode("bad", 2, cost_usd=-1.0),
    episode("second", 10),
    episode("second", 10, cost_usd=9.0),
    episode("second", 10, cost_usd=9.0),
    episode("first", 11, cost_usd=7.0),
    episode("stranger", 1, tenant_id="nobody"),
    episode("stranger", 12, tenant_id="nobody"),
    episode("third", 30),
]
VERDICTS = [
    comparison("second", "first", 12, "left"),
    comparison("second", "first", 12, "right"),
    comparison("second", "first", 3, "unreadable"),
    comparison("second", "first", 13, "unreadable"),
    comparison("first", "first", 12, "left"),
    comparison("never", "first", 12, "left"),
    comparison("third", "first", 31, "tie"),
    comparison("third", "first", 31, "tie", task_id="other", verdict_id="two"),
    comparison("second", "first", 13, "left", tenant_id="nobody"),
    comparison("second", "first", 13, "left", cost_usd=-1.0, verdict_id="bad"),
]


ANSWERS = [
    answer("second", "safe", 7, probability=0.5),
    answer("second", "safe", 7, probability=0.25),
    answer("second", "safe", 7, probability=0.25),
    answer("third", "safe", 29, probability=0.5),
    answer("third", "safe", 32, probability=0.75),
    answer("never", "safe", 12, probability=0.5),
    answer("stranger", "safe", 12, tenant_id="nobody", probability=0.5),
    answer("stranger", "safe", 1, tenant_id="nobody", probability=0.5),
    answer("", "safe", 3, probability=0.5),
]


def corpus(folder: Path) -> Nights:
    nights = Nights(folder, 1)
    (folder / "answers").mkdir()
    (folder / "policies").mkdir()
    (folder / "policies" / "questions.json").write_text('{"safe": {"type": "noul"}}')
    (folder / "policies" / "release.json").write_text(
        '{"rules": [{"question": "safe", "pass": {"noul": {"min": 0.5}}}]}'
    )
    tenants = {"acme": {**TENANTS["acme"], "policies": ["release"]}}
    nights.settings.write_text(settings_text(tenants, SHORT, extra=EXTRA))
    nights.deliver("n1", EPISODES, VERDICTS)
    pl.DataFrame(ANSWERS).write_parquet(folder / "answers" / "n1.parquet")
    return nights


def files(nights: Nights) -> list[Path]:
    return [nights.folder / name / "n1.parquet" for name in ("episodes", "verdicts", "answers")]


def unchanged(file: Path, night: int) -> None:
    rows = pl.read_parquet(file)
    rows.write_parquet(file, compression="gzip" if night % 2 else "uncompressed")


def permuted(file: Path, night: int) -> None:
    pl.read_parquet(file).sample(fraction=1.0, shuffle=True, seed=night).write_parquet(file)


def reversed_rows(file: Path, night: int) -> None:
    rows = pl.read_parquet(file).reverse()
    rows.write_parquet(file, compression="gzip" if night % 2 else "zstd")


def shortened(file: Path, night: int) -> None:
    """Leave out a row that was read."""
    pl.read_parquet(file).slice(1 if night else 0).write_parquet(file)


def assert_sound(nights: Nights) -> None:
    assert verify(open_warehouse(nights.folder / "warehouse")) == []


def set_aside(nights: Nights) -> list[tuple[Any, ...]]:
    """Return what stands in quarantine, each row as often as it does, wherever it was in a file."""
    rows = nights.table(g.Quarantine).select("run", *QUARANTINE)
    return rows.sort(pl.all(), nulls_last=True).rows()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Nights:
    """The nights without any rewriting; not to be changed."""
    nights = corpus(tmp_path_factory.mktemp("plain"))
    for hours in NIGHTS:
        nights.run(at(hours))
    return nights


@pytest.mark.parametrize("rewrite", [unchanged, permuted, shortened])
def test_a_rewritten_file_changes_nothing(
    tmp_path: Path, plain: Nights, rewrite: Rewriting
) -> None:
    rewritten = corpus(tmp_path)
    for night, hours in enumerate(NIGHTS):
        for file in files(rewritten) if night else ():
            rewrite(file, night)
        rewritten.run(at(hours))
    assert_sound(rewritten)
    both = (open_warehouse(one.folder / "warehouse").runs() for one in (rewritten, plain))
    for ours, theirs in zip(*both, strict=True):
        for subject, law in ours.conservation.items():
            other = theirs.conservation[subject]
            assert law.difference == 0
            assert (law.quarantined, law.waiting_after) == (other.quarantined, other.waiting_after)
        for name in ("quarantined", "not_yet_visible"):
            assert ours.summary[name] == theirs.summary[name]
    for table in (g.Graded, g.Ungraded, g.Comparisons, g.References):
        assert rewritten.table(table).equals(plain.table(table), null_equal=True), table.name
    assert set_aside(rewritten) == set_aside(plain)
    reasons = set(plain.table(g.Quarantine)["reason"])
    assert reasons >= {
        "bad_row", "unreadable_verdict", "unknown_tenant", "conflicting_duplicate", "itself",
        "unknown_episode", "two_tasks", "conflicting_answer",
    }  # fmt: skip


def test_a_pending_row_of_a_file_rewritten_the_same_is_set_aside_once(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    nights.configure(TENANTS)
    nights.deliver("n1", [episode("e", 10), episode("e", 10, cost_usd=9.0)])
    nights.run(at(4))
    unchanged(tmp_path / "episodes" / "n1.parquet", 0)
    nights.run(at(24))
    assert nights.table(g.Quarantine)["source_row"].to_list() == [1]
    law = nights.manifest().conservation["episodes"]
    assert (law.read, law.waiting_before, law.already_known, law.quarantined) == (2, 2, 2, 1)
    assert_sound(nights)


def test_more_copies_than_were_there_are_set_aside(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    nights.configure(TENANTS)
    first, other = episode("e", 10), episode("e", 10, cost_usd=9.0)
    nights.deliver("n1", [first, other])
    nights.run(at(4))
    nights.deliver("n1", [other, other, first])
    nights.run(at(24))
    assert nights.table(g.Quarantine)["source_row"].to_list() == [0, 1]
    nights.deliver("n1", [other, first, other, other])
    nights.run(at(48))
    assert nights.table(g.Quarantine, 3)["source_row"].to_list() == [3]
    assert_sound(nights)


def test_another_row_in_the_place_of_a_pending_one_is_another_row(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    nights.configure(TENANTS)
    nights.deliver("n1", [episode("e", 10, tenant_id="late", cost_usd=1.0)])
    nights.run(at(4))
    nights.deliver("n1", [episode("e", 10, tenant_id="late", cost_usd=2.0)])
    nights.run(at(24))
    rows = nights.table(g.Quarantine).select("source_row", "reason").rows()
    assert rows == [(0, "unknown_tenant"), (0, "unknown_tenant")]
    assert_sound(nights)
    released = release_rows(
        open_warehouse(tmp_path / "warehouse"), "true", at(25), who="me", why="late", dry_run=False
    )
    assert (released.selected, released.released.height, released.already) == (2, 1, 0)
    nights.configure({**TENANTS, "late": TENANTS["acme"]})
    nights.run(at(48))
    assert nights.table(g.Ungraded)["episode_id"].to_list() == ["e"]
    assert nights.table(g.Quarantine, 4)["reason"].to_list() == ["conflicting_duplicate"]
    assert_sound(nights)


@pytest.mark.parametrize("rewrite", [unchanged, reversed_rows])
def test_a_released_row_whose_file_is_rewritten_is_told_of_once(
    tmp_path: Path, rewrite: Rewriting
) -> None:
    nights = Nights(tmp_path)
    nights.configure(TENANTS)
    nights.deliver("n1", [episode("e", 1, tenant_id="late"), episode("f", 1)])
    nights.run(at(4))
    release_rows(
        open_warehouse(tmp_path / "warehouse"), "true", at(5), who="me", why="late", dry_run=False
    )
    rewrite(tmp_path / "episodes" / "n1.parquet", 1)
    nights.run(at(24))
    assert nights.table(g.Quarantine, 3)["released_in"].to_list() == [2]
    assert_sound(nights)


def test_a_tenant_that_is_known_by_then_is_graded(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    nights.configure(TENANTS)
    nights.deliver("n1", [episode("e", 1, tenant_id="late")])
    nights.run(at(4))
    nights.configure({**TENANTS, "late": TENANTS["acme"]})
    unchanged(tmp_path / "episodes" / "n1.parquet", 0)
    nights.run(at(24))
    assert nights.table(g.Ungraded)["episode_id"].to_list() == ["e"]
    assert nights.table(g.Quarantine, 2).is_empty()
    assert_sound(nights)


def test_strict_is_not_about_rows_that_were_set_aside_before(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    nights.configure(TENANTS)
    nights.deliver("n1", [episode("bad", 1, cost_usd=-1.0)])
    nights.run(at(4))
    unchanged(tmp_path / "episodes" / "n1.parquet", 0)
    assert nights.run(at(24), strict=True).published


def test_the_state_can_be_rebuilt_after_a_rewriting(tmp_path: Path) -> None:
    nights = corpus(tmp_path)
    for night, hours in enumerate(NIGHTS):
        for file in files(nights) if night else ():
            permuted(file, night)
        nights.run(at(hours))
    state = sorted((tmp_path / "warehouse" / "runs" / "000004" / "state").rglob("*.arrow"))
    before = {path: path.read_bytes() for path in state}
    for path in state:
        path.chmod(0o644)
        path.unlink()
    rebuild_state(open_warehouse(tmp_path / "warehouse"))
    assert {path: path.read_bytes() for path in state} == before
    assert_sound(nights)
