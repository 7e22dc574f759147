"""Juries with fixed answers, and the verdicts they must give."""

from collections.abc import Iterator, Sequence
from typing import Any

import orjson
import polars as pl

from judgebatch.errors import JuryDefinitionError
from judgebatch.juries import (
    AggregationError,
    Cascade,
    CustomJury,
    Jury,
    Member,
    MetaJury,
    Reduction,
    SeatDefinition,
    SimpleJury,
    Tier,
    Verdict,
    aggregate_judgments,
    pointer,
    reduce_judgments,
    verdicts_of,
)
from judgebatch.juries.judgment import Judgment


def matches(case: dict[str, Any]) -> bool:
    """Return whether a case is one of these."""
    return "jury" in case and "expect" in case


def check(case: dict[str, Any]) -> list[str]:
    """Return where what the jury gives differs from what is expected."""
    definition, expected = case["jury"], case["expect"]
    try:
        if definition.get("aggregate"):
            got: Any = {"aggregated": _aggregate(definition)}
        else:
            got = {"verdict": _verdict(definition)}
    except (JuryDefinitionError, AggregationError) as error:
        if expected == {"refused": True}:
            return []
        return [f"refused: {error}"]
    return list(_differences("", expected, _without_reasoning(got)))


def _verdict(definition: dict[str, Any]) -> Any:
    jury = _jury(definition)
    rows = list(_rows(definition, "")) or [_row("nowhere", 0, {"status": "pass"})]
    judged = reduce_judgments(pl.DataFrame(rows, schema=_SCHEMA), jury)
    if judged.quarantine.height:
        return {"quarantined": judged.quarantine.to_dicts()}
    (text,) = judged.portable()["verdict"]
    Verdict.of_document(orjson.loads(text))
    return orjson.loads(text)


def _aggregate(definition: dict[str, Any]) -> Any:
    judgments = [_judgment(seat) for seat in definition["seats"]]
    weights = [seat.get("weight", 1.0) for seat in definition["seats"]]
    return aggregate_judgments(judgments, _reduction(definition), weights=weights).document()


def _judgment(seat: dict[str, Any]) -> Judgment:
    code = seat.get("reasonCode", "judge_reported" if seat["status"] == "error" else None)
    metadata = {}
    if "errorCodeCounts" in seat:
        metadata = {"aggregation": {"errorCodeCounts": seat["errorCodeCounts"]}}
    return Judgment(
        status=seat["status"],
        score=seat.get("score"),
        reason_code=code,
        reasoning=seat.get("reasoning", "r"),
        metadata=metadata,
    )


def _reduction(definition: dict[str, Any]) -> Reduction:
    names = {
        "strategy": "strategy",
        "errorPolicy": "error_policy",
        "notApplicablePolicy": "not_applicable_policy",
        "tiePolicy": "tie_policy",
        "threshold": "threshold",
    }
    given = {name: definition[key] for key, name in names.items() if key in definition}
    return Reduction(**{"strategy": None, **given})


def _jury(definition: dict[str, Any]) -> Jury:
    if "throws" in definition:
        return CustomJury(_raise)
    if "null" in definition:
        return CustomJury(_say_nothing)
    if "opaque" in definition:
        inner = _jury(definition["opaque"])
        return CustomJury(lambda frame, stage: _vote(inner, frame, stage))
    if "cascade" in definition:
        return Cascade(
            tuple(Tier(t["name"], t["policy"], _jury(t["jury"])) for t in definition["cascade"])
        )
    if "meta" in definition:
        meta = definition["meta"]
        members = tuple(Member(m["name"], _jury(m["jury"])) for m in meta["members"])
        return MetaJury(_reduction(meta), members)
    seats = tuple(
        SeatDefinition(
            name=seat.get("name"),
            weight=seat.get("weight"),
            not_applicable_when=seat.get("notApplicableWhen"),
        )
        for seat in definition["seats"]
    )
    declared = definition.get("requireDeclaredNames", False)
    return SimpleJury(_reduction(definition), seats, require_declared_names=declared)


def _say_nothing(frame: pl.DataFrame, stage: str) -> Sequence[Verdict | None]:
    return [None] * frame["verdict_id"].n_unique()


def _raise(frame: pl.DataFrame, stage: str) -> Sequence[Verdict | None]:
    raise RuntimeError("broken")


def _vote(jury: Jury, frame: pl.DataFrame, stage: str) -> Sequence[Verdict | None]:
    """Vote as ``jury`` does: its judgments stand below the custom jury's stage."""
    below = frame.filter(
        (pl.col("stage") == stage) | pl.col("stage").str.starts_with(f"{stage}/")
    ).with_columns(pl.col("stage").str.slice(len(stage)))
    if below.is_empty():
        below = frame.head(1).with_columns(stage=pl.lit("nowhere"))
    return verdicts_of(reduce_judgments(below, jury))


_SCHEMA = {
    "tenant_id": pl.String,
    "verdict_id": pl.String,
    "stage": pl.String,
    "position": pl.Int64,
    "name": pl.String,
    "status": pl.String,
    "score": pl.Float64,
    "reason_code": pl.String,
    "error_code_counts": pl.String,
    "reasoning": pl.String,
    "outcome": pl.String,
}


def _rows(definition: dict[str, Any], stage: str) -> Iterator[dict[str, Any]]:
    if "opaque" in definition:
        yield from _rows(definition["opaque"], stage)
    children = definition.get("cascade") or definition.get("meta", {}).get("members", [])
    for child in children:
        yield from _rows(child["jury"], pointer(stage, child["name"]))
    for position, seat in enumerate(definition.get("seats", [])):
        yield _row(stage, position, seat)


def _row(stage: str, position: int, seat: dict[str, Any]) -> dict[str, Any]:
    counts = seat.get("errorCodeCounts")
    outcome = "raised" if "throws" in seat else "nothing" if "returnsNull" in seat else "returned"
    return {
        "tenant_id": "tenant",
        "verdict_id": "verdict",
        "stage": stage,
        "position": position,
        "name": seat.get("name"),
        "status": seat.get("status"),
        "score": seat.get("score"),
        "reason_code": seat.get("reasonCode"),
        "error_code_counts": None if counts is None else orjson.dumps(counts).decode(),
        "reasoning": seat.get("reasoning"),
        "outcome": outcome,
    }


def _without_reasoning(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_reasoning(v) for k, v in value.items() if k != "reasoning"}
    if isinstance(value, list):
        return [_without_reasoning(item) for item in value]
    return value


def _differences(path: str, expected: Any, got: Any) -> Iterator[str]:
    """Compare as JSON values: member order counts, numbers to the bit."""
    if isinstance(expected, dict) and isinstance(got, dict):
        if _member_order(expected) != _member_order(got):
            yield f"{path}: members {list(got)}, expected {list(expected)}"
        for key in expected.keys() & got.keys():
            yield from _differences(f"{path}.{key}", expected[key], got[key])
    elif isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        for i, (left, right) in enumerate(zip(expected, got, strict=True)):
            yield from _differences(f"{path}[{i}]", left, right)
    elif orjson.dumps(expected) != orjson.dumps(got):
        yield f"{path}: {got!r}, expected {expected!r}"


def _member_order(value: dict[str, Any]) -> list[str]:
    """Return the members in order; the weights of an abstention have none."""
    names = list(value)
    if "inputWeight" in names and "threshold" not in names:
        names.sort()
    return names
