"""What the walk collects: parallel lists, one per kind of object in a stored verdict."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from judgebatch.verdicts.equality import same
from judgebatch.verdicts.members import Index, Json, Mask, Pools

NOTHING: dict[str, Json] = {}
"""Stands for an object that is not there."""


def all_objects(values: Iterable[Json]) -> bool:
    """Return whether all values are JSON objects."""
    return {dict}.issuperset(map(type, values))


def all_lists(values: Iterable[Json]) -> bool:
    """Return whether all values are JSON lists."""
    return {list}.issuperset(map(type, values))


@dataclass
class Nodes:
    """One row per place where a verdict can stand: a root, or an entry of a list of attempts."""

    row: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    ordinal: list[int] = field(default_factory=list)
    origin: list[int] = field(default_factory=list)
    level: list[int] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    """Nodes whose entry is not an object."""
    cut: list[int] = field(default_factory=list)
    """Nodes at the last level that hold a verdict: nothing below them is followed."""


class Attempts:
    """Members of the entries of ``compositeAttempts`` that are objects."""

    def __init__(self, pools: Pools) -> None:
        self.node: list[int] = []
        self.name = pools.text.column()
        self.relation = pools.text.column()
        self.policy = pools.text.column()
        self.disposition = pools.text.column()
        self.reason = pools.text.column()
        self.failure = pools.text.column()
        """Its text, or the ``code`` of its object."""
        self.failure_code = pools.text.column()
        """Only where there is no ``failure``."""

    def add(self, nodes: list[int], entries: list[dict[str, Json]]) -> None:
        """Append entries."""
        self.node += nodes
        self.name.pending += [e.get("name") for e in entries]
        self.relation.pending += [e.get("relation") for e in entries]
        self.policy.pending += [e.get("policy") for e in entries]
        self.disposition.pending += [e.get("disposition") for e in entries]
        self.reason.pending += [e.get("dispositionReason") for e in entries]
        failures = [e.get("failure") for e in entries]
        codes = [
            e.get("failureCode") if f is None else None
            for e, f in zip(entries, failures, strict=True)
        ]
        # An object without a code stays an object, which is not text.
        self.failure.pending += [
            f if type(f) is not dict or f.get("code") is None else f.get("code") for f in failures
        ]
        self.failure_code.pending += codes


class CheckLists:
    """Entries of the lists of checks of judgments, and judgments that have no such list."""

    def __init__(self, pools: Pools) -> None:
        self.absent: list[int] = []
        self.not_list: list[int] = []
        self.owner: list[int] = []
        """Judgments with entries, and how many each has."""
        self.size: list[int] = []
        self.name = pools.text.column()
        self.passed = pools.truth.column()
        self.message = pools.text.column()

    def add(self, first: int, lists: list[Json]) -> None:
        """Append the lists of judgments, which are numbered from ``first``."""
        found: list[Json] = []
        if not any(lists) and all_lists(lists):
            return
        for owner, entries in enumerate(lists, first):
            if entries or type(entries) is not list:
                if type(entries) is list:
                    self.owner.append(owner)
                    self.size.append(len(entries))
                    found += entries
                else:
                    (self.absent if entries is None else self.not_list).append(owner)
        if found:
            checks = (
                found
                if all_objects(found)
                else [check if type(check) is dict else NOTHING for check in found]
            )
            self.name.pending += [check.get("name") for check in checks]
            self.passed.pending += [check.get("passed") for check in checks]
            self.message.pending += [check.get("message") for check in checks]


class Judgments:
    """Members of judgments, and of their rosters where their metadata counts one."""

    def __init__(self, pools: Pools) -> None:
        self.size = 0
        self.status = pools.text.column()
        self.reason_code = pools.text.column()
        self.score = pools.number.column()
        self.reasoning = pools.text.column()
        self.label = pools.text.column()
        self.checks = CheckLists(pools)
        self.scaled: list[int] = []
        """Judgments whose score is an object; as a number they have none."""
        self.scale_value = pools.number.column()
        self.scale_min = pools.number.column()
        self.scale_max = pools.number.column()
        self.roster: list[int] = []
        """Judgments whose metadata has a ``criteriaTotal`` or a ``constraintsTotal``."""
        self.criteria = pools.number.column()
        self.constraints = pools.number.column()

    def add(self, found: list[dict[str, Json]]) -> list[Json]:
        """Append judgments and return their metadata."""
        first = self.size
        self.size += len(found)
        self.status.pending += [j.get("status") for j in found]
        self.reason_code.pending += [j.get("reasonCode") for j in found]
        self.reasoning.pending += [j.get("reasoning") for j in found]
        self.label.pending += [j.get("label") for j in found]
        self.checks.add(first, [j.get("checks") for j in found])
        scores = [j.get("score") for j in found]
        if dict in set(map(type, scores)):
            scaled = [at for at, score in enumerate(scores) if type(score) is dict]
            held: list[Json] = [scores[at] for at in scaled]
            self.scaled += [first + at for at in scaled]
            self.scale_value.pending += [s.get("value") for s in held]
            self.scale_min.pending += [s.get("min") for s in held]
            self.scale_max.pending += [s.get("max") for s in held]
            scores = [None if type(score) is dict else score for score in scores]
        self.score.pending += scores
        metadata: list[Json] = [j.get("metadata") for j in found]
        if any(metadata):
            rosters = [
                at
                for at, block in enumerate(metadata)
                if type(block) is dict and ("criteriaTotal" in block or "constraintsTotal" in block)
            ]
            self.roster += [first + at for at in rosters]
            self.criteria.pending += [metadata[at].get("criteriaTotal") for at in rosters]
            self.constraints.pending += [metadata[at].get("constraintsTotal") for at in rosters]
        return metadata


class Seats:
    """Judges of verdicts with a list of seats: one row per entry."""

    def __init__(self, pools: Pools) -> None:
        self.body: list[int] = []
        """Nodes with such a list, and how many entries each has."""
        self.size: list[int] = []
        self.position = pools.position.column()
        self.key = pools.text.column()
        self.key_source = pools.text.column()
        self.judgment = Judgments(pools)
        self.dropped: list[int] = []
        """Entries that are not objects."""
        self.by_key: list[int] = []
        """Entries whose judgment was looked for in ``individualByName`` last."""
        self.missing: list[int] = []
        """Entries without a judgment."""

    def add(
        self, seats: list[Json], judged: list[Json], named: Iterable[dict[str, Json] | None]
    ) -> None:
        """Append entries, each with what stands at its index and with its verdict's map."""
        first = self.judgment.size
        if not all_objects(seats) or not all_objects(judged):
            for at, by_name in enumerate(named):
                if type(seats[at]) is not dict:
                    self.dropped.append(first + at)
                    seats[at] = judged[at] = NOTHING
                elif type(judged[at]) is not dict:
                    key = seats[at].get("verdictKey")
                    found = None
                    if by_name is not None and type(key) is str:
                        self.by_key.append(first + at)
                        found = by_name.get(key)
                    if type(found) is not dict:
                        self.missing.append(first + at)
                        found = NOTHING
                    judged[at] = found
        self.position.pending += [s.get("position") for s in seats]
        self.key.pending += [s.get("verdictKey") for s in seats]
        self.key_source.pending += [s.get("keySource") for s in seats]
        self.judgment.add(judged)


