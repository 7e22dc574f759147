"""Evaluating policies over columns of answers, with the results of the scalar evaluator.

Every rule becomes a handful of column expressions over its question's answers, laid out by
episode; no Python runs per row.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from judgebatch.policies.arguments import shown
from judgebatch.policies.binding import BoundRule, ValidatedPolicy
from judgebatch.policies.columns import check_columns, check_representable
from judgebatch.policies.errors import PolicyAnswerError, PolicyDefinitionError
from judgebatch.policies.rule_columns import evaluate_rule

EPISODE = ["tenant_id", "episode_id"]

RESULTS_SCHEMA = pl.Schema(
    {
        "tenant_id": pl.String(),
        "episode_id": pl.String(),
        "policy": pl.String(),
        "policy_passed": pl.Boolean(),
        "error": pl.String(),
    }
)
REPORTS_SCHEMA = pl.Schema(
    {
        "tenant_id": pl.String(),
        "episode_id": pl.String(),
        "policy": pl.String(),
        "rule": pl.Int64(),
        "question": pl.String(),
        "passed": pl.Boolean(),
        "detail": pl.String(),
        "error": pl.String(),
    }
)


class Evaluation(NamedTuple):
    """What policies say.

    ``results`` has a row per (tenant, episode, policy): ``policy_passed``, null where a rule was
    not evaluated, and then ``error``, that of the first such rule. ``reports`` has a row per rule
    of it: ``rule`` counts from 0 in the policy's order, ``passed`` is null where ``error`` says
    why. Both stand in the order of policy name, rule, and the episode's first row in ``assigned``
    or else in ``answers``.
    """

    results: pl.DataFrame
    reports: pl.DataFrame


def evaluate_policies(
    answers: pl.DataFrame,
    policies: Mapping[str, ValidatedPolicy],
    *,
    assigned: pl.DataFrame | None = None,
    details: bool = True,
) -> Evaluation:
    """Return what each policy says of each episode's answers.

    Parameters
    ----------
    answers
        One row per (tenant_id, episode_id, question), with answer_type, probability, choice,
        confidence, score and probabilities (list of struct of level and probability). A Boolean
        column ``conflicting`` may mark questions to which different answers came: they are not
        evaluated. Further columns and answers that no rule names are ignored.
    policies
        The policies by name.
    assigned
        Which policies an episode has: tenant_id, episode_id and policy, once each. An episode
        without answers is one whose answers are missing. By default every policy is evaluated
        for every episode that has an answer.
    details
        Whether reports carry the comparison in words; without, ``detail`` is null.

    Raises
    ------
    PolicyAnswerError
        A column is missing or of another type, or a question is answered twice.
    PolicyDefinitionError
        ``assigned`` names a policy that is not there, or a policy is not validated or holds a
        text that no column can hold.
    """
    for policy in policies.values():
        check_representable(policy)
    answers = check_columns(answers)
    episodes, slots = _episodes(answers, assigned)
    laid_out = _LaidOut(answers, slots, len(episodes), _codes(answers, policies))
    results = [pl.DataFrame(schema=RESULTS_SCHEMA)]
    reports = [pl.DataFrame(schema=REPORTS_SCHEMA)]
    for name, members in _members(episodes, policies, assigned):
        chosen = episodes if members is None else episodes.select(pl.all().gather(members))
        outcomes: list[pl.DataFrame] = []
        for ordinal, bound in enumerate(policies[name].bound):
            rows = laid_out.rows(bound.rule.name, members)
            outcome = evaluate_rule(bound, answers, rows, details=details)
            reports.append(_report(chosen, name, ordinal, bound, outcome))
            outcomes.append(outcome.select("passed", "error"))
        results.append(_result(chosen, name, outcomes))
    return Evaluation(
        pl.concat(results).select(RESULTS_SCHEMA.names()),
        pl.concat(reports).select(REPORTS_SCHEMA.names()),
    )


def _report(
    episodes: pl.DataFrame, policy: str, ordinal: int, bound: BoundRule, outcome: pl.DataFrame
) -> pl.DataFrame:
    return (
        pl.concat([episodes, outcome], how="horizontal")
        .with_columns(
            pl.lit(policy).alias("policy"),
            pl.lit(ordinal, pl.Int64).alias("rule"),
            pl.lit(bound.rule.name).alias("question"),
        )
        .select(REPORTS_SCHEMA.names())
    )


def _result(episodes: pl.DataFrame, policy: str, outcomes: list[pl.DataFrame]) -> pl.DataFrame:
    """Conjoin the rules: null where any of them was not evaluated, never false."""
    side_by_side = pl.concat(
        [
            episodes,
            *(
                outcome.rename({"passed": f"passed_{rule}", "error": f"error_{rule}"})
                for rule, outcome in enumerate(outcomes)
            ),
        ],
        how="horizontal",
    )
    passed = pl.all_horizontal(f"passed_{rule}" for rule in range(len(outcomes)))
    error = pl.coalesce(f"error_{rule}" for rule in range(len(outcomes)))
    return side_by_side.select(
        *EPISODE,
        pl.lit(policy).alias("policy"),
        pl.when(error.is_null()).then(passed).alias("policy_passed"),
        error.alias("error"),
    )


_Slots = np.ndarray[tuple[int], np.dtype[np.int64]]


def _episodes(answers: pl.DataFrame, assigned: pl.DataFrame | None) -> tuple[pl.DataFrame, _Slots]:
    """Return the episodes as they first appear, and each answer's place among them; -1 for none."""
    if assigned is None:
        grouped = (
            answers.lazy()
            .select(EPISODE)
            .with_row_index("row")
            .group_by(EPISODE, maintain_order=True)
            .agg("row")
            .collect(engine="in-memory")
        )
        slots = np.empty(len(answers), dtype=np.int64)
        sizes = grouped["row"].list.len().to_numpy()
        rows = grouped["row"].explode(empty_as_null=False).to_numpy()
        slots[rows] = np.repeat(np.arange(len(grouped)), sizes)
        return grouped.select(EPISODE), slots
    episodes = assigned.select(EPISODE).unique(maintain_order=True)
    placed = answers.select(EPISODE).join(
        episodes.with_row_index("slot"), on=EPISODE, how="left", maintain_order="left"
    )
    return episodes, placed["slot"].cast(pl.Int64).fill_null(-1).to_numpy()


