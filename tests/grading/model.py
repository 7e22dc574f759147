"""A literal, slow model of the grading rules: one tenant at a time, plain loops over scalars.

``World.night`` takes one night's input rows and returns what that night publishes. It shares no
code with the product, so that the two can be held against each other.
"""

from collections.abc import Callable
from typing import Any

from tests.grading.published import Night, TenantRows, causes
from tests.grading.state import Comparison, Episode, Group, Tenant
from tests.grading.terms import (
    Pair,
    Row,
    bad_episode,
    bad_verdict,
    effective,
    episode_content,
    largest_component,
    micros,
    nulls_first,
    period,
    verdict_content,
    wanted_pairs,
)


class World:
    """All tenants, night after night."""

    def __init__(self) -> None:
        self.tenants: dict[str, Tenant] = {}
        self.previous: int | None = None

    def night(
        self,
        as_of: int,
        settings: dict[str, Row],
        defaults: Row,
        unknown_tenants: str,
        episodes: list[Row],
        verdicts: list[Row],
    ) -> tuple[dict[str, list[Row]], dict[str, dict[str, int]]]:
        """Return what a night publishes in each table, and its counts of rows in and out."""
        night = Night(as_of, self.previous)
        self._count_waiting(night, "waiting_before")
        self._read(night, episodes, verdicts)
        for tenant in self.tenants.values():
            known = tenant.name in settings or unknown_tenants == "defaults"
            if known:
                tenant.settings = effective(defaults, settings.get(tenant.name, {}))
            TenantNight(night, tenant, known=known).run()
        self._count_waiting(night, "waiting_after")
        self.previous = as_of
        return night.tables, night.counts

    def _count_waiting(self, night: Night, moment: str) -> None:
        for tenant in self.tenants.values():
            for kind, count in tenant.waits().items():
                night.counts[kind][moment] += count

    def _read(self, night: Night, episodes: list[Row], verdicts: list[Row]) -> None:
        """Keep the good rows of the inputs as pending; quarantine the bad ones at once."""
        for row in episodes:
            night.counts["episodes"]["read"] += 1
            if bad_episode(row):
                night.quarantine("episodes", row, "bad_row")
            else:
                self._tenant(row).pending_episodes.append(row)
        for row in verdicts:
            night.counts["verdicts"]["read"] += 1
            if bad_verdict(row):
                night.quarantine("verdicts", row, "bad_row")
            elif row["outcome"] == "unreadable":
                night.quarantine("verdicts", row, "unreadable_verdict")
            else:
                self._tenant(row).pending_verdicts.append(row)

    def _tenant(self, row: Row) -> Tenant:
        return self.tenants.setdefault(row["tenant_id"], Tenant(row["tenant_id"]))


