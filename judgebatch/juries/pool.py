"""The judgments a batch is made of, as arrays that seats index into."""

from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
import orjson
import polars as pl
from numpy.typing import NDArray

from judgebatch.contracts.judgments import Judgments
from judgebatch.contracts.table import empty
from judgebatch.juries.definition import SeatDefinition
from judgebatch.juries.judgment import fault_of_counts
from judgebatch.juries.lanes import (
    CODES,
    ERROR,
    FAIL,
    NO_CODE,
    NOT_APPLICABLE,
    STATUSES,
    TERMINAL,
    WRAPPER,
    Bools,
    Floats,
    Ints,
    Longs,
    Small,
    code_index,
)
from judgebatch.juries.text import WHITE_SPACE
from judgebatch.vocabulary import TERMINAL_CODES, JudgeOutcome, ReasonCode

NO_JUDGMENT = 0
"""Index of the judgment of a seat for which none is recorded."""
UNDECLARED = 1
"""Index of the judgment of a seat that excluded without having declared that it may."""
FIRST = 2
"""Index of the first judgment that was given."""

_CONSTANTS = (
    (ReasonCode.JUDGE_FAILED, "no judgment recorded"),
    (
        ReasonCode.UNDECLARED_NOT_APPLICABLE,
        "the judge answered not_applicable, but its seat declares no condition for that",
    ),
)
_RAISED = "the judge raised"
_SILENT = "the judge returned nothing"
_UNEXPLAINED = "no reasoning recorded"
_MANY = 50_000
"""From how many texts on it pays to look them up on all cores."""


class Pool:
    """Judgments without faults, with the two that stand in for missing and undeclared ones.

    Parameters
    ----------
    judgments
        Rows of the ``judgments`` table; row r has the index r + 2.
    """

    def __init__(self, judgments: pl.DataFrame) -> None:
        self.frame = judgments

    @classmethod
    def nothing(cls) -> "Pool":
        """Return a pool without given judgments."""
        return cls(empty(Judgments))

    @cached_property
    def _broken(self) -> Bools | None:
        """Whether the judge raised or returned nothing; None where none did."""
        outcome = self.frame["outcome"]
        if outcome.null_count() == len(outcome):
            return None
        broken = outcome.is_in([JudgeOutcome.RAISED.value, JudgeOutcome.NOTHING.value])
        return broken.fill_null(value=False).to_numpy()

    @cached_property
    def status(self) -> Small:
        """(m,) statuses."""
        given = encode(self.frame["status"], [status.value for status in STATUSES])
        lane = _led(given.astype(np.int8), [ERROR, ERROR])
        if self._broken is not None:
            lane[FIRST:][self._broken] = ERROR
        return lane

    @cached_property
    def code(self) -> Small:
        """(m,) reason codes; an error without one is ``judge_reported``."""
        given = encode(self.frame["reason_code"], [code.value for code in CODES])
        lane = _led(given.astype(np.int8), [code_index(code) for code, _ in _CONSTANTS])
        if self._broken is not None:
            lane[FIRST:][self._broken] = code_index(ReasonCode.JUDGE_FAILED)
        lane[(self.status == ERROR) & (lane == NO_CODE)] = code_index(ReasonCode.JUDGE_REPORTED)
        return lane

    @cached_property
    def score(self) -> Floats:
        """(m,) scores; NaN for none."""
        lane = _led(_numbers(self.frame["score"]), [np.nan, np.nan])
        if self._broken is not None:
            lane[FIRST:][self._broken] = np.nan
        return lane

    @cached_property
    def weight(self) -> Floats:
        """(m,) recorded weights; NaN for none."""
        return _led(_numbers(self.frame["weight"]), [np.nan, np.nan])

    @property
    def weightless(self) -> bool:
        """Whether no weight is recorded."""
        recorded = self.frame["weight"]
        return recorded.null_count() == len(recorded)

    @cached_property
    def _denied(self) -> Bools | None:
        """Whether the record says that the seat had declared no capability."""
        recorded = self.frame["may_exclude"]
        if recorded.null_count() == len(recorded):
            return None
        return _led((~recorded.fill_null(value=True)).to_numpy(), [False, False])

    @cached_property
    def _causes(self) -> tuple[Ints, Longs]:
        """For each judgment the row of its causes, or -1; and the (w, 8) causes."""
        row = np.full(len(self.status), -1, np.int32)
        wrappers = np.flatnonzero(self.code == WRAPPER)
        texts = self.frame["error_code_counts"].gather(wrappers - FIRST)
        distinct = texts.unique(maintain_order=True)
        row[wrappers] = encode(texts, distinct.to_list())
        causes = np.array([parse_causes(text) for text in distinct], np.int64)
        return row, causes.reshape(-1, len(TERMINAL))

    def causes(self, index: Ints) -> Longs:
        """Return the (len(index), 8) causes behind wrappers."""
        row, causes = self._causes
        chosen: Longs = causes[row[index]]
        return chosen

    def settle(self, index: Ints, seat: SeatDefinition) -> Ints:
        """Replace the exclusions of a seat that may not exclude by the error they are."""
        excluded = self.status[index] == NOT_APPLICABLE
        if not excluded.any():
            return index
        if seat.capable:
            if self._denied is None:
                return index
            excluded &= self._denied[index]
        return np.where(excluded, np.int32(UNDECLARED), index)

    @cached_property
    def reasoning(self) -> pl.Series:
        """(m,) texts: the given one, or what has to stand in the place of a blank one."""
        constants = pl.Series("reasoning", [text for _, text in _CONSTANTS])
        given = self.frame["reasoning"].fill_null("").alias("reasoning")
        lane = pl.concat([constants, given], rechunk=True)
        owed = (self.status > FAIL) | (self.code != NO_CODE)
        rows = np.flatnonzero(owed)
        blank = rows[(lane.gather(rows).str.strip_chars(WHITE_SPACE) == "").to_numpy()]
        if not len(blank):
            return lane
        stand_in = pl.Series([_UNEXPLAINED] * len(blank))
        if self._broken is not None:
            outcome = self.frame["outcome"].gather(blank - FIRST)
            stand_in = outcome.replace_strict(
                [JudgeOutcome.RAISED.value, JudgeOutcome.NOTHING.value],
                [_RAISED, _SILENT],
                default=_UNEXPLAINED,
                return_dtype=pl.String,
            )
        choice = np.arange(len(lane))
        choice[blank] = len(lane) + np.arange(len(blank))
        return pl.concat([lane, stand_in.alias("reasoning")], rechunk=True).gather(choice)

    def texts(self, column: str) -> pl.Series:
        """Return the (m,) texts of a nullable column; null where the judge gave none."""
        given = self.frame[column]
        if self._broken is not None:
            given = pl.DataFrame({"given": given, "broken": self._broken}).select(
                pl.when("broken").then(None).otherwise("given").alias(column)
            )[column]
        constants = pl.Series(column, [None, None], dtype=pl.String)
        return pl.concat([constants, given], rechunk=True)


