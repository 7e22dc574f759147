"""What is wrong with stored verdicts: collected rule by rule, ordered and spelled out at the end.

A rule adds the places that it hits as integers. Paths are built once, for those places only.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import polars as pl

from judgebatch.verdicts.members import Index
from judgebatch.vocabulary import DefectKind


class Rule(NamedTuple):
    """A kind of defect at a member, with a note for people."""

    field: str
    kind: DefectKind
    note: str


class Phase(IntEnum):
    """Defects of the whole tree come first, then those of the walk, then those of support."""

    TREE = 0
    WALK = 1
    SUPPORT = 2


class Section(IntEnum):
    """The order inside one node of the tree."""

    ATTEMPT = 0
    AGGREGATE = 1
    EVIDENCE = 2
    JUDGES = 3
    CUT = 4


class Place(IntEnum):
    """What a defect's place is a number of."""

    VERDICT = 0
    """A node: the verdict in it."""
    ENTRY = 1
    """A node: the entry of the list of attempts."""
    DECISION = 2
    """A node: its verdict's decision."""
    AGGREGATE = 3
    """A node: its verdict's aggregate."""
    JUDGMENT = 4
    SEAT = 5
    CHECK = 6


@dataclass
class _Piece:
    rule: int
    place: Place
    at: Index
    node: Index
    phase: Phase
    order: Index
    suffix: pl.Series | None


@dataclass
class Defects:
    """A batch's defects."""

    rules: list[Rule] = field(default_factory=list)
    pieces: list[_Piece] = field(default_factory=list)

    def add(
        self,
        rule: Rule,
        place: Place,
        at: Index,
        *,
        node: Index,
        order: Index,
        phase: Phase = Phase.TREE,
        suffix: pl.Series | None = None,
    ) -> None:
        """Add a rule's hits.

        Parameters
        ----------
        rule
            What is wrong.
        place, at
            Where it stands, as numbers of that kind of place.
        node, order, phase
            The node whose turn it is when the defect is found, and the order inside that turn.
        suffix
            Text to append to the rule's field.
        """
        if not len(at):
            return
        self.rules.append(rule)
        self.pieces.append(_Piece(len(self.rules) - 1, place, at, node, phase, order, suffix))


def order_of(
    section: Section, *, index: Index | int = -1, step: Index | int = 0, detail: Index | int = 0
) -> Index:
    """Return the order inside a node: section, entry, step inside the entry, part of that step."""
    base = (np.asarray(index, dtype=np.int64) + 1) << 31
    inner = (np.asarray(step, dtype=np.int64) << 27) + np.asarray(detail, dtype=np.int64)
    return np.asarray((np.int64(section) << 60) + base + inner)
