"""Stored verdicts as juries write them: a fixed pool of documents of every outcome.

Each document says ``@LEFT@`` once and then ``@RIGHT@`` once, in the reasoning of its aggregate,
where the ids of the judged episodes go.
"""

import random
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import orjson

from judgebatch.vocabulary import JUDGE_CODES, ReasonCode

Json = dict[str, Any]

LEFT = "@LEFT@"
RIGHT = "@RIGHT@"
_POOL_SEED = 20260301
_PER_SIZE = 6
_SIZES = (1, 2, 3, 4, 5)


class Kind(StrEnum):
    """What a document comes to."""

    LEFT = "left"
    RIGHT = "right"
    TIE = "tie"
    UNDECIDED = "undecided"
    NOT_APPLICABLE = "not_applicable"
    ERROR = "error"
    UNATTESTABLE = "unattestable"
    LEGACY_LEFT = "legacy_left"
    LEGACY_RIGHT = "legacy_right"
    LEGACY_ERROR = "legacy_error"


class Document(NamedTuple):
    """A document, cut where the ids go."""

    kind: Kind
    before: str
    between: str
    after: str


_PASS = (
    "reaches the goal in fewer steps and leaves the workspace clean",
    "answers every point of the request and cites what it read",
    "recovers from the failed call instead of repeating it",
    "keeps to the schema and explains the one assumption it makes",
)
_FAIL = (
    "repeats the same call without reading its error",
    "leaves the second half of the request undone",
    "claims a result that the transcript does not show",
    "overwrites a file that it was asked to keep",
)
_CHECKS = (
    ("goal_reached", "the final state is what the task asks for"),
    ("no_unsafe_calls", "no call outside the allowed tools"),
    ("grounded", "every claim is found in a tool result"),
    ("format", "the answer has the requested form"),
)
_ABSTAIN = "the two transcripts differ in nothing that the criteria name"
_EXCLUDED = "the criteria speak of retrieval and neither transcript retrieves"
_JUDGES = ("strict-reviewer", "goal-checker", "safety-reader", "style-reader", "cost-auditor")
_ERRORS = {
    ReasonCode.JUDGE_FAILED: "the judge raised: connection reset by peer",
    ReasonCode.JUDGE_METADATA_UNREADABLE: "the judge's description could not be read",
    ReasonCode.JUDGE_REPORTED: "the judge reported that it cannot see the attachment",
    ReasonCode.UNDECLARED_NOT_APPLICABLE: "the judge excluded itself without saying that it may",
}


def documents() -> list[Document]:
    """Return the pool, always the same, in a fixed order."""
    chance = random.Random(_POOL_SEED)  # noqa: S311 - made-up data, not a secret
    pool: list[Document] = []
    for kind, verdict in _verdicts(chance):
        text = orjson.dumps(verdict).decode()
        before, _, rest = text.partition(LEFT)
        between, _, after = rest.partition(RIGHT)
        pool.append(Document(kind, before, between, after))
    return pool


def _verdicts(chance: random.Random) -> Iterator[tuple[Kind, Json]]:
    for size in _SIZES:
        for _ in range(_PER_SIZE):
            yield Kind.LEFT, _majority(chance, size, passed=True)
            yield Kind.RIGHT, _majority(chance, size, passed=False)
            yield Kind.LEFT, _average(chance, size, passed=True)
            yield Kind.RIGHT, _average(chance, size, passed=False)
            yield Kind.UNDECIDED, _abstained(chance, size)
            yield Kind.NOT_APPLICABLE, _excluded(size)
            yield Kind.UNATTESTABLE, _contradicted(chance, size)
            yield Kind.LEGACY_LEFT, _legacy(_majority(chance, size, passed=True), chance)
            yield Kind.LEGACY_RIGHT, _legacy(_majority(chance, size, passed=False), chance)
        for code in JUDGE_CODES:
            yield Kind.ERROR, _judge_error(chance, size, code)
            yield Kind.LEGACY_ERROR, _legacy(_judge_error(chance, size, code), chance)
        yield Kind.ERROR, _refused(chance, size)
        yield Kind.ERROR, _aggregation_failed(chance, size)
        yield Kind.ERROR, _no_tier_decided()
        yield Kind.ERROR, _stage_failed(chance, size)
        yield Kind.LEFT, _cascade(chance, size, passed=True)
        yield Kind.RIGHT, _cascade(chance, size, passed=False)
    for size in (2, 4):
        for _ in range(_PER_SIZE):
            yield Kind.TIE, _tied(chance, size)
    for size in (3, 5):
        for _ in range(_PER_SIZE):
            yield Kind.UNDECIDED, _split(chance, size)


