"""What a jury states of itself: one row for each way aggregates of a batch differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from judgebatch.juries.definition import CustomJury, Jury, Reduction, children
from judgebatch.juries.lanes import (
    CODES,
    NO_CODE,
    STATUSES,
    WRAPPER,
    Aggregates,
    Count,
    Evidence,
    Longs,
    Note,
    code_index,
)
from judgebatch.vocabulary import TERMINAL_CODES, ReasonCode, Status, Strategy

COUNT_KEYS = {
    "inputCount": Count.INPUT,
    "eligibleCount": Count.ELIGIBLE,
    "explicitAbstainCount": Count.ABSTAIN,
    "notApplicableCount": Count.NOT_APPLICABLE,
    "errorCount": Count.ERROR,
    "ignoredErrorCount": Count.IGNORED,
    "errorsTreatedAsAbstainCount": Count.AS_ABSTAIN,
    "errorsTreatedAsFailCount": Count.AS_FAIL,
    "notApplicableTreatedAsFailCount": Count.NOT_APPLICABLE_AS_FAIL,
}
_VOTES = (Strategy.CONSENSUS, Strategy.MAJORITY, Strategy.ALL_MUST_PASS)
_NOTES = {
    Note.COUNT_TOO_LARGE: "a count of errors passes the largest that is exact in JSON",
    Note.BAD_WEIGHT: "a weight is negative or not finite",
    Note.NO_WEIGHT: "all weights are zero",
    Note.STRATEGY_RAISED: "the strategy raised",
    Note.STRATEGY_SILENT: "the strategy returned nothing",
    Note.STRATEGY_MALFORMED: "the strategy returned something that is no judgment",
    Note.STRATEGY_EXCLUDED: "the strategy excluded, and the jury may not",
    Note.STRATEGY_CODE: "the strategy returned an error with a code that is not its to give",
}


@dataclass(frozen=True, slots=True)
class Statement:
    """An aggregate without its floating-point numbers.

    ``evidence`` holds the keys of the aggregation block in order; a number that differs from
    verdict to verdict stands in it as None.
    """

    status: Status
    reason_code: ReasonCode | None
    reasoning: str
    scored: bool
    evidence: dict[str, Any] | None


def statements(
    aggregates: Aggregates, rules: Sequence[Reduction | Jury]
) -> tuple[list[Statement], Longs]:
    """Return every different statement of a batch, and each aggregate's number among them."""
    scored = ~np.isnan(aggregates.score)
    first, number = _distinct(
        [
            aggregates.status,
            aggregates.code,
            aggregates.rule,
            aggregates.evidence,
            aggregates.note,
            scored,
            *aggregates.counts,
            *([] if aggregates.codes is None else aggregates.codes.T),
        ]
    )
    return [_statement(aggregates, int(row), rules) for row in first], number


def _distinct(lanes: Sequence[NDArray[Any]]) -> tuple[Longs, Longs]:
    """Return the first row of every different combination, and each row's combination."""
    number = np.zeros(len(lanes[0]), np.int64)
    if not len(number):
        return number, number
    width = 1
    for lane in lanes:
        low, high = int(lane.min()), int(lane.max())
        size = high - low + 1
        if size == 1:
            continue
        if size > 2**32:
            lane = np.unique(lane, return_inverse=True)[1]  # noqa: PLW2901 - the same, denser
            low, size = 0, int(lane.max()) + 1
        if width * size > 2**62:
            number = np.unique(number, return_inverse=True)[1]
            width = int(number.max()) + 1
        number = number * size + (lane.astype(np.int64) - low)
        width *= size
    if width == 1:
        return np.zeros(1, np.int64), number
    if width <= 4 * len(number) + 1024:
        # The combinations are few: mark those that occur instead of sorting all rows.
        first = np.full(width, -1, np.int64)
        first[number[::-1]] = np.arange(len(number) - 1, -1, -1)
        occurring = np.flatnonzero(first >= 0)
        dense = np.zeros(width, np.int64)
        dense[occurring] = np.arange(len(occurring))
        return first[occurring], dense[number]
    _, first, inverse = np.unique(number, return_index=True, return_inverse=True)
    return first, inverse


