"""Interpretation of stored verdicts: texts in, tables out."""

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import orjson
import polars as pl

from judgebatch.verdicts.attempts import read_attempts
from judgebatch.verdicts.defects import Defects
from judgebatch.verdicts.evidence import json_counts, json_text, read_evidence
from judgebatch.verdicts.flatten import Flat
from judgebatch.verdicts.judges import read_judges
from judgebatch.verdicts.judgments import (
    CODE,
    ERROR,
    STATUSES,
    read_judgments,
)
from judgebatch.verdicts.members import Index, Json
from judgebatch.verdicts.records import all_objects, owners
from judgebatch.verdicts.summary import summaries
from judgebatch.verdicts.support import check_support
from judgebatch.verdicts.tables import (
    KINDS,
    Parts,
    check_table,
    defect_table,
    first_judge,
    judge_table,
    node_columns,
    stage_table,
    vacuous_rows,
)
from judgebatch.verdicts.tree import Tree
from judgebatch.verdicts.walk import REJECTION, Walk, walk
from judgebatch.vocabulary import Reading, ReadingSupport, ReasonCode, Status

CHUNK = 192
"""Verdicts whose decoded form is held at once: few enough to stay in a processor's cache."""
CHUNK_BYTES = 1 << 17
"""A chunk also ends with the text that brings it to this size."""

_READING_OF = {
    Status.PASS: Reading.ACCEPTED,
    Status.FAIL: Reading.REJECTED,
    Status.ABSTAIN: Reading.UNDECIDED,
    Status.NOT_APPLICABLE: Reading.NOT_APPLICABLE,
    Status.ERROR: Reading.NOT_ASSESSED,
}


class InterpretedBatch(NamedTuple):
    """Tables of a batch, each keyed by ``row``: the index of the text in its series."""

    interpretations: pl.DataFrame
    """One row per readable text."""
    stages: pl.DataFrame
    judges: pl.DataFrame
    checks: pl.DataFrame
    defects: pl.DataFrame
    unreadable: pl.DataFrame
    """Texts that are no JSON objects: ``row`` and ``message``, with the parser's position."""


def interpret_texts(texts: pl.Series) -> InterpretedBatch:
    """Interpret stored verdicts.

    Parameters
    ----------
    texts
        Verdicts as JSON text.

    Returns
    -------
    InterpretedBatch
        All tables; nothing in a text raises.
    """
    flat = Flat()
    rows: list[int] = []
    unreadable: list[tuple[int, str]] = []
    with _uncollected():
        for first, last in _chunks(texts):
            numbers, found = _decoded(texts[first:last].to_list(), first, unreadable)
            flat.add(list(range(len(rows), len(rows) + len(numbers))), found)
            rows += numbers
    return _interpret(flat, np.array(rows, dtype=np.int64), unreadable)


def unreadable_texts(texts: pl.Series) -> pl.DataFrame:
    """Return ``row`` and ``message`` of texts that are no JSON objects, and read no further."""
    unreadable: list[tuple[int, str]] = []
    with _uncollected():
        for first, last in _chunks(texts):
            _decoded(texts[first:last].to_list(), first, unreadable)
    return _unreadable(unreadable)


