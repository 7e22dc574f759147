"""Whole nights: what each run must publish, by the whole pipeline on real files."""

from collections import Counter
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import polars as pl

from judgebatch.contracts import grading as g
from tests.conformance.nights import Nights

CAUSES = {
    "error": "errors",
    "undecided": "undecided",
    "not_applicable": "not_applicable",
    "unattestable": "unattestable",
    "missing": "missing",
    "disconnected": "disconnected",
}


def matches(case: dict[str, Any]) -> bool:
    """Return whether a case is one of these."""
    return "scenario" in case and "expect" in case


def check(case: dict[str, Any]) -> list[str]:
    """Return where what the nights publish differs from what is expected."""
    scenario = case["scenario"]
    found: list[str] = []
    with TemporaryDirectory() as folder:
        nights = Nights(Path(folder))
        settings = scenario["settings"]
        expected = case["expect"]["nights"]
        for number, (night, expect) in enumerate(
            zip(scenario["nights"], expected, strict=True), start=1
        ):
            settings = night.get("settings", settings)
            nights.configure(settings, scenario["defaults"], scenario["unknown_tenants"])
            nights.deliver(f"night-{number}", night["episodes"], night["verdicts"])
            nights.run(night["as_of"])
            found += [f"night {number}: {message}" for message in _compare(nights, number, expect)]
    return found


def _compare(nights: Nights, run: int, expect: dict[str, Any]) -> list[str]:
    found = []
    for name, table in _TABLES.items():
        got = nights.table(table, run)
        if name == "groups":
            got = _with_members(got, nights, run)
        rows = [_row(name, row) for row in got.to_dicts()]
        found += _differences(name, rows, expect[name])
    for subject, counts in expect["conservation"].items():
        law = nights.manifest().conservation[subject]
        got_counts = {**law.model_dump(), "ended": sum(law.ended.values())}
        if got_counts != counts:
            found.append(f"conservation of {subject}: {got_counts} instead of {counts}")
    return found


_TABLES = {
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


def _with_members(groups: pl.DataFrame, nights: Nights, run: int) -> pl.DataFrame:
    """Return the groups with their members' ids, from the episodes that ended with them."""
    key = ["tenant_id", "task_id", "verifier_outcome", "group_epoch"]
    ended = pl.concat(
        nights.table(table, run).select(*key, "episode_id") for table in (g.Graded, g.Ungraded)
    )
    members = ended.group_by(key).agg(pl.col("episode_id").alias("members"))
    return groups.join(members, on=key, how="left")


def _row(name: str, row: dict[str, Any]) -> dict[str, Any]:
    if name == "ungraded":
        caused = row["missing"] is not None
        row["causes"] = {key: row[column] for key, column in CAUSES.items()} if caused else {}
    return row


def _differences(name: str, got: list[dict[str, Any]], expected: list[dict[str, Any]]) -> list[str]:
    scores = {}
    if name == "graded":
        scores = {(r["tenant_id"], r["episode_id"]): r["score"] for r in got}
        wrong = [
            row["episode_id"]
            for row in expected
            if row["score"] is not None
            and not _close(scores.get((row["tenant_id"], row["episode_id"])), row["score"])
        ]
        if wrong:
            return [f"scores of {wrong}"]
    columns = sorted({key for row in expected for key in row} - {"score"}) or None
    want = Counter(_text(row, columns) for row in expected)
    have = Counter(_text(row, columns) for row in got)
    if want == have:
        return []
    missing, surplus = list((want - have).elements()), list((have - want).elements())
    return [f"{name}: {len(missing)} missing {missing[:2]}, {len(surplus)} surplus {surplus[:2]}"]


def _close(got: float | None, expected: float) -> bool:
    return got is not None and abs(got - expected) <= 1e-12


def _text(row: dict[str, Any], columns: list[str] | None) -> str:
    if columns is None:
        return "a row"
    return orjson.dumps({key: _plain(row[key]) for key in columns}).decode()


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, list):
        return sorted(value)
    if isinstance(value, dict):
        return dict(sorted(value.items()))
    return value
