"""``judgebatch synth``: a realistic corpus."""

from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from judgebatch.cli import console
from judgebatch.errors import UsageError
from judgebatch.synthesis import FIRST_NIGHT, synthesize


def synth(
    out: Annotated[Path, typer.Argument(help="A new or empty folder.", metavar="OUT")],
    *,
    episodes: Annotated[int, typer.Option(help="Episodes in all.")] = 2_000,
    tenants: Annotated[int, typer.Option(help="Tenants in the settings.")] = 6,
    nights: Annotated[int, typer.Option(help="Nights that they spread over.")] = 3,
    seed: Annotated[int, typer.Option(help="Equal arguments give equal bytes.")] = 1,
    start: Annotated[
        str, typer.Option(help="The first night's date.", metavar="DATE")
    ] = FIRST_NIGHT.isoformat(),
) -> None:
    """Write a realistic corpus as Parquet, with the settings to grade it.

    Tenants of skewed size in both modes, ties, judges that fail in every way, abstentions,
    exclusions, late deliveries, tenants over budget, novel tasks, one tenant that the settings do
    not know, and a few bad rows. About three comparisons an episode.

    For example:

        judgebatch synth corpus --episodes 2000 --tenants 6 --nights 3 --seed 1
    """
    try:
        first = date.fromisoformat(start)
    except ValueError:
        raise UsageError(f"--start {start!r} is not a date. Write it as in 2026-03-01.") from None
    with console.progress("writing", episodes, "episodes") as step:
        corpus = synthesize(
            out,
            episodes=episodes,
            tenants=tenants,
            nights=nights,
            seed=seed,
            start=first,
            progress=step,
        )
    written = console.counted(corpus.episodes, "episode")
    console.say(f"Wrote {written} and {console.counted(corpus.verdicts, 'verdict')} to {out}.")
    console.say("Grade it night by night:")
    for moment in corpus.as_of:
        as_of = f"{moment:%Y-%m-%dT%H:%M:%SZ}"
        console.say(f"  judgebatch run --settings {corpus.settings} --as-of {as_of}")
