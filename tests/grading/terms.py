"""The words of the grading rules as scalars: times, money, settings, rows, pairs, components.

Times are integer microseconds since 1970, money is integer nano-dollars.
"""

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from typing import Any

Row = dict[str, Any]
Pair = tuple[str, str]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = 10**6
HOUR = 3600 * SECOND
UNITS = {
    "us": 1,
    "ms": 1000,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": HOUR,
    "d": 24 * HOUR,
    "w": 7 * 24 * HOUR,
}
USABLE = ("left", "right", "tie")
LARGEST_MONEY = 2**63


def micros(text: str) -> int:
    """Return an ISO instant as microseconds."""
    gone = datetime.fromisoformat(text).astimezone(UTC) - EPOCH
    return (gone.days * 86400 + gone.seconds) * SECOND + gone.microseconds


def iso(at: int) -> str:
    """Return microseconds as an ISO instant in UTC."""
    return (EPOCH + timedelta(microseconds=at)).isoformat().replace("+00:00", "Z")


def duration(text: str) -> int | None:
    """Return a duration such as ``36h``; None for ``none``."""
    if text == "none":
        return None
    digits = "".join(c for c in text if c.isdigit())
    return int(digits) * UNITS[text[len(digits) :]]


def nano(amount: float | str) -> int:
    """Return dollars, a double as it stands or a text, rounded half-even."""
    with localcontext() as context:
        context.prec = 400
        nanos = Decimal(amount) * 10**9
        return int(nanos.quantize(Decimal(1), rounding=ROUND_HALF_EVEN))


def dollars(nanos: int) -> float:
    """Return nano-dollars as dollars; a quotient of integers is correctly rounded."""
    return nanos / 10**9


def period(at: int, kind: str) -> str:
    """Return the budget period in which an instant lies."""
    moment = EPOCH + timedelta(microseconds=at)
    month = f"{moment.year:04}-{moment.month:02}"
    return {"all": "all", "month": month, "day": f"{month}-{moment.day:02}"}[kind]


@dataclass(frozen=True)
class Settings:
    """One tenant's effective settings."""

    mode: str
    quorum: int
    min_group_size: int
    timeout: int
    window: int | None
    unseen: int
    pair_degree: int
    per_pair: int
    ceiling: int | None
    budget_period: str


def effective(defaults: Row, own: Row) -> Settings:
    """Return what a tenant's own settings, over the defaults, amount to."""
    said = {
        "mode": "reference",
        "quorum": 8,
        "group_timeout": "24h",
        "judging_window": "36h",
        "unknown_episode_window": "7d",
        "pair_degree": 8,
        "comparisons_per_pair": 1,
        "budget_period": "month",
        "grading_ceiling_usd": "none",
    }
    said |= defaults | own
    ceiling = said["grading_ceiling_usd"]
    return Settings(
        mode=said["mode"],
        quorum=said["quorum"],
        min_group_size=said.get("min_group_size", min(3, said["quorum"])),
        timeout=duration(said["group_timeout"]),
        window=duration(said["judging_window"]),
        unseen=duration(said["unknown_episode_window"]),
        pair_degree=said["pair_degree"],
        per_pair=said["comparisons_per_pair"],
        ceiling=None if ceiling == "none" else nano(ceiling),
        budget_period=said["budget_period"],
    )


def _bad_number(value: float | None) -> bool:
    return value is None or not math.isfinite(value) or value < 0


def _bad_money(value: float | None) -> bool:
    return _bad_number(value) or nano(value) >= LARGEST_MONEY


def bad_episode(row: Row) -> bool:
    """Return whether an episode is no valid row."""
    calls, errors = row["tool_calls"], row["tool_errors"]
    return (
        any(not row[key] for key in ("tenant_id", "episode_id", "task_id", "verifier_outcome"))
        or row["arrived_at"] is None
        or _bad_money(row["cost_usd"])
        or _bad_number(row["latency_ms"])
        or calls is None
        or errors is None
        or not 0 <= errors <= calls
    )


def bad_verdict(row: Row) -> bool:
    """Return whether a verdict is no valid row, its text apart."""
    return (
        any(not row[key] for key in ("tenant_id", "verdict_id", "task_id", "episode_id"))
        or row["compared_episode_id"] == ""
        or row["judged_at"] is None
        or (row["cost_usd"] is not None and _bad_money(row["cost_usd"]))
    )


def episode_content(row: Row) -> tuple[Any, ...]:
    """Return what must be equal for two deliveries of an episode to be the same."""
    return (
        row["task_id"],
        micros(row["arrived_at"]),
        row["verifier_outcome"],
        nano(row["cost_usd"]),
        row["latency_ms"],
        row["tool_calls"],
        row["tool_errors"],
        row["variant"],
    )


def verdict_content(row: Row) -> tuple[Any, ...]:
    """Return what must be equal for two deliveries of a verdict to be the same."""
    return (
        row["task_id"],
        row["episode_id"],
        micros(row["judged_at"]),
        row["verdict"],
        row["compared_episode_id"],
        row["judge_id"],
        nano(row["cost_usd"] or 0),
        row["recorded_passed"],
    )


def nulls_first(content: tuple[Any, ...]) -> tuple[tuple[bool, Any], ...]:
    """Return a sort key in which null comes before every value."""
    return tuple((value is not None, 0 if value is None else value) for value in content)


def wanted_pairs(key: tuple[str, str, str, int], ids: list[str], degree: int) -> list[Pair]:
    """Return a group's wanted pairs: all of a small group, a circulant design of a large one.

    ``key`` is (tenant_id, task_id, verifier_outcome, group_epoch).
    """
    if len(ids) <= degree + 1:
        return [(a, b) for i, a in enumerate(ids) for b in ids[i + 1 :]]

    def digest(episode_id: str) -> bytes:
        state = hashlib.blake2b(digest_size=16)
        for part in (*map(str, key), episode_id):
            text = part.encode()
            state.update(len(text).to_bytes(8, "little") + text)
        return state.digest()

    ring = sorted(ids, key=digest)
    steps = range(1, degree // 2 + 1)
    return [(one, ring[(i + step) % len(ring)]) for i, one in enumerate(ring) for step in steps]


def largest_component(ids: Iterable[str], edges: list[Pair]) -> set[str]:
    """Return the largest component; of equal ones that with the smallest id."""
    left, found = set(ids), []
    while left:
        component, frontier = set(), {min(left)}
        while frontier:
            component |= frontier
            near = {b for a, b in edges if a in frontier} | {a for a, b in edges if b in frontier}
            frontier = near - component
        left -= component
        found.append(component)
    return min(found, key=lambda component: (-len(component), min(component)))
