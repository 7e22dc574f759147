"""One night of policies: admit answers, decide what is due, and leave the rest for the next."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import numpy as np
import polars as pl

from judgebatch.contracts.policies import (
    AwaitingPolicies,
    HeldAnswers,
    PolicyCounts,
    PolicyDocuments,
    PolicyReports,
    PolicyResults,
)
from judgebatch.contracts.table import Table, conform, empty, schema_of
from judgebatch.policies.admission import (
    KEY,
    TIME,
    Copy,
    admit_answers,
    compare_answers,
    quarantined_answers,
)
from judgebatch.policies.assignment import PolicyChoice, asked_of_tenants, assign_policies
from judgebatch.policies.binding import ValidatedPolicy
from judgebatch.policies.columnar import evaluate_policies
from judgebatch.policies.decisions import EPISODE, asked, due, needed_answers
from judgebatch.policies.documents import policy_digest, policy_document, read_document
from judgebatch.policies.errors import PolicyDefinitionError
from judgebatch.vocabulary import AnswerDisposition, QuarantineReason


@dataclass(frozen=True)
class PolicyState:
    """What a run leaves for the next one."""

    held: pl.DataFrame
    """HeldAnswers."""
    awaiting: pl.DataFrame
    """AwaitingPolicies."""
    documents: pl.DataFrame
    """PolicyDocuments: those that ``awaiting`` names."""


def no_policies() -> PolicyState:
    """Return the state before the first run."""
    return PolicyState(empty(HeldAnswers), empty(AwaitingPolicies), empty(PolicyDocuments))


class PolicyNight(NamedTuple):
    """What a night of policies came to.

    ``results``, ``reports`` and ``counts`` follow PolicyResults, PolicyReports and PolicyCounts,
    without run and as_of, in their order. ``quarantined`` follows QuarantineRows. ``ended`` counts
    the accepted answers that ended: tenant_id, disposition and count, every disposition for every
    tenant with an answer. Rows read + held before = quarantined + ended + held after.
    """

    results: pl.DataFrame
    reports: pl.DataFrame
    counts: pl.DataFrame
    quarantined: pl.DataFrame
    ended: pl.DataFrame
    state: PolicyState


def judge_night(
    answers: pl.DataFrame,
    state: PolicyState,
    episodes: pl.DataFrame,
    seen: pl.DataFrame,
    tenants: pl.DataFrame,
    policies: Mapping[str, ValidatedPolicy],
    choice: PolicyChoice,
    *,
    previous_as_of: datetime | None,
    as_of: datetime,
    details: bool = True,
) -> PolicyNight:
    """Evaluate the policies that are due.

    An answer ends as ``used``; ``late``, after its episode was decided; ``not_needed``, no policy
    of its episode asks it; or ``already_known``. A different answer to a question that has one is
    quarantined; if it came by the time of the decision, the question is not evaluated.

    Parameters
    ----------
    answers
        AnswerRows of this run's files.
    state
        What the previous run left.
    episodes
        The episodes first considered in this run: tenant_id, task_id, episode_id, arrived_at and
        effective_arrival.
    seen
        tenant_id and episode_id of episodes that earlier runs considered, at least of those that
        answers name.
    tenants
        tenant_id, accepting, known, judging_window_us (null: don't wait) and
        unknown_episode_window_us.
    policies
        The run's policies by name: all that ``choice`` names.
    choice
        Which policies an episode has.
    previous_as_of, as_of
        The logical time of the last grading run, and of this one.
    details
        Whether reports carry the comparison in words.

    Raises
    ------
    PolicyDefinitionError
        ``choice`` names a policy that is not there.
    """
    kept = _Kept(policies, state.documents)
    awaiting = pl.concat([state.awaiting, kept.begin(episodes, tenants, choice)])
    admitted = admit_answers(
        answers, state.held, tenants, previous_as_of=previous_as_of, as_of=as_of
    )
    placed = _placed(admitted.considered, awaiting, episodes, seen)
    too_early = _comes_before_its_episode(as_of)
    in_time = placed.filter(~too_early)
    # Answers whose episode is not there yet stay as they are: what they are is judged with it.
    unseen = in_time.filter(~pl.col("known")).with_columns(copy=pl.lit("first", Copy))
    compared = pl.concat([compare_answers(in_time.filter("known")), unseen])
    needed = needed_answers(awaiting, asked(kept.by_digest, by="policy_digest"))
    firsts = compared.filter(pl.col("copy") == "first")
    decided = due(awaiting, needed, firsts.select(*KEY, "considered_at"), as_of=as_of)
    settled = _settled(compared, needed, decided, kept.asked_of(tenants, choice))
    results, reports = _evaluated(settled, awaiting, decided, kept, details=details)
    awaiting = awaiting.join(decided, on=EPISODE, how="anti").sort(AwaitingPolicies.order)
    held = pl.concat([admitted.pending, _still_held(settled)])
    return PolicyNight(
        results=results,
        reports=reports,
        counts=policy_counts(results),
        quarantined=pl.concat(
            [
                admitted.quarantined,
                quarantined_answers(
                    placed.filter(too_early), QuarantineReason.UNKNOWN_EPISODE, _EARLY
                ),
                quarantined_answers(
                    settled.filter(pl.col("end") == QuarantineReason.CONFLICTING_ANSWER.value),
                    QuarantineReason.CONFLICTING_ANSWER,
                    _CONFLICT,
                ),
            ]
        ),
        ended=_ended(admitted.considered, settled),
        state=PolicyState(
            held=held.sort(HeldAnswers.order), awaiting=awaiting, documents=kept.documents(awaiting)
        ),
    )


def policy_counts(results: pl.DataFrame) -> pl.DataFrame:
    """Return tenant_id, policy, met, unmet and not_evaluated: counts of policy results."""
    passed = pl.col("policy_passed")
    counts = results.group_by("tenant_id", "policy").agg(
        met=(passed.fill_null(value=False)).sum().cast(pl.Int64),
        unmet=(~passed).fill_null(value=False).sum().cast(pl.Int64),
        not_evaluated=passed.is_null().sum().cast(pl.Int64),
    )
    return counts.select(_columns(PolicyCounts)).sort(PolicyCounts.order)


class _Kept:
    """The policies of this run and of earlier ones that are still awaited, by digest."""

    def __init__(self, policies: Mapping[str, ValidatedPolicy], documents: pl.DataFrame) -> None:
        texts = {name: policy_document(policy) for name, policy in policies.items()}
        self._digests = {name: policy_digest(text) for name, text in texts.items()}
        self._texts = {self._digests[name]: text for name, text in texts.items()}
        self.by_digest = {self._digests[name]: policy for name, policy in policies.items()}
        for digest, text in documents.select("policy_digest", "document").rows():
            if digest not in self.by_digest:
                self._texts[digest] = text
                self.by_digest[digest] = read_document(text)

    def asked_of(self, tenants: pl.DataFrame, choice: PolicyChoice) -> pl.DataFrame:
        """Return tenant_id and question: what an episode of a tenant may be asked."""
        policies = {name: self.by_digest[digest] for name, digest in self._digests.items()}
        return asked_of_tenants(tenants, choice, asked(policies, by="policy"))

    def begin(
        self, episodes: pl.DataFrame, tenants: pl.DataFrame, choice: PolicyChoice
    ) -> pl.DataFrame:
        """Return AwaitingPolicies of newly considered episodes."""
        digests = pl.DataFrame(
            {"policy": list(self._digests), "policy_digest": list(self._digests.values())},
            schema={"policy": pl.String, "policy_digest": pl.String},
        )
        assigned = assign_policies(episodes, choice).join(digests, on="policy", how="left")
        unknown = assigned.filter(pl.col("policy_digest").is_null())["policy"].unique().sort()
        if len(unknown):
            raise PolicyDefinitionError(f"{unknown[0]!r} is chosen, but there is no such policy")
        windows = tenants.select("tenant_id", "judging_window_us")
        return conform(assigned.join(windows, on="tenant_id", how="left"), AwaitingPolicies)

    def documents(self, awaiting: pl.DataFrame) -> pl.DataFrame:
        """Return PolicyDocuments of what is awaited."""
        digests = awaiting["policy_digest"].unique().sort().to_list()
        return pl.DataFrame(
            {"policy_digest": digests, "document": [self._texts[digest] for digest in digests]},
            schema=schema_of(PolicyDocuments),
        )


_HELD = "held"
_EARLY = pl.format(
    "episode {} did not come in time for this answer to {}", "episode_id", "question"
)
_CONFLICT = pl.format(
    "another answer to {} about episode {} came first and differs", "question", "episode_id"
)


def _placed(
    considered: pl.DataFrame, awaiting: pl.DataFrame, episodes: pl.DataFrame, seen: pl.DataFrame
) -> pl.DataFrame:
    """Add whether the episode is awaited, known, and new, and when it arrived if that is known."""
    of_episodes = [
        awaiting.select(*EPISODE, "arrived_at").with_columns(awaited=True),
        episodes.select(*EPISODE, "arrived_at").with_columns(novel=True),
        seen.select(EPISODE),
    ]
    about = (
        pl.concat(of_episodes, how="diagonal")
        .group_by(EPISODE)
        .agg(pl.col("arrived_at").max(), pl.col("awaited", "novel").any())
        .with_columns(known=True)
    )
    flags = pl.col("awaited", "known", "novel")
    return considered.join(about, on=EPISODE, how="left").with_columns(flags.fill_null(value=False))


def _comes_before_its_episode(as_of: datetime) -> pl.Expr:
    """Return whether the episode did not come inside the answer's unknown_episode_window."""
    ends = pl.col("answered_at") + pl.duration(microseconds=pl.col("unknown_episode_window_us"))
    unseen = ~pl.col("known") & (ends <= pl.lit(as_of, TIME))
    return unseen | (pl.col("arrived_at") > ends).fill_null(value=False)


def _settled(
    compared: pl.DataFrame, needed: pl.DataFrame, decided: pl.DataFrame, of_tenant: pl.DataFrame
) -> pl.DataFrame:
    """Add ``end``: how an answer ended, why it is quarantined, or that it is held."""
    over = pl.col("known") & ~pl.col("awaited")
    after = (pl.col("considered_at") > pl.col("cutoff")).fill_null(value=False)
    never = pl.col("novel") | ~pl.col("asked")
    different = pl.when(pl.col("copy") == "other").then("considered_at")
    end = (
        pl.when((pl.col("awaited") & ~pl.col("needed")) | (over & never))
        .then(_token(AnswerDisposition.NOT_NEEDED))
        .when(over | after)
        .then(_token(AnswerDisposition.LATE))
        .when(pl.col("copy") == "same")
        .then(_token(AnswerDisposition.ALREADY_KNOWN))
        .when(pl.col("copy") == "other")
        .then(_token(QuarantineReason.CONFLICTING_ANSWER))
        .when(pl.col("cutoff").is_not_null())
        .then(_token(AnswerDisposition.USED))
        .otherwise(pl.lit(_HELD))
    )
    return (
        compared.join(needed.with_columns(needed=True), on=KEY, how="left")
        .join(decided, on=EPISODE, how="left")
        .join(of_tenant.with_columns(asked=True), on=["tenant_id", "question"], how="left")
        .with_columns(
            pl.col("needed", "asked").fill_null(value=False),
            conflict_at=pl.min_horizontal("conflict_at", different.min().over(KEY)),
        )
        .with_columns(end=end)
    )


def _token(token: QuarantineReason | AnswerDisposition) -> pl.Expr:
    return pl.lit(token.value)


def _evaluated(
    settled: pl.DataFrame,
    awaiting: pl.DataFrame,
    decided: pl.DataFrame,
    kept: _Kept,
    *,
    details: bool,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return results and reports of the episodes that are decided."""
    used = settled.filter(pl.col("end") == AnswerDisposition.USED.value).with_columns(
        conflicting=(pl.col("conflict_at") <= pl.col("cutoff")).fill_null(value=False)
    )
    # One name may stand for two texts while episodes of an older one are awaited.
    named = (
        awaiting.join(decided, on=EPISODE)
        .sort(AwaitingPolicies.order)
        .with_columns(key=pl.concat_str("policy_digest", pl.lit(" "), "policy"))
    )
    digests = named.select("key", "policy_digest").unique().rows()
    policies = {key: kept.by_digest[digest] for key, digest in digests}
    results, reports = evaluate_policies(
        used,
        policies,
        assigned=named.select(*EPISODE, pl.col("key").alias("policy")),
        details=details,
    )
    # Both come by key and then in the order of ``named``; rows go back to that order, by number.
    numbered = named.select("key").with_row_index("row").sort("key", maintain_order=True)
    by_key = numbered["row"].cast(pl.Int64).to_numpy()
    places = [
        np.tile(by_key[first : first + count], len(policies[key].bound))
        for key, first, count in _blocks(named["key"])
    ]
    place = np.concatenate([np.empty(0, np.int64), *places])
    rules = reports["rule"].to_numpy()
    order = np.lexsort((rules, place))
    stamp = named.select("task_id", "policy", "policy_digest", "decided_at")
    back = np.argsort(by_key)
    return (
        _stamped(results[back], stamp, PolicyResults),
        _stamped(reports[order], stamp[place[order]], PolicyReports),
    )


def _blocks(keys: pl.Series) -> list[tuple[str, int, int]]:
    """Return each key with its first place among the sorted keys, and how often it occurs."""
    counted = keys.value_counts(name="count").sort(keys.name)
    first = counted["count"].cum_sum() - counted["count"]
    return list(zip(counted[keys.name], first, counted["count"], strict=True))


def _stamped(rows: pl.DataFrame, stamp: pl.DataFrame, table: type[Table]) -> pl.DataFrame:
    """Return ``rows`` with what ``stamp``, row for row, knows of them, as ``table`` has them."""
    return rows.drop("policy").hstack(stamp).select(_columns(table))


def _still_held(settled: pl.DataFrame) -> pl.DataFrame:
    return conform(settled.filter(pl.col("end") == _HELD), HeldAnswers)


def _ended(considered: pl.DataFrame, settled: pl.DataFrame) -> pl.DataFrame:
    """Count the answers that ended, zeros included."""
    every = pl.DataFrame({"disposition": [token.value for token in AnswerDisposition]})
    counted = settled.group_by("tenant_id", pl.col("end").alias("disposition")).len("count")
    return (
        considered.select("tenant_id")
        .unique()
        .join(every, how="cross")
        .join(counted, on=["tenant_id", "disposition"], how="left")
        .with_columns(pl.col("count").fill_null(0).cast(pl.Int64))
        .sort("tenant_id", "disposition")
    )


def _columns(table: type[Table]) -> list[str]:
    """Return the table's columns but those that a run stamps on every row."""
    return [name for name in schema_of(table) if name not in ("run", "as_of")]
