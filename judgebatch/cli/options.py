"""Options that several commands share."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from judgebatch.errors import UsageError

SETTINGS_FILE = Path("judgebatch.toml")

SettingsOption = Annotated[
    Path,
    typer.Option("--settings", help="The settings file.", metavar="FILE", show_default=True),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the summary as JSON, for scripts.")]
AsOfOption = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        help="The logical time of the run, such as 2026-03-02T03:00:00Z. Now by default, "
        "in whole seconds.",
        metavar="TIME",
    ),
]
WhoOption = Annotated[
    str | None, typer.Option("--who", help="Who asks for it; the login name by default.")
]


def read_as_of(text: str | None, now: datetime | None = None) -> datetime:
    """Return the instant that ``--as-of`` names, in UTC; now in whole seconds without it.

    Raises
    ------
    UsageError
        The text is not a moment of ISO 8601 with a zone.
    """
    if text is None:
        return (now or datetime.now(UTC)).replace(microsecond=0)
    return read_moment(text, "--as-of")


def read_moment(text: str, option: str) -> datetime:
    """Return the instant that ``text`` names, in UTC; ``option`` is what it was given with.

    Raises
    ------
    UsageError
        The text is not a moment of ISO 8601 with a zone.
    """
    example = f"Write it as in {option} 2026-03-02T03:00:00Z."
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{option} {text!r} is not a time. {example}") from None
    if moment.tzinfo is None:
        raise UsageError(f"{option} {text!r} does not say in which zone. {example}")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise UsageError(f"{option} {text!r} lies outside the years 1 to 9999. {example}") from None
