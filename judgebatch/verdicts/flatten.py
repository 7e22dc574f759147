"""The one walk over decoded verdicts: it collects members into parallel lists and judges nothing.

Verdicts are taken level by level: the roots of a chunk, then all their attempts, and so on. Each
list holds one member of one kind of object, as it was decoded; the rules are applied later, to
whole columns. Nothing here recurses, so no nesting can exhaust the stack.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any

import orjson

Json = Any
"""A decoded JSON value."""

LAST_LEVEL = 64
"""An attempt at this level is still a stage; the root's attempts are level 1."""

ROOT, ATTEMPT, SUB_VERDICT = 0, 1, 2
"""Where a node comes from: the document, ``compositeAttempts`` or ``subVerdicts``."""

_NOTHING: dict[str, Json] = {}


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


@dataclass
class Attempts:
    """Members of the entries of ``compositeAttempts`` that are objects."""

    node: list[int] = field(default_factory=list)
    name: list[Json] = field(default_factory=list)
    relation: list[Json] = field(default_factory=list)
    policy: list[Json] = field(default_factory=list)
    disposition: list[Json] = field(default_factory=list)
    reason: list[Json] = field(default_factory=list)
    failure: list[Json] = field(default_factory=list)
    failure_code: list[Json] = field(default_factory=list)

    def add(self, nodes: list[int], entries: list[dict[str, Json]]) -> None:
        """Append entries."""
        self.node += nodes
        self.name += [e.get("name") for e in entries]
        self.relation += [e.get("relation") for e in entries]
        self.policy += [e.get("policy") for e in entries]
        self.disposition += [e.get("disposition") for e in entries]
        self.reason += [e.get("dispositionReason") for e in entries]
        self.failure += [e.get("failure") for e in entries]
        self.failure_code += [e.get("failureCode") for e in entries]


@dataclass
class Judgments:
    """Members of judgments, and of their rosters where their metadata counts one."""

    status: list[Json] = field(default_factory=list)
    reason_code: list[Json] = field(default_factory=list)
    score: list[Json] = field(default_factory=list)
    reasoning: list[Json] = field(default_factory=list)
    checks: list[Json] = field(default_factory=list)
    label: list[Json] = field(default_factory=list)
    roster: list[int] = field(default_factory=list)
    """Judgments whose metadata has a ``criteriaTotal`` or a ``constraintsTotal``."""
    criteria: list[Json] = field(default_factory=list)
    constraints: list[Json] = field(default_factory=list)

    def add(self, found: list[dict[str, Json]]) -> list[Json]:
        """Append judgments and return their metadata."""
        first = len(self.status)
        self.status += [j.get("status") for j in found]
        self.reason_code += [j.get("reasonCode") for j in found]
        self.score += [j.get("score") for j in found]
        self.reasoning += [j.get("reasoning") for j in found]
        self.checks += [j.get("checks") for j in found]
        self.label += [j.get("label") for j in found]
        metadata = [j.get("metadata") for j in found]
        for at, block in enumerate(metadata):
            if (
                block
                and type(block) is dict
                and ("criteriaTotal" in block or "constraintsTotal" in block)
            ):
                self.roster.append(first + at)
                self.criteria.append(block.get("criteriaTotal"))
                self.constraints.append(block.get("constraintsTotal"))
        return metadata


EVIDENCE_KEYS = (
    "strategy",
    "errorPolicy",
    "notApplicablePolicy",
    "inputCount",
    "eligibleCount",
    "explicitAbstainCount",
    "notApplicableCount",
    "errorCount",
    "ignoredErrorCount",
    "errorsTreatedAsAbstainCount",
    "errorsTreatedAsFailCount",
    "notApplicableTreatedAsFailCount",
    "errorCodeCounts",
    "passCount",
    "failCount",
    "threshold",
    "bindingIndex",
    "inputWeight",
    "eligibleWeight",
)
"""The members of an evidence block, in the order in which they are written."""


@dataclass
class Evidence:
    """Blocks ``metadata.aggregation`` of aggregates."""

    node: list[int] = field(default_factory=list)
    members: list[list[Json]] = field(default_factory=lambda: [[] for _ in EVIDENCE_KEYS])
    not_object: list[int] = field(default_factory=list)
    """Nodes whose block is there, but is not an object."""

    def add(self, nodes: list[int], metadata: list[Json]) -> None:
        """Append the blocks of aggregates' metadata."""
        blocks = []
        for node, held in zip(nodes, metadata, strict=True):
            block = held.get("aggregation") if type(held) is dict else None
            if type(block) is dict:
                self.node.append(node)
                blocks.append(block)
            elif block is not None:
                self.not_object.append(node)
        for key, member in zip(EVIDENCE_KEYS, self.members, strict=True):
            member += [b.get(key) for b in blocks]