class Unseated:
    """Judges of verdicts without seats, from their map or else from their list."""

    def __init__(self, pools: Pools) -> None:
        self.body: list[int] = []
        self.size: list[int] = []
        self.named: list[bool] = []
        """Whether each such verdict's judges come from its map."""
        self.name = pools.text.column()
        self.judgment = Judgments(pools)
        self.missing: list[int] = []

    def add(self, judged: list[Json]) -> None:
        """Append what stands in the map or list."""
        if not all_objects(judged):
            for at, found in enumerate(judged):
                if type(found) is not dict:
                    self.missing.append(self.judgment.size + at)
                    judged[at] = NOTHING
        self.judgment.add(judged)


class Decisions:
    """Member ``decision`` of each verdict, and what a decision for a tier rests on."""

    def __init__(self, pools: Pools) -> None:
        self.absent: list[int] = []
        """Nodes without one."""
        self.not_object: list[int] = []
        self.kind = pools.text.column()
        self.tier = pools.text.column()
        self.basis = pools.text.column()
        self.unequal: list[int] = []
        """Attempts of the tier that decided whose aggregate is not the one of their parent."""
        self.body: list[int] = []
        """Such attempts with individuals that can be read, and how many each has."""
        self.size: list[int] = []
        self.individual = pools.text.column()
        """Statuses of those individuals."""
        self.unreadable: list[int] = []
        """Nodes whose individuals are no list (and there is no map), or are not all objects."""

    def add(self, nodes: list[int], decisions: list[Json]) -> None:
        """Append decisions."""
        if not all_objects(decisions):
            for at, decision in enumerate(decisions):
                if type(decision) is not dict:
                    (self.absent if decision is None else self.not_object).append(nodes[at])
                    decisions[at] = NOTHING
        self.kind.pending += [d.get("kind") for d in decisions]
        self.tier.pending += [d.get("tier") for d in decisions]
        self.basis.pending += [d.get("basis") for d in decisions]

    def add_tier(self, node: int, verdict: dict[str, Json], aggregate: Json) -> None:
        """Append what a decision for a tier needs of the verdict in one of its attempts.

        ``aggregate`` is that of the decision's own verdict; anything but an object is none.
        """
        own = verdict.get("aggregated")
        if type(own) is not dict:
            own = None
        if not same(own, aggregate if type(aggregate) is dict else None):
            self.unequal.append(node)
        individual = verdict.get("individual")
        if type(individual) is not list:
            named = verdict.get("individualByName")
            if type(named) is not dict:
                self.unreadable.append(node)
                return
            individual = list(named.values())
        if not all_objects(individual):
            self.unreadable.append(node)
            return
        self.body.append(node)
        self.size.append(len(individual))
        self.individual.pending += [j.get("status") for j in individual]


def owners(owner: list[int], size: list[int]) -> tuple[Index, Index]:
    """Return the owner of each entry of the owners' lists, and its index there."""
    counts = np.array(size, dtype=np.int64)
    each = np.repeat(np.array(owner, dtype=np.int64), counts)
    return each, np.arange(len(each)) - np.repeat(np.cumsum(counts) - counts, counts)


def flags(size: int, places: list[int]) -> Mask:
    """Return a mask that is true at the places."""
    mask = np.zeros(size, dtype=np.bool_)
    if places:
        mask[places] = True
    return mask