def _statement(aggregates: Aggregates, row: int, rules: Sequence[Reduction | Jury]) -> Statement:
    code = int(aggregates.code[row])
    rule_number = int(aggregates.rule[row])
    rule = rules[rule_number] if rule_number >= 0 else None
    evidence = None
    if isinstance(rule, Reduction) and aggregates.evidence[row] != Evidence.NONE:
        evidence = _evidence(aggregates, row, rule)
    return Statement(
        status=STATUSES[aggregates.status[row]],
        reason_code=None if code == NO_CODE else CODES[code],
        reasoning=_reasoning(aggregates, row, rule),
        scored=not np.isnan(aggregates.score[row]),
        evidence=evidence,
    )


def _evidence(aggregates: Aggregates, row: int, rule: Reduction) -> dict[str, Any]:
    counts = aggregates.counts[:, row]
    causes: dict[str, int] = {}
    if aggregates.codes is not None:
        numbers = aggregates.codes[row].tolist()
        causes = {
            code.value: number
            for code, number in zip(TERMINAL_CODES, numbers, strict=True)
            if number
        }
    evidence: dict[str, Any] = {
        "strategy": rule.strategy_name,
        "errorPolicy": rule.error_policy.value,
        "notApplicablePolicy": rule.not_applicable_policy.value,
        **{key: int(counts[lane]) for key, lane in COUNT_KEYS.items()},
        "errorCodeCounts": causes,
    }
    kind = aggregates.evidence[row]
    if kind == Evidence.WEIGHTS:
        evidence |= {"inputWeight": None, "eligibleWeight": None}
    elif kind == Evidence.FULL:
        if rule.strategy in _VOTES:
            evidence |= {
                "passCount": int(counts[Count.PASSED]),
                "failCount": int(counts[Count.FAILED]),
            }
        else:
            evidence["threshold"] = rule.threshold
        if rule.strategy is Strategy.CONJUNCTIVE:
            evidence["bindingIndex"] = int(counts[Count.BINDING])
        if rule.strategy is Strategy.WEIGHTED_AVERAGE:
            evidence |= {"inputWeight": None, "eligibleWeight": None}
    return evidence


def _reasoning(aggregates: Aggregates, row: int, rule: Reduction | Jury | None) -> str:
    if rule is None:
        return "a custom jury stated this"
    if not isinstance(rule, Reduction):
        return _stages(aggregates, row, rule)
    code = int(aggregates.code[row])
    counts = aggregates.counts[:, row]
    submitted = int(counts[Count.INPUT])
    name = rule.strategy_name
    stated = {
        code_index(ReasonCode.AGGREGATION_FAILED): f"{name} could not be computed",
        WRAPPER: f"{counts[Count.ERROR]} of {submitted} judgments are errors",
        code_index(
            ReasonCode.NOT_APPLICABLE_REFUSED
        ): f"{counts[Count.NOT_APPLICABLE]} of {submitted} judgments exclude, which is refused",
    }.get(code, f"{name} of {counts[Count.ELIGIBLE]} eligible out of {submitted} judgments")
    failure = _NOTES.get(Note(int(aggregates.note[row])))
    if failure:
        stated += f": {failure}"
    elif code == NO_CODE:
        stated += _finding(aggregates, row, rule)
    return stated


def _stages(aggregates: Aggregates, row: int, jury: Jury) -> str:
    """Return what is said where stages failed; their bits stand in the note."""
    if isinstance(jury, CustomJury):
        return "the jury raised or returned nothing"
    note = int(aggregates.note[row])
    names = [child.name for i, child in enumerate(children(jury)) if note >> i & 1]
    stages = ", ".join(orjson.dumps(name).decode() for name in names)
    if aggregates.code[row] == code_index(ReasonCode.NO_TIER_DECIDED):
        refused = f"; not applicable without a declaration: {stages}" if names else ""
        return f"no tier decided{refused}"
    return f"stages that cannot be used: {stages}"


def _finding(aggregates: Aggregates, row: int, rule: Reduction) -> str:
    counts, evidence = aggregates.counts[:, row], aggregates.evidence[row]
    if evidence == Evidence.WEIGHTS:
        return ": nothing with weight to reduce"
    if evidence == Evidence.COMMON:
        custom = not isinstance(rule.strategy, Strategy) and counts[Count.ELIGIBLE]
        return "" if custom else ": nothing to reduce"
    if rule.strategy in _VOTES:
        return f": {counts[Count.PASSED]} passed, {counts[Count.FAILED]} failed"
    reached = "reaches" if STATUSES[aggregates.status[row]] is Status.PASS else "misses"
    return f": the score {reached} the threshold {rule.threshold}"
