"""Decoding and interpreting stored verdicts into all tables, against `orjson.loads` alone.

    python benchmarks/interpret.py [VERDICTS]

For documents of about 1, 3, 8 and 20 KB, of today's form and of the oldest one, and for documents
of which a third is damaged: CPU seconds of `interpret_texts` as a multiple of those of
`orjson.loads` over the same texts with the results dropped (goal: 4 times, limit: 6 times).

As many verdicts are read at once as `judgebatch interpret` reads at once, or as named. Each figure
is the least of several runs that take turns with the yardstick: other work on the machine, which
takes the processor's caches away, disturbs it less, but it does. Run it on an idle machine.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import orjson
import polars as pl

from judgebatch.pipeline.verdict_files import BATCH_BYTES, BATCH_ROWS
from judgebatch.verdicts import interpret_texts

REPEATS = 12
WORDS = [
    "the",
    "agent",
    "opened",
    "ticket",
    "and",
    "closed",
    "it",
    "after",
    "checking",
    "every",
    "requirement",
    "of",
    "task",
    "although",
    "its",
    "answer",
    "names",
    "no",
    "source",
    "for",
    "price",
    "which",
    "rubric",
    "asks",
    "for",
    "so",
    "this",
    "criterion",
    "stays",
    "open",
]
STRATEGIES = ("consensus", "majority", "average")


def prose(rng: np.random.Generator, words: int) -> str:
    return " ".join(WORDS[at] for at in rng.integers(0, len(WORDS), words))


def judgment(rng: np.random.Generator, status: str, words: int, checks: int) -> dict[str, Any]:
    """Return a judgment with its words and checks."""
    return {
        "status": status,
        "score": round(float(rng.random()), 3),
        "reasoning": prose(rng, words),
        "checks": [
            {"name": f"check-{at}", "passed": bool(rng.random() < 0.8), "message": prose(rng, 6)}
            for at in range(checks)
        ],
        "metadata": {},
    }


def aggregated(rng: np.random.Generator, judges: list[dict[str, Any]]) -> dict[str, Any]:
    passes = sum(judge["status"] == "pass" for judge in judges)
    evidence: dict[str, Any] = {
        "strategy": "majority",
        "errorPolicy": "propagate",
        "notApplicablePolicy": "refuse",
        "inputCount": len(judges),
        "eligibleCount": len(judges),
        "explicitAbstainCount": 0,
        "notApplicableCount": 0,
        "errorCount": 0,
        "ignoredErrorCount": 0,
        "errorsTreatedAsAbstainCount": 0,
        "errorsTreatedAsFailCount": 0,
        "notApplicableTreatedAsFailCount": 0,
        "errorCodeCounts": {},
        "passCount": passes,
        "failCount": len(judges) - passes,
    }
    status = "pass" if 2 * passes > len(judges) else "fail"
    return judgment(rng, status, 12, 0) | {"metadata": {"aggregation": evidence}}


def today(rng: np.random.Generator, judges: int, words: int, checks: int) -> dict[str, Any]:
    """Return a verdict of today's form; a fifth of them are cascades that stopped at once."""
    given = [
        judgment(rng, "pass" if rng.random() < 0.6 else "fail", words, checks)
        for _ in range(judges)
    ]
    own = {
        "aggregated": aggregated(rng, given),
        "individual": given,
        "individualByName": {f"judge-{at}": one for at, one in enumerate(given)},
        "weights": {str(at): 1.0 for at in range(judges)},
        "seats": [
            {"position": at, "verdictKey": f"judge-{at}", "keySource": "DECLARED"}
            for at in range(judges)
        ],
        "decision": {"kind": "own"},
        "compositeAttempts": [],
    }
    if rng.random() >= 0.2:
        return own
    attempt = {
        "name": "first",
        "relation": "cascade_tier",
        "policy": "FINAL_TIER",
        "disposition": "used",
        "verdict": own,
    }
    decision = {"kind": "tier", "tier": "first", "basis": "tier_outcome"}
    return own | {"decision": decision, "compositeAttempts": [attempt]}


def oldest(rng: np.random.Generator, judges: int, words: int, checks: int) -> dict[str, Any]:
    """Return a verdict of the oldest form: no seats, no evidence, scores on a scale."""
    document = today(rng, judges, words, checks)
    for one in [document["aggregated"], *document["individual"]]:
        one["status"] = one["status"].upper()
        one["score"] = {"value": one["score"] * 10, "min": 0, "max": 10}
        one["metadata"] = {}
    kept = ("aggregated", "individual", "individualByName", "weights")
    return {name: document[name] for name in kept} | {"subVerdicts": []}


def damaged(rng: np.random.Generator, judges: int, words: int, checks: int) -> dict[str, Any]:
    """Return a verdict of which something was lost or overwritten, in one case of three."""
    document = today(rng, judges, words, checks)
    if rng.random() < 1 / 3:
        part = document["individual"][0] if rng.random() < 0.5 else document["aggregated"]
        key = list(part)[int(rng.integers(0, len(part)))]
        if rng.random() < 0.5:
            del part[key]
        else:
            part[key] = 3
    return document


SHAPES = {"1 KB": (1, 12, 0), "3 KB": (3, 24, 1), "8 KB": (5, 60, 2), "20 KB": (7, 120, 4)}
FORMS = {"today": today, "oldest": oldest, "damaged": damaged}


def at_once(make: Callable[..., dict[str, Any]], *shape: int) -> int:
    """Return how many such verdicts a batch of `judgebatch interpret` holds."""
    rng = np.random.default_rng(7)
    sample = sum(len(orjson.dumps(make(rng, *shape))) for _ in range(100)) / 100
    return min(BATCH_ROWS, int(BATCH_BYTES / sample) + 1)


def least(*works: Callable[[], object]) -> list[float]:
    """Return the least CPU seconds of each work over runs that take turns."""
    best = [float("inf")] * len(works)
    for _ in range(REPEATS):
        for place, work in enumerate(works):
            begin = time.process_time()
            work()
            best[place] = min(best[place], time.process_time() - begin)
    return best


def main() -> None:
    print("microseconds of CPU per verdict")
    heads = f"{'form':8} {'size':>6} {'bytes':>7} {'at once':>8}"
    print(f"{heads} {'orjson':>8} {'interpret':>10} {'ratio':>6}")
    for form, make in FORMS.items():
        for size, shape in SHAPES.items():
            rng = np.random.default_rng(7)
            verdicts = int(sys.argv[1]) if len(sys.argv) > 1 else at_once(make, *shape)
            texts = [orjson.dumps(make(rng, *shape)).decode() for _ in range(verdicts)]
            column = pl.Series(texts)

            def decode(texts: list[str] = texts) -> None:
                for text in texts:
                    orjson.loads(text)

            decoded, interpreted = least(decode, lambda column=column: interpret_texts(column))
            size_of = sum(map(len, texts)) // verdicts
            print(
                f"{form:8} {size:>6} {size_of:>7,} {verdicts:>8,} {decoded / verdicts * 1e6:8.1f} "
                f"{interpreted / verdicts * 1e6:10.1f} {interpreted / decoded:6.2f}"
            )


if __name__ == "__main__":
    main()