def _judgment(status: str, reasoning: str, **more: Any) -> Json:
    """Return a judgment with its members in their order."""
    order = ("score", "label", "reasonCode")
    return {
        "status": status,
        **{name: more[name] for name in order if name in more},
        "reasoning": reasoning,
        "checks": more.get("checks", []),
        "metadata": more.get("metadata", {}),
    }


def _vote(chance: random.Random, *, passed: bool, score: float | None = None) -> Json:
    reasoning = f"The first run {chance.choice(_PASS if passed else _FAIL)}."
    picked = chance.sample(_CHECKS, chance.randint(0, 2))
    checks = [{"name": name, "passed": passed, "message": text} for name, text in picked]
    scored = {} if score is None else {"score": score}
    return _judgment("pass" if passed else "fail", reasoning, checks=checks, **scored)


def _error(code: ReasonCode) -> Json:
    return _judgment("error", _ERRORS[code], reasonCode=code.value)


def _verdict(aggregated: Json, judgments: Sequence[Json], decision: Json | None = None) -> Json:
    """Return a verdict of a simple jury over ``judgments``, by judges in their order."""
    names = _JUDGES[: len(judgments)]
    return {
        "aggregated": aggregated,
        "individual": list(judgments),
        "individualByName": dict(zip(names, judgments, strict=True)),
        "weights": {str(index): 1.0 for index in range(len(judgments))},
        "seats": [
            {"position": index, "verdictKey": name, "keySource": "DECLARED"}
            for index, name in enumerate(names)
        ],
        "decision": decision or {"kind": "own"},
        "compositeAttempts": [],
    }


def _evidence(
    strategy: str,
    judgments: Sequence[Json],
    eligible: int,
    *,
    excludes: bool = False,
    **tail: float,
) -> Json:
    """Return what an aggregate records of its population, keys in their order."""
    statuses = [judgment["status"] for judgment in judgments]
    codes = [judgment["reasonCode"] for judgment in judgments if judgment["status"] == "error"]
    return {
        "aggregation": {
            "strategy": strategy,
            "errorPolicy": "propagate",
            "notApplicablePolicy": "exclude" if excludes else "refuse",
            "inputCount": len(statuses),
            "eligibleCount": eligible,
            "explicitAbstainCount": statuses.count("abstain"),
            "notApplicableCount": statuses.count("not_applicable"),
            "errorCount": statuses.count("error"),
            "ignoredErrorCount": 0,
            "errorsTreatedAsAbstainCount": 0,
            "errorsTreatedAsFailCount": 0,
            "notApplicableTreatedAsFailCount": 0,
            "errorCodeCounts": {code: codes.count(code) for code in sorted(set(codes))},
            **tail,
        }
    }


def _told(what: str) -> str:
    return f"{LEFT} against {RIGHT}: {what}."


