"""One strategy called on judgments at hand: a batch of one, without a jury around it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import orjson

from judgebatch.errors import JudgebatchError
from judgebatch.juries.definition import Reduction
from judgebatch.juries.judgment import Judgment
from judgebatch.juries.lanes import CODES, NO_CODE, STATUSES, Floats, Longs, Note, Rulebook, Small
from judgebatch.juries.portable import aggregate_texts
from judgebatch.juries.strategies import aggregate
from judgebatch.vocabulary import TERMINAL_CODES, ReasonCode


class AggregationError(JudgebatchError):
    """Judgments cannot be reduced at all; inside a jury this is contained."""


@dataclass
class _Given:
    judgments: Sequence[Judgment]
    weights: Sequence[float]

    @property
    def status(self) -> Small:
        found = [STATUSES.index(judgment.status) for judgment in self.judgments]
        return np.array(found, np.int8).reshape(-1, 1)

    @property
    def code(self) -> Small:
        codes = [judgment.reason_code for judgment in self.judgments]
        found = [NO_CODE if code is None else CODES.index(code) for code in codes]
        return np.array(found, np.int8).reshape(-1, 1)

    @property
    def score(self) -> Floats:
        scores = [judgment.score for judgment in self.judgments]
        found = [np.nan if score is None else score for score in scores]
        return np.array(found, np.float64).reshape(-1, 1)

    @property
    def weight(self) -> Floats:
        return np.array(self.weights, np.float64).reshape(-1, 1)

    def wrapped(self, seat: int, rows: Longs) -> Longs:
        counts = self.judgments[seat].error_code_counts
        causes = [[counts.get(code, 0) for code in TERMINAL_CODES]] * len(rows)
        return np.array(causes, np.int64)


def aggregate_judgments(
    judgments: Sequence[Judgment],
    reduction: Reduction,
    *,
    weights: Sequence[float] | None = None,
) -> Judgment:
    """Return what a strategy makes of judgments.

    Parameters
    ----------
    judgments
        What was submitted, in order.
    reduction
        Strategy and policies.
    weights
        One per judgment; 1 each without.

    Raises
    ------
    AggregationError
        The reduction fails: a count too large, a weight that is negative or not finite, no
        weight at all, or a custom strategy that raises.
    """
    rules = Rulebook()
    given = _Given(judgments, [1.0] * len(judgments) if weights is None else weights)
    made = aggregate(given, reduction, rules.add(reduction), entitled=reduction.excludes)
    (text,) = aggregate_texts(made, rules.rules)
    judgment = Judgment.of_document(orjson.loads(text))
    if judgment.reason_code is ReasonCode.AGGREGATION_FAILED and made.note[0] != Note.NONE:
        raise AggregationError(judgment.reasoning)
    return judgment
