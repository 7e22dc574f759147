"""Stored verdicts to read: known ones with what they must be read as, and small ones made here."""

from functools import cache
from pathlib import Path
from typing import Any

import orjson

from tests.conformance.__main__ import cases

DATA = Path(__file__).parents[1] / "conformance" / "data"


@cache
def known_cases() -> tuple[dict[str, Any], ...]:
    """Return stored verdicts of all releases with their expected interpretation."""
    names = ("interpret-corners.jsonl.gz", "interpret.jsonl.gz")
    return tuple(case for name in names for case in cases(DATA / name))


def judgment(status: str, **more: Any) -> dict[str, Any]:
    return {"status": status, "reasoning": "because", "checks": [], "metadata": {}} | more


def aggregated(status: str, *, passes: int, fails: int, **more: Any) -> dict[str, Any]:
    """Return a consensus aggregate with its evidence."""
    evidence = {
        "strategy": "consensus",
        "errorPolicy": "propagate",
        "notApplicablePolicy": "refuse",
        "inputCount": passes + fails,
        "eligibleCount": passes + fails,
        "explicitAbstainCount": 0,
        "notApplicableCount": 0,
        "errorCount": 0,
        "ignoredErrorCount": 0,
        "errorsTreatedAsAbstainCount": 0,
        "errorsTreatedAsFailCount": 0,
        "notApplicableTreatedAsFailCount": 0,
        "errorCodeCounts": {},
        "passCount": passes,
        "failCount": fails,
    }
    return judgment(status, metadata={"aggregation": evidence}) | more


def verdict(root: dict[str, Any], *judges: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a verdict of today's form."""
    return {
        "aggregated": root,
        "individual": list(judges),
        "individualByName": {f"j{i}": judge for i, judge in enumerate(judges)},
        "weights": {str(i): 1.0 for i in range(len(judges))},
        "seats": [
            {"position": i, "verdictKey": f"j{i}", "keySource": "DECLARED"}
            for i in range(len(judges))
        ],
        "decision": {"kind": "own"},
        "compositeAttempts": [],
    } | more


def accepted() -> dict[str, Any]:
    return verdict(aggregated("pass", passes=1, fails=0), judgment("pass"))


def rejected() -> dict[str, Any]:
    return verdict(aggregated("fail", passes=0, fails=1), judgment("fail"))


def errored(code: str = "aggregation_failed") -> dict[str, Any]:
    return verdict(
        judgment("error", reasonCode=code), judgment("pass"), decision={"kind": "undecided"}
    )


def legacy(status: str, **more: Any) -> dict[str, Any]:
    """Return a verdict of the oldest form, with one judge."""
    one = judgment(status, **more)
    return {
        "aggregated": one,
        "individual": [one],
        "individualByName": {"only": one},
        "weights": {},
        "subVerdicts": [],
    }


def text(document: Any) -> str:
    return orjson.dumps(document).decode()
