"""Which episodes a corpus compares: those that the rules of grading would ask for."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from judgebatch.synthesis.episodes import Block
from judgebatch.synthesis.tenants import (
    COMPARISONS_PER_PAIR,
    QUORUM,
    TIMEOUT_HOURS,
    Ints,
    Tenants,
)

_TIMEOUT_MS = TIMEOUT_HOURS * 3_600_000
_KEY_STRIDE = 2**37
# Milliseconds of four years: composite keys of group and time stay in 64 bits.


class Pairs(NamedTuple):
    """Comparisons: the later episode is left. ``ready_ms`` is when both were there."""

    left: Ints
    right: Ints
    tenant: Ints
    task_number: Ints
    ready_ms: Ints
    advantage: npt.NDArray[np.float64]
    """Skill of the left one less skill of the right one."""


class _Members(NamedTuple):
    key: Ints
    seen_ms: Ints
    number: Ints
    tenant: Ints
    task_number: Ints
    skill: npt.NDArray[np.float64]


@dataclass
class Matchmaker:
    """Remembers references and open groups from block to block."""

    tenants: Tenants
    reference: Ints = field(init=False)
    reference_skill: npt.NDArray[np.float64] = field(init=False)
    reference_seen_ms: Ints = field(init=False)
    _open: _Members = field(init=False)

    def __post_init__(self) -> None:
        self.reference = np.full(self.tenants.tasks, -1, dtype=np.int64)
        self.reference_skill = np.zeros(self.tenants.tasks)
        self.reference_seen_ms = np.zeros(self.tenants.tasks, dtype=np.int64)
        none = np.zeros(0, dtype=np.int64)
        self._open = _Members(none, none, none, none, none, np.zeros(0))

    def match(self, block: Block) -> Pairs:
        """Return the comparisons that a block's episodes bring, ordered by the left episode."""
        both = [self._with_reference(block), self._in_groups(block)]
        merged = [np.concatenate(parts) for parts in zip(*both, strict=True)]
        order = np.lexsort((merged[1], merged[0]))
        return Pairs(*(part[order] for part in merged))

    def _with_reference(self, block: Block) -> Pairs:
        mine = np.flatnonzero(~self.tenants.is_tournament[block.tenant])
        novel = mine[self.reference[block.task[mine]] < 0]
        order = np.lexsort((block.number[novel], block.arrived_ms[novel], block.seen_ms[novel]))
        tasks, first = np.unique(block.task[novel][order], return_index=True)
        chosen = novel[order[first]]
        self.reference[tasks] = block.number[chosen]
        self.reference_skill[tasks] = block.skill[chosen]
        self.reference_seen_ms[tasks] = block.seen_ms[chosen]
        compared = mine[self.reference[block.task[mine]] != block.number[mine]]
        rows = np.repeat(compared, COMPARISONS_PER_PAIR)
        return Pairs(
            left=block.number[rows],
            right=self.reference[block.task[rows]],
            tenant=block.tenant[rows],
            task_number=block.task_number[rows],
            ready_ms=np.maximum(block.seen_ms[rows], self.reference_seen_ms[block.task[rows]]),
            advantage=block.skill[rows] - self.reference_skill[block.task[rows]],
        )

    def _in_groups(self, block: Block) -> Pairs:
        mine = np.flatnonzero(self.tenants.is_tournament[block.tenant])
        new = _Members(
            key=block.task[mine] * 2 + block.passed[mine],
            seen_ms=block.seen_ms[mine],
            number=block.number[mine],
            tenant=block.tenant[mine],
            task_number=block.task_number[mine],
            skill=block.skill[mine],
        )
        members = _sorted(self._open, new)
        group_start = _group_starts(members.key, members.seen_ms)
        self._keep_open(members, group_start)
        return _earlier_members(members, group_start, is_new=members.number >= block.number[0])

    def _keep_open(self, members: _Members, group_start: Ints) -> None:
        """Remember the last group of every key, where it can still take members."""
        size = len(members.key)
        last = np.flatnonzero(np.append(members.key[1:] != members.key[:-1], [True])[:size])
        is_last = np.zeros(size, dtype=bool)
        starts = group_start[last]
        unfilled = last - starts + 1 < QUORUM
        is_last[starts[unfilled]] = True
        # Every member from an unfilled last group's start to its key's end.
        opened = np.cumsum(is_last)
        closed = np.zeros(size, dtype=np.int64)
        ends = last[unfilled] + 1
        closed[ends[ends < size]] = 1
        kept = (opened - np.cumsum(closed)) > 0
        self._open = _take(members, kept)


def _sorted(before: _Members, new: _Members) -> _Members:
    """Return both, by group key, time and number."""
    merged = _Members._make(np.concatenate(parts) for parts in zip(before, new, strict=True))
    return _take(merged, np.lexsort((merged.number, merged.seen_ms, merged.key)))


def _take(members: _Members, rows: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> _Members:
    return _Members._make(column[rows] for column in members)


def _group_starts(key: Ints, seen_ms: Ints) -> Ints:
    """Return where the group of every member starts, in arrays sorted by key and time.

    The k-th group of every key is found for all keys at once: it ends before its quorum's next
    member, or before the first one after its time-out.
    """
    size = len(key)
    starts = np.zeros(size, dtype=np.int64)
    if size == 0:
        return starts
    place = key * _KEY_STRIDE + seen_ms
    begin = np.flatnonzero(np.append([True], key[1:] != key[:-1]))
    end_of_key = np.append(begin[1:], size)
    marks = np.zeros(size, dtype=np.int64)
    while len(begin):
        marks[begin] = begin
        timed_out = np.searchsorted(place, place[begin] + _TIMEOUT_MS, side="right")
        following = np.minimum(np.minimum(begin + QUORUM, timed_out), end_of_key)
        more = following < end_of_key
        begin, end_of_key = following[more], end_of_key[more]
    return np.maximum.accumulate(marks)


def _earlier_members(members: _Members, group_start: Ints, is_new: npt.NDArray[np.bool_]) -> Pairs:
    """Pair every new member with all earlier members of its group."""
    position = np.arange(len(members.key))
    left: list[Ints] = []
    right: list[Ints] = []
    for back in range(1, QUORUM):
        later = position[is_new & (position - back >= group_start)]
        left.append(later)
        right.append(later - back)
    later, earlier = np.concatenate(left), np.concatenate(right)
    return Pairs(
        left=members.number[later],
        right=members.number[earlier],
        tenant=members.tenant[later],
        task_number=members.task_number[later],
        ready_ms=np.maximum(members.seen_ms[later], members.seen_ms[earlier]),
        advantage=members.skill[later] - members.skill[earlier],
    )
