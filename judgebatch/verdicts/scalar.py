"""Interpretation of single verdicts, by the tables of the columnar pass."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import orjson
import polars as pl

from judgebatch.verdicts.batch import InterpretedBatch, interpret_objects
from judgebatch.verdicts.dialect import LiveVerdict, normalised
from judgebatch.verdicts.evidence import COLUMN_NAMES
from judgebatch.verdicts.members import Json
from judgebatch.verdicts.model import (
    Check,
    DecidedBy,
    Defect,
    Evidence,
    Interpretation,
    Judge,
    ScoreScale,
    Stage,
)

BATCH = 1024
"""Verdicts that ``interpret_many`` takes at once."""

_Rows = dict[tuple[int, ...], list[dict[str, Any]]]


def interpret(verdict: Mapping[str, Json] | LiveVerdict) -> Interpretation:
    """Interpret one stored verdict.

    Parameters
    ----------
    verdict
        The decoded verdict, any JSON object, or a live one, which is read as it would be stored.

    Returns
    -------
    Interpretation
        Nothing in the verdict raises, and nothing in it is changed.

    Raises
    ------
    UnreadableVerdictError
        The mapping is no JSON object: it holds something that JSON cannot, such as NaN.
    """
    return next(interpret_many([verdict]))


def interpret_many(
    verdicts: Iterable[Mapping[str, Json] | LiveVerdict],
) -> Iterator[Interpretation]:
    """Interpret stored verdicts, in order, a batch at a time.

    Raises
    ------
    UnreadableVerdictError
        A mapping is no JSON object.
    """
    remaining = iter(verdicts)
    while batch := [normalised(verdict) for verdict in islice(remaining, BATCH)]:
        yield from _values(interpret_objects(batch))


def _values(batch: InterpretedBatch) -> Iterator[Interpretation]:
    checks = _grouped(batch.checks, "row", "judge_ordinal")
    judges = _grouped(batch.judges, "row", "stage_ordinal")
    stages = _grouped(batch.stages, "row")
    defects = _grouped(batch.defects, "row")
    for row in batch.interpretations.iter_rows(named=True):
        number = row["row"]
        path = row["decided_by_path"]
        yield Interpretation(
            source_version=row["source_version"],
            reading=row["reading"],
            reading_support=row["reading_support"],
            decided_by=None
            if path is None
            else DecidedBy(
                stage=row["decided_by_stage"],
                path=_names(path),
                basis=row["decided_by_basis"],
            ),
            root=Stage(**_judged(row, number, 0, judges, checks)),
            stages=tuple(
                Stage(
                    stage=stage["stage"],
                    path=_names(stage["path"]),
                    relation=stage["relation"],
                    policy=stage["policy"],
                    disposition=stage["disposition"],
                    reason=stage["reason"],
                    failure=stage["failure"],
                    used_by_parent=stage["used_by_parent"],
                    **_judged(stage, number, stage["ordinal"], judges, checks),
                )
                for stage in stages[number,]
            ),
            defects=tuple(
                Defect(path=d["path"], field=d["field"], kind=d["kind"], note=d["note"])
                for d in defects[number,]
            ),
            summary=row["summary"],
        )


def _judged(
    row: dict[str, Any], number: int, ordinal: int, judges: _Rows, checks: _Rows
) -> dict[str, Any]:
    """Return status to judges of a root or stage."""
    return {
        "status": row["status"],
        "reason_code": row["reason_code"],
        "reasoning": row["reasoning"],
        "evidence": _evidence(row),
        "judges": tuple(
            Judge(
                position=judge["position"],
                name=judge["name"],
                key_source=judge["key_source"],
                status=judge["status"],
                reason_code=judge["reason_code"],
                score=judge["score"],
                score_scale=None
                if judge["scale_min"] is None
                else ScoreScale(min=judge["scale_min"], max=judge["scale_max"]),
                reasoning=judge["reasoning"],
                checks=tuple(
                    Check(name=check["name"], passed=check["passed"], detail=check["detail"])
                    for check in checks[number, judge["ordinal"]]
                ),
            )
            for judge in judges[number, ordinal]
        ),
    }


def _evidence(row: dict[str, Any]) -> Evidence | None:
    if not row["has_evidence"]:
        return None
    content = {name: row[name] for name in COLUMN_NAMES.values()}
    counts = content["error_code_counts"]
    content["error_code_counts"] = None if counts is None else orjson.loads(counts)
    return Evidence(**content)


def _names(pointer: str) -> tuple[str, ...]:
    """Return the steps of an RFC 6901 pointer."""
    return tuple(s.replace("~1", "/").replace("~0", "~") for s in pointer.split("/")[1:])


def _grouped(frame: pl.DataFrame, *keys: str) -> _Rows:
    groups: _Rows = defaultdict(list)
    for row in frame.iter_rows(named=True):
        groups[tuple(row[key] for key in keys)].append(row)
    return groups