class TenantNight(TenantRows):
    """One tenant in one night."""

    def __init__(self, night: Night, tenant: Tenant, *, known: bool) -> None:
        super().__init__(night, tenant)
        self.known = known
        self.as_of = night.as_of
        # Nothing that is first considered now may change what an earlier run could decide.
        self.floor = night.previous + 1 if tenant.episodes else 0

    def run(self) -> None:
        """Take the stages in their order."""
        self.place(self.consider_episodes())
        self.consider_verdicts()
        self.close_timeouts()
        self.end_comparisons()
        self.decide()
        self.publish_open()

    # Considering rows

    def _novel(
        self,
        kind: str,
        pending: list[Row],
        ids: tuple[str, str],
        content_of: Callable[[Row], tuple[Any, ...]],
        known: dict[str, tuple[Any, ...]],
    ) -> list[Row]:
        """Take the rows whose time has come; return those with a new identity, by time."""
        identity, time = ids
        due = [row for row in pending if micros(row[time]) <= self.as_of]
        pending[:] = [row for row in pending if micros(row[time]) > self.as_of]
        due.sort(key=lambda row: (micros(row[time]), nulls_first(content_of(row))))
        novel = []
        for row in due:
            content = content_of(row)
            if not self.known:
                self.night.quarantine(kind, row, "unknown_tenant")
            elif row[identity] not in known:
                known[row[identity]] = content
                novel.append(row)
            elif known[row[identity]] == content:
                self.night.counts[kind]["already_known"] += 1
            else:
                self.night.quarantine(kind, row, "conflicting_duplicate")
        return novel

    def consider_episodes(self) -> list[Episode]:
        """Return the novel episodes in the order in which they are placed."""
        tenant = self.tenant
        novel = []
        ids = ("episode_id", "arrived_at")
        for row in self._novel(
            "episodes", tenant.pending_episodes, ids, episode_content, tenant.known_episodes
        ):
            arrived = micros(row["arrived_at"])
            outcome, start = row["verifier_outcome"], max(arrived, self.floor)
            episode = Episode(
                row["episode_id"], row["task_id"], outcome, arrived, start, tenant.settings
            )
            tenant.episodes[episode.id] = episode
            novel.append(episode)
        return sorted(novel, key=lambda e: (e.effective, e.arrived, e.id))

    def consider_verdicts(self) -> None:
        """Keep the novel comparisons."""
        tenant = self.tenant
        ids = ("verdict_id", "judged_at")
        for row in self._novel(
            "verdicts", tenant.pending_verdicts, ids, verdict_content, tenant.known_verdicts
        ):
            judged = micros(row["judged_at"])
            if row["compared_episode_id"] is None:
                self.night.counts["verdicts"]["ended"] += 1  # a verdict on one episode alone
            elif row["compared_episode_id"] == row["episode_id"]:
                self.night.quarantine("verdicts", row, "itself")
            else:
                limit = judged + tenant.settings.unseen
                start = max(judged, self.floor)
                tenant.comparisons.append(Comparison(row, judged, start, limit))

    # References and epochs

    def place(self, novel: list[Episode]) -> None:
        """Register references and fill epochs."""
        for episode in novel:
            if episode.settings.mode == "reference":
                self._place_beside_reference(episode)
            else:
                self._place_in_epoch(episode)

    def _place_beside_reference(self, episode: Episode) -> None:
        tenant, task = self.tenant, episode.task
        if task not in tenant.references:
            tenant.references[task] = episode
            self.reference(episode)
            self.ungraded(episode, "no_reference", episode.effective, None)
            return
        reference = tenant.references[task]
        case = Group(task, episode.outcome, episode.effective, episode.settings)
        case.reference, case.closed = reference, episode.effective
        case.members, case.wanted = [episode], [(episode.id, reference.id)]
        tenant.waiting.append(case)

    def _place_in_epoch(self, episode: Episode) -> None:
        tenant, key = self.tenant, (episode.task, episode.outcome)
        group = tenant.open.get(key)
        if group is not None and episode.effective > group.timeout:
            self.close(group, group.timeout, "timeout")
        if key not in tenant.open:
            epoch = tenant.epochs.get(key, 0)
            tenant.open[key] = Group(*key, episode.effective, episode.settings, epoch)
        group = episode.group = tenant.open[key]
        group.members.append(episode)
        if len(group.members) == group.settings.quorum:
            self.close(group, episode.effective, "quorum")

    def close(self, group: Group, at: int, reason: str) -> None:
        """Close an epoch; one with too few members is decided by that."""
        tenant, key = self.tenant, (group.task, group.outcome)
        del tenant.open[key]
        tenant.epochs[key] = group.epoch + 1
        group.closed, group.close_reason = at, reason
        if len(group.members) >= group.settings.min_group_size:
            ids = [episode.id for episode in group.members]
            names = (tenant.name, *key, group.epoch)
            group.wanted = wanted_pairs(names, ids, group.settings.pair_degree)
            tenant.waiting.append(group)
            return
        group.decided, group.insufficient = at, True
        self.group(group, "insufficient_group", set(), [])
        for episode in group.members:
            self.ungraded(episode, "insufficient_group", at, group)

    def close_timeouts(self) -> None:
        """Close the epochs whose deadline has come."""
        for group in list(self.tenant.open.values()):
            if group.timeout <= self.as_of:
                self.close(group, group.timeout, "timeout")

    # Comparisons that end without a decision of this night

    def end_comparisons(self) -> None:
        """End what can never count; keep what waits for an episode or for a decision."""
        kept = []
        for comparison in self.tenant.comparisons:
            end = self._end_of(comparison)
            if end is None:
                kept.append(comparison)
            elif end in {"unknown_episode", "two_tasks"}:
                self.night.quarantine("verdicts", comparison.row, end)
            else:
                self.comparison(comparison, end, {})
        self.tenant.comparisons = kept

    def _end_of(self, comparison: Comparison) -> str | None:
        sides = [self.tenant.episodes.get(i) for i in (comparison.left, comparison.right)]
        limit = comparison.unseen_until
        if any(self.as_of >= limit if e is None else e.arrived > limit for e in sides):
            return "unknown_episode"
        if None in sides:
            return None
        if any(e.task != comparison.task for e in sides):
            return "two_tasks"
        return self._end_between(*sides)

    def _end_between(self, one: Episode, other: Episode) -> str | None:
        if one.group is not None and one.group is other.group:
            if one.group.insufficient:
                return "not_needed"
            return None if one.group.decided is None else "late"
        reference = self.tenant.references.get(one.task)
        modes = {one.settings.mode, other.settings.mode}
        if modes == {"reference"} and reference in (one, other):
            compared = other if reference is one else one
            return "late" if compared.ended else None
        return "cross_group"

    def _inside(self, group: Group) -> list[Comparison]:
        ids = {episode.id for episode in group.members}
        if not group.tournament:
            ids.add(group.reference.id)
        return [c for c in self.tenant.comparisons if {c.left, c.right} <= ids]

    # Decisions

    def decide(self) -> None:
        """Decide the groups whose time has come, in the order of admission."""
        due = []
        for group in self.tenant.waiting:
            inside = self._inside(group)
            at = _decision_time(group, inside)
            if at <= self.as_of:
                everything = group.settings.window is None
                counted = [c for c in inside if everything or c.judged <= at]
                due.append((at, group, counted, [c for c in inside if c not in counted]))
        due.sort(key=lambda case: (case[0], case[1].rank))
        for at, group, counted, late in due:
            self._decide_one(at, group, counted, late)

    def _decide_one(
        self, at: int, group: Group, counted: list[Comparison], late: list[Comparison]
    ) -> None:
        tenant = self.tenant
        tenant.waiting.remove(group)
        ended = counted + late
        tenant.comparisons = [c for c in tenant.comparisons if c not in ended]
        group.decided = at
        admitted = self._admit(at, group, sum(c.cost for c in counted))
        for comparison in late:
            self.comparison(comparison, "late", {})
        for comparison in counted:
            end = "used" if comparison.usable else comparison.outcome
            self.comparison(
                comparison,
                end if admitted else "over_budget",
                group.row() if admitted else {},
            )
        if not admitted:
            self._refuse(at, group)
        else:
            self._grade(at, group, counted)

    def _admit(self, at: int, group: Group, cost: int) -> bool:
        """Admit a group, or refuse its period up to the highest ceiling it met."""
        tenant = self.tenant
        ceiling, kind = tenant.settings.ceiling, tenant.settings.budget_period
        label = period(at, kind)
        if ceiling is not None:
            if label in tenant.refused and ceiling <= tenant.refused[label]:
                return False
            spent = sum(cost for then, cost in tenant.admitted if period(then, kind) == label)
            if ceiling == 0 or spent + cost > ceiling:
                tenant.refused[label] = ceiling
                return False
        tenant.admitted.append((at, cost))
        self.admission(group, at, label, cost)
        return True

    def _refuse(self, at: int, group: Group) -> None:
        if group.tournament:
            self.group(group, "budget_exhausted", set(), [])
        for episode in group.members:
            self.ungraded(episode, "budget_exhausted", at, group)

    def _grade(self, at: int, group: Group, counted: list[Comparison]) -> None:
        """Grade the members that usable comparisons connect."""
        ids = {episode.id for episode in group.members}
        if not group.tournament:
            ids.add(group.reference.id)
        edges = [(c.left, c.right) for c in counted if c.usable]
        connected = largest_component(ids, edges)
        least = group.settings.min_group_size if group.tournament else 2
        enough = len(connected) >= least
        if group.tournament:
            self.group(group, None if enough else "no_usable_comparison", connected, counted)
        for episode in group.members:
            if enough and episode.id in connected:
                self.graded(episode, at, group, counted)
            else:
                why = causes(episode, group, counted)
                self.ungraded(episode, "no_usable_comparison", at, group, why)

    # What is still open

    def publish_open(self) -> None:
        """Publish who waits, for what and until when, and what an outside judge is asked."""
        for group in self.tenant.open.values():
            self.open_episodes(group, "closing", group.timeout)
        for group in self.tenant.waiting:
            deadline = group.closed + group.settings.window
            self.open_episodes(group, "comparisons", deadline)
            if not self._spent():
                inside = self._inside(group)
                for pair in group.wanted:
                    wanted = _still_wanted(group, pair, inside)
                    if wanted:
                        self.request(group, pair, wanted, deadline)

    def _spent(self) -> bool:
        """Return whether the ceiling admits nothing more in the period that runs."""
        settings = self.tenant.settings
        if settings.ceiling is None:
            return False
        met = self.tenant.refused.get(period(self.as_of, settings.budget_period), 0)
        return settings.ceiling <= met


def _decision_time(group: Group, inside: list[Comparison]) -> int:
    """Return the end of the window, or the earlier moment at which no pair wanted any more."""
    if group.settings.window is None:
        return group.closed
    end = group.closed + group.settings.window
    moments = [_satisfied_at(group, pair, inside) for pair in group.wanted]
    if None in moments:
        return end
    return min(end, max(group.closed, *moments))


def _satisfied_at(group: Group, pair: Pair, inside: list[Comparison]) -> int | None:
    """Return when a pair wanted no more comparisons; None while it does."""
    mine = [c for c in inside if c.is_of(pair)]
    usable = sorted(c.effective for c in mine if c.usable)
    times = [c.effective for c in mine if c.outcome == "not_applicable"]
    times += usable[group.settings.per_pair - 1 : group.settings.per_pair]
    return min(times, default=None)


def _still_wanted(group: Group, pair: Pair, inside: list[Comparison]) -> int:
    """Return how many usable comparisons a pair still wants."""
    mine = [c for c in inside if c.is_of(pair)]
    if any(c.outcome == "not_applicable" for c in mine):
        return 0
    return max(0, group.settings.per_pair - sum(c.usable for c in mine))