def _members(
    episodes: pl.DataFrame,
    policies: Mapping[str, ValidatedPolicy],
    assigned: pl.DataFrame | None,
) -> Iterator[tuple[str, pl.Series | None]]:
    """Yield each policy with the places of its episodes; ``None`` for all of them."""
    if assigned is None:
        yield from ((name, None) for name in sorted(policies))
        return
    unknown = assigned.filter(~pl.col("policy").is_in(list(policies)))
    if len(unknown):
        raise PolicyDefinitionError(
            f"episodes are assigned {shown(unknown['policy'][0])}, which is no policy here"
        )
    slots = assigned.join(episodes.with_row_index("slot"), on=EPISODE)
    for name in sorted(policies):
        members = slots.filter(pl.col("policy") == name)["slot"].unique().sort()
        if len(members):
            yield name, members


def _codes(answers: pl.DataFrame, policies: Mapping[str, ValidatedPolicy]) -> "_Codes":
    questions = {bound.rule.name for policy in policies.values() for bound in policy.bound}
    ordered = sorted(questions)
    of_row = answers["question"].cast(pl.Enum(ordered), strict=False).to_physical()
    return _Codes({name: code for code, name in enumerate(ordered)}, of_row)


@dataclass(frozen=True, slots=True)
class _Codes:
    """The questions that rules name, numbered, and the number of each answer's question."""

    number: dict[str, int]
    of_row: pl.Series


@dataclass(frozen=True, slots=True)
class _LaidOut:
    """Finds the answer of each episode to a question."""

    answers: pl.DataFrame
    slots: _Slots
    episodes: int
    codes: _Codes

    def rows(self, question: str, members: pl.Series | None) -> pl.Series:
        """Return, for each member, the row of its answer to ``question``; null without one."""
        found = (self.codes.of_row == self.codes.number[question]).arg_true().to_numpy()
        slots = self.slots[found]
        found, slots = found[slots >= 0], slots[slots >= 0]
        row_of = np.full(self.episodes, -1, dtype=np.int64)
        row_of[slots] = found
        again = np.flatnonzero(row_of[slots] != found)
        if len(again):
            row = self.answers.row(int(found[again[0]]), named=True)
            raise PolicyAnswerError(
                f"episode {shown(row['episode_id'])} of tenant {shown(row['tenant_id'])} "
                f"has two answers to {shown(question)}; admit answers before evaluating them",
                question=question,
            )
        if members is not None:
            row_of = row_of[members.to_numpy()]
        rows = pl.Series("row", row_of)
        return rows if (row_of >= 0).all() else rows.to_frame().select(_nonnegative).to_series()


_nonnegative = pl.when(pl.col("row") >= 0).then(pl.col("row"))
