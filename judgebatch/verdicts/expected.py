"""What the recorded rule makes of recorded counts: population policies, then the strategy."""

from typing import NamedTuple

import numpy as np
import polars as pl

from judgebatch.verdicts import members
from judgebatch.verdicts.judgments import ABSTAIN, CODE, ERROR, FAIL, NOT_APPLICABLE, PASS
from judgebatch.verdicts.members import Index, Mask, Vocabulary
from judgebatch.vocabulary import ErrorPolicy, NotApplicablePolicy, ReasonCode, Strategy

UNKNOWN, ANY_VOTE = -1, -2
"""No status is expected; any vote is as good as another."""

NEEDED = {
    "strategy": "strategy",
    "eligibleCount": "eligible_count",
    "passCount": "pass_count",
    "failCount": "fail_count",
    "threshold": "threshold",
}
"""Members of the evidence that a rule may need, and the column of each."""

RULE_COLUMNS = (
    *NEEDED.values(),
    "error_policy",
    "not_applicable_policy",
    "input_count",
    "not_applicable_count",
    "error_count",
)
"""All columns of the evidence that a rule looks at."""

_STRATEGIES = Vocabulary(list(Strategy))
_CONSENSUS, _MAJORITY, _ALL_MUST_PASS = (
    list(Strategy).index(strategy)
    for strategy in (Strategy.CONSENSUS, Strategy.MAJORITY, Strategy.ALL_MUST_PASS)
)
_NUMERIC = tuple(
    at for at, strategy in enumerate(Strategy) if at not in {_CONSENSUS, _MAJORITY, _ALL_MUST_PASS}
)


class Expected(NamedTuple):
    """Per row: the status (or UNKNOWN, ANY_VOTE), its code (-1: none) and the missing member.

    ``missing`` is a place in ``NEEDED``: the first needed member that is not there; -1: none.
    """

    status: Index
    code: Index
    missing: Index


def expect(columns: dict[str, pl.Series], score: pl.Series, blames_machinery: Mask) -> Expected:
    """Return what each row's evidence gives.

    Parameters
    ----------
    columns
        The evidence.
    score
        The aggregate's score as a bare number; null otherwise.
    blames_machinery
        Whether the recorded error codes are there, and are none or name no judge's cause.
    """
    rule = _Rule(columns, len(score))
    rule.need("strategy")
    _answer_exits(rule, blames_machinery)
    rule.need("eligibleCount")
    _answer_empty(rule)
    _answer_counted(rule)
    _answer_scored(rule, score)
    return Expected(rule.status, rule.code, rule.missing)


class _Rule:
    """Rows that answers and missing members take away one by one: the first one stands."""

    def __init__(self, columns: dict[str, pl.Series], size: int) -> None:
        self.columns = columns
        self.status = np.full(size, UNKNOWN, dtype=np.int64)
        self.code = np.full(size, -1, dtype=np.int64)
        self.missing = np.full(size, -1, dtype=np.int64)
        self._pending = np.ones(size, dtype=np.bool_)

    def answer(self, mask: Mask, status: int, code: int = -1) -> None:
        hits = self._pending & mask
        self.status[hits] = status
        self.code[hits] = code
        self._pending[hits] = False

    def need(self, key: str, mask: Mask | None = None) -> None:
        hits = self._pending & members.nulls(self.columns[NEEDED[key]])
        if mask is not None:
            hits &= mask
        self.missing[hits] = list(NEEDED).index(key)
        self._pending[hits] = False

    def count(self, name: str) -> Index:
        return self.columns[name].fill_null(0).to_numpy()

    def has(self, name: str, policy: ErrorPolicy | NotApplicablePolicy) -> Mask:
        return members.where(self.columns[name] == policy.value)


def _answer_exits(rule: _Rule, blames_machinery: Mask) -> None:
    """Answer where a policy ends before anything is reduced."""
    excluded, errors = rule.count("not_applicable_count") > 0, rule.count("error_count") > 0
    refuse = rule.has("not_applicable_policy", NotApplicablePolicy.REFUSE)
    propagate = rule.has("error_policy", ErrorPolicy.PROPAGATE)
    charge = rule.has("error_policy", ErrorPolicy.TREAT_AS_FAIL)
    rule.answer(refuse & excluded, ERROR, CODE[ReasonCode.NOT_APPLICABLE_REFUSED])
    rule.answer(propagate & errors, ERROR, CODE[ReasonCode.ERRORS_PROPAGATED])
    rule.answer(charge & errors & blames_machinery, ERROR, CODE[ReasonCode.ERRORS_PROPAGATED])


def _answer_empty(rule: _Rule) -> None:
    """Answer where nothing was eligible."""
    nothing = rule.count("eligible_count") == 0
    inputs = rule.count("input_count")
    every = (inputs > 0) & (inputs == rule.count("not_applicable_count"))
    exclude = rule.has("not_applicable_policy", NotApplicablePolicy.EXCLUDE)
    rule.answer(nothing & exclude & every, NOT_APPLICABLE)
    rule.answer(nothing, ABSTAIN)


def _answer_counted(rule: _Rule) -> None:
    """Answer by the strategies that count votes."""
    strategy = _STRATEGIES.codes(rule.columns["strategy"])
    consensus, majority = strategy == _CONSENSUS, strategy == _MAJORITY
    all_must_pass = strategy == _ALL_MUST_PASS
    rule.need("passCount", consensus | majority)
    rule.need("failCount", consensus | majority | all_must_pass)
    passes, fails = rule.count("pass_count"), rule.count("fail_count")
    eligible = rule.count("eligible_count")
    rule.answer(consensus & (passes == eligible), PASS)
    rule.answer(consensus & (fails == eligible), FAIL)
    rule.answer(consensus, ABSTAIN)
    rule.answer(majority & (passes > fails), PASS)
    rule.answer(majority & (passes < fails), FAIL)
    rule.answer(majority, ANY_VOTE)
    rule.answer(all_must_pass & (fails > 0), FAIL)
    rule.answer(all_must_pass, PASS)


def _answer_scored(rule: _Rule, score: pl.Series) -> None:
    """Answer by the strategies that compare a score with a threshold."""
    numeric = np.isin(_STRATEGIES.codes(rule.columns["strategy"]), _NUMERIC)
    rule.need("threshold", numeric)
    scored = numeric & ~members.nulls(score)
    reached = members.where(score >= rule.columns["threshold"])
    rule.answer(scored & reached, PASS)
    rule.answer(scored, FAIL)
