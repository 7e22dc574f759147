"""Strategies of one's own, contained to the verdicts they fail on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from judgebatch.juries.lanes import (
    CODES,
    ERROR,
    FAIL,
    NO_CODE,
    NOT_APPLICABLE,
    PASS,
    STATUSES,
    WRAPPER,
    Aggregates,
    Evidence,
    Floats,
    Longs,
    Note,
    Small,
    code_index,
)
from judgebatch.juries.narrowing import narrowed
from judgebatch.juries.population import Population
from judgebatch.vocabulary import ReasonCode

ENTRY_POINTS = "judgebatch.strategies"
"""Group of the entry points that name custom strategies."""

_ALLOWED_CODES = (WRAPPER, code_index(ReasonCode.NOT_APPLICABLE_REFUSED))


@dataclass(frozen=True, slots=True)
class CustomStrategy:
    """A strategy by a callable over a frame.

    ``reduce`` takes the eligible judgments of a batch, sorted, with the columns ``verdict`` (an
    ordinal), ``index`` (of the judgment among those submitted), ``status``, ``score`` (the
    effective one) and ``weight``. It gives a frame with one row per verdict: ``verdict``,
    ``status`` and, where wanted, ``score`` and ``reason_code``. The population rule has been
    applied before: policies, exits and empty populations never reach it.
    """

    name: str
    reduce: Callable[[pl.DataFrame], pl.DataFrame | None]
    description: str | None = None


class _Malformed(Exception):  # noqa: N818 - a signal between functions of this module
    def __init__(self, note: Note) -> None:
        super().__init__(note)
        self.note = note


@dataclass
class _Answers:
    status: Small
    score: Floats
    code: Small


def apply_custom(
    population: Population, strategy: CustomStrategy, out: Aggregates, *, entitled: bool
) -> Small:
    """Fill in what a custom strategy answers; return why it failed, verdict by verdict.

    A batch on which the strategy raises, or answers in no usable form, is halved until the
    verdicts are found on which it does; the others keep their result.
    """
    failed: Small = population.failed.copy()
    rows = np.flatnonzero((out.evidence == Evidence.FULL) & (failed == 0))
    out.evidence[rows] = Evidence.COMMON
    if len(rows):
        frame = _contributions(population, rows)
        bounds = np.searchsorted(frame["verdict"].to_numpy(), np.arange(len(rows) + 1))

        def ask(start: int, stop: int) -> _Answers:
            part = frame.slice(int(bounds[start]), int(bounds[stop] - bounds[start]))
            return _ask(strategy, part.with_columns(pl.col("verdict") - start), stop - start)

        for start, stop, answers in narrowed(ask, 0, len(rows)):
            here = rows[start:stop]
            if isinstance(answers, Exception):
                note = answers.note if isinstance(answers, _Malformed) else Note.STRATEGY_RAISED
                failed[here] = note
            else:
                out.status[here] = answers.status
                out.score[here] = answers.score
                out.code[here] = answers.code
    causeless = np.ones(population.n, np.bool_) if out.codes is None else ~out.codes.any(axis=1)
    asked = np.zeros(population.n, np.bool_)
    asked[rows] = True
    good = asked & (failed == 0)
    failed[good & (out.status == NOT_APPLICABLE) & (not entitled)] = Note.STRATEGY_EXCLUDED
    coded = (out.status == ERROR) & ~np.isin(out.code, _ALLOWED_CODES)
    failed[good & (coded | ((out.code == WRAPPER) & causeless))] = Note.STRATEGY_CODE
    return failed


def _contributions(population: Population, rows: Longs) -> pl.DataFrame:
    eligible = population.eligible[:, rows].T
    verdict, index = np.nonzero(eligible)
    seats = (index, rows[verdict])
    status = np.where(population.submitted.status[seats] == PASS, PASS, FAIL)
    return pl.DataFrame(
        {
            "verdict": verdict.astype(np.int64),
            "index": index.astype(np.int64),
            "status": pl.Series([status.value for status in STATUSES]).gather(status),
            "score": population.effective_score[seats],
            "weight": population.submitted.weight[seats],
        }
    )


def _ask(strategy: CustomStrategy, frame: pl.DataFrame, n: int) -> _Answers:
    given: object = strategy.reduce(frame)
    if given is None:
        raise _Malformed(Note.STRATEGY_SILENT)
    if not isinstance(given, pl.DataFrame) or not {"verdict", "status"} <= set(given.columns):
        raise _Malformed(Note.STRATEGY_MALFORMED)
    given = given.sort("verdict")
    if given["verdict"].to_list() != list(range(n)):
        short = given.height < n
        raise _Malformed(Note.STRATEGY_SILENT if short else Note.STRATEGY_MALFORMED)
    status = _index(given["status"], {s.value: i for i, s in enumerate(STATUSES)})
    code = np.full(n, NO_CODE, np.int8)
    if "reason_code" in given.columns:
        named = given["reason_code"].is_not_null().to_numpy()
        code[named] = _index(
            given["reason_code"].drop_nulls(), {c.value: i for i, c in enumerate(CODES)}
        )
    score = np.full(n, np.nan)
    if "score" in given.columns:
        score = given["score"].cast(pl.Float64).fill_null(np.nan).to_numpy().copy()
        scored = ~np.isnan(score)
        in_range = (score >= 0) & (score <= 1) & np.isin(status, (PASS, FAIL))
        if (scored & ~in_range).any():
            raise _Malformed(Note.STRATEGY_MALFORMED)
    if ((code != NO_CODE) & (status != ERROR)).any():
        raise _Malformed(Note.STRATEGY_MALFORMED)
    return _Answers(status, score, code)


def _index(values: pl.Series, known: Mapping[str, int]) -> Small:
    found = values.replace_strict(
        list(known), list(known.values()), default=None, return_dtype=pl.Int8
    )
    if found.null_count():
        raise _Malformed(Note.STRATEGY_MALFORMED)
    return found.to_numpy()