def _majority(chance: random.Random, size: int, *, passed: bool) -> Json:
    winners = chance.randint(size // 2 + 1, size)
    votes = [passed] * winners + [not passed] * (size - winners)
    chance.shuffle(votes)
    judgments = [_vote(chance, passed=vote) for vote in votes]
    count = sum(votes)
    metadata = _evidence("majority", judgments, size, passCount=count, failCount=size - count)
    text = _told(f"{count} of {size} judges prefer the first run")
    return _verdict(_judgment("pass" if passed else "fail", text, metadata=metadata), judgments)


def _average(chance: random.Random, size: int, *, passed: bool) -> Json:
    # Eighths: their sums and means by small powers of two have no rounding to get wrong.
    scores = [(chance.randint(4, 8) if passed else chance.randint(0, 3)) / 8 for _ in range(size)]
    judgments = [_vote(chance, passed=passed, score=score) for score in scores]
    mean = sum(scores) / size
    metadata = _evidence("average", judgments, size, threshold=0.5)
    text = _told(f"the judges' mean score is {mean:.3f} against a threshold of 0.5")
    status = "pass" if passed else "fail"
    return _verdict(_judgment(status, text, score=mean, metadata=metadata), judgments)


def _tied(chance: random.Random, size: int) -> Json:
    votes = [index % 2 == 0 for index in range(size)]
    chance.shuffle(votes)
    judgments = [_vote(chance, passed=vote) for vote in votes]
    half = size // 2
    metadata = _evidence("majority", judgments, size, passCount=half, failCount=half)
    text = _told(f"{half} judges prefer the first run and {half} the second")
    return _verdict(_judgment("fail", text, label="tie", metadata=metadata), judgments)


def _split(chance: random.Random, size: int) -> Json:
    judgments = [_vote(chance, passed=index > 0) for index in range(size)]
    metadata = _evidence("consensus", judgments, size, passCount=size - 1, failCount=1)
    text = _told("the judges do not agree, and the jury asks for consensus")
    return _verdict(_judgment("abstain", text, metadata=metadata), judgments)


def _abstained(chance: random.Random, size: int) -> Json:
    judgments = [_judgment("abstain", f"I cannot say: {_ABSTAIN}.") for _ in range(size)]
    metadata = _evidence("majority", judgments, 0)
    text = _told(f"nobody votes, since {_ABSTAIN if chance.random() < 0.5 else 'both runs fail'}")
    return _verdict(_judgment("abstain", text, metadata=metadata), judgments)


def _excluded(size: int) -> Json:
    judgments = [_judgment("not_applicable", f"Not to be asked: {_EXCLUDED}.") for _ in range(size)]
    metadata = _evidence("majority", judgments, 0, excludes=True)
    text = _told(f"not applicable, since {_EXCLUDED}")
    return _verdict(_judgment("not_applicable", text, metadata=metadata), judgments)


def _contradicted(chance: random.Random, size: int) -> Json:
    verdict = _majority(chance, size, passed=True)
    verdict["aggregated"]["status"] = "fail"
    return verdict


def _judge_error(chance: random.Random, size: int, code: ReasonCode) -> Json:
    failed = chance.randint(1, size)
    judgments = [_error(code) for _ in range(failed)]
    judgments += [_vote(chance, passed=chance.random() < 0.5) for _ in range(size - failed)]
    metadata = _evidence("majority", judgments, 0)
    text = _told(f"not assessed, since {failed} of {size} judges failed")
    aggregated = _judgment(
        "error", text, reasonCode=ReasonCode.ERRORS_PROPAGATED.value, metadata=metadata
    )
    return _verdict(aggregated, judgments)


def _refused(chance: random.Random, size: int) -> Json:
    judgments = [_judgment("not_applicable", f"Not to be asked: {_EXCLUDED}.")]
    judgments += [_vote(chance, passed=True) for _ in range(size - 1)]
    metadata = _evidence("majority", judgments, 0)
    text = _told("a judge excluded the pair and this jury refuses exclusions")
    aggregated = _judgment(
        "error", text, reasonCode=ReasonCode.NOT_APPLICABLE_REFUSED.value, metadata=metadata
    )
    return _verdict(aggregated, judgments, {"kind": "undecided"})


def _aggregation_failed(chance: random.Random, size: int) -> Json:
    judgments = [_vote(chance, passed=chance.random() < 0.5) for _ in range(size)]
    text = _told("the jury's strategy raised: division by zero")
    aggregated = _judgment("error", text, reasonCode=ReasonCode.AGGREGATION_FAILED.value)
    return _verdict(aggregated, judgments, {"kind": "undecided"})


def _failed_attempt(name: str, relation: str, policy: str | None = None) -> Json:
    return {
        "name": name,
        "relation": relation,
        **({"policy": policy} if policy else {}),
        "disposition": "stage_failed",
        "dispositionReason": "execution_failed",
        "failure": {"code": "jury_execution_failed"},
    }


def _no_tier_decided() -> Json:
    text = _told("no tier of the cascade came to a decision")
    aggregated = _judgment("error", text, reasonCode=ReasonCode.NO_TIER_DECIDED.value)
    return {
        **_verdict(aggregated, [], {"kind": "undecided"}),
        "compositeAttempts": [
            _failed_attempt("screen", "cascade_tier", "ACCEPT_ON_ALL_PASS"),
            _failed_attempt("panel", "cascade_tier", "FINAL_TIER"),
        ],
    }


def _stage_failed(chance: random.Random, size: int) -> Json:
    member = _without_ids(_majority(chance, size, passed=True))
    text = _told("a member jury failed, so its judgment is missing")
    aggregated = _judgment("error", text, reasonCode=ReasonCode.STAGE_FAILED.value)
    return {
        "aggregated": aggregated,
        "individual": [member["aggregated"]],
        "individualByName": {"panel": member["aggregated"]},
        "weights": {},
        "seats": [{"position": 0, "verdictKey": "panel", "keySource": "DECLARED"}],
        "decision": {"kind": "undecided"},
        "compositeAttempts": [
            {"name": "panel", "relation": "meta_member", "disposition": "used", "verdict": member},
            _failed_attempt("second-panel", "meta_member"),
        ],
    }


def _cascade(chance: random.Random, size: int, *, passed: bool) -> Json:
    """Return a cascade whose final tier decided; it copies that tier's parts."""
    panel = _without_ids(_majority(chance, size, passed=passed))
    root = {**panel, "decision": {"kind": "tier", "tier": "panel", "basis": "tier_outcome"}}
    root["compositeAttempts"] = [
        _failed_attempt("screen", "cascade_tier", "ACCEPT_ON_ALL_PASS"),
        {
            "name": "panel",
            "relation": "cascade_tier",
            "policy": "FINAL_TIER",
            "disposition": "used",
            "verdict": panel,
        },
    ]
    # The root's aggregate must equal its tier's, so the ids go where nothing is compared.
    root["pair"] = [LEFT, RIGHT]
    return root


def _without_ids(verdict: Json) -> Json:
    text = verdict["aggregated"]["reasoning"].split(": ", 1)[1]
    return {**verdict, "aggregated": {**verdict["aggregated"], "reasoning": text.capitalize()}}


def _legacy(verdict: Json, chance: random.Random) -> Json:
    """Return what an older release would have stored: no seats, no decision, fewer counts."""
    old = {name: verdict[name] for name in ("aggregated", "individual", "individualByName")}
    block = dict(old["aggregated"]["metadata"]["aggregation"])
    for name in ("notApplicablePolicy", "notApplicableCount", "notApplicableTreatedAsFailCount"):
        del block[name]
    codes = block.pop("errorCodeCounts")
    metadata = {"aggregation": block}
    aggregated = {**old["aggregated"], "metadata": metadata}
    if codes:
        # That release had no wrapper around the errors it passed on.
        aggregated["reasonCode"] = next(iter(codes))
        aggregated["metadata"] = {}
    return {
        "aggregated": aggregated,
        "individual": old["individual"],
        "individualByName": old["individualByName"],
        "weights": {str(index): 1.0 for index in range(len(old["individual"]))},
        **({"compositeAttempts": []} if chance.random() < 0.5 else {"subVerdicts": []}),
    }
