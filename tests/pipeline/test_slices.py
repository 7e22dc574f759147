"""A shard graded in slices publishes what it publishes whole."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import polars as pl
import pyarrow.parquet as pq
import pytest

from judgebatch.cli.main import run_command
from judgebatch.contracts import grading as g
from judgebatch.contracts.slices import Slice, cut
from judgebatch.grading import scores, settlement
from judgebatch.pipeline.mapping import Mapper, in_process, in_processes
from judgebatch.vocabulary import FitStatus
from tests.conformance.nights import EPISODES, Nights
from tests.grading.scenarios import pack
from tests.grading.terms import iso
from tests.scenarios.rows import at, comparison, episode

T = TypeVar("T")
R = TypeVar("R")

WINDOW = {"judging_window": "1h", "unknown_episode_window": "12h"}
REFERENCE = {"acme": {"mode": "reference", **WINDOW}}
GROUPS = {
    "acme": {
        "mode": "tournament",
        "quorum": 2,
        "grading_ceiling_usd": 0.03,
        "budget_period": "all",
        **WINDOW,
    }
}


def bytes_of_runs(nights: Nights) -> dict[str, str]:
    """Return the hash of every file under ``runs/`` but the manifests, which have tokens."""
    root = nights.folder / "warehouse" / "runs"
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != "manifest.json"
    }


def graded(folder: Path, seed: int, slice_rows: int, **more: Any) -> Nights:
    """Run a pack of scenarios, with slices of so many rows."""
    nights = Nights(folder, shards=1)
    for run, plan in enumerate(pack(seed, (3,), tenants=8), 1):
        nights.configure(plan.settings, plan.defaults, plan.unknown_tenants)
        nights.deliver(f"night-{run}", plan.episodes, plan.verdicts)
        nights.run(iso(plan.as_of), slice_rows=slice_rows, **more)
    return nights


def twice(function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
    """Do every task again, as after a worker that died before it could say that it was done."""
    for task in tasks:
        function(task)
        yield function(task)


def test_slices_of_any_size_publish_the_same_bytes(tmp_path: Path) -> None:
    whole = bytes_of_runs(graded(tmp_path / "whole", 11, 1_000_000))
    assert bytes_of_runs(graded(tmp_path / "tiny", 11, 1)) == whole
    assert bytes_of_runs(graded(tmp_path / "some", 11, 30)) == whole


@pytest.mark.soak
@pytest.mark.parametrize("slice_rows", [30, 1_000_000])
def test_tasks_done_twice_publish_the_same_bytes(tmp_path: Path, slice_rows: int) -> None:
    once = bytes_of_runs(graded(tmp_path / "once", 12, slice_rows))
    assert bytes_of_runs(graded(tmp_path / "twice", 12, slice_rows, mapper=twice)) == once


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(200, 230))
def test_slices_of_many_packs_publish_the_same_bytes(tmp_path: Path, seed: int) -> None:
    whole = bytes_of_runs(graded(tmp_path / "whole", seed, 1_000_000))
    rows = Random(seed).randint(1, 60)  # noqa: S311 - reproducible, not secret
    assert bytes_of_runs(graded(tmp_path / "slices", seed, rows)) == whole


def one_tenant(folder: Path) -> Nights:
    """Deliver three tasks of one tenant, in one shard."""
    nights = Nights(folder, shards=1)
    nights.configure(REFERENCE)
    rows = [(task, number) for task in "abc" for number in range(4)]
    nights.deliver(
        "n1",
        [episode(f"{task}{number}", number, task_id=task) for task, number in rows],
        [
            comparison(f"{task}{number}", f"{task}0", number, "left", task_id=task)
            for task, number in rows
            if number
        ],
    )
    return nights


def test_several_processes_share_one_tenant(tmp_path: Path) -> None:
    whole, shared, told = (one_tenant(tmp_path / name) for name in ("whole", "shared", "told"))
    whole.run(at(9))
    with in_processes(2) as mapper:
        shared.run(at(9), slice_rows=4, mapper=mapper)
    command = ["run", "--settings", str(told.settings), "--as-of", at(9).isoformat()]
    assert run_command([*command, "--slice-rows", "4", "--processes", "2"]) == 0
    assert bytes_of_runs(shared) == bytes_of_runs(told) == bytes_of_runs(whole)


@pytest.mark.parametrize("slice_rows", [1, 1_000])
def test_an_identity_in_two_tasks_is_a_conflict_whichever_slices_they_are_in(
    tmp_path: Path, slice_rows: int
) -> None:
    nights = Nights(tmp_path, shards=1)
    nights.configure(REFERENCE)
    nights.deliver(
        "n1",
        [
            episode("twice", 2, task_id="a"),
            episode("twice", 1, task_id="b"),
            episode("other", 3, task_id="b"),
            episode("early", 1, task_id="c"),
            episode("early", 8, task_id="a"),
        ],
        [
            comparison("other", "twice", 3, "left", task_id="b", verdict_id="v"),
            comparison("other", "twice", 4, "left", task_id="a", verdict_id="v"),
            comparison("early", "twice", 3, "left", task_id="c", verdict_id="across"),
            comparison("other", "nobody", 3, "left", task_id="b", verdict_id="waits"),
        ],
    )
    nights.run(at(5), slice_rows=slice_rows)
    nights.run(at(9), slice_rows=slice_rows)
    refused = nights.table(g.Quarantine).select("run", "id", "reason", "source_row").rows()
    assert refused == [
        (1, "twice", "conflicting_duplicate", 0),
        (1, "v", "conflicting_duplicate", 1),
        (1, "across", "two_tasks", 2),
        (2, "early", "conflicting_duplicate", 4),
    ]
    assert nights.table(g.Comparisons)["verdict_id"].to_list() == ["v"]
    assert nights.table(g.Graded)["episode_id"].to_list() == ["other"]


@pytest.mark.parametrize("slice_rows", [1, 1_000])
def test_a_ceiling_holds_over_all_slices(tmp_path: Path, slice_rows: int) -> None:
    nights = Nights(tmp_path, shards=1)
    nights.configure(GROUPS)
    tasks = {"a": 3, "b": 1, "c": 2}
    nights.deliver(
        "n1",
        [
            episode(f"{task}{number}", hour, task_id=task)
            for task, hour in tasks.items()
            for number in range(2)
        ],
        [
            comparison(f"{task}0", f"{task}1", hour, "left", task_id=task, cost_usd=0.02)
            for task, hour in tasks.items()
        ],
    )
    nights.run(at(9), slice_rows=slice_rows)
    assert nights.table(g.Ledger)["task_id"].to_list() == ["b"]
    reasons = nights.table(g.Ungraded).select("task_id", "ungraded_reason").unique().sort("task_id")
    assert reasons.rows() == [("a", "budget_exhausted"), ("c", "budget_exhausted")]


@pytest.mark.parametrize("mapper", [in_process, twice])
@pytest.mark.parametrize("slice_rows", [1, 1_000])
def test_a_group_whose_fit_fails_costs_nothing_and_stays(
    tmp_path: Path, slice_rows: int, mapper: Mapper, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = scores.fit_groups

    def failing(comparisons: pl.DataFrame, **more: Any) -> Any:
        fitted = fit(comparisons, **more)
        sizes = comparisons.group_by("group").len()
        bad = sizes.filter(pl.col("len") == 2)["group"].to_list()
        status = pl.when(pl.col("group").is_in(bad)).then(pl.lit(FitStatus.NOT_CONVERGED.value))
        groups = fitted.groups.with_columns(fit_status=status.otherwise("fit_status"))
        return fitted._replace(groups=groups)

    monkeypatch.setattr(settlement.scores, "fit_groups", failing)
    nights = Nights(tmp_path, shards=1)
    nights.configure(GROUPS)
    nights.deliver(
        "n1",
        [episode(f"{task}{number}", 1, task_id=task) for task in "ab" for number in range(2)],
        [
            comparison("a0", "a1", 1, "left", task_id="a"),
            comparison("a1", "a0", 1, "right", task_id="a"),
            comparison("b0", "b1", 1, "left", task_id="b", cost_usd=0.02),
        ],
    )
    nights.run(at(9), slice_rows=slice_rows, mapper=mapper)
    assert nights.table(g.Ledger)["task_id"].to_list() == ["b"]
    waits = nights.table(g.OpenEpisodes).select("episode_id", "waits_for").rows()
    assert waits == [("a0", "fit_failed"), ("a1", "fit_failed")]


def test_shards_are_cut_between_tasks() -> None:
    tasks = [("t", "a", 3), ("t", "b", 9), ("t", "c", 2), ("u", "a", 2)]
    assert cut(tasks, 5) == [
        Slice(0, None, ("t", "b")),
        Slice(1, ("t", "b"), ("t", "c")),
        Slice(2, ("t", "c"), None),
    ]
    assert cut(tasks, 100) == [Slice()]
    assert cut([], 1) == [Slice()]


def test_a_large_file_is_read_in_parts(tmp_path: Path) -> None:
    def night(name: str, row_group_size: int) -> dict[str, bytes]:
        nights = Nights(tmp_path / name)
        nights.configure(REFERENCE)
        # Ids that hardly compress: small files are not worth two readers.
        ids = [hashlib.sha256(f"{number}".encode()).hexdigest() * 4 for number in range(60_000)]
        rows = [episode(one, 1 + place / 60_000) for place, one in enumerate(ids)]
        rows[59_999]["tool_calls"] = -1
        source = nights.folder / "episodes" / "n1.parquet"
        pq.write_table(
            pl.DataFrame(rows).to_arrow().select(EPISODES.names).cast(EPISODES),
            source,
            row_group_size=row_group_size,
        )
        nights.run(at(9))
        return nights.published_bytes()

    assert night("parts", 1_000) == night("whole", 60_000)
