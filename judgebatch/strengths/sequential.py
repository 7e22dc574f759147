"""Sequential decisions: is a variant better than its baseline, and since when do we know."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from judgebatch.contracts.promotions import Promotions, SequentialSums
from judgebatch.contracts.table import conform, schema_of
from judgebatch.strengths.codes import Ints
from judgebatch.strengths.elementary import Floats, log
from judgebatch.strengths.evidence import log_e_value
from judgebatch.vocabulary import Outcome, SequentialDecision

_KEYS = ["tenant_id", "task_id", "variant", "baseline"]
_COUNTS = {
    Outcome.LEFT: "wins",
    Outcome.RIGHT: "losses",
    Outcome.TIE: "ties",
    Outcome.UNDECIDED: "undecided",
    Outcome.NOT_APPLICABLE: "not_applicable",
    Outcome.ERROR: "errors",
    Outcome.UNATTESTABLE: "unattestable",
}
_STAMPS = ("run", "as_of")
_ACCEPT, _REJECT = str(SequentialDecision.ACCEPT), str(SequentialDecision.REJECT)
_SLACK = 1e-12
"""A bound met in exact arithmetic counts as met whatever rounding did."""


class Decisions(NamedTuple):
    """What a batch of comparisons decided, and the sums that the next batch continues."""

    promotions: pl.DataFrame
    """The tests decided by this batch: ``Promotions`` without ``run`` and ``as_of``, in order."""
    sums: pl.DataFrame
    """All tests, decided or not: ``SequentialSums``, in order."""


class SequentialTest(NamedTuple):
    """Wald's sequential probability ratio test of ``p1`` against ``p0``."""

    p0: float = 0.5
    p1: float = 0.6
    alpha: float = 0.05
    beta: float = 0.05


def decide(
    comparisons: pl.DataFrame,
    test: SequentialTest = SequentialTest(),  # noqa: B008 - immutable
    carried: pl.DataFrame | None = None,
) -> Decisions:
    """Decide every (tenant, task, variant, baseline) by its comparisons in order.

    Parameters
    ----------
    comparisons
        ``tenant_id``, ``task_id`` (null: all tasks together), ``variant``, ``baseline``,
        ``outcome`` (any of the vocabulary; ``left``: the variant won), ``judged_at``,
        ``verdict_id`` (unique inside the tenant). Rows come in any order; they count in that of
        (judged_at, verdict_id).
    test
        The hypotheses and error bounds.
    carried
        ``sums`` of earlier batches. Their comparisons come before all of this batch; a test they
        decided stays decided.

    Raises
    ------
    ValueError
        Bounds that allow no test, an unknown outcome, or a null where none may be.

    Notes
    -----
    ``llr = w ln(p1/p0) + l ln((1-p1)/(1-p0))`` over decisive comparisons; accepted at
    ``ln((1-beta)/alpha)`` or above, rejected at ``ln(beta/(1-alpha))`` or below, at the first
    crossing (Wald 1945). Sums are of integers, so no rounding accumulates.
    """
    bounds = _bounds(test)
    before = pl.DataFrame(schema=schema_of(SequentialSums)) if carried is None else carried
    rows = _coded(comparisons).sort(*_KEYS, "judged_at", "verdict_id")
    tests = pl.concat([before.select(_KEYS), rows.select(_KEYS)]).unique().sort(_KEYS)
    before = tests.join(before, on=_KEYS, how="left", nulls_equal=True, maintain_order="left")
    numbered = tests.with_row_index("test")
    owner = rows.join(numbered, on=_KEYS, how="left", nulls_equal=True, maintain_order="left")
    trace = _trace(owner["test"].to_numpy().astype(np.int64), rows["code"].to_numpy(), before)
    llr = _llr(trace.counts, bounds)
    log_e = log_e_value(trace.counts[0], trace.counts[1])
    decided = before["decision"].is_in([_ACCEPT, _REJECT]).fill_null(value=False).to_numpy()
    crossing = (llr >= bounds.accept_at - _SLACK) | (llr <= bounds.reject_at + _SLACK)
    deciding = _firsts(trace, crossing & ~decided[trace.owner])
    warned = before["e_value_crossed_after"].is_not_null().to_numpy()
    exceeding = _firsts(trace, (log_e >= bounds.exceeds - _SLACK) & ~warned[trace.owner])
    exceeded_after = _updated(before["e_value_crossed_after"], trace, exceeding)
    promotions = _promotions(rows, trace, deciding, test, bounds).with_columns(
        llr=llr[deciding],
        log_e_value=log_e[deciding],
        decision=_named(llr[deciding] > 0.0),
        e_value_crossed_after=exceeded_after.gather(trace.owner[deciding]),
    )
    promotions = promotions.with_columns(
        pl.when(pl.col("e_value_crossed_after") <= pl.col("decided_after")).then(
            pl.col("e_value_crossed_after")
        )
    )
    decision = before["decision"].fill_null(SequentialDecision.CONTINUE)
    now = trace.latest
    llr_now = np.where(decided, before["llr"].fill_null(0.0).to_numpy(), _llr(now, bounds))
    llr_now[trace.owner[deciding]] = llr[deciding]
    sums = tests.with_columns(
        *(pl.Series(name, now[slot]) for slot, name in enumerate(_COUNTS.values())),
        decision=decision.scatter(trace.owner[deciding], _named(llr[deciding] > 0.0)),
        decided_after=_updated(before["decided_after"], trace, deciding),
        llr=llr_now,
        log_e_value=log_e_value(now[0], now[1]),
        e_value_crossed_after=exceeded_after,
    )
    published = [name for name in schema_of(Promotions).names() if name not in _STAMPS]
    return Decisions(promotions.select(published), conform(sums, SequentialSums))


