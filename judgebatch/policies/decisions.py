"""When an episode's policies are evaluated.

An episode has one moment, D, for all its policies: when its last needed answer had arrived, and
not before the episode itself; or the end of its window, whichever is earlier. It is decided in
the first run with as_of at or past D, with the answers that had arrived by D.
"""

from collections.abc import Mapping
from datetime import datetime

import polars as pl

from judgebatch.policies.binding import ValidatedPolicy

TIME = pl.Datetime("us", "UTC")
EPISODE = ["tenant_id", "episode_id"]


def asked(policies: Mapping[str, ValidatedPolicy], *, by: str) -> pl.DataFrame:
    """Return what each policy asks: its key in ``policies``, in the column ``by``, and question."""
    pairs = [(key, bound.rule.name) for key, policy in policies.items() for bound in policy.bound]
    schema = {by: pl.String, "question": pl.String}
    return pl.DataFrame(pairs, schema=schema, orient="row")


def needed_answers(awaiting: pl.DataFrame, questions: pl.DataFrame) -> pl.DataFrame:
    """Return tenant_id, episode_id and question, once each: what awaited episodes need.

    Parameters
    ----------
    awaiting
        AwaitingPolicies.
    questions
        What :func:`asked` returns by policy_digest, of every policy that is awaited.
    """
    return (
        awaiting.select(*EPISODE, "policy_digest")
        .join(questions, on="policy_digest")
        .select(*EPISODE, "question")
        .unique()
    )


def due(
    awaiting: pl.DataFrame, needed: pl.DataFrame, arrivals: pl.DataFrame, *, as_of: datetime
) -> pl.DataFrame:
    """Return the episodes to decide now, with ``decided_at`` and ``cutoff``.

    Parameters
    ----------
    awaiting
        AwaitingPolicies.
    needed
        What :func:`needed_answers` returns.
    arrivals
        tenant_id, episode_id, question and considered_at of the first answers.
    as_of
        The run's logical time.

    Returns
    -------
    pl.DataFrame
        tenant_id, episode_id; decided_at, D, or the effective arrival where nothing is awaited;
        cutoff, the time up to which answers count: D, or as_of where nothing is awaited.
    """
    now = pl.lit(as_of, TIME)
    progress = (
        needed.join(arrivals, on=[*EPISODE, "question"], how="left")
        .group_by(EPISODE)
        .agg(
            complete=pl.col("considered_at").is_not_null().all(),
            last=pl.col("considered_at").max(),
        )
    )
    episodes = awaiting.group_by(EPISODE).agg(
        pl.col("effective_arrival").first(), pl.col("judging_window_us").first()
    )
    window = pl.col("judging_window_us")
    arrival = pl.col("effective_arrival")
    answered = pl.when("complete").then(pl.max_horizontal("last", arrival))
    ends = arrival + pl.duration(microseconds=window)
    return (
        episodes.join(progress, on=EPISODE)
        .with_columns(
            decided_at=pl.when(window.is_null())
            .then(arrival)
            .otherwise(pl.min_horizontal(ends, answered))
        )
        .filter(pl.col("decided_at") <= now)
        .select(
            *EPISODE,
            "decided_at",
            pl.when(window.is_null()).then(now).otherwise("decided_at").alias("cutoff"),
        )
    )
