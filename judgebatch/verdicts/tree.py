"""The nodes of a batch: their order, names and paths."""

from functools import cached_property

import numpy as np
import polars as pl
import pyarrow as pa

from judgebatch.verdicts.flatten import ATTEMPT, LAST_LEVEL, ROOT, SUB_VERDICT, Flat
from judgebatch.verdicts.members import Index, Mask


class Tree:
    """One row per node; a node's number is its index.

    Attributes
    ----------
    row, parent, ordinal, origin, level
        Integers per node; a root's parent is -1.
    entry
        Whether the node is a root or an object: all but dropped entries.
    body
        Whether the node holds a verdict.
    shown
        Whether tables show the node: roots and stages.
    rank
        Place in the order of the documents, depth first inside each.
    attempt_name
        The names of attempts, in the order of the attempts.
    """

    def __init__(self, flat: Flat) -> None:
        nodes = flat.nodes
        self.row: Index = np.array(nodes.row, dtype=np.int64)
        self.parent: Index = np.array(nodes.parent, dtype=np.int64)
        self.ordinal: Index = np.array(nodes.ordinal, dtype=np.int64)
        self.origin: Index = np.array(nodes.origin, dtype=np.int64)
        self.level: Index = np.array(nodes.level, dtype=np.int64)
        self.size = len(self.row)
        self.entry: Mask = np.ones(self.size, dtype=np.bool_)
        self.entry[nodes.dropped] = False
        self.body: Mask = np.zeros(self.size, dtype=np.bool_)
        self.body[flat.bodies] = True
        self.shown: Mask = self.entry & (self.level <= LAST_LEVEL)
        self.roots: Index = np.flatnonzero(self.origin == ROOT)
        self.deepest = int(self.level.max(initial=0))
        self.rank = self._rank()
        self.attempt_name = flat.attempts.name.read()
        self._attempt_nodes = np.array(flat.attempts.node, dtype=np.int64)

    def _rank(self) -> Index:
        """Return each node's place in the depth-first order of all documents."""
        size = np.ones(self.size, dtype=np.int64)
        levels = [np.flatnonzero(self.level == level) for level in range(self.deepest + 1)]
        for nodes in reversed(levels[1:]):
            np.add.at(size, self.parent[nodes], size[nodes])
        rank = np.zeros(self.size, dtype=np.int64)
        rank[levels[0]] = np.cumsum(size[levels[0]]) - size[levels[0]]
        for nodes in levels[1:]:
            # Siblings are neighbours: each starts where the ones before it end.
            before = np.cumsum(size[nodes]) - size[nodes]
            parents = self.parent[nodes]
            starts = np.flatnonzero(np.append(True, parents[1:] != parents[:-1]))
            first = np.repeat(before[starts], np.diff(np.append(starts, len(nodes))))
            rank[nodes] = rank[parents] + 1 + before - first
        return rank

    def _down(self, root: str, step: pl.Series) -> pl.Series:
        """Return a text per node: its parent's, followed by its own step."""
        texts = pl.Series([root]).new_from_index(0, self.size)
        for level in range(1, self.deepest + 1):
            at = np.flatnonzero(self.level == level)
            texts = texts.scatter(at, texts.gather(self.parent[at]) + step.gather(at))
        return texts

    @cached_property
    def pointer(self) -> pl.Series:
        """The names on the way to each node as an RFC 6901 pointer; nameless ones are left out."""
        none = pl.Series([""]).new_from_index(0, self.size)
        if self.deepest == 0:
            return none
        steps = pointer_step(self.attempt_name.values).fill_null("")
        steps = none.clone().scatter(self._attempt_nodes, steps)
        return self._down("", steps)

    @cached_property
    def entry_path(self) -> pl.Series:
        """The path of each entry, before its ``.verdict``."""
        if self.deepest == 0:
            return self.body_path
        parents = np.maximum(self.parent, 0)
        paths = self.body_path.gather(parents) + self._entry_step
        return paths.scatter(self.roots, "verdict")

    @cached_property
    def body_path(self) -> pl.Series:
        """The path of the verdict in each node."""
        if self.deepest == 0:
            return pl.Series(["verdict"]).new_from_index(0, self.size)
        verdict = texts_by(self.origin, {ROOT: "", ATTEMPT: ".verdict", SUB_VERDICT: ""})
        return self._down("verdict", self._entry_step + verdict)

    @cached_property
    def _entry_step(self) -> pl.Series:
        member = texts_by(
            self.origin, {ROOT: "", ATTEMPT: ".compositeAttempts[", SUB_VERDICT: ".subVerdicts["}
        )
        return member + pl.Series(self.ordinal).cast(pl.String) + "]"


def pointer_step(names: pl.Series) -> pl.Series:
    """Return each name as a step of an RFC 6901 pointer."""
    return "/" + names.str.replace_all("~", "~0", literal=True).str.replace_all(
        "/", "~1", literal=True
    )


def take(values: pl.Series, at: Index) -> pl.Series:
    """Return the values at given places; null at -1."""
    return values.gather(places(at))


def take_rows(frame: pl.DataFrame, at: Index) -> pl.DataFrame:
    """Return the rows at given places; null at -1."""
    return frame.select(pl.all().gather(places(at)))


def places(at: Index) -> pl.Series:
    """Return places to take values from; -1 takes null."""
    return pl.Series(pa.array(at, mask=at < 0))


def texts_by(codes: Index, texts: dict[int, str]) -> pl.Series:
    """Return the text of each code."""
    known = np.zeros(max(texts) + 1, dtype=np.int64)
    known[list(texts)] = np.arange(len(texts))
    return pl.Series(list(texts.values())).gather(known[codes])