def decision_of(wins: int, losses: int, test: SequentialTest) -> SequentialDecision:
    """Return what the test says at these counts, for asking one comparison at a time.

    A judge that is asked until this is no longer ``continue`` is asked not once too often.
    """
    bounds = _bounds(test)
    llr = wins * bounds.per_win + losses * bounds.per_loss
    if llr >= bounds.accept_at - _SLACK:
        return SequentialDecision.ACCEPT
    if llr <= bounds.reject_at + _SLACK:
        return SequentialDecision.REJECT
    return SequentialDecision.CONTINUE


def boundaries(test: SequentialTest) -> tuple[float, float]:
    """Return the log likelihood ratios at which a test accepts and rejects.

    Raises
    ------
    ValueError
        Bounds that allow no test.
    """
    bounds = _bounds(test)
    return bounds.accept_at, bounds.reject_at


def standing(sums: pl.DataFrame, test: SequentialTest) -> pl.DataFrame:
    """Return how far undecided tests are from their bounds.

    Parameters
    ----------
    sums
        ``SequentialSums``.
    test
        The hypotheses and error bounds.

    Returns
    -------
    DataFrame
        The undecided tests: ``OpenPromotions`` without ``run`` and ``as_of``.
    """
    bounds = _bounds(test)
    llr = pl.col("wins") * bounds.per_win + pl.col("losses") * bounds.per_loss
    wins = (bounds.accept_at - _SLACK - pl.col("llr")) / bounds.per_win
    losses = (bounds.reject_at + _SLACK - pl.col("llr")) / bounds.per_loss
    return (
        sums.filter(pl.col("decision") == SequentialDecision.CONTINUE.value)
        .with_columns(
            llr=llr,
            comparisons=pl.sum_horizontal(_COUNTS.values()),
            accept_at=pl.lit(bounds.accept_at),
            reject_at=pl.lit(bounds.reject_at),
            **{name: pl.lit(value) for name, value in test._asdict().items()},
        )
        .with_columns(
            wins_to_accept=wins.ceil().clip(0).cast(pl.Int64),
            losses_to_reject=losses.ceil().clip(0).cast(pl.Int64),
        )
    )


class _Bounds(NamedTuple):
    per_win: float
    per_loss: float
    accept_at: float
    reject_at: float
    exceeds: float


