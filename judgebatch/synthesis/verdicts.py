"""Verdicts of a corpus: which document says what about which pair, when, and for how much."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from judgebatch.synthesis.documents import Document, Kind
from judgebatch.synthesis.episodes import Block
from judgebatch.synthesis.pairs import Pairs
from judgebatch.synthesis.tenants import COMPARISON_USD, Ints

_HOUR_MS = 3_600_000
_USUAL_WAIT_MS = 6 * _HOUR_MS
_LONG_WAIT_MS = 80 * _HOUR_MS
_LATE_SHARE = 0.004
_SINGLE_SHARE = 0.1

_SHARES: dict[Kind, float] = {
    Kind.TIE: 0.08,
    Kind.UNDECIDED: 0.04,
    Kind.NOT_APPLICABLE: 0.01,
    Kind.ERROR: 0.04,
    Kind.UNATTESTABLE: 0.005,
    Kind.LEGACY_ERROR: 0.002,
    # These two by skill, as are left and right, which are the rest.
    Kind.LEGACY_LEFT: 0.01,
    Kind.LEGACY_RIGHT: 0.01,
}
_LEGACY = (Kind.LEGACY_LEFT, Kind.LEGACY_RIGHT, Kind.LEGACY_ERROR)


class Pool:
    """The documents by kind, as columns to draw from."""

    def __init__(self, documents: Sequence[Document]) -> None:
        # Small juries are common and large ones rare: drawing favours the short documents.
        ordered = sorted(documents, key=lambda one: (one.kind, sum(map(len, one[1:])), one))
        self.frame = pl.DataFrame(
            {
                "before": [one.before for one in ordered],
                "between": [one.between for one in ordered],
                "after": [one.after for one in ordered],
            }
        )
        kinds = [one.kind for one in ordered]
        self.first = {kind: kinds.index(kind) for kind in Kind}
        self.count = {kind: kinds.count(kind) for kind in Kind}

    def draw(self, kind: npt.NDArray[np.int64], luck: npt.NDArray[np.float64]) -> Ints:
        """Return a document for every kind (as its place in ``Kind``)."""
        first = np.array([self.first[one] for one in Kind], dtype=np.int64)
        count = np.array([self.count[one] for one in Kind], dtype=np.int64)
        return first[kind] + np.floor(count[kind] * luck * luck).astype(np.int64)


def make_verdicts(
    chance: np.random.Generator, pool: Pool, block: Block, pairs: Pairs, first_number: int
) -> pl.DataFrame:
    """Return verdicts on ``pairs`` and on some of the block's own episodes.

    Columns: number, tenant, task_number, left, right (null for a single episode), judged_ms,
    document, cost_micro_usd, recorded_passed, legacy,
    jury.
    """
    alone = np.flatnonzero(chance.random(len(block.number)) < _SINGLE_SHARE)
    count = len(pairs.left) + len(alone)
    advantage = np.concatenate([pairs.advantage, block.skill[alone] - 0.5])
    kind = _kinds(chance, advantage)
    ready = np.concatenate([pairs.ready_ms, block.seen_ms[alone]])
    late = chance.random(count) < _LATE_SHARE
    wait = np.where(late, _LONG_WAIT_MS, _USUAL_WAIT_MS) * chance.random(count)
    document = pool.draw(kind, chance.random(count))
    order = {one: place for place, one in enumerate(Kind)}
    legacy = np.isin(kind, [order[one] for one in _LEGACY])
    right = np.concatenate([pairs.right, np.full(len(alone), -1, dtype=np.int64)])
    return pl.DataFrame(
        {
            "number": np.arange(first_number, first_number + count, dtype=np.int64),
            "tenant": np.concatenate([pairs.tenant, block.tenant[alone]]),
            "task_number": np.concatenate([pairs.task_number, block.task_number[alone]]),
            "left": np.concatenate([pairs.left, block.number[alone]]),
            "right": right,
            "judged_ms": ready + 60_000 + np.floor(wait).astype(np.int64),
            "document": document,
            "cost_micro_usd": chance.integers(1, int(COMPARISON_USD * 2e6), count),
            "recorded_passed": kind == order[Kind.LEGACY_LEFT],
            "legacy": legacy,
            "jury": chance.integers(0, 2, count),
        }
    ).with_columns(
        pl.when(pl.col("right") >= 0).then(pl.col("right")),
        pl.when(pl.col("legacy")).then(pl.col("recorded_passed")),
    )


def _kinds(chance: np.random.Generator, advantage: npt.NDArray[np.float64]) -> Ints:
    """Draw what each verdict says; the more skilled one wins more often."""
    order = {one: place for place, one in enumerate(Kind)}
    wins = chance.random(len(advantage)) < 0.5 + 0.45 * advantage
    kind = np.where(wins, order[Kind.LEFT], order[Kind.RIGHT])
    luck = chance.random(len(advantage))
    bound = 0.0
    for one, share in _SHARES.items():
        drawn = (luck >= bound) & (luck < bound + share)
        if one in (Kind.LEGACY_LEFT, Kind.LEGACY_RIGHT):
            kind[drawn] = np.where(wins[drawn], order[Kind.LEGACY_LEFT], order[Kind.LEGACY_RIGHT])
        else:
            kind[drawn] = order[one]
        bound += share
    return kind.astype(np.int64)
