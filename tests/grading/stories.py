"""What the stories of random tenants share: values worth drawing, nights and rows."""

from dataclasses import dataclass, field
from random import Random

from tests.conformance.nights import verdict_text
from tests.grading.terms import Row, iso, micros

START = micros("2026-01-30T00:00:00Z")
EXACT = [0.0, 0.1, 0.2, 0.3, 0.1, 0.05, 1e-9, 5e-10, 1.5e-9, 2.5e-9, 0.1 + 0.2, 1e-10, 3.5e-9]
COSTS = [*EXACT, 0.30000000049999997, 12345.678901234567]
VERDICT_COSTS = [*COSTS[:-1], None]
CEILINGS = [0, 0.1, 0.3, 0.6, 1.0, 5e-10, 2e-9, "0.3", 0.1 + 0.2, 2.5e-9, "none", 0.2, 100000]
IDS = [
    *("e{}", "E{}", "\u00e9{}", "e\u0301{}", "🙂{}", "a\nb{}", " {} ", "0{}", "{}.0", "nan{}"),
    *("x" * 70 + "{}", "\u0000{}", "\ufdd0{}", '"{}"'),
]
DECISIVE = ["left"] * 5 + ["right"] * 4 + ["tie"] * 2
OUTCOMES = [*DECISIVE, "undecided", "not_applicable", "error", "unattestable"]
WINDOWS = ["none", "0h", "1h", "36h"]
PERIODS = ["day", "month", "all"]
SETTINGS = (
    ("judging_window", 0.9, ["none", "0h", "0s", "1h", "12h", "36h", "7d", "1us"]),
    ("unknown_episode_window", 0.9, ["0s", "6h", "2d", "7d", "1us", "20h"]),
    ("pair_degree", 0.9, [2, 2, 4, 4, 6, 8]),
    ("comparisons_per_pair", 0.8, [1, 1, 2, 3]),
    ("grading_ceiling_usd", 0.6, CEILINGS),
    ("budget_period", 0.8, PERIODS),
)
TIMEOUTS = ["30m", "1h", "3h", "10h", "24h", "2d", "1us", "7d", "1500ms"]


@dataclass
class Plan:
    """One night: its time, its settings and the rows delivered before it."""

    as_of: int
    defaults: Row
    unknown_tenants: str
    settings: dict[str, Row] = field(default_factory=dict)
    episodes: list[Row] = field(default_factory=list)
    verdicts: list[Row] = field(default_factory=list)


def drawn_settings(draw: Random, *, tournament: bool) -> Row:
    """Return a tenant's settings, some of them left to the defaults."""
    quorum = draw.choice([2, 2, 3, 4, 5, 8, 12, 20, 30])
    drawn = {
        "mode": "tournament" if tournament else "reference",
        "quorum": quorum,
        "min_group_size": draw.randint(2, min(quorum, draw.choice([2, 3, 4, 6]))),
        "group_timeout": draw.choice(TIMEOUTS),
    }
    return drawn | {
        name: draw.choice(values) for name, chance, values in SETTINGS if draw.random() < chance
    }


class Story:
    """What one tenant delivers; the base of both kinds."""

    def __init__(self, draw: Random, nights: list[Plan], name: str) -> None:
        self.draw, self.nights, self.name = draw, nights, name
        self.episodes: list[Row] = []
        self.verdicts: list[Row] = []

    def episode(self, pattern: str, task: str, outcome: str, at: int) -> Row:
        """Add an episode."""
        row = {
            "tenant_id": self.name,
            "episode_id": pattern.format(len(self.episodes)),
            "task_id": task,
            "arrived_at": iso(at),
            "verifier_outcome": outcome,
            "cost_usd": self.draw.choice(COSTS),
            "latency_ms": self.draw.choice([0.0, 1.5, 900.0, 1e-300]),
            "tool_calls": 4,
            "tool_errors": self.draw.randrange(5),
            "variant": self.draw.choice([None, "v1", "v2"]),
        }
        self.episodes.append(row)
        return row

    def verdict(self, task: str, sides: tuple[str, str | None], at: int, outcome: str) -> Row:
        """Add a verdict."""
        row = {
            "tenant_id": self.name,
            "verdict_id": f"v{len(self.verdicts)}",
            "task_id": task,
            "episode_id": sides[0],
            "compared_episode_id": sides[1],
            "judged_at": iso(at),
            "outcome": outcome,
            "verdict": verdict_text(outcome),
            "judge_id": self.draw.choice([None, "j"]),
            "cost_usd": self.draw.choice(VERDICT_COSTS),
            "recorded_passed": self.draw.choice([None, True]),
        }
        self.verdicts.append(row)
        return row

    def sides(self, one: str, other: str) -> tuple[str, str]:
        """Return a pair in either order."""
        return (one, other) if self.draw.random() < 0.5 else (other, one)
