"""A single judge's answer as the verdict that a jury of one leaves behind.

The shape is that of a jury by consensus with one declared seat, under the default policies, so
that a reading finds everything that supports it.
"""

from typing import Any

import orjson

from judgebatch.vocabulary import ReasonCode, Status

TIE = "tie"
"""The label of a comparison that neither side won."""


def verdict_text(
    judge: str,
    status: Status,
    reasoning: str,
    *,
    score: float | None = None,
    label: str | None = None,
    code: ReasonCode | None = None,
) -> str:
    """Return the JSON text of a verdict.

    Parameters
    ----------
    judge
        The judge's name.
    status
        ``pass``, ``fail`` or ``error``.
    reasoning
        What the judge said, or what went wrong.
    score
        The judge's own score in [0, 1], with ``pass`` and ``fail``.
    label
        The judge's own label; ``tie`` makes a comparison a tie.
    code
        What broke, with ``error``; ``subject_empty`` where a ``fail`` found no answer.
    """
    own: dict[str, Any] = {"status": status.value}
    if score is not None:
        own["score"] = score
    if label is not None:
        own["label"] = label
    if code is not None:
        own["reasonCode"] = code.value
    own |= {"reasoning": reasoning, "checks": [], "metadata": {}}
    broken = status is Status.ERROR
    aggregate: dict[str, Any] = {"status": status.value}
    if label is not None:
        aggregate["label"] = label
    if broken:
        aggregate["reasonCode"] = ReasonCode.ERRORS_PROPAGATED.value
    aggregate |= {
        "reasoning": reasoning,
        "checks": [],
        "metadata": {"aggregation": _evidence(status, code)},
    }
    verdict = {
        "aggregated": aggregate,
        "individual": [own],
        "individualByName": {judge: own},
        "weights": {"0": 1.0},
        "seats": [{"position": 0, "verdictKey": judge, "keySource": "DECLARED"}],
        "decision": {"kind": "own"},
        "compositeAttempts": [],
    }
    return orjson.dumps(verdict).decode()


def _evidence(status: Status, code: ReasonCode | None) -> dict[str, Any]:
    """Return the counts of a consensus over one judgment."""
    broken = status is Status.ERROR
    counts: dict[str, Any] = {
        "strategy": "consensus",
        "errorPolicy": "propagate",
        "notApplicablePolicy": "refuse",
        "inputCount": 1,
        "eligibleCount": 0 if broken else 1,
        "explicitAbstainCount": 0,
        "notApplicableCount": 0,
        "errorCount": int(broken),
        "ignoredErrorCount": 0,
        "errorsTreatedAsAbstainCount": 0,
        "errorsTreatedAsFailCount": 0,
        "notApplicableTreatedAsFailCount": 0,
        "errorCodeCounts": {code.value: 1} if broken and code is not None else {},
    }
    if not broken:
        counts["passCount"] = int(status is Status.PASS)
        counts["failCount"] = int(status is Status.FAIL)
    return counts