def _unreadable(rows: list[tuple[int, str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"row": pl.Int64, "message": pl.String}, orient="row")


def _decoded(
    texts: list[str | None], first: int, unreadable: list[tuple[int, str]]
) -> tuple[Sequence[int], list[dict[str, Json]]]:
    """Return the objects among texts numbered from ``first``; note the others."""
    try:
        decoded = [orjson.loads(text) for text in texts]  # type: ignore[arg-type]
    except orjson.JSONDecodeError:
        decoded = []
    if decoded and all_objects(decoded):
        return range(first, first + len(decoded)), decoded
    found: list[dict[str, Json]] = []
    numbers: list[int] = []
    for row, text in enumerate(texts, first):
        try:
            verdict = orjson.loads("" if text is None else text)
        except orjson.JSONDecodeError as error:
            unreadable.append((row, str(error)))
            continue
        if type(verdict) is dict:
            found.append(verdict)
            numbers.append(row)
        else:
            unreadable.append((row, f"{_TYPES[type(verdict)]} instead of a JSON object"))
    return numbers, found


def interpret_objects(verdicts: Sequence[dict[str, Json]]) -> InterpretedBatch:
    """Interpret verdicts that are decoded already, by the same rules."""
    flat = Flat()
    for first in range(0, len(verdicts), CHUNK):
        chunk = list(verdicts[first : first + CHUNK])
        flat.add(list(range(first, first + len(chunk))), chunk)
    return _interpret(flat, np.arange(len(verdicts)), [])


@contextmanager
def _uncollected() -> Iterator[None]:
    """Keep the garbage collector from visiting decoded documents, which hold no cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


_TYPES = {list: "a list", str: "a text", int: "a number", float: "a number", bool: "true or false"}
_TYPES[type(None)] = "null"


def _chunks(texts: pl.Series) -> Iterator[tuple[int, int]]:
    """Return where chunks begin and end."""
    ends = np.cumsum(texts.str.len_bytes().fill_null(0).cast(pl.Int64).to_numpy())
    first = 0
    while first < len(texts):
        full = ends[first - 1] + CHUNK_BYTES if first else CHUNK_BYTES
        last = min(first + CHUNK, int(np.searchsorted(ends, full)) + 1, len(texts))
        yield first, last
        first = last


def _interpret(flat: Flat, rows: Index, unreadable: list[tuple[int, str]]) -> InterpretedBatch:
    defects = Defects()
    tree = Tree(flat)
    judges, where = read_judges(flat, tree, defects)
    judged = read_judgments(flat, where, defects)
    evidence = read_evidence(flat.evidence, tree.size, defects)
    attempts = read_attempts(flat, tree, defects)
    aggregate = np.full(tree.size, -1, dtype=np.int64)
    aggregate[flat.aggregates] = np.arange(len(flat.aggregates))
    walked = walk(flat, tree, attempts, defects)
    check_support(tree, walked, attempts, judged, evidence, aggregate, defects)

    parts = Parts(tree, judges, judged, aggregate, evidence, attempts)
    stages, stage_ordinal = stage_table(parts)
    seats, judge_ordinal = judge_table(parts, stage_ordinal)
    checks = check_table(parts, judge_ordinal)
    seat_places = owners(flat.seats.body, flat.seats.size)
    found, counts = defect_table(parts, defects, seat_places)
    interpretations = _interpretations(parts, walked, counts, stages, seats)
    return InterpretedBatch(
        interpretations=_renumbered(interpretations, rows),
        stages=_renumbered(stages, rows),
        judges=_renumbered(seats, rows),
        checks=_renumbered(checks, rows),
        defects=_renumbered(found, rows),
        unreadable=_unreadable(unreadable),
    )


def _renumbered(table: pl.DataFrame, rows: Index) -> pl.DataFrame:
    """Return the table with the rows of the texts instead of those of the readable ones."""
    return table.with_columns(row=pl.Series(rows[table["row"].to_numpy()]))


def _interpretations(
    parts: Parts,
    walked: Walk,
    counts: Index,
    stages: pl.DataFrame,
    judges: pl.DataFrame,
) -> pl.DataFrame:
    """Return one flat row per verdict."""
    tree, rows = parts.tree, len(parts.tree.roots)
    own = parts.aggregate[tree.roots]
    status = np.append(parts.judged.status_code, -1)[own]  # -1, no aggregate, takes the last
    said = np.where(status >= 0, status, len(STATUSES))
    said[walked.state == REJECTION] = STATUSES.index(Status.FAIL)
    reading = pl.Series([*(str(_READING_OF[s]) for s in STATUSES), None]).gather(said)
    support = np.where(walked.undetermined | (said == len(STATUSES)), 2, 0)
    support[walked.contradicted] = 1
    errored = np.zeros(rows, dtype=np.bool_)
    seated = parts.judged.status_code[first_judge(parts) :] == ERROR
    at_root = parts.judges.accepted & (tree.level[parts.judges.node] == 0)
    errored[tree.row[parts.judges.node[seated & at_root]]] = True
    vacuous = np.zeros(rows, dtype=np.bool_)
    vacuous[vacuous_rows(parts)] = True
    frame = pl.DataFrame(
        {
            "row": np.arange(rows),
            "source_version": walked.source_version,
            "reading": reading,
            "reading_support": pl.Series([str(s) for s in _SUPPORTS]).gather(support),
            "decided_by_stage": walked.stage,
            "decided_by_path": walked.path,
            "decided_by_basis": walked.basis,
        }
    ).hstack(node_columns(parts, tree.roots))
    frame = frame.with_columns(
        pl.Series(name, values)
        for name, values in {
            "error_codes": _error_codes(parts, said),
            "stage_count": np.bincount(stages["row"].to_numpy(), minlength=rows),
            "judge_count": np.bincount(judges["row"].to_numpy(), minlength=rows),
            **{kind.lower(): counts[at] for at, kind in enumerate(KINDS)},
            "some_judge_errored": errored,
            "vacuous_pass": vacuous,
        }.items()
    )
    return frame.with_columns(summary=summaries(frame, stages, judges))


_SUPPORTS = (
    ReadingSupport.SUPPORTED,
    ReadingSupport.CONTRADICTED,
    ReadingSupport.UNDETERMINED,
)


def _error_codes(parts: Parts, said: Index) -> pl.Series:
    """Return the terminal codes of each verdict that was not assessed, as JSON counts.

    A root that only propagates errors names the codes that it counted; any other its own.
    """
    tree = parts.tree
    root = np.flatnonzero(said == ERROR)
    texts = pl.Series([None], dtype=pl.String).new_from_index(0, len(said))
    own = parts.aggregate[tree.roots[root]]
    texts.scatter(root, "{}")
    coded = own >= 0
    root, own = root[coded], own[coded]
    wrapper = parts.judged.code[own] == CODE[ReasonCode.ERRORS_PROPAGATED]
    named = ~wrapper & ~parts.judged.reason_code.gather(own).is_null().to_numpy()
    if named.any():
        code = json_text(parts.judged.reason_code.gather(own[named]))
        texts.scatter(root[named], "{" + code + ":1}")
    if wrapper.any():
        counts = parts.evidence.code_counts
        terminal = counts.code.ne_missing(ReasonCode.ERRORS_PROPAGATED.value).to_numpy()
        kept = np.flatnonzero(terminal & (counts.number > 0).to_numpy())
        joined = json_counts(
            counts.block[kept], counts.code.gather(kept), counts.number.gather(kept)
        )
        text = np.full(parts.evidence.columns.height + 1, -1)
        text[joined["block"].to_numpy()] = np.arange(joined.height)
        at = text[parts.evidence.block[tree.roots[root[wrapper]]]]  # -1, no block, takes the last
        texts.scatter(root[wrapper][at >= 0], joined["text"].gather(at[at >= 0]))
    return texts
