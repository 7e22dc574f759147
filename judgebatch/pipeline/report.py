"""What a run tells its caller."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from judgebatch.grading.night import Flow
from judgebatch.judging import Counts
from judgebatch.pipeline.ingest import Ingested
from judgebatch.pipeline.shard import ShardGraded
from judgebatch.warehouse import Conservation


@dataclass(frozen=True)
class RunReport:
    """A run's outcome, for people and scripts.

    ``published`` is false where there was nothing to do; ``message`` then says why.
    """

    as_of: datetime
    published: bool
    message: str = ""
    run: int | None = None
    summary: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def _total(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return dict(sorted(total.items()))


def _by_policy(shards: Iterable[ShardGraded]) -> dict[str, dict[str, int]]:
    counts: dict[str, list[dict[str, int]]] = {}
    for shard in shards:
        for policy, outcomes in shard.policies.items():
            counts.setdefault(policy, []).append(outcomes)
    return {policy: _total(each) for policy, each in sorted(counts.items())}


def _judged(asked: Counts) -> dict[str, int]:
    failures = {name: getattr(asked, name) for name in ("raised", "short", "twice", "malformed")}
    return {
        "answered": asked.answered + asked.journaled,
        **failures,
        "unasked": asked.unasked,
        "unseated": asked.unseated,
        "in_sequence": asked.in_sequence,
    }


def conservation(
    shards: Sequence[ShardGraded], ingested: Iterable[Ingested], taken_once: Mapping[str, int]
) -> dict[str, Conservation]:
    """Return the conservation counts of a run.

    Rows that were bad when read never reach a shard: they are read and quarantined here. Whether
    a bad verdict row was a comparison is not known, so that law is about accepted rows.

    Parameters
    ----------
    shards, ingested
        What became of the shards and of the files.
    taken_once
        By subject, rows of files read again that never reached a shard because they are known.
    """
    bad = {"episodes": 0, "verdicts": 0, "answers": 0}
    for file in ingested:
        bad[file.kind.value] += file.quarantined
    flows: dict[str, list[Flow]] = {}
    for shard in shards:
        for subject, flow in shard.flows.items():
            flows.setdefault(subject, []).append(flow)
    set_aside_before = _total(one.quarantined_before for one in shards)
    return {
        subject: Conservation(
            read=sum(one.read for one in of) + bad.get(subject, 0) + taken_once.get(subject, 0),
            waiting_before=sum(one.waiting_before for one in of),
            quarantined=sum(one.quarantined for one in of)
            + bad.get(subject, 0)
            - set_aside_before.get(subject, 0),
            already_known=sum(one.already_known for one in of)
            + taken_once.get(subject, 0)
            + set_aside_before.get(subject, 0),
            ended=_total(one.ended for one in of),
            waiting_after=sum(one.waiting_after for one in of),
        )
        for subject, of in flows.items()
    }


def summary(
    shards: list[ShardGraded],
    ingested: list[Ingested],
    asked: Counts | None,
    warnings: tuple[str, ...],
) -> dict[str, Any]:
    """Return the counts that the manifest keeps and the command line prints."""
    rows = Counter[str]()
    for file in ingested:
        rows[file.kind.value] += file.rows
    return {
        "files": len(ingested),
        "rows_read": dict(sorted(rows.items())),
        "graded": _total(one.graded for one in shards),
        "ungraded": _total(one.ungraded for one in shards),
        "waiting": _total(one.waits for one in shards),
        "not_yet_visible": _total(one.pending for one in shards),
        "policies": _by_policy(shards),
        "quarantined": _total(one.quarantined for one in shards),
        # Without how many calls it took and what an earlier, killed run had asked already:
        # equal runs have equal manifests.
        "judge": None if asked is None else _judged(asked),
        "fit_failed": sum(one.fit_failed for one in shards),
        "warnings": list(warnings),
    }
