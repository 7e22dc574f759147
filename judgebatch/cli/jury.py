"""``judgebatch jury``: what a jury is, before anything runs."""

from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer

from judgebatch.errors import JuryDefinitionError
from judgebatch.juries import CustomStrategy, Jury, description_text, parse_jury
from judgebatch.juries.custom import ENTRY_POINTS

app = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown", help="Look at juries.")


@app.callback()
def jury() -> None:
    """Look at juries."""


@app.command()
def describe(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The jury, TOML or JSON.")],
) -> None:
    """Print a jury's structure, policies, keys and capabilities as JSON.

    The same jury gives the same bytes on every machine.

    For example:

        judgebatch jury describe jury.toml
    """
    typer.echo(description_text(load_jury(file)), nl=False)


def load_jury(file: Path) -> Jury:
    """Return the jury that a file defines; a name that ends with .json is JSON, else TOML.

    Raises
    ------
    JuryDefinitionError
        The file cannot be read, or the jury is refused; the message names the file.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise JuryDefinitionError(f"{file} cannot be read: {error}") from None
    try:
        form = "json" if file.suffix == ".json" else "toml"
        return parse_jury(text, form, strategies=installed_strategies())  # type: ignore[arg-type]
    except JuryDefinitionError as error:
        raise JuryDefinitionError(f"{file}: {error}") from None


def installed_strategies() -> dict[str, CustomStrategy]:
    """Return the strategies that installed packages register.

    An entry point names a :class:`CustomStrategy`, or a callable over a frame, which then is a
    strategy that says nothing of itself.

    Raises
    ------
    JuryDefinitionError
        An entry point cannot be loaded, or names something else.
    """
    found: dict[str, CustomStrategy] = {}
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        try:
            loaded = point.load()
        except Exception as error:
            raise JuryDefinitionError(
                f"the strategy {point.name} ({point.value}) cannot be loaded: {error}; repair or"
                " remove the package that registers it"
            ) from error
        if isinstance(loaded, CustomStrategy):
            found[point.name] = loaded
        elif callable(loaded):
            found[point.name] = CustomStrategy(point.name, loaded)
        else:
            raise JuryDefinitionError(
                f"the strategy {point.name} ({point.value}) is no callable over a frame"
            )
    return found
