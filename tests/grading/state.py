"""What the model of the grading rules keeps of a tenant between nights."""

from dataclasses import dataclass, field
from typing import Any

from tests.grading.terms import USABLE, Pair, Row, Settings, nano


@dataclass(eq=False)
class Episode:
    """An accepted episode."""

    id: str
    task: str
    outcome: str
    arrived: int
    effective: int
    settings: Settings
    group: "Group | None" = None
    ended: bool = False


@dataclass(eq=False)
class Comparison:
    """An accepted comparison without an end."""

    row: Row
    judged: int
    effective: int
    unseen_until: int

    def __post_init__(self) -> None:
        self.id, self.task = self.row["verdict_id"], self.row["task_id"]
        self.left, self.right = self.row["episode_id"], self.row["compared_episode_id"]
        self.outcome, self.cost = self.row["outcome"], nano(self.row["cost_usd"] or 0)
        self.usable = self.outcome in USABLE

    def names(self, episode_id: str) -> bool:
        """Return whether one side is this episode."""
        return episode_id in (self.left, self.right)

    def is_of(self, pair: Pair) -> bool:
        """Return whether the two sides are this pair, in either order."""
        return {self.left, self.right} == set(pair)


@dataclass(eq=False)
class Group:
    """What is decided together: a tournament group, or one episode beside its reference."""

    task: str
    outcome: str
    opened: int
    settings: Settings
    epoch: int | None = None
    reference: Episode | None = None
    members: list[Episode] = field(default_factory=list)
    wanted: list[Pair] = field(default_factory=list)
    closed: int | None = None
    close_reason: str | None = None
    decided: int | None = None
    insufficient: bool = False

    @property
    def tournament(self) -> bool:
        """Whether it is a tournament group."""
        return self.reference is None

    @property
    def timeout(self) -> int:
        """When it closes at the latest."""
        return self.opened + self.settings.timeout

    @property
    def rank(self) -> tuple[Any, ...]:
        """Its place in the order of admission among what is decided at the same instant."""
        last = (1, self.epoch, "") if self.tournament else (0, 0, self.members[0].id)
        return (self.task, self.outcome, *last)

    def row(self) -> Row:
        """Return the columns that name it."""
        return {"task_id": self.task, "verifier_outcome": self.outcome, "group_epoch": self.epoch}


@dataclass(eq=False)
class Tenant:
    """What is kept of a tenant between nights."""

    name: str
    settings: Settings | None = None
    pending_episodes: list[Row] = field(default_factory=list)
    pending_verdicts: list[Row] = field(default_factory=list)
    known_episodes: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    known_verdicts: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    episodes: dict[str, Episode] = field(default_factory=dict)
    comparisons: list[Comparison] = field(default_factory=list)
    references: dict[str, Episode] = field(default_factory=dict)
    open: dict[tuple[str, str], Group] = field(default_factory=dict)
    epochs: dict[tuple[str, str], int] = field(default_factory=dict)
    waiting: list[Group] = field(default_factory=list)
    admitted: list[tuple[int, int]] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)

    def waits(self) -> dict[str, int]:
        """Return how many rows of each kind have no end yet."""
        grading = sum(not episode.ended for episode in self.episodes.values())
        return {
            "episodes": len(self.pending_episodes) + grading,
            "verdicts": len(self.pending_verdicts) + len(self.comparisons),
        }
