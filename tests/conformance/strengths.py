"""Runs strength cases: fits, relative scores and sequential decisions."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from judgebatch.strengths import SequentialTest, decide, fit_groups, relative_interval

TOLERANCE = 1e-12
_OUTCOMES = {
    "L": "left",
    "R": "right",
    "T": "tie",
    "U": "undecided",
    "E": "error",
    "N": "not_applicable",
}
_START = datetime(2026, 1, 1, tzinfo=UTC)


def matches(case: dict[str, Any]) -> bool:
    """Return whether the case is one of ours."""
    return "tie_model" in case or "outcomes" in case or {"wins", "ties", "level"} <= case.keys()


def check(case: dict[str, Any]) -> list[str]:
    """Return what differs from the expected result."""
    if "tie_model" in case:
        return _check_fit(case)
    if "outcomes" in case:
        return _check_sequential(case)
    return _check_relative(case)


def counts_frame(case: dict[str, Any], group: str = "g") -> pl.DataFrame:
    """Return a fit case's counts as comparisons."""
    items = case["items"]
    rows = [
        (group, items[i], items[j], outcome, count)
        for i, j, *counts in case["counts"]
        for outcome, count in zip(("left", "right", "tie"), counts, strict=True)
        if count
    ]
    columns = {"group": pl.String, "left": pl.String, "right": pl.String, "outcome": pl.String}
    return pl.DataFrame(rows, schema={**columns, "count": pl.Int64}, orient="row")


def sequential_frame(case: dict[str, Any]) -> pl.DataFrame:
    """Return a sequential case's outcomes as comparisons of one variant."""
    n = len(case["outcomes"])
    return pl.DataFrame(
        {
            "tenant_id": ["t"] * n,
            "task_id": [None] * n,
            "variant": ["new"] * n,
            "baseline": ["old"] * n,
            "outcome": [_OUTCOMES[letter] for letter in case["outcomes"]],
            "judged_at": [_START + timedelta(seconds=second) for second in range(n)],
            "verdict_id": [f"v{number:06}" for number in range(n)],
        },
        schema={
            "tenant_id": pl.String,
            "task_id": pl.String,
            "variant": pl.String,
            "baseline": pl.String,
            "outcome": pl.String,
            "judged_at": pl.Datetime("us", "UTC"),
            "verdict_id": pl.String,
        },
    )


def _differs(name: str, got: float | None, expected: str) -> list[str]:
    want = float(expected)
    if got is not None and abs(got - want) <= TOLERANCE * max(1.0, abs(want)):
        return []
    return [f"{name} is {got!r}, not {expected}"]


def _check_fit(case: dict[str, Any]) -> list[str]:
    strengths, groups = fit_groups(counts_frame(case), tie_model=case["tie_model"])
    messages = []
    if groups["fit_status"].to_list() != ["converged"]:
        messages.append(f"fit_status is {groups['fit_status'].to_list()}")
    if strengths["item"].to_list() != case["items"]:
        messages.append(f"items are {strengths['item'].to_list()}")
    for name in ("strength", "strength_se"):
        pairs = zip(strengths[name], case["expect"][name], strict=True)
        for at, (got, expected) in enumerate(pairs):
            messages += _differs(f"{name}[{at}]", got, expected)
    if "tie_parameter" in case["expect"]:
        got = groups["tie_parameter"][0]
        messages += _differs("tie_parameter", got, case["expect"]["tie_parameter"])
    return messages


def _check_relative(case: dict[str, Any]) -> list[str]:
    n = case["wins"] + case["losses"] + case["ties"]
    scores = relative_interval([case["wins"]], [case["ties"]], [n], case["level"])
    messages = []
    for name, column in zip(("score", "score_low", "score_high"), scores, strict=True):
        messages += _differs(name, float(column[0]), case["expect"][name])
    return messages


def _check_sequential(case: dict[str, Any]) -> list[str]:
    test = SequentialTest(case["p0"], case["p1"], case["alpha"], case["beta"])
    decisions = decide(sequential_frame(case), test)
    expect = case["expect"]
    if not decisions.sums.height:
        # Nothing compared: there is no test yet, which is to continue without evidence.
        row = {"decision": "continue", "llr": 0.0, "log_e_value": 0.0}
        row |= dict.fromkeys(("decided_after", "e_value_crossed_after"))
    else:
        row = decisions.sums.row(0, named=True)
    messages = [
        f"{name} is {row[name]!r}, not {expect[name]!r}"
        for name in ("decision", "decided_after", "e_value_crossed_after")
        if row[name] != expect[name]
    ]
    for name in ("llr", "log_e_value"):
        messages += _differs(name, row[name], expect[name])
    if decisions.promotions.height != (expect["decision"] != "continue"):
        messages.append(f"{decisions.promotions.height} promotions")
    return messages