@dataclass
class Seats:
    """Judges of verdicts with a list of seats: one row per entry."""

    body: list[int] = field(default_factory=list)
    """Nodes with such a list, and how many entries each has."""
    size: list[int] = field(default_factory=list)
    position: list[Json] = field(default_factory=list)
    key: list[Json] = field(default_factory=list)
    key_source: list[Json] = field(default_factory=list)
    judgment: Judgments = field(default_factory=Judgments)
    dropped: list[int] = field(default_factory=list)
    """Entries that are not objects."""
    by_key: list[int] = field(default_factory=list)
    """Entries whose judgment was looked for in ``individualByName`` last."""
    missing: list[int] = field(default_factory=list)
    """Entries without a judgment."""

    def add(
        self, seats: list[Json], judged: list[Json], named: Iterator[dict[str, Json] | None]
    ) -> None:
        """Append entries, each with what stands at its index and with its verdict's map."""
        first = len(self.position)
        if not _all_objects(seats) or not _all_objects(judged):
            for at, by_name in enumerate(named):
                if type(seats[at]) is not dict:
                    self.dropped.append(first + at)
                    seats[at] = judged[at] = _NOTHING
                elif type(judged[at]) is not dict:
                    key = seats[at].get("verdictKey")
                    found = None
                    if by_name is not None and type(key) is str:
                        self.by_key.append(first + at)
                        found = by_name.get(key)
                    if type(found) is not dict:
                        self.missing.append(first + at)
                        found = _NOTHING
                    judged[at] = found
        self.position += [s.get("position") for s in seats]
        self.key += [s.get("verdictKey") for s in seats]
        self.key_source += [s.get("keySource") for s in seats]
        self.judgment.add(judged)


@dataclass
class Unseated:
    """Judges of verdicts without seats, from their map or else from their list."""

    body: list[int] = field(default_factory=list)
    size: list[int] = field(default_factory=list)
    named: list[bool] = field(default_factory=list)
    """Whether each such verdict's judges come from its map."""
    name: list[str] = field(default_factory=list)
    judgment: Judgments = field(default_factory=Judgments)
    missing: list[int] = field(default_factory=list)

    def add(self, judged: list[Json]) -> None:
        """Append what stands in the map or list."""
        if not _all_objects(judged):
            first = len(self.judgment.status)
            for at, found in enumerate(judged):
                if type(found) is not dict:
                    self.missing.append(first + at)
                    judged[at] = _NOTHING
        self.judgment.add(judged)


@dataclass
class Decisions:
    """Member ``decision`` of each verdict, and what a decision for a tier rests on."""

    absent: list[int] = field(default_factory=list)
    """Nodes without one."""
    not_object: list[int] = field(default_factory=list)
    kind: list[Json] = field(default_factory=list)
    tier: list[Json] = field(default_factory=list)
    basis: list[Json] = field(default_factory=list)
    prints: dict[int, str | None] = field(default_factory=dict)
    """A text per aggregate that is equal exactly for deeply equal aggregates; None: no object.
    Held for verdicts decided by a tier and for their attempts of that name."""
    body: list[int] = field(default_factory=list)
    """Nodes of those attempts that have a verdict, and how many individuals each has."""
    size: list[int] = field(default_factory=list)
    individual: list[Json] = field(default_factory=list)
    """Statuses of those individuals."""
    unreadable: list[int] = field(default_factory=list)
    """Nodes whose individuals are no list (and there is no map), or are not all objects."""

    def add(self, nodes: list[int], decisions: list[Json]) -> None:
        """Append decisions."""
        for at, decision in enumerate(decisions):
            if type(decision) is not dict:
                (self.absent if decision is None else self.not_object).append(nodes[at])
                decisions[at] = _NOTHING
        self.kind += [d.get("kind") for d in decisions]
        self.tier += [d.get("tier") for d in decisions]
        self.basis += [d.get("basis") for d in decisions]

    def add_tier(self, node: int, verdict: dict[str, Json]) -> None:
        """Append what a decision for a tier needs of the verdict in one of its attempts."""
        self.add_print(node, verdict.get("aggregated"))
        individual = verdict.get("individual")
        if type(individual) is not list:
            named = verdict.get("individualByName")
            if type(named) is not dict:
                self.unreadable.append(node)
                return
            individual = list(named.values())
        if not _all_objects(individual):
            self.unreadable.append(node)
            return
        self.body.append(node)
        self.size.append(len(individual))
        self.individual += [j.get("status") for j in individual]

    def add_print(self, node: int, aggregate: Json) -> None:
        """Append an aggregate's text."""
        if node not in self.prints:
            self.prints[node] = canonical(aggregate) if type(aggregate) is dict else None