def _bounds(test: SequentialTest) -> _Bounds:
    p0, p1, alpha, beta = test
    if not (0.0 < p0 < p1 < 1.0 and alpha > 0.0 and beta > 0.0 and alpha + beta < 1.0):
        raise ValueError(
            "a sequential test needs 0 < p0 < p1 < 1 and alpha + beta < 1, both positive, "
            f"not {test}"
        )
    return _Bounds(
        float(log(p1 / p0)),
        float(log((1.0 - p1) / (1.0 - p0))),
        float(log((1.0 - beta) / alpha)),
        float(log(beta / (1.0 - alpha))),
        -float(log(alpha)),
    )


def _coded(comparisons: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with their outcome as the position of its count."""
    needed = [name for name in (*_KEYS, "outcome", "judged_at", "verdict_id") if name != "task_id"]
    for name in needed:
        if comparisons[name].null_count():
            raise ValueError(f"column {name} of the comparisons holds nulls")
    known = pl.Enum([str(outcome) for outcome in _COUNTS])
    unknown = comparisons.filter(~pl.col("outcome").is_in(known.categories.to_list()))
    if unknown.height:
        Outcome.parse(unknown["outcome"][0])
    code = pl.col("outcome").cast(known).to_physical().cast(pl.Int8).alias("code")
    return comparisons.select(*_KEYS, "judged_at", "verdict_id", code)


class _Trace(NamedTuple):
    """Each comparison with the counts of its test up to and with it."""

    owner: Ints
    """(rows,) the test of each row; ascending."""
    counts: Ints
    """(7, rows)."""
    seen: Ints
    """(rows,) comparisons of the test so far."""
    latest: Ints
    """(7, tests) counts after all rows."""


def _trace(owner: Ints, code: npt.NDArray[np.int8], before: pl.DataFrame) -> _Trace:
    carried = [before[name].fill_null(0).to_numpy() for name in _COUNTS.values()]
    begins = np.searchsorted(owner, np.arange(before.height + 1))
    counts = np.empty((len(carried), owner.size), np.int64)
    latest = np.empty((len(carried), before.height), np.int64)
    for slot, start in enumerate(carried):
        running = np.concatenate([np.zeros(1, np.int64), np.cumsum(code == slot)])
        offset = start - running[begins[:-1]]
        counts[slot] = running[1:] + offset[owner]
        latest[slot] = running[begins[1:]] + offset
    return _Trace(owner, counts, counts.sum(axis=0), latest)


def _llr(counts: Ints, bounds: _Bounds) -> Floats:
    return np.asarray(counts[0] * bounds.per_win + counts[1] * bounds.per_loss)


def _firsts(trace: _Trace, chosen: npt.NDArray[np.bool_]) -> Ints:
    """Return the first chosen row of each test that has one."""
    rows = np.flatnonzero(chosen)
    return np.asarray(rows[np.diff(trace.owner[rows], prepend=-1) != 0])


def _updated(column: pl.Series, trace: _Trace, rows: Ints) -> pl.Series:
    """Return what was seen at ``rows`` for their tests, and the column's values elsewhere."""
    return column.clone().scatter(trace.owner[rows], trace.seen[rows])


def _named(accepted: npt.NDArray[np.bool_]) -> pl.Series:
    return pl.Series([_REJECT, _ACCEPT]).gather(accepted.astype(np.int64))


def _promotions(
    rows: pl.DataFrame, trace: _Trace, deciding: Ints, test: SequentialTest, bounds: _Bounds
) -> pl.DataFrame:
    counts = trace.counts[:, deciding]
    return rows[deciding].select(
        *_KEYS,
        *(pl.lit(pl.Series(name, counts[slot])) for slot, name in enumerate(_COUNTS.values())),
        pl.col("judged_at").alias("decided_at"),
        "verdict_id",
        pl.lit(pl.Series("decided_after", trace.seen[deciding])),
        pl.lit(bounds.accept_at).alias("accept_at"),
        pl.lit(bounds.reject_at).alias("reject_at"),
        *(pl.lit(value).alias(name) for name, value in test._asdict().items()),
    )
