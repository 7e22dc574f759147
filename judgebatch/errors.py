"""The errors a user can meet, and the exit code of each.

Every message is one paragraph: what happened, where, and what to do. The command line prints
it without a traceback and exits with ``exit_code``.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class JudgebatchError(Exception):
    """Base of every expected error."""

    exit_code = 1


class UsageError(JudgebatchError):
    """A command was called in a way that cannot work."""

    exit_code = 2


class SettingsError(UsageError):
    """Settings, a policy file or a jury file are wrong."""


class JuryDefinitionError(SettingsError):
    """A jury is configured in a way that cannot give verdicts."""


class VerdictConstructionError(JudgebatchError, ValueError):
    """A judgment, a verdict or a part of one states facts that contradict each other."""


class InputError(JudgebatchError):
    """An input file cannot be read as the table that it should be.

    Names of files and columns are others' text: what would break the line, or steer a terminal,
    stands escaped.
    """

    exit_code = 3

    def __init__(self, message: str) -> None:
        shown = (
            one if one.isprintable() else one.encode("unicode_escape").decode() for one in message
        )
        super().__init__("".join(shown))


class WarehouseConflictError(JudgebatchError):
    """The warehouse is held by, or was changed by, somebody else."""

    exit_code = 4


class WarehouseDamagedError(JudgebatchError):
    """Files of the warehouse are not what its run log says they are."""

    exit_code = 5


class WarehouseWriteError(JudgebatchError):
    """A file of the warehouse cannot be written: no room, no permission, a failing device."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `` (did you mean 'x'?)`` for the closest known word, or an empty string."""
    close = get_close_matches(word, [str(one) for one in known], n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
