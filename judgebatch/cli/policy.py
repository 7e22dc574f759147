"""``judgebatch policy``: check a policy, try it on answers, compare two."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from judgebatch.cli import console
from judgebatch.cli.local_paths import LocalCommand
from judgebatch.cli.options import JsonOption
from judgebatch.cli.policy_files import load_answers, load_policy, load_questions
from judgebatch.errors import SettingsError
from judgebatch.policies import ChoiceRule, NoulRule, Rule, ValidatedPolicy
from judgebatch.policies.columnar import EPISODE, evaluate_policies

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Check policies, try them on answers, and see what a change would change.\n\n"
    "For example:\n\n"
    "    judgebatch policy check policies/release.json --questions policies/questions.json",
)

PolicyArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The policy, JSON.")]
QuestionsOption = Annotated[
    Path, typer.Option("--questions", metavar="FILE", help="The questions it names, JSON.")
]
AnswersOption = Annotated[
    Path,
    typer.Option(
        "--answers", metavar="FILE", help="Answers, long: .parquet, .ndjson, .jsonl or .csv."
    ),
]
LimitOption = Annotated[
    int | None, typer.Option("--limit", metavar="N", min=0, help="Show the first N episodes only.")
]


class Outcome(StrEnum):
    """What a policy says of an episode."""

    PASSED = "passed"
    UNMET = "unmet"
    NOT_EVALUATED = "not_evaluated"


_STYLES = {Outcome.PASSED: "green", Outcome.UNMET: "red", Outcome.NOT_EVALUATED: "yellow"}


@app.command("check", cls=LocalCommand)
def check(file: PolicyArgument, questions: QuestionsOption, *, as_json: JsonOption = False) -> None:
    """Check that a policy can be read and fits its questions; name the place where it does not.

    For example:

        judgebatch policy check policies/release.json --questions policies/questions.json
    """
    try:
        policy = load_policy(file, load_questions(questions))
    except SettingsError as error:
        if as_json:
            console.say_json({"file": str(file), "valid": False, "error": str(error)})
        raise
    rules = [_described(rule) for rule in policy.policy.rules]
    if as_json:
        console.say_json({"file": str(file), "valid": True, "rules": rules})
        return
    console.say(f"{file} is a policy of {console.counted(len(rules), 'rule')}.")
    for rule in rules:
        console.say(f"  {rule['question']}: {rule['passes']}")


@app.command("test", cls=LocalCommand)
def try_policy(
    file: PolicyArgument,
    questions: QuestionsOption,
    answers: AnswersOption,
    *,
    only: Annotated[
        Outcome | None, typer.Option("--only", help="Show episodes of this outcome only.")
    ] = None,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> None:
    """Evaluate a policy over a file of answers and print the report of every episode.

    An episode with a missing or malformed answer is not evaluated: that is no rejection.

    For example:

        judgebatch policy test policies/release.json --questions policies/questions.json
        --answers answers.parquet --only unmet --limit 20
    """
    policy = load_policy(file, load_questions(questions))
    results, reports = _evaluated(policy, load_answers(answers))
    counts = {one.value: int((results["outcome"] == one).sum()) for one in Outcome}
    shown = results.filter(pl.col("outcome") == only) if only else results
    shown = shown if limit is None else shown.head(limit)
    episodes = _with_rules(shown, reports)
    if as_json:
        console.say_json({"policy": str(file), "counts": counts, "episodes": episodes})
        return
    for one in episodes:
        console.say(f"{_name(one)}: {_words(one['outcome'])}", _STYLES[one["outcome"]])
        for rule in one["rules"]:
            console.say(f"  {_said(rule)}")
    console.say(_summary(counts))


@app.command("diff", cls=LocalCommand)
def diff(
    before: Annotated[Path, typer.Argument(metavar="A", help="The policy as it is.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="The policy as it would be.")],
    questions: QuestionsOption,
    answers: AnswersOption,
    *,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show which episodes change between two policies.

    For example:

        judgebatch policy diff policies/release.json stricter.json
        --questions policies/questions.json --answers answers.parquet
    """
    known = load_questions(questions)
    policies = (load_policy(before, known), load_policy(after, known))
    rows = load_answers(answers)
    old, old_reports = _evaluated(policies[0], rows)
    new, new_reports = _evaluated(policies[1], rows)
    both = old.join(new, on=EPISODE, suffix="_after", maintain_order="left")
    changed = both.filter(pl.col("outcome") != pl.col("outcome_after"))
    moves = changed.group_by("outcome", "outcome_after").len("episodes")
    moves = moves.sort("outcome", "outcome_after")
    shown = changed if limit is None else changed.head(limit)
    details_before = _with_rules(shown, old_reports)
    details_after = _with_rules(shown, new_reports)
    episodes = [
        {
            "tenant_id": one["tenant_id"],
            "episode_id": one["episode_id"],
            "before": one["outcome"],
            "after": then["outcome_after"],
            "rules_before": one["rules"],
            "rules_after": then["rules"],
        }
        for one, then in zip(details_before, details_after, strict=True)
    ]
    if as_json:
        console.say_json(
            {
                "before": str(before),
                "after": str(after),
                "episodes": len(both),
                "changed": len(changed),
                "changes": [
                    {"before": a, "after": b, "episodes": count} for a, b, count in moves.rows()
                ],
                "changed_episodes": episodes,
            }
        )
        return
    for one in episodes:
        console.say(f"{_name(one)}: {_words(one['before'])} -> {_words(one['after'])}")
        for mark, rules, others in (
            ("-", one["rules_before"], one["rules_after"]),
            ("+", one["rules_after"], one["rules_before"]),
        ):
            for rule in rules:
                if rule not in others:
                    console.say(f"  {mark} {_said(rule)}")
    console.say(f"{len(changed):,} of {console.counted(len(both), 'episode')} change.")
    for was, becomes, count in moves.rows():
        console.say(f"  {_words(was)} -> {_words(becomes)}: {count:,}")


