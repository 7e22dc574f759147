"""``judgebatch explain``: one episode's whole story."""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

import typer

from judgebatch.cli import console
from judgebatch.cli.options import SETTINGS_FILE, JsonOption, SettingsOption
from judgebatch.pipeline.explain import Story
from judgebatch.pipeline.explain import explain as tell_story
from judgebatch.settings import load_settings
from judgebatch.warehouse import open_warehouse

_REASONS = {
    "no_reference": "nothing else had done this task: it became the task's reference",
    "budget_exhausted": "the tenant was over its grading ceiling; nothing was spent on it",
    "insufficient_group": "its group closed with too few members to compare",
    "no_usable_comparison": "comparisons were wanted and none that connects it is usable",
}


def explain(
    *,
    tenant: Annotated[str, typer.Option("--tenant", help="The tenant's id, exactly.")],
    episode: Annotated[str, typer.Option("--episode", help="The episode's id, exactly.")],
    settings: SettingsOption = SETTINGS_FILE,
    as_json: JsonOption = False,
) -> None:
    """Tell one episode's whole story: where it came from, what it waits for or came to, and why.

    For example:

        judgebatch explain --tenant acme --episode ep-000042
    """
    found = load_settings(settings)
    story = tell_story(found, open_warehouse(found.warehouse, found.scratch), tenant, episode)
    if as_json:
        console.say_json(asdict(story))
        return
    for line in _lines(story):
        console.say(line)


def _lines(story: Story) -> Iterator[str]:
    yield f"Episode {story.episode_id!r} of tenant {story.tenant_id!r}: {story.state}"
    for source in story.sources:
        yield f"  came from {source['file']}, row {source['row']}"
    if story.vanished:
        files = console.counted(len(story.vanished), "consumed file")
        yield f"  {files} no longer there; it may stand there too"
    for row in story.quarantined:
        yield (
            f"  run {row['run']} quarantined {row['source_file']}, row {row['source_row']}: "
            f"{row['reason']} ({row['message']})"
        )
    if story.episode is not None:
        yield from _episode(story, story.episode)
    for row in story.comparisons:
        yield from _comparison(row)
    for row in story.verdicts:
        yield from _verdict(row)
    for row in story.quarantined_verdicts:
        yield (
            f"  run {row['run']} quarantined verdict {row['id']!r} ({row['source_file']}, row "
            f"{row['source_row']}): {row['reason']} ({row['message']})"
        )
    for row in story.requests:
        yield f"  still wanted: {row['episode_id']!r} with {row['compared_episode_id']!r}"


def _episode(story: Story, row: dict[str, Any]) -> Iterator[str]:
    yield f"  task {row['task_id']!r}, verifier outcome {row['verifier_outcome']!r}"
    yield f"  arrived {_time(row['arrived_at'])}"
    if story.state == "Grading":
        yield f"  waits for {row['waits_for']} until {_time(row['deadline'])} at the latest"
    elif story.state == "Pending":
        yield "  arrives after the last run's as-of: considered by the first run that reaches it"
    elif story.state == "Graded":
        yield (
            f"  graded in run {row['run']} (decided {_time(row['decided_at'])}): "
            f"{row['score_kind']} score {row['score']:.4f}, "
            f"interval {row['score_low']:.4f} to {row['score_high']:.4f}"
        )
        yield (
            f"  {row['wins']} won, {row['losses']} lost, {row['ties']} tied; {row['undecided']} "
            f"undecided, {row['not_applicable']} not applicable, {row['errors']} failed, "
            f"{row['unattestable']} unattestable"
        )
        if row["reference_episode_id"] is not None:
            yield f"  compared with the task's reference {row['reference_episode_id']!r}"
    elif story.state == "Ungraded":
        reason = row["ungraded_reason"]
        yield (
            f"  ungraded in run {row['run']} (decided {_time(row['decided_at'])}): {reason}: "
            f"{_REASONS[reason]}"
        )
        if row["missing"] is not None:
            yield (
                f"  {row['missing']} wanted pairs had no comparison; {row['errors']} failed, "
                f"{row['undecided']} undecided, {row['not_applicable']} not applicable, "
                f"{row['unattestable']} unattestable, {row['disconnected']} not connected"
            )
    if story.group is not None:
        group = story.group
        yield (
            f"  group epoch {group['group_epoch']}: {group['group_size']} members, closed by "
            f"{group['close_reason']} {_time(group['closed_at'])}"
        )
    if story.ledger is not None:
        yield f"  budget {story.ledger['period']}: {story.ledger['cost_usd']:.6f} USD admitted"


def _comparison(row: dict[str, Any]) -> Iterator[str]:
    if row["disposition"]:
        becomes = f"{row['outcome']}; {row['disposition']} in run {row['run']}"
    elif "waits_until" not in row:
        becomes = f"{row['outcome']}; waits until its episodes are decided"
    elif row["waits_until"] is None:
        becomes = "after the last run's as-of: considered by the first run that reaches it"
    else:
        unseen = " and ".join(repr(name) for name in row["unseen"])
        becomes = (
            f"waits for {unseen}, not seen so far, until {_time(row['waits_until'])}; then it goes "
            "to quarantine as unknown_episode"
        )
    yield (
        f"  comparison {row['verdict_id']!r}: {row['left']!r} with {row['right']!r}, judged "
        f"{_time(row['judged_at'])}: {becomes}"
    )


def _verdict(row: dict[str, Any]) -> Iterator[str]:
    judge = "" if row["judge_id"] is None else f" by {row['judge_id']!r}"
    yield (
        f"  verdict {row['verdict_id']!r}{judge}, judged {_time(row['judged_at'])}, read in "
        f"version {row['reading_version']}: {row['reading'] or 'no reading'} "
        f"({row['reading_support']})"
    )


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
