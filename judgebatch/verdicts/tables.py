"""The tables that a batch of interpretations makes, keyed by row."""

from typing import NamedTuple

import numpy as np
import polars as pl

from judgebatch.verdicts.attempts import STAGE_FAILED, USED, AttemptsRead
from judgebatch.verdicts.defects import Defects, Phase, Place
from judgebatch.verdicts.evidence import EvidenceRead
from judgebatch.verdicts.flatten import LAST_LEVEL, ROOT
from judgebatch.verdicts.judges import Judges
from judgebatch.verdicts.judgments import Judged
from judgebatch.verdicts.members import Index, Mask
from judgebatch.verdicts.tree import Tree, take_rows
from judgebatch.vocabulary import DefectKind

KINDS = tuple(DefectKind)


class Parts(NamedTuple):
    """A batch read: what the tables are cut from."""

    tree: Tree
    judges: Judges
    judged: Judged
    aggregate: Index
    evidence: EvidenceRead
    attempts: AttemptsRead


def node_columns(parts: Parts, nodes: Index) -> pl.DataFrame:
    """Return status to evidence of the aggregates of nodes; null where there is none."""
    judged = parts.judged
    aggregates = pl.DataFrame(
        {
            "status": judged.status,
            "reason_code": judged.reason_code,
            "label": judged.label,
            "reasoning": judged.reasoning,
        }
    )
    at = parts.evidence.block[nodes]
    return take_rows(aggregates, parts.aggregate[nodes]).with_columns(
        pl.Series("has_evidence", at >= 0),
        *take_rows(parts.evidence.columns, at),
    )


def stage_table(parts: Parts) -> tuple[pl.DataFrame, Index]:
    """Return the stages in their documents' order, and each node's ordinal (0: the root)."""
    tree, attempts = parts.tree, parts.attempts
    nodes = np.flatnonzero(tree.shown & (tree.origin != ROOT))
    nodes = nodes[np.argsort(tree.rank[nodes])]
    row = tree.row[nodes]
    ordinal = ordinals(row) + 1
    ordinal_of = np.zeros(tree.size, dtype=np.int64)
    ordinal_of[nodes] = ordinal
    at = attempts.of_node[nodes]
    columns = take_rows(attempts.columns, at)
    # A sub-verdict is no attempt: its code is the last one, which stands for none.
    code = np.append(attempts.disposition, -1)[at]
    known = pl.Series((code == USED) | (code == STAGE_FAILED))
    none = pl.Series([None], dtype=pl.Boolean).new_from_index(0, len(nodes))
    frame = pl.DataFrame({"row": row, "ordinal": ordinal, "path": tree.pointer.gather(nodes)})
    used = pl.Series("used_by_parent", code == USED).zip_with(known, none)
    frame = frame.hstack(columns).hstack([used]).hstack(node_columns(parts, nodes))
    return frame, ordinal_of


def judge_table(parts: Parts, stage_ordinal: Index) -> tuple[pl.DataFrame, Index]:
    """Return the judges in their documents' order, and each one's ordinal (-1: not a judge)."""
    tree, judges, judged = parts.tree, parts.judges, parts.judged
    chosen = np.flatnonzero(judges.accepted & (tree.level[judges.node] <= LAST_LEVEL))
    chosen = chosen[np.argsort(tree.rank[judges.node[chosen]], kind="stable")]
    node = judges.node[chosen]
    row = tree.row[node]
    ordinal = ordinals(row)
    ordinal_of = np.full(len(judges.node), -1, dtype=np.int64)
    ordinal_of[chosen] = ordinal
    seats = pl.DataFrame(
        {"position": judges.position, "name": judges.name, "key_source": judges.key_source}
    )
    judgments = pl.DataFrame(
        {
            "status": judged.status,
            "reason_code": judged.reason_code,
            "label": judged.label,
            "score": judged.score,
            "scale_min": judged.scale_min,
            "scale_max": judged.scale_max,
            "reasoning": judged.reasoning,
        }
    )
    frame = pl.DataFrame({"row": row, "ordinal": ordinal, "stage_ordinal": stage_ordinal[node]})
    frame = frame.hstack(take_rows(seats, chosen)).hstack(
        take_rows(judgments, chosen + first_judge(parts))
    )
    if frame["reasoning"].null_count():
        frame = frame.with_columns(pl.col("reasoning").fill_null(""))
    return frame, ordinal_of


def check_table(parts: Parts, judge_ordinal: Index) -> pl.DataFrame:
    """Return the judges' checks in their documents' order."""
    tree, judges, checks = parts.tree, parts.judges, parts.judged.checks
    judge = checks.judgment - first_judge(parts)
    chosen = np.flatnonzero(checks.accepted & (judge >= 0))
    chosen = chosen[judge_ordinal[judge[chosen]] >= 0]
    node = judges.node[judge[chosen]]
    key = judge_ordinal[judge[chosen]]
    # Nearly sorted, which a stable sort of one key turns to account.
    order = np.argsort(tree.row[node] * (key.max(initial=0) + 1) + key, kind="stable")
    chosen, node, key = chosen[order], node[order], key[order]
    row = tree.row[node]
    entries = pl.DataFrame({"name": checks.name, "passed": checks.passed, "detail": checks.detail})
    return pl.DataFrame(
        {
            "row": row,
            "ordinal": ordinals(row),
            "judge_ordinal": key,
        }
    ).hstack(take_rows(entries, chosen))


def first_judge(parts: Parts) -> int:
    """Return the number of the first judge's judgment: aggregates come before."""
    return len(parts.judged.status) - len(parts.judges.node)


