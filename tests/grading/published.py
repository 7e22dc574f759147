"""What one night of the model of the grading rules publishes."""

from collections import Counter
from fractions import Fraction
from typing import Any

from tests.grading.state import Comparison, Episode, Group, Tenant
from tests.grading.terms import Row, dollars, iso

TABLES = (
    "graded",
    "ungraded",
    "references",
    "ledger",
    "groups",
    "comparisons",
    "open_episodes",
    "comparison_requests",
    "quarantine",
)
COUNTS = ("read", "waiting_before", "quarantined", "already_known", "ended", "waiting_after")
CAUSES = ("errors", "undecided", "not_applicable", "unattestable", "missing", "disconnected")


class Night:
    """What one night publishes."""

    def __init__(self, as_of: int, previous: int | None) -> None:
        self.as_of, self.previous = as_of, previous
        self.tables: dict[str, list[Row]] = {table: [] for table in TABLES}
        self.counts = {kind: dict.fromkeys(COUNTS, 0) for kind in ("episodes", "verdicts")}

    def quarantine(self, kind: str, row: Row, reason: str) -> None:
        """Put a row aside."""
        self.counts[kind]["quarantined"] += 1
        own = row["episode_id" if kind == "episodes" else "verdict_id"]
        self.tables["quarantine"].append(
            {"input": kind, "tenant_id": row["tenant_id"], "id": own, "reason": reason}
        )


class TenantRows:
    """The rows that a night publishes of one tenant."""

    def __init__(self, night: Night, tenant: Tenant) -> None:
        self.night, self.tenant = night, tenant

    def publish(self, table: str, **row: Any) -> None:
        """Add a row of this tenant to a table."""
        self.night.tables[table].append({"tenant_id": self.tenant.name, **row})

    def reference(self, episode: Episode) -> None:
        """Publish that an episode became its task's reference."""
        self.publish(
            "references",
            task_id=episode.task,
            episode_id=episode.id,
            registered_at=iso(episode.effective),
        )

    def admission(self, group: Group, at: int, label: str, cost: int) -> None:
        """Publish what a group spends."""
        self.publish(
            "ledger",
            **group.row(),
            episode_id=None if group.tournament else group.members[0].id,
            decided_at=iso(at),
            period=label,
            cost_usd=dollars(cost),
            actual_cost_usd=dollars(cost),
        )

    def comparison(self, comparison: Comparison, disposition: str, group: Row) -> None:
        """Publish the end of a comparison; ``group`` names where it counted, if it did."""
        self.night.counts["verdicts"]["ended"] += 1
        self.publish(
            "comparisons",
            verdict_id=comparison.id,
            task_id=comparison.task,
            left=comparison.left,
            right=comparison.right,
            outcome=comparison.outcome,
            cost_usd=dollars(comparison.cost),
            disposition=disposition,
            verifier_outcome=group.get("verifier_outcome"),
            group_epoch=group.get("group_epoch"),
        )

    def group(
        self, group: Group, reason: str | None, comparable: set[str], counted: list[Comparison]
    ) -> None:
        """Publish a decided tournament group; ``comparable`` is empty where nothing counted."""
        self.publish(
            "groups",
            **group.row(),
            opened_at=iso(group.opened),
            closed_at=iso(group.closed),
            close_reason=group.close_reason,
            group_size=len(group.members),
            members=sorted(episode.id for episode in group.members),
            comparable_size=len(comparable) or None,
            decided_at=iso(group.decided),
            ungraded_reason=reason,
            comparisons=len(counted) if comparable else None,
            usable=sum(c.usable for c in counted) if comparable else None,
        )

    def _subject(self, episode: Episode, at: int, group: Group | None) -> Row:
        epoch = group and group.epoch
        return {
            "task_id": episode.task,
            "episode_id": episode.id,
            "verifier_outcome": episode.outcome,
            "group_epoch": epoch,
            "group_size": None if epoch is None else len(group.members),
            "decided_at": iso(at),
        }

    def ungraded(
        self,
        episode: Episode,
        reason: str,
        at: int,
        group: Group | None,
        causes: Row | None = None,
    ) -> None:
        """Publish that an episode ends without a score."""
        episode.ended = True
        self.night.counts["episodes"]["ended"] += 1
        self.publish(
            "ungraded",
            **self._subject(episode, at, group),
            ungraded_reason=reason,
            is_reference=reason == "no_reference",
            **(causes or dict.fromkeys(CAUSES)),
        )

    def graded(self, episode: Episode, at: int, group: Group, counted: list[Comparison]) -> None:
        """Publish a score; the fitted strength of a tournament is outside this model."""
        episode.ended = True
        self.night.counts["episodes"]["ended"] += 1
        mine = [c for c in counted if c.names(episode.id)]
        ways = Counter(c.outcome for c in mine)
        wins = sum(c.outcome == ("left" if c.left == episode.id else "right") for c in mine)
        losses = ways["left"] + ways["right"] - wins
        score = None
        if not group.tournament:
            score = float((wins + Fraction(ways["tie"], 2)) / (wins + losses + ways["tie"]))
        self.publish(
            "graded",
            **self._subject(episode, at, group),
            score_kind="tournament" if group.tournament else "relative",
            reference_episode_id=None if group.tournament else group.reference.id,
            score=score,
            wins=wins,
            losses=losses,
            ties=ways["tie"],
            undecided=ways["undecided"],
            not_applicable=ways["not_applicable"],
            errors=ways["error"],
            unattestable=ways["unattestable"],
            is_reference=False,
        )

    def open_episodes(self, group: Group, waits_for: str, deadline: int) -> None:
        """Publish that a group's members wait."""
        for episode in group.members:
            self.publish(
                "open_episodes",
                task_id=episode.task,
                episode_id=episode.id,
                verifier_outcome=episode.outcome,
                waits_for=waits_for,
                deadline=iso(deadline),
                group_epoch=group.epoch,
                effective_arrival=iso(episode.effective),
                arrived_at=iso(episode.arrived),
            )

    def request(self, group: Group, pair: tuple[str, str], wanted: int, deadline: int) -> None:
        """Publish that a pair still wants comparisons."""
        first, second = sorted(pair) if group.tournament else pair
        self.publish(
            "comparison_requests",
            **group.row(),
            episode_id=first,
            compared_episode_id=second,
            wanted=wanted,
            deadline=iso(deadline),
        )


def causes(episode: Episode, group: Group, counted: list[Comparison]) -> Row:
    """Return why no counted comparison connects an episode, by cause."""
    ways = Counter(c.outcome for c in counted if c.names(episode.id))
    wanted = [pair for pair in group.wanted if episode.id in pair]
    return {
        "errors": ways["error"],
        "undecided": ways["undecided"],
        "not_applicable": ways["not_applicable"],
        "unattestable": ways["unattestable"],
        "missing": sum(not any(c.is_of(pair) for c in counted) for pair in wanted),
        "disconnected": ways["left"] + ways["right"] + ways["tie"],
    }
