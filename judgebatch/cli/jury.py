"""``judgebatch jury``: what a jury is, before anything runs."""

from pathlib import Path
from typing import Annotated

import typer

from judgebatch.cli.local_paths import LocalCommand
from judgebatch.juries import description_text
from judgebatch.pipeline.jury_files import load_jury

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Look at juries.\n\nFor example:\n\n    judgebatch jury describe jury.toml",
)


@app.callback()
def jury() -> None:
    """Look at juries."""


@app.command(cls=LocalCommand)
def describe(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The jury, TOML or JSON.")],
) -> None:
    """Print a jury's structure, policies, keys and capabilities as JSON.

    The same jury gives the same bytes on every machine.

    For example:

        judgebatch jury describe jury.toml
    """
    typer.echo(description_text(load_jury(file)), nl=False)