def defect_table(
    parts: Parts, defects: Defects, seats: tuple[Index, Index]
) -> tuple[pl.DataFrame, Index]:
    """Return the defects in their order, and how many of each kind each row has.

    Parameters
    ----------
    parts
        The batch.
    defects
        What was found.
    seats
        Node and index of each seat.
    """
    tree = parts.tree
    pieces = [
        (piece, np.flatnonzero(_shown(tree, piece.node, piece.phase))) for piece in defects.pieces
    ]
    pieces = [(piece, kept) for piece, kept in pieces if len(kept)]
    rows = len(tree.roots)
    if not pieces:
        empty = {"row": pl.Int64, "ordinal": pl.Int64, **dict.fromkeys(_DEFECT_TEXTS, pl.String)}
        return pl.DataFrame(schema=empty), np.zeros((len(KINDS), rows), dtype=np.int64)
    sizes = [len(kept) for _, kept in pieces]
    node = np.concatenate([piece.node[kept] for piece, kept in pieces])
    order = np.concatenate([piece.order[kept] for piece, kept in pieces])
    phase = np.repeat([int(piece.phase) for piece, _ in pieces], sizes)
    place = np.repeat([int(piece.place) for piece, _ in pieces], sizes)
    at = np.concatenate([piece.at[kept] for piece, kept in pieces])
    rule = np.repeat([piece.rule for piece, _ in pieces], sizes)
    row = tree.row[node]
    sequence = np.lexsort((order, tree.rank[node], row * 3 + phase))
    rules = defects.rules
    kind = np.array([KINDS.index(r.kind) for r in rules], dtype=np.int64)[rule]
    counts = np.stack([np.bincount(row[kind == k], minlength=rows) for k in range(len(KINDS))])
    field = pl.Series([r.field for r in rules]).gather(rule)
    if any(piece.suffix is not None for piece, _ in pieces):
        suffix = [
            pl.Series([""]).new_from_index(0, len(kept))
            if piece.suffix is None
            else piece.suffix.gather(kept)
            for piece, kept in pieces
        ]
        field = field + pl.concat(suffix)
    frame = pl.DataFrame(
        {
            "row": row,
            "path": _paths(parts, place, at, seats),
            "field": field,
            "kind": pl.Series([str(k) for k in KINDS]).gather(kind),
            "note": pl.Series([r.note for r in rules]).gather(rule),
        }
    )[sequence]
    frame.insert_column(1, pl.Series("ordinal", ordinals(row[sequence])))
    return frame, counts


_DEFECT_TEXTS = ("path", "field", "kind", "note")


def _shown(tree: Tree, node: Index, phase: Phase) -> Mask:
    """Return which defects are shown: what stands below the last level is not read as a stage."""
    if phase is not Phase.TREE or tree.deepest <= LAST_LEVEL:
        return np.ones(len(node), dtype=np.bool_)
    return tree.level[node] <= LAST_LEVEL


def _paths(parts: Parts, place: Index, at: Index, seats: tuple[Index, Index]) -> pl.Series:
    """Return the path of each place."""
    tree, checks = parts.tree, parts.judged.checks
    paths = pl.Series([""]).new_from_index(0, len(at))

    def put(kind: Place, texts: pl.Series) -> None:
        paths.scatter(np.flatnonzero(place == kind), texts)

    for kind in Place:
        numbers = at[place == kind]
        if not len(numbers):
            continue
        if kind is Place.VERDICT:
            put(kind, tree.body_path.gather(numbers))
        elif kind is Place.ENTRY:
            put(kind, tree.entry_path.gather(numbers))
        elif kind is Place.DECISION:
            put(kind, tree.body_path.gather(numbers) + ".decision")
        elif kind is Place.AGGREGATE:
            put(kind, tree.body_path.gather(numbers) + ".aggregated")
        elif kind is Place.JUDGMENT:
            put(kind, _judgment_paths(parts, numbers))
        elif kind is Place.SEAT:
            index = pl.Series(seats[1][numbers]).cast(pl.String)
            put(kind, tree.body_path.gather(seats[0][numbers]) + ".seats[" + index + "]")
        else:
            index = pl.Series(checks.place[numbers]).cast(pl.String)
            of = _judgment_paths(parts, checks.judgment[numbers])
            put(kind, of + ".checks[" + index + "]")
    return paths


def _judgment_paths(parts: Parts, judgments: Index) -> pl.Series:
    at = parts.judged.where
    index = pl.Series(at.at[judgments]).cast(pl.String)
    by_key = pl.Series(at.by_key[judgments])
    aggregate = pl.Series(judgments < first_judge(parts))
    judge = (".individualByName[" + at.name.gather(judgments) + "]").zip_with(
        by_key, ".individual[" + index + "]"
    )
    own = pl.Series([".aggregated"]).new_from_index(0, len(judgments)).zip_with(aggregate, judge)
    return parts.tree.body_path.gather(at.node[judgments]) + own


def ordinals(row: Index) -> Index:
    """Return each entry's number among those of its row; rows stand together."""
    starts = np.flatnonzero(np.append(True, row[1:] != row[:-1])) if len(row) else row
    sizes = np.diff(np.append(starts, len(row)))
    return np.arange(len(row)) - np.repeat(starts, sizes)


def vacuous_rows(parts: Parts) -> Index:
    """Return rows in which a shown aggregate or judge passed over an empty roster."""
    node = parts.judged.where.node[parts.judged.vacuous]
    return np.unique(parts.tree.row[node[parts.tree.level[node] <= LAST_LEVEL]])
