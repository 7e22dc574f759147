"""Whole nights through the pipeline give what a literal model of the grading rules gives."""

from collections import Counter
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

from judgebatch.contracts import grading as g
from judgebatch.pipeline.grading_stage import SLICE_ROWS
from tests.conformance.nights import Nights
from tests.grading.model import World
from tests.grading.scenarios import Plan, pack
from tests.grading.terms import Row, iso

TABLES = {
    "graded": g.Graded,
    "ungraded": g.Ungraded,
    "references": g.References,
    "ledger": g.Ledger,
    "groups": g.Groups,
    "comparisons": g.Comparisons,
    "open_episodes": g.OpenEpisodes,
    "comparison_requests": g.ComparisonRequests,
    "quarantine": g.Quarantine,
}
GROUP = ["tenant_id", "task_id", "verifier_outcome", "group_epoch"]
QUICK = (0, 1, 2, 4)
SOAK = range(100, 160)
FEW_NIGHTS = (2, 3, 4, 5, 6)


@pytest.mark.parametrize("seed", QUICK)
def test_nights_publish_what_the_model_says(seed: int, tmp_path: Path) -> None:
    hold_against_model(seed, pack(seed, FEW_NIGHTS), tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("seed", SOAK)
def test_many_nights_publish_what_the_model_says(seed: int, tmp_path: Path) -> None:
    hold_against_model(seed, pack(seed, (*FEW_NIGHTS, 14)), tmp_path)


def test_the_packs_reach_every_end_of_an_episode_and_of_a_comparison() -> None:
    reached = {token for seed in QUICK for token in ends(pack(seed, FEW_NIGHTS))}
    assert reached >= {
        *("relative", "tournament"),
        *("no_reference", "budget_exhausted", "insufficient_group", "no_usable_comparison"),
        *("used", "undecided", "not_applicable", "error", "unattestable"),
        *("over_budget", "late", "cross_group", "not_needed"),
        *("bad_row", "unreadable_verdict", "unknown_tenant", "conflicting_duplicate"),
        *("itself", "unknown_episode", "two_tasks"),
    }


def test_equal_seeds_give_equal_packs() -> None:
    assert repr(pack(1, FEW_NIGHTS)) == repr(pack(1, FEW_NIGHTS))


def modelled(world: World, plan: Plan) -> tuple[dict[str, list[Row]], dict[str, dict[str, int]]]:
    """Return one night of the model."""
    return world.night(
        plan.as_of,
        plan.settings,
        plan.defaults,
        plan.unknown_tenants,
        plan.episodes,
        plan.verdicts,
    )


def ends(plans: list[Plan]) -> set[str]:
    """Return every score kind, reason and disposition that occurs in a pack."""
    world, found = World(), set()
    for plan in plans:
        tables, _ = modelled(world, plan)
        found |= {row["score_kind"] for row in tables["graded"]}
        found |= {row["ungraded_reason"] for row in tables["ungraded"]}
        found |= {row["disposition"] for row in tables["comparisons"]}
        found |= {row["reason"] for row in tables["quarantine"]}
    return found


def hold_against_model(seed: int, plans: list[Plan], folder: Path) -> None:
    """Run a pack night by night and compare every table after each.

    Half of the packs are graded in slices of few rows.
    """
    slice_rows = 1 + seed if seed % 2 else SLICE_ROWS
    shuffle = Random(seed)  # noqa: S311 - reproducible, not secret
    nights, world = Nights(folder, shards=1 + seed // 2 % 2), World()
    for run, plan in enumerate(plans, 1):
        tables, counts = modelled(world, plan)
        nights.configure(plan.settings, plan.defaults, plan.unknown_tenants)
        deliver_in_two_files(nights, run, plan, shuffle)
        nights.run(iso(plan.as_of), slice_rows=slice_rows)
        for name, want in tables.items():
            got = published(nights, name, run)
            assert difference(want, got) == ([], []), (seed, run, name)
        assert conservation(nights) == counts, (seed, run)
        check_counts(nights, run, tables)
        check_scores(nights, run)


def deliver_in_two_files(nights: Nights, run: int, plan: Plan, shuffle: Random) -> None:
    """Deliver a night's rows in any order, cut anywhere."""
    parts = []
    for rows in (plan.episodes, plan.verdicts):
        mixed = shuffle.sample(rows, len(rows))
        cut = shuffle.randint(0, len(mixed))
        parts.append((mixed[:cut], mixed[cut:]))
    for name, episodes, verdicts in zip("za", *parts, strict=True):
        nights.deliver(f"night-{run}-{name}", episodes, verdicts)


def published(nights: Nights, name: str, run: int) -> list[Row]:
    """Return what a run published in a table; what the model does not say is null."""
    frame = nights.table(TABLES[name], run)
    if name == "groups":
        ended = [nights.table(t, run).select(*GROUP, "episode_id") for t in (g.Graded, g.Ungraded)]
        members = pl.concat(ended).group_by(GROUP).agg(members=pl.col("episode_id").sort())
        counted = pl.when(pl.col("comparable_size").is_not_null())
        frame = frame.join(members, on=GROUP, how="left").with_columns(
            counted.then(name).alias(name) for name in ("comparisons", "usable")
        )
    if name == "graded":
        relative = pl.when(pl.col("score_kind") == "relative")
        frame = frame.with_columns(relative.then("score").alias("score"))
    return frame.to_dicts()


def difference(want: list[Row], got: list[Row]) -> tuple[list[Any], list[Any]]:
    """Return the rows that only the model has and those that only the run has."""
    columns = sorted(want[0]) if want else ["tenant_id"]
    one = Counter(repr({c: row[c] for c in columns}) for row in want)
    other = Counter(repr({c: plain(row[c]) for c in columns}) for row in got)
    return sorted(one - other), sorted(other - one)


def plain(value: Any) -> Any:
    """Return an instant as the model writes it."""
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else value


def conservation(nights: Nights) -> dict[str, dict[str, int]]:
    """Return the manifest's rows in and out, the ends added up."""
    laws = nights.manifest().conservation
    return {
        kind: laws[kind].model_dump() | {"ended": sum(laws[kind].ended.values())}
        for kind in ("episodes", "verdicts")
    }


def check_counts(nights: Nights, run: int, tables: dict[str, list[Row]]) -> None:
    """Hold the counts by kind and reason against the rows."""
    kinds = [(row["tenant_id"], row["score_kind"]) for row in tables["graded"]]
    reasons = [(row["tenant_id"], row["ungraded_reason"]) for row in tables["ungraded"]]
    rows = nights.table(g.GradingCounts, run).to_dicts()
    counted = {(row["tenant_id"], row["outcome"]): row["count"] for row in rows if row["count"]}
    assert counted == Counter(kinds + reasons)


def check_scores(nights: Nights, run: int) -> None:
    """Every score lies in its interval, and exactly the tournament's have strengths."""
    graded = nights.table(g.Graded, run)
    bounds = graded.select("score_low", "score", "score_high").rows()
    assert all(0 <= low <= score <= high <= 1 for low, score, high in bounds)
    fitted = nights.table(g.Strengths, run).select("tenant_id", "episode_id").rows()
    tournament = graded.filter(pl.col("score_kind") == "tournament")
    assert sorted(fitted) == sorted(tournament.select("tenant_id", "episode_id").rows())
