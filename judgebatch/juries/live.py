"""Judges that are asked in a batch, as the source of an evaluation."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl

from judgebatch.contracts.judgments import JudgmentQuarantine, Judgments, UnseatedJudgments
from judgebatch.contracts.table import empty, schema_of
from judgebatch.errors import InputError
from judgebatch.juries.acceptance import as_judgments, find_faults
from judgebatch.juries.definition import Jury, Reduction, SeatDefinition, SimpleJury
from judgebatch.juries.evaluation import Evaluation
from judgebatch.juries.judged import Judged
from judgebatch.juries.lanes import Ints, Longs
from judgebatch.juries.narrowing import narrowed
from judgebatch.juries.pool import FIRST, NO_JUDGMENT, Pool
from judgebatch.vocabulary import JudgeOutcome, KeySource, ReasonCode, Status, Strategy

_KEYS = ["tenant_id", "verdict_id"]
_CONSENSUS = Reduction(strategy=Strategy.CONSENSUS)


class SeatJudge(Protocol):
    """A judge that takes a seat.

    Beside ``judge`` it may have ``name``, without which its seat is positional;
    ``not_applicable_when``, the condition under which it may exclude; and ``wrapped``, the judge
    it stands before.
    """

    def judge(self, subjects: pl.DataFrame) -> pl.DataFrame | None:
        """Return one judgment per subject.

        ``subjects`` has tenant_id and verdict_id; so has the answer, beside ``status`` and the
        other columns of the ``judgments`` table that are wanted.
        """


@dataclass(frozen=True)
class Renamed:
    """A judge under another name, with the capability of the judge that it wraps."""

    wrapped: SeatJudge
    name: str

    def judge(self, subjects: pl.DataFrame) -> pl.DataFrame | None:
        """Ask the wrapped judge."""
        return self.wrapped.judge(subjects)


def seat_for(judge: SeatJudge, *, weight: float | None = None) -> SeatDefinition:
    """Return the seat of a judge; its metadata is read here, once, and never again.

    The condition under which it may exclude is looked for from the outermost wrapper inwards.
    """
    try:
        name = getattr(judge, "name", None)
        condition = _condition(judge)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - metadata that cannot be read is a finding of its own
        return SeatDefinition(weight=weight, judge=judge, unreadable=True)
    return SeatDefinition(name=name, weight=weight, not_applicable_when=condition, judge=judge)


def _condition(judge: Any) -> str | None:
    while judge is not None:
        condition: str | None = getattr(judge, "not_applicable_when", None)
        if condition is not None:
            return condition
        judge = getattr(judge, "wrapped", None)
    return None


def from_judges(judges: Iterable[SeatJudge], reduction: Reduction = _CONSENSUS) -> SimpleJury:
    """Return a jury of judges with equal weights; a repeated name gets -2, -3 and so on."""
    seats: list[SeatDefinition] = []
    taken: set[str] = set()
    for judge in judges:
        seat = seat_for(judge, weight=1.0)
        name, number = seat.name, 1
        while name is not None and name in taken:
            number += 1
            name = f"{seat.name}-{number}"
        if name is not None:
            taken.add(name)
        if name != seat.name:
            seat = SeatDefinition(
                name=name,
                weight=seat.weight,
                not_applicable_when=seat.not_applicable_when,
                judge=judge,
                key_source=KeySource.DEDUPLICATED,
            )
        seats.append(seat)
    return SimpleJury(reduction, tuple(seats))


class Asked:
    """Judges asked about subjects: only about those for whom their answer is wanted."""

    def __init__(self, subjects: pl.DataFrame) -> None:
        self.subjects = subjects
        self.pool = Pool(empty(Judgments))

    def seat(self, stage: str, position: int, seat: SeatDefinition, rows: Longs) -> Ints:
        """Ask the seat's judge; return the pool's indices of its answers."""
        if not len(rows) or (seat.judge is None and not seat.unreadable):
            return np.full(len(rows), NO_JUDGMENT, np.int32)
        subjects = self.subjects[rows]
        if seat.unreadable:
            answers = subjects.select(_KEYS).with_columns(
                status=pl.lit(Status.ERROR.value),
                reason_code=pl.lit(ReasonCode.JUDGE_METADATA_UNREADABLE.value),
                reasoning=pl.lit("the judge's metadata could not be read; it was not asked"),
            )
        else:
            answers = _contained(seat.judge, subjects)
        start = self.pool.frame.height + FIRST
        placed = as_judgments(
            answers.with_columns(
                stage=pl.lit(stage),
                position=pl.lit(position, pl.Int64),
                name=pl.lit(seat.name, pl.String),
            )
        )
        self.pool = Pool(pl.concat([self.pool.frame, placed]))
        return np.arange(start, start + len(rows), dtype=np.int32)

    def batch(self, rows: Longs) -> pl.DataFrame:
        """Return the subjects that a custom jury is asked about."""
        return self.subjects[rows]


def _contained(judge: SeatJudge, subjects: pl.DataFrame) -> pl.DataFrame:
    """Return one judgment per subject, in their order, whatever the judge does."""

    def ask(start: int, stop: int) -> pl.DataFrame:
        asked = subjects.slice(start, stop - start)
        return _checked(judge.judge(asked), asked)

    parts = []
    for start, stop, answer in narrowed(ask, 0, subjects.height):
        if isinstance(answer, Exception):
            keys = subjects.slice(start, stop - start).select(_KEYS)
            parts.append(_failed(keys, JudgeOutcome.RAISED, f"the judge raised: {answer}"))
        else:
            parts.append(answer)
    return pl.concat(parts)


def _checked(answer: object, asked: pl.DataFrame) -> pl.DataFrame:
    keys = asked.select(_KEYS)
    if answer is None:
        return _failed(keys, JudgeOutcome.NOTHING, "the judge returned nothing")
    if not isinstance(answer, pl.DataFrame):
        raise TypeError(f"the judge returned {type(answer).__name__} instead of a frame")
    placed = as_judgments(answer.with_columns(stage=pl.lit(""), position=pl.lit(0, pl.Int64)))
    faults = find_faults(placed).select(pl.col("source_row"), pl.col("message"))
    marked = placed.with_columns(
        source_row=pl.int_range(pl.len()), times=pl.len().over(_KEYS)
    ).join(faults, on="source_row", how="left", maintain_order="left")
    bad = pl.coalesce(
        pl.when(pl.col("times") > 1).then(pl.lit("the judge answered twice")),
        pl.when(pl.col("message").is_not_null()).then(
            pl.format("the judge's answer is malformed: {}", pl.col("message"))
        ),
    )
    marked = marked.with_columns(bad=bad).unique(_KEYS, keep="first", maintain_order=True)
    failure = pl.col("bad").is_not_null()
    kept = marked.with_columns(
        outcome=pl.when(failure).then(pl.lit(JudgeOutcome.NOTHING.value)).otherwise("outcome"),
        reasoning=pl.when(failure).then("bad").otherwise("reasoning"),
    ).select(placed.columns)
    aligned = keys.join(kept, on=_KEYS, how="left", maintain_order="left")
    silent = pl.col("stage").is_null()
    return aligned.with_columns(
        outcome=pl.when(silent).then(pl.lit(JudgeOutcome.NOTHING.value)).otherwise("outcome"),
    ).select(schema_of(Judgments).names())


def _failed(keys: pl.DataFrame, outcome: JudgeOutcome, reasoning: str) -> pl.DataFrame:
    rows = keys.with_columns(
        stage=pl.lit(""),
        position=pl.lit(0, pl.Int64),
        status=pl.lit(None, pl.String),
        outcome=pl.lit(outcome.value),
        reasoning=pl.lit(reasoning),
    )
    return as_judgments(rows)


def vote(jury: Jury, subjects: pl.DataFrame) -> Judged:
    """Ask a jury's own judges about subjects and reduce what they answer.

    Parameters
    ----------
    jury
        A jury whose seats have judges; a tier is asked only about subjects that reach it.
    subjects
        One row per (tenant_id, verdict_id), with whatever the judges need beside.

    Raises
    ------
    InputError
        Keys are missing or repeated.
    """
    lacking = [name for name in _KEYS if name not in subjects.columns]
    if lacking:
        raise InputError(f"the subjects have no column {', '.join(lacking)}")
    subjects = subjects.sort(_KEYS)
    keys = subjects.select(_KEYS)
    if keys.is_duplicated().any():
        raise InputError("two subjects have the same tenant_id and verdict_id")
    evaluation = Evaluation(Asked(subjects))
    outcome = evaluation.of(jury, np.arange(keys.height))
    return Judged(keys, outcome, evaluation, empty(UnseatedJudgments), empty(JudgmentQuarantine))