@dataclass
class Flat:
    """A batch of verdicts as parallel lists."""

    nodes: Nodes = field(default_factory=Nodes)
    attempts: Attempts = field(default_factory=Attempts)
    bodies: list[int] = field(default_factory=list)
    """Nodes that hold a verdict, in the order of their decisions."""
    aggregates: list[int] = field(default_factory=list)
    """Nodes whose verdict has an aggregate, in the order of those judgments."""
    aggregate: Judgments = field(default_factory=Judgments)
    evidence: Evidence = field(default_factory=Evidence)
    with_seats: list[int] = field(default_factory=list)
    """Nodes whose verdict has seats of any type."""
    seats_not_list: list[int] = field(default_factory=list)
    map_absent: list[int] = field(default_factory=list)
    """Nodes whose verdict has neither seats nor a map."""
    seats: Seats = field(default_factory=Seats)
    unseated: Unseated = field(default_factory=Unseated)
    decisions: Decisions = field(default_factory=Decisions)

    def add(self, rows: list[int], verdicts: list[dict[str, Json]]) -> None:
        """Append decoded verdicts, each with the number of its row."""
        first = len(self.nodes.row)
        count = len(rows)
        self.nodes.row += rows
        self.nodes.parent += repeat(-1, count)
        self.nodes.ordinal += repeat(0, count)
        self.nodes.origin += repeat(ROOT, count)
        self.nodes.level += repeat(0, count)
        nodes, bodies, level = list(range(first, first + count)), verdicts, 0
        while bodies:
            self._add_judgments(nodes, bodies)
            nodes, bodies = self._add_attempts(nodes, bodies, level)
            level += 1

    def _add_judgments(self, nodes: list[int], bodies: list[dict[str, Json]]) -> None:
        """Append the aggregates and judges of one level."""
        aggregates = [b.get("aggregated") for b in bodies]
        if _all_objects(aggregates):
            held = nodes
        else:
            held = [n for n, a in zip(nodes, aggregates, strict=True) if type(a) is dict]
            aggregates = [a for a in aggregates if type(a) is dict]
        self.aggregates += held
        self.evidence.add(held, self.aggregate.add(aggregates))
        seats: list[Json] = []
        judged: list[Json] = []
        named: list[dict[str, Json] | None] = []
        sizes: list[int] = []
        loose: list[Json] = []
        for node, body in zip(nodes, bodies, strict=True):
            listed = body.get("seats")
            individual = body.get("individual")
            if type(listed) is list:
                size = len(listed)
                seats += listed
                have = individual if type(individual) is list else []
                judged += have if len(have) == size else have[:size]
                judged += repeat(None, size - len(have))
                by_name = body.get("individualByName")
                named.append(by_name if type(by_name) is dict else None)
                sizes.append(size)
                self.with_seats.append(node)
                self.seats.body.append(node)
            elif listed is not None:
                self.with_seats.append(node)
                self.seats_not_list.append(node)
            else:
                loose += self._unseated(node, individual, body.get("individualByName"))
        self.seats.size += sizes
        self.seats.add(seats, judged, chain.from_iterable(map(repeat, named, sizes)))
        self.unseated.add(loose)

    def _unseated(self, node: int, individual: Json, by_name: Json) -> list[Json]:
        """Note a verdict without seats and return its judges' judgments."""
        mapped = type(by_name) is dict
        if not mapped:
            self.map_absent.append(node)
            if type(individual) is not list:
                return []
        found = list(by_name.values()) if mapped else individual
        self.unseated.body.append(node)
        self.unseated.size.append(len(found))
        self.unseated.named.append(mapped)
        self.unseated.name += by_name if mapped else repeat("", len(found))
        return found  # type: ignore[no-any-return]

    def _add_attempts(
        self, nodes: list[int], bodies: list[dict[str, Json]], level: int
    ) -> tuple[list[int], list[dict[str, Json]]]:
        """Append the decisions and attempts of one level; return the verdicts of the next.

        Below the last level only those attempts are taken that a decision names, and only for
        the walk: they are nodes at level 65, which no table shows.
        """
        next_nodes: list[int] = []
        next_bodies: list[dict[str, Json]] = []
        self.bodies += nodes
        self.decisions.add(nodes, [b.get("decision") for b in bodies])
        if level > LAST_LEVEL:
            return [], []
        if level == LAST_LEVEL:
            self.nodes.cut += nodes
        for node, body in zip(nodes, bodies, strict=True):
            attempts, subs = body.get("compositeAttempts"), body.get("subVerdicts")
            if not attempts and not subs:
                continue
            first = len(self.nodes.row)
            decision = body.get("decision")
            tier = _named_tier(decision) if type(attempts) is list else None
            if level < LAST_LEVEL or tier is not None:
                if type(attempts) is list:
                    self._add_entries(node, attempts, ATTEMPT, level + 1)
                    self._follow_attempts(first, attempts, next_nodes, next_bodies)
                if type(subs) is list and level < LAST_LEVEL:
                    begin = len(self.nodes.row)
                    self._add_entries(node, subs, SUB_VERDICT, level + 1)
                    self._follow_subs(begin, subs, next_nodes, next_bodies)
            if tier is not None:
                self.decisions.add_print(node, body.get("aggregated"))
                for at, entry in enumerate(attempts):
                    if type(entry) is dict and entry.get("name") == tier:
                        verdict = entry.get("verdict")
                        if type(verdict) is dict:
                            self.decisions.add_tier(first + at, verdict)
        return next_nodes, next_bodies

    def _add_entries(self, parent: int, entries: list[Json], origin: int, level: int) -> None:
        count = len(entries)
        self.nodes.row += repeat(self.nodes.row[parent], count)
        self.nodes.parent += repeat(parent, count)
        self.nodes.ordinal += range(count)
        self.nodes.origin += repeat(origin, count)
        self.nodes.level += repeat(level, count)

    def _follow_attempts(
        self,
        first: int,
        entries: list[Json],
        next_nodes: list[int],
        next_bodies: list[dict[str, Json]],
    ) -> None:
        nodes = list(range(first, first + len(entries)))
        if not _all_objects(entries):
            self.nodes.dropped += [n for n in nodes if type(entries[n - first]) is not dict]
            nodes = [n for n in nodes if type(entries[n - first]) is dict]
            entries = [e for e in entries if type(e) is dict]
        self.attempts.add(nodes, entries)
        for node, entry in zip(nodes, entries, strict=True):
            verdict = entry.get("verdict")
            if type(verdict) is dict:
                next_nodes.append(node)
                next_bodies.append(verdict)

    def _follow_subs(
        self,
        first: int,
        entries: list[Json],
        next_nodes: list[int],
        next_bodies: list[dict[str, Json]],
    ) -> None:
        for node, entry in enumerate(entries, first):
            if type(entry) is dict:
                next_nodes.append(node)
                next_bodies.append(entry)
            else:
                self.nodes.dropped.append(node)


