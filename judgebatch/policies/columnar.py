"""Evaluating policies over columns of answers, with the results of the scalar evaluator.

Every rule becomes a handful of column expressions over its question's answers, laid out by
episode; no Python runs per row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from judgebatch.policies.arguments import shown
from judgebatch.policies.binding import BoundRule, ValidatedPolicy
from judgebatch.policies.columns import check_columns, check_representable
from judgebatch.policies.errors import PolicyAnswerError, PolicyDefinitionError
from judgebatch.policies.first_rows import Rows, first_rows
from judgebatch.policies.rule_columns import evaluate_rule

EPISODE = ["tenant_id", "episode_id"]

_EPISODES_AT_ONCE = 1 << 16
"""So many are evaluated together: what that takes besides the results is bounded."""

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
    laid_out = _laid_out(answers, policies, assigned)
    results = [pl.DataFrame(schema=RESULTS_SCHEMA)]
    reports = [pl.DataFrame(schema=REPORTS_SCHEMA)]
    for name in sorted(policies):
        members = laid_out.members(assigned, name)
        if not members.size:
            continue
        slices = np.split(members, range(_EPISODES_AT_ONCE, members.size, _EPISODES_AT_ONCE))
        chosen = [laid_out.episodes(part) for part in slices]
        by_rule: list[list[pl.DataFrame]] = []
        for ordinal, bound in enumerate(policies[name].bound):
            row_of = laid_out.rows(bound.rule.name)
            by_rule.append(
                [
                    _report(
                        episodes,
                        name,
                        ordinal,
                        bound,
                        evaluate_rule(bound, answers, _rows(row_of[part]), details=details),
                    )
                    for episodes, part in zip(chosen, slices, strict=True)
                ]
            )
        reports.extend(piece for pieces in by_rule for piece in pieces)
        results.extend(_result(list(pieces)) for pieces in zip(*by_rule, strict=True))
    return Evaluation(pl.concat(results, rechunk=False), pl.concat(reports, rechunk=False))


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


def _result(rules: list[pl.DataFrame]) -> pl.DataFrame:
    """Conjoin the reports of a policy's rules: null where any was not evaluated, never false."""
    outcomes = [
        report.select(
            pl.col("passed").alias(f"passed_{rule}"), pl.col("error").alias(f"error_{rule}")
        )
        for rule, report in enumerate(rules)
    ]
    passed = pl.all_horizontal(f"passed_{rule}" for rule in range(len(rules)))
    error = pl.coalesce(f"error_{rule}" for rule in range(len(rules)))
    return pl.concat([rules[0].select(*EPISODE, "policy"), *outcomes], how="horizontal").select(
        *EPISODE,
        "policy",
        pl.when(error.is_null()).then(passed).alias("policy_passed"),
        error.alias("error"),
    )


@dataclass(frozen=True, slots=True)
class _LaidOut:
    """Episodes in the order of their first row, and the answer of each to a question."""

    answers: pl.DataFrame
    keys: pl.DataFrame
    """The rows that name an episode: assigned policies, then answers."""
    first_of: Rows
    """Per episode: its first row among ``keys``."""
    assigned_slots: Rows
    """Per assigned policy: its episode."""
    slot_of: Rows
    """Per answer: its episode, -1 for one that no policy is assigned to."""
    codes: dict[str, int]
    """The questions that rules name, numbered."""
    code_of: pl.Series
    """Per answer: the number of its question; null for other questions."""

    def members(self, assigned: pl.DataFrame | None, policy: str) -> Rows:
        """Return the episodes that have ``policy``, in order."""
        if assigned is None:
            return np.arange(self.first_of.size)
        chosen = (assigned["policy"] == policy).fill_null(value=False).to_numpy()
        return np.unique(self.assigned_slots[chosen])

    def episodes(self, slots: Rows) -> pl.DataFrame:
        """Return the ids of some episodes."""
        return self.keys.select(pl.all().gather(pl.Series(self.first_of[slots])))

    def rows(self, question: str) -> Rows:
        """Return, for each episode, the row of its answer to ``question``; -1 without one."""
        found = (self.code_of == self.codes[question]).arg_true().to_numpy()
        slots = self.slot_of[found]
        found, slots = found[slots >= 0], slots[slots >= 0]
        row_of = np.full(self.first_of.size, -1, dtype=np.int64)
        row_of[slots] = found
        again = np.flatnonzero(row_of[slots] != found)
        if len(again):
            row = self.answers.row(int(found[again[0]]), named=True)
            raise PolicyAnswerError(
                f"episode {shown(row['episode_id'])} of tenant {shown(row['tenant_id'])} "
                f"has two answers to {shown(question)}; admit answers before evaluating them",
                question=question,
            )
        return row_of


def _laid_out(
    answers: pl.DataFrame,
    policies: Mapping[str, ValidatedPolicy],
    assigned: pl.DataFrame | None,
) -> _LaidOut:
    keys = answers.select(EPISODE)
    listed = 0
    if assigned is not None:
        unknown = assigned.filter(~pl.col("policy").is_in(list(policies)))
        if len(unknown):
            raise PolicyDefinitionError(
                f"episodes are assigned {shown(unknown['policy'][0])}, which is no policy here"
            )
        keys = pl.concat([assigned.select(EPISODE), keys])
        listed = len(assigned)
    first = first_rows(keys)
    begins = first == np.arange(first.size)
    if assigned is not None:
        begins[listed:] = False
    slots = np.cumsum(begins) - 1
    slots = np.where(begins[first], slots[first], -1)
    questions = sorted({bound.rule.name for each in policies.values() for bound in each.bound})
    code_of = answers["question"].cast(pl.Enum(questions), strict=False).to_physical()
    codes = {name: code for code, name in enumerate(questions)}
    return _LaidOut(
        answers, keys, np.flatnonzero(begins), slots[:listed], slots[listed:], codes, code_of
    )


def _rows(row_of: Rows) -> pl.Series:
    """Return rows as Polars gathers them: null for -1."""
    rows = pl.Series("row", row_of)
    return rows if (row_of >= 0).all() else rows.to_frame().select(_nonnegative).to_series()


_nonnegative = pl.when(pl.col("row") >= 0).then(pl.col("row"))
