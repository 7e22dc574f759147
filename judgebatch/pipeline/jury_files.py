"""Juries from files, with the custom strategies that installed packages register."""

from importlib.metadata import entry_points
from pathlib import Path
from typing import Literal

from judgebatch.errors import JuryDefinitionError
from judgebatch.juries import CustomStrategy, Jury, parse_jury
from judgebatch.juries.custom import ENTRY_POINTS


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
        form: Literal["toml", "json"] = "json" if file.suffix == ".json" else "toml"
        return parse_jury(text, form, strategies=installed_strategies())
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
