"""Reading the evidence that an aggregate carries: policies, counts, thresholds and weights."""

from typing import NamedTuple

import numpy as np
import polars as pl

from judgebatch.verdicts.defects import Defects, Place, Rule, Section, order_of
from judgebatch.verdicts.members import Index, Vocabulary
from judgebatch.verdicts.records import CODE_COUNTS, EVIDENCE_KEYS, Evidence, owners
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
    """Entries of ``errorCodeCounts``: the block of each, in its order."""

    block: Index
    code: pl.Series
    number: pl.Series


class EvidenceRead(NamedTuple):
    """Evidence blocks, one row each.

    ``node`` holds the block, ``columns`` has one column per member; ``code_counts`` are the
    readable entries of ``errorCodeCounts``. ``not_object`` are nodes whose block cannot be read.
    """

    node: Index
    columns: dict[str, pl.Series]
    code_counts: CodeCounts
    not_object: Index


def read_evidence(flat: Evidence, defects: Defects) -> EvidenceRead:
    """Read all evidence blocks of a batch."""
    node = np.array(flat.node, dtype=np.int64)
    not_object = np.array(flat.not_object, dtype=np.int64)
    order = order_of(Section.EVIDENCE)
    defects.add(
        _BLOCK_UNPARSEABLE,
        Place.AGGREGATE,
        not_object,
        node=not_object,
        order=np.full(len(not_object), order),
    )
    columns: dict[str, pl.Series] = {}
    texts, counts = _read_code_counts(flat, node, defects)
    for step, key in enumerate(EVIDENCE_KEYS):
        if key == CODE_COUNTS:
            columns[COLUMN_NAMES[key]] = texts
            continue
        rank = order_of(Section.EVIDENCE, index=step)
        column = flat.members[key].read()
        columns[COLUMN_NAMES[key]] = column.values
        _add(key, DefectKind.UNPARSEABLE, node[column.wrong], rank, defects)
        if key in _POLICIES:
            unknown = _POLICIES[key].codes(column.values) == Vocabulary.UNKNOWN
            _add(key, DefectKind.UNKNOWN_VOCABULARY, node[unknown], rank, defects)
    return EvidenceRead(node, columns, counts, not_object)


def _add(key: str, kind: DefectKind, node: Index, order: Index, defects: Defects) -> None:
    note = {
        DefectKind.UNPARSEABLE: f"the evidence's {key} has the wrong type or range",
        DefectKind.UNKNOWN_VOCABULARY: f"the evidence's {key} is not a known one",
    }[kind]
    rule = Rule(f"{BLOCK}.{key}", kind, note)
    defects.add(rule, Place.AGGREGATE, node, node=node, order=np.full(len(node), order))


def _read_code_counts(
    flat: Evidence, node: Index, defects: Defects
) -> tuple[pl.Series, CodeCounts]:
    """Return each block's counts as JSON text, null where it has none, and their entries."""
    order = order_of(Section.EVIDENCE, index=EVIDENCE_KEYS.index(CODE_COUNTS))
    wrong = node[flat.counts_not_object]
    _add(CODE_COUNTS, DefectKind.UNPARSEABLE, wrong, order, defects)
    if flat.dropped:
        at = node[[block for block, _, _ in flat.dropped]]
        defects.add(
            _CODE_UNPARSEABLE,
            Place.AGGREGATE,
            at,
            node=at,
            order=order + np.array([place for _, place, _ in flat.dropped]),
            suffix=pl.Series([code for _, _, code in flat.dropped]),
        )
    block, _ = owners(flat.counted, flat.size)
    counts = CodeCounts(block, flat.code.read().values, flat.count.read().values)
    return flat.counts.read().values, counts


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