def _evaluated(policy: ValidatedPolicy, answers: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return results with ``outcome``, and reports, by episode."""
    results, reports = evaluate_policies(answers, {"": policy})
    passed = pl.col("policy_passed")
    outcome = (
        pl.when(passed)
        .then(pl.lit(Outcome.PASSED.value))
        .when(passed.is_null())
        .then(pl.lit(Outcome.NOT_EVALUATED.value))
        .otherwise(pl.lit(Outcome.UNMET.value))
    )
    return results.with_columns(outcome=outcome).sort(EPISODE), reports


def _with_rules(results: pl.DataFrame, reports: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the episodes of ``results``, in order, each with its rules' reports."""
    rules = (
        reports.join(results.select(EPISODE), on=EPISODE, how="semi")
        .sort(*EPISODE, "rule")
        .group_by(EPISODE)
        .agg(pl.struct("question", "passed", "detail", "error").alias("rules"))
    )
    wanted = [name for name in ("outcome", "outcome_after", "error") if name in results.columns]
    return (
        results.select(*EPISODE, *wanted)
        .join(rules, on=EPISODE, how="left", maintain_order="left")
        .to_dicts()
    )


def _described(rule: Rule) -> dict[str, str]:
    if isinstance(rule, ChoiceRule):
        parts = [f"choice == {rule.choice!r}"]
    elif isinstance(rule, NoulRule) or rule.level is None:
        what = "noul" if isinstance(rule, NoulRule) else "score"
        parts = [
            f"{what} {sign} {bound!r}"
            for sign, bound in ((">=", rule.minimum), ("<=", rule.maximum))
            if bound is not None
        ]
    else:
        parts = [f"score level == {rule.level}"]
    least = None if isinstance(rule, NoulRule) else rule.min_confidence
    if least is not None:
        parts.append(f"confidence >= {least!r}")
    return {"question": rule.name, "passes": " and ".join(parts)}


def _name(episode: dict[str, Any]) -> str:
    tenant = episode["tenant_id"]
    return f"{tenant} / {episode['episode_id']}" if tenant else str(episode["episode_id"])


def _said(rule: dict[str, Any]) -> str:
    said = rule["detail"] or f"not evaluated: {_words(rule['error'])}"
    return f"{rule['question']}: {said}"


def _words(outcome: str) -> str:
    return outcome.replace("_", " ")


def _summary(counts: dict[str, int]) -> str:
    total = console.counted(sum(counts.values()), "episode")
    return f"{total}: " + ", ".join(f"{count:,} {_words(name)}" for name, count in counts.items())
