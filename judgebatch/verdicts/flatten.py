"""The one walk over decoded verdicts: it collects members into parallel lists and judges nothing.

Verdicts are taken level by level: the roots of a chunk, then all their attempts, and so on. Each
list holds one member of one kind of object, as it was decoded; the rules are applied later, to
whole columns. Nothing here recurses, so no nesting can exhaust the stack.
"""

from itertools import chain, repeat

from judgebatch.verdicts.blocks import Evidence
from judgebatch.verdicts.members import Json, Pools
from judgebatch.verdicts.records import (
    Attempts,
    Decisions,
    Judgments,
    Nodes,
    Seats,
    Unseated,
    all_lists,
    all_objects,
)

LAST_LEVEL = 64
"""An attempt at this level is still a stage; the root's attempts are level 1."""

ROOT, ATTEMPT, SUB_VERDICT = 0, 1, 2
"""Where a node comes from: the document, ``compositeAttempts`` or ``subVerdicts``."""

Object = dict[str, Json]


class Flat:
    """A batch of verdicts as parallel lists."""

    def __init__(self) -> None:
        self._pools = Pools()
        self.nodes = Nodes()
        self.attempts = Attempts(self._pools)
        self.bodies: list[int] = []
        """Nodes that hold a verdict, in the order of their decisions."""
        self.aggregates: list[int] = []
        """Nodes whose verdict has an aggregate, in the order of those judgments."""
        self.aggregate = Judgments(self._pools)
        self.evidence = Evidence(self._pools)
        self.with_seats: list[int] = []
        """Nodes whose verdict has seats of any type."""
        self.seats_not_list: list[int] = []
        self.map_absent: list[int] = []
        """Nodes whose verdict has neither seats nor a map."""
        self.seats = Seats(self._pools)
        self.unseated = Unseated(self._pools)
        self.decisions = Decisions(self._pools)

    def add(self, rows: list[int], verdicts: list[Object]) -> None:
        """Append a chunk of decoded verdicts, each with the number of its row."""
        if not rows:
            return
        first = len(self.nodes.row)
        count = len(rows)
        self.nodes.row += rows
        self.nodes.parent += repeat(-1, count)
        self.nodes.ordinal += repeat(0, count)
        self.nodes.origin += repeat(ROOT, count)
        self.nodes.level += repeat(0, count)
        nodes, bodies, level = list(range(first, first + count)), verdicts, 0
        all_nodes, all_bodies = nodes, bodies
        while level <= LAST_LEVEL:
            nodes, bodies = self._add_attempts(nodes, bodies, level)
            if not bodies:
                break
            all_nodes, all_bodies = all_nodes + nodes, all_bodies + bodies
            level += 1
        self.bodies += all_nodes
        self.decisions.add(all_nodes, [b.get("decision") for b in all_bodies])
        self._add_judgments(all_nodes, all_bodies)
        self._pools.seal()

    def _add_judgments(self, nodes: list[int], bodies: list[Object]) -> None:
        """Append the aggregates and judges of verdicts."""
        aggregates: list[Json] = [b.get("aggregated") for b in bodies]
        held = nodes
        if not all_objects(aggregates):
            held = [n for n, a in zip(nodes, aggregates, strict=True) if type(a) is dict]
            aggregates = [a for a in aggregates if type(a) is dict]
        self.aggregates += held
        self.evidence.add(held, self.aggregate.add(aggregates))
        listed: list[Json] = [b.get("seats") for b in bodies]
        if None in listed:
            loose = [at for at, seats in enumerate(listed) if seats is None]
            self._add_unseated([nodes[at] for at in loose], [bodies[at] for at in loose])
            kept = [at for at, seats in enumerate(listed) if seats is not None]
            nodes, bodies = [nodes[at] for at in kept], [bodies[at] for at in kept]
            listed = [listed[at] for at in kept]
        self.with_seats += nodes
        if not all_lists(listed):
            self.seats_not_list += [
                n for n, seats in zip(nodes, listed, strict=True) if type(seats) is not list
            ]
            kept = [at for at, seats in enumerate(listed) if type(seats) is list]
            nodes, bodies = [nodes[at] for at in kept], [bodies[at] for at in kept]
            listed = [listed[at] for at in kept]
        if nodes:
            self._add_seated(nodes, bodies, listed)

    def _add_seated(self, nodes: list[int], bodies: list[Object], listed: list[list[Json]]) -> None:
        """Append the judges of verdicts with a list of seats."""
        sizes = list(map(len, listed))
        individual: list[Json] = [b.get("individual") for b in bodies]
        if not all_lists(individual) or list(map(len, individual)) != sizes:
            individual = [
                _of_size(one if type(one) is list else [], size)
                for one, size in zip(individual, sizes, strict=True)
            ]
        named = (
            by_name if type(by_name) is dict else None
            for by_name in (b.get("individualByName") for b in bodies)
        )
        self.seats.body += nodes
        self.seats.size += sizes
        self.seats.add(
            list(chain.from_iterable(listed)),
            list(chain.from_iterable(individual)),
            chain.from_iterable(map(repeat, named, sizes)),
        )

    def _add_unseated(self, nodes: list[int], bodies: list[Object]) -> None:
        """Append the judges of verdicts without seats."""
        maps: list[Json] = [b.get("individualByName") for b in bodies]
        if all_objects(maps):
            self.unseated.body += nodes
            self.unseated.size += map(len, maps)
            self.unseated.named += repeat(True, len(nodes))
            self.unseated.name.pending += chain.from_iterable(maps)
            self.unseated.add(list(chain.from_iterable(map(dict.values, maps))))
            return
        found: list[Json] = []
        for node, body, by_name in zip(nodes, bodies, maps, strict=True):
            found += self._unseated(node, body.get("individual"), by_name)
        if found:
            self.unseated.add(found)

    def _unseated(self, node: int, individual: Json, by_name: Json) -> list[Json]:
        """Note a verdict without seats and return its judges' judgments."""
        if type(by_name) is dict:
            found, names = list(by_name.values()), list(by_name)
        else:
            self.map_absent.append(node)
            if type(individual) is not list:
                return []
            found, names = individual, [""] * len(individual)
        self.unseated.body.append(node)
        self.unseated.size.append(len(found))
        self.unseated.named.append(type(by_name) is dict)
        self.unseated.name.pending += names
        return found

    def _add_attempts(
        self, nodes: list[int], bodies: list[Object], level: int
    ) -> tuple[list[int], list[Object]]:
        """Append the decisions and attempts of one level; return the verdicts of the next.

        Below the last level only the attempts of a verdict that a tier decided are taken, and only
        for the walk: they are nodes at level 65, which no table shows.
        """
        if level == LAST_LEVEL:
            self.nodes.cut += nodes
        entries: list[Json] = []
        entry_nodes: list[int] = []
        sub_entries: list[Json] = []
        sub_nodes: list[int] = []
        attempts = [b.get("compositeAttempts") for b in bodies]
        subs = [b.get("subVerdicts") for b in bodies]
        for at in [i for i, one in enumerate(zip(attempts, subs, strict=True)) if any(one)]:
            node, body = nodes[at], bodies[at]
            listed, below = attempts[at], subs[at]
            if listed and type(listed) is list:
                tier = _named_tier(body.get("decision"))
                if level < LAST_LEVEL or tier is not None:
                    entry_nodes += self._add_nodes(node, len(listed), ATTEMPT, level + 1)
                    entries += listed
                if tier is not None:
                    self._add_tier(body, tier, listed)
            if below and type(below) is list and level < LAST_LEVEL:
                sub_nodes += self._add_nodes(node, len(below), SUB_VERDICT, level + 1)
                sub_entries += below
        if not entries and not sub_entries:
            return [], []
        entry_nodes, entries = self._objects(entry_nodes, entries)
        sub_nodes, sub_entries = self._objects(sub_nodes, sub_entries)
        self.attempts.add(entry_nodes, entries)
        verdicts = [e.get("verdict") for e in entries]
        if not all_objects(verdicts):
            kept = [at for at, verdict in enumerate(verdicts) if type(verdict) is dict]
            entry_nodes = [entry_nodes[at] for at in kept]
            verdicts = [verdicts[at] for at in kept]
        return entry_nodes + sub_nodes, verdicts + sub_entries

    def _add_tier(self, body: Object, tier: str, attempts: list[Json]) -> None:
        """Append what a decision for a tier needs; its attempts are the newest nodes."""
        aggregate = body.get("aggregated")
        for at, entry in enumerate(attempts, len(self.nodes.row) - len(attempts)):
            if type(entry) is dict and entry.get("name") == tier:
                verdict = entry.get("verdict")
                if type(verdict) is dict:
                    self.decisions.add_tier(at, verdict, aggregate)

    def _add_nodes(self, parent: int, count: int, origin: int, level: int) -> range:
        first = len(self.nodes.row)
        self.nodes.row += repeat(self.nodes.row[parent], count)
        self.nodes.parent += repeat(parent, count)
        self.nodes.ordinal += range(count)
        self.nodes.origin += repeat(origin, count)
        self.nodes.level += repeat(level, count)
        return range(first, first + count)

    def _objects(self, nodes: list[int], entries: list[Json]) -> tuple[list[int], list[Json]]:
        """Return the entries that are objects; the others are dropped nodes."""
        if all_objects(entries):
            return nodes, entries
        is_object = [type(entry) is dict for entry in entries]
        self.nodes.dropped += [n for n, good in zip(nodes, is_object, strict=True) if not good]
        return (
            [n for n, good in zip(nodes, is_object, strict=True) if good],
            [e for e, good in zip(entries, is_object, strict=True) if good],
        )


def _of_size(entries: list[Json], size: int) -> list[Json]:
    """Return the first entries, with None for what is missing."""
    return entries[:size] + [None] * (size - len(entries))


def _named_tier(decision: Json) -> str | None:
    if type(decision) is dict and decision.get("kind") == "tier":
        tier = decision.get("tier")
        if type(tier) is str:
            return tier
    return None