def encode(texts: pl.Series, known: list[str]) -> Ints:
    """Return each text's index in ``known``; -1 for null and for anything else."""
    if texts.null_count() == len(texts):
        return np.full(len(texts), -1, np.int32)
    code = pl.all().cast(pl.Enum(known), strict=False).to_physical().cast(pl.Int32).fill_null(-1)
    return _looked_up(texts, code).to_numpy()


def as_enum(texts: pl.Series, known: list[str]) -> pl.Series:
    """Return texts as an Enum of the known ones; null for anything else."""
    return _looked_up(texts, pl.all().cast(pl.Enum(known), strict=False))


def _looked_up(texts: pl.Series, what: pl.Expr) -> pl.Series:
    """Return an expression over texts, row by row: many are worth a query, which uses all cores."""
    engine: Literal["streaming", "in-memory"] = "streaming" if len(texts) > _MANY else "in-memory"
    return texts.to_frame().lazy().select(what).collect(engine=engine).to_series()


def _numbers(values: pl.Series) -> Floats:
    if values.null_count() == len(values):
        return np.full(len(values), np.nan)
    return values.fill_null(np.nan).to_numpy()


def parse_causes(text: str | None) -> list[int] | str:
    """Return the counts by terminal code that a JSON object states, or what is wrong with it."""
    try:
        counts = orjson.loads(text or "null")
    except orjson.JSONDecodeError as error:
        return f"is not JSON: {error}"
    fault = fault_of_counts(counts)
    return fault or [counts.get(code.value, 0) for code in TERMINAL_CODES]


_ScalarT = TypeVar("_ScalarT", bound=np.generic)


def _led(lane: NDArray[_ScalarT], constants: list[Any]) -> NDArray[_ScalarT]:
    """Return the lane behind the values of the two constants, as its own copy."""
    return np.concatenate([np.array(constants, lane.dtype), lane])
