"""Reading who judged: seats, or what legacy verdicts have instead, and where judgments stand."""

from typing import NamedTuple

import numpy as np
import polars as pl

from judgebatch.verdicts import members
from judgebatch.verdicts.defects import Defects, Place, Rule, Section, order_of
from judgebatch.verdicts.flatten import ROOT, Flat
from judgebatch.verdicts.judgments import JUDGMENT_ABSENT, Where, order_of_judgment
from judgebatch.verdicts.members import Index, Mask, Vocabulary
from judgebatch.verdicts.records import flags, owners
from judgebatch.verdicts.tree import Tree
from judgebatch.vocabulary import DefectKind, KeySource

_ABSENT, _UNPARSEABLE = DefectKind.ABSENT, DefectKind.UNPARSEABLE
_KEY_SOURCES = Vocabulary(list(KeySource))

_AGGREGATE_ABSENT = Rule("aggregated", _ABSENT, "the verdict has no aggregate")
_SEATS_ABSENT = Rule("seats", _ABSENT, "the verdict has no list of seats")
_SEATS_UNPARSEABLE = Rule("seats", _UNPARSEABLE, "the seats are not a list")
_SEAT_UNPARSEABLE = Rule("seats", _UNPARSEABLE, "a seat that is not an object was dropped")
_POSITION_UNPARSEABLE = Rule(
    "position", _UNPARSEABLE, "the position is not a number; the seat's index stands for it"
)
_KEY_ABSENT = Rule("verdictKey", _ABSENT, "the seat names no key as text")
_SOURCE_ABSENT = Rule("keySource", _ABSENT, "the seat does not say where its key comes from")
_SOURCE_UNPARSEABLE = Rule("keySource", _UNPARSEABLE, "the key source is not text")
_SOURCE_UNKNOWN = Rule("keySource", DefectKind.UNKNOWN_VOCABULARY, "the key source is not known")
_MAP_ABSENT = Rule("individualByName", _ABSENT, "neither seats nor a map name the judges")


class Judges(NamedTuple):
    """Judges: one row per seat and per unseated judge, dropped seats included.

    ``accepted`` tells the judges from the dropped seats. A judge's judgment is the one whose
    number is the judge's, behind those of the aggregates.
    """

    node: Index
    at: Index
    accepted: Mask
    position: pl.Series
    name: pl.Series
    key_source: pl.Series


def read_judges(flat: Flat, tree: Tree, defects: Defects) -> tuple[Judges, Where]:
    """Read all seats and unseated judges of a batch; say where all judgments stand."""
    _read_bodies(flat, tree, defects)
    seat_node, seat_index = owners(flat.seats.body, flat.seats.size)
    loose_node, loose_index = owners(flat.unseated.body, flat.unseated.size)
    dropped = flags(len(seat_node), flat.seats.dropped)
    position, key, source = _read_seats(flat, seat_node, seat_index, dropped, defects)

    aggregate = np.array(flat.aggregates, dtype=np.int64)
    node = np.concatenate([seat_node, loose_node])
    index = np.concatenate([seat_index, loose_index])
    accepted = np.concatenate([~dropped, np.ones(len(loose_node), dtype=np.bool_)])
    name = pl.concat([key, flat.unseated.name.read().values])
    no_source = pl.Series([None], dtype=pl.String).new_from_index(0, len(loose_node))
    judges = Judges(
        node=node,
        at=index,
        accepted=accepted,
        position=pl.concat([position, pl.Series(loose_index)]),
        name=name,
        key_source=pl.concat([source, no_source]),
    )

    mapped = np.repeat(np.array(flat.unseated.named, dtype=np.bool_), flat.unseated.size)
    by_key = [
        np.zeros(len(aggregate), dtype=np.bool_),
        flags(len(seat_node), flat.seats.by_key),
        mapped,
    ]
    missing = [
        np.zeros(len(aggregate), dtype=np.bool_),
        flags(len(seat_node), flat.seats.missing),
        flags(len(loose_node), flat.unseated.missing),
    ]
    unnamed = pl.Series([None], dtype=pl.String).new_from_index(0, len(aggregate))
    sections = [Section.AGGREGATE, Section.JUDGES]
    at = Where(
        node=np.concatenate([aggregate, node]),
        section=np.repeat(np.array(sections, dtype=np.int64), [len(aggregate), len(node)]),
        at=np.concatenate([np.full(len(aggregate), -1), index]),
        missing=np.concatenate(missing),
        by_key=np.concatenate(by_key),
        name=pl.concat([unnamed, name]),
    )
    hits = np.flatnonzero(at.missing)
    order = order_of_judgment(at)[hits] + (3 << 27)
    defects.add(JUDGMENT_ABSENT, Place.JUDGMENT, hits, node=at.node[hits], order=order)
    silent = at.missing.copy()
    silent[len(aggregate) : len(aggregate) + len(seat_node)] |= dropped
    return judges, at._replace(missing=silent)


def _read_bodies(flat: Flat, tree: Tree, defects: Defects) -> None:
    """Find verdicts without an aggregate, or whose judges cannot be listed as they should."""
    held = flags(tree.size, flat.aggregates)
    bare = np.flatnonzero(tree.body & ~held)
    order = np.full(len(bare), order_of(Section.AGGREGATE))
    defects.add(_AGGREGATE_ABSENT, Place.VERDICT, bare, node=bare, order=order)
    seated = flags(tree.size, flat.with_seats)
    legacy = np.flatnonzero((tree.origin == ROOT) & ~seated)
    _add(_SEATS_ABSENT, legacy, 0, defects)
    _add(_SEATS_UNPARSEABLE, np.array(flat.seats_not_list, dtype=np.int64), 0, defects)
    _add(_MAP_ABSENT, np.array(flat.map_absent, dtype=np.int64), 1, defects)


def _add(rule: Rule, node: Index, step: int, defects: Defects) -> None:
    order = np.full(len(node), order_of(Section.JUDGES, step=step))
    defects.add(rule, Place.VERDICT, node, node=node, order=order)


def _read_seats(
    flat: Flat, node: Index, index: Index, dropped: Mask, defects: Defects
) -> tuple[pl.Series, pl.Series, pl.Series]:
    """Return position, key and key source of each seat."""
    order = order_of(Section.JUDGES, index=index)

    def add(rule: Rule, mask: Mask, step: int) -> None:
        hits = np.flatnonzero(mask & ~dropped)
        defects.add(rule, Place.SEAT, hits, node=node[hits], order=order[hits] + (step << 27))

    hits = np.flatnonzero(dropped)
    if len(hits):
        suffix = "[" + pl.Series(index[hits]).cast(pl.String) + "]"
        defects.add(
            _SEAT_UNPARSEABLE,
            Place.VERDICT,
            node[hits],
            node=node[hits],
            order=order[hits],
            suffix=suffix,
        )
    position = flat.seats.position.read()
    nowhere = members.nulls(position.values)
    add(_POSITION_UNPARSEABLE, nowhere, 0)
    positions = position.values
    if nowhere.any():
        positions = positions.zip_with(pl.Series(~nowhere), pl.Series(index))
    key = flat.seats.key.read()
    add(_KEY_ABSENT, members.nulls(key.values), 1)
    source = flat.seats.key_source.read()
    add(_SOURCE_ABSENT, source.absent, 2)
    add(_SOURCE_UNPARSEABLE, source.wrong, 2)
    add(_SOURCE_UNKNOWN, _KEY_SOURCES.codes(source.values) == Vocabulary.UNKNOWN, 2)
    return positions, key.values.fill_null(""), source.values
