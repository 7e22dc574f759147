"""Reading the evidence that an aggregate carries: policies, counts, thresholds and weights."""

from typing import NamedTuple

import numpy as np
import polars as pl

from judgebatch.verdicts.blocks import CODE_COUNTS, EVIDENCE_KEYS, Evidence
from judgebatch.verdicts.defects import Defects, Place, Rule, Section, order_of
from judgebatch.verdicts.members import Index, Vocabulary
from judgebatch.verdicts.records import owners
from judgebatch.vocabulary import DefectKind, ErrorPolicy, NotApplicablePolicy

BLOCK = "metadata.aggregation"

_POLICIES = {
    "errorPolicy": Vocabulary(list(ErrorPolicy)),
    "notApplicablePolicy": Vocabulary(list(NotApplicablePolicy)),
}

_BLOCK_UNPARSEABLE = Rule(BLOCK, DefectKind.UNPARSEABLE, "the evidence is not an object")
_CODE_UNPARSEABLE = Rule(
    f"{BLOCK}.{CODE_COUNTS}.", DefectKind.UNPARSEABLE, "a count that is not a number was dropped"
)

COLUMN_NAMES = {
    key: "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)
    for key in EVIDENCE_KEYS
}
"""The column of each member of an evidence block."""


class CodeCounts(NamedTuple):
    """Entries of ``errorCodeCounts``: the distinct block of each, in its order."""

    block: Index
    code: pl.Series
    number: pl.Series


class EvidenceRead(NamedTuple):
    """Evidence blocks.

    ``block`` is the distinct block of each node (-1: none); ``columns`` have one row per distinct
    block and one column per member; ``code_counts`` are the readable entries of
    ``errorCodeCounts``. ``not_object`` are nodes whose block cannot be read.
    """

    block: Index
    columns: pl.DataFrame
    code_counts: CodeCounts
    not_object: Index


def read_evidence(flat: Evidence, size: int, defects: Defects) -> EvidenceRead:
    """Read all evidence blocks of a batch of ``size`` nodes."""
    flat.seal()
    block = np.full(size, -1, dtype=np.int64)
    block[flat.node] = flat.block
    not_object = np.array(flat.not_object, dtype=np.int64)
    order = np.full(len(not_object), order_of(Section.EVIDENCE))
    defects.add(_BLOCK_UNPARSEABLE, Place.AGGREGATE, not_object, node=not_object, order=order)
    found = _Found(np.array(flat.node, dtype=np.int64), block[flat.node], defects)
    columns: dict[str, pl.Series] = {}
    for step, key in enumerate(EVIDENCE_KEYS):
        rank = order_of(Section.EVIDENCE, index=step)
        if key == CODE_COUNTS:
            columns[COLUMN_NAMES[key]] = flat.counts.read().values
            found.add(key, DefectKind.UNPARSEABLE, flat.counts_not_object, rank)
            found.add_dropped(flat.dropped, rank)
            continue
        column = flat.members[key].read()
        columns[COLUMN_NAMES[key]] = column.values
        found.add(key, DefectKind.UNPARSEABLE, np.flatnonzero(column.wrong), rank)
        if key in _POLICIES:
            unknown = _POLICIES[key].codes(column.values) == Vocabulary.UNKNOWN
            found.add(key, DefectKind.UNKNOWN_VOCABULARY, np.flatnonzero(unknown), rank)
    of, _ = owners(flat.counted, flat.size)
    counts = CodeCounts(of, flat.code.read().values, flat.count.read().values)
    return EvidenceRead(block, pl.DataFrame(columns), counts, not_object)


class _Found(NamedTuple):
    """Takes what is wrong with distinct blocks to all the nodes that hold them."""

    node: Index
    block: Index
    defects: Defects

    def add(self, key: str, kind: DefectKind, blocks: Index | list[int], order: Index) -> None:
        if not len(blocks):
            return
        rule = Rule(f"{BLOCK}.{key}", kind, f"the evidence's {key} {_NOTES[kind]}")
        node = self.node[np.isin(self.block, blocks)]
        self.defects.add(rule, Place.AGGREGATE, node, node=node, order=np.full(len(node), order))

    def add_dropped(self, dropped: list[tuple[int, int, str]], order: Index) -> None:
        if not dropped:
            return
        entries = pl.DataFrame(
            dropped, schema={"block": pl.Int64, "place": pl.Int64, "code": pl.String}, orient="row"
        )
        held = pl.DataFrame({"block": self.block, "node": self.node})
        hits = held.join(entries, on="block", how="inner")
        node = hits["node"].to_numpy()
        self.defects.add(
            _CODE_UNPARSEABLE,
            Place.AGGREGATE,
            node,
            node=node,
            order=order + hits["place"].to_numpy(),
            suffix=hits["code"],
        )


_NOTES = {
    DefectKind.UNPARSEABLE: "has the wrong type or range",
    DefectKind.UNKNOWN_VOCABULARY: "is not a known one",
}


def json_counts(block: Index, code: pl.Series, count: pl.Series) -> pl.DataFrame:
    """Return one JSON text of counts per block (columns ``block`` and ``text``)."""
    return (
        pl.DataFrame({"block": block, "entry": json_text(code) + ":" + count.cast(pl.String)})
        .group_by("block", maintain_order=True)
        .agg(pl.col("entry").str.join(","))
        .select("block", text="{" + pl.col("entry") + "}")
    )


def json_text(values: pl.Series) -> pl.Series:
    """Return each text as a JSON string."""
    encoded = pl.DataFrame({"t": values}).select(pl.struct("t").struct.json_encode()).to_series()
    return encoded.str.slice(5).str.head(-1)