def canonical(value: Json) -> str:
    """Return a text that is equal exactly for deeply equal JSON values.

    The order of keys is irrelevant; 1 and 1.0 differ, and so do 0.0 and -0.0.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except orjson.JSONEncodeError:
        # Nested too deeply for the encoder: the same text, by a stack of our own.
        return "".join(_tokens(value))


def _tokens(value: Json) -> Iterator[str]:
    pending: list[tuple[bool, Json]] = [(False, value)]
    while pending:
        ready, item = pending.pop()
        if ready:
            yield item
        elif type(item) is dict:
            pending.append((True, "}"))
            for at, key in enumerate(sorted(item, reverse=True), 1):
                comma = "" if at == len(item) else ","
                pending.append((False, item[key]))
                pending.append((True, f"{comma}{orjson.dumps(key).decode()}:"))
            yield "{"
        elif type(item) is list:
            pending.append((True, "]"))
            for at, entry in enumerate(reversed(item), 1):
                pending.append((False, entry))
                if at < len(item):
                    pending.append((True, ","))
            yield "["
        else:
            yield orjson.dumps(item).decode()


def _named_tier(decision: Json) -> str | None:
    if type(decision) is dict and decision.get("kind") == "tier":
        tier = decision.get("tier")
        if type(tier) is str:
            return tier
    return None


def _all_objects(values: list[Json]) -> bool:
    return {dict}.issuperset(map(type, values))
