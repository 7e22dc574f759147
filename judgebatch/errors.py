"""The errors a user can meet, and the exit code of each.

Every message is one paragraph: what happened, where, and what to do. The command line prints
it without a traceback and exits with ``exit_code``.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Self


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


class StoreError(JudgebatchError, OSError):
    """An object store did not do what it was asked: the number, what happened, and where.

    It is an OSError for those who can do without an answer. All others let it pass as it is: what
    it means, and its exit code, do not depend on what the store was asked for.
    """

    remedy = ""
    action = ""
    """What it ended, where that is not plain from the place: ``cannot write run 3 at s3://…``."""
    consequence = ""

    def ending(self, action: str, consequence: str) -> Self:
        """Say what it ended, and what that means: a clause and a sentence."""
        self.action, self.consequence = action, consequence
        return self

    def __str__(self) -> str:
        told = f"{self.action or self.filename}: {self.strerror}."
        return " ".join(part for part in (told, self.consequence, self.remedy) if part)


class StoreUnreachableError(StoreError):
    """A store cannot be reached, or keeps failing: no connection, no answer, 5xx, throttling."""

    remedy = (
        "It is the store that fails: what was published before is as it was, and it is safe to run "
        "the same again once the store answers."
    )


class StoreRefusedError(UsageError, StoreError, PermissionError):
    """A store refuses: no or wrong credentials, no bucket, or the address is that of no store."""


_ALIKE, _ALIKE_FROM_THE_FIRST_LETTER = 0.8, 0.7
"""How alike two names have to be; with one bound of 0.6, ``retries`` would mean ``metrics``."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `` (did you mean 'x'?)`` for the known name that was meant, or an empty string.

    That is the closest one, upper and lower case being alike, or else the only one that the word
    begins or ends: ``outcome`` means ``verifier_outcome``. What is far from the word, or one of
    several, would mislead.
    """
    names = {str(one).casefold(): str(one) for one in known}
    meant = word.casefold()
    same = [one for one in names if one[:1] == meant[:1]]
    parts = [one for one in names if one.startswith(f"{meant}_") or one.endswith(f"_{meant}")]
    close = (
        get_close_matches(meant, names, n=1, cutoff=_ALIKE)
        or get_close_matches(meant, same, n=1, cutoff=_ALIKE_FROM_THE_FIRST_LETTER)
        or parts
    )
    return f" (did you mean {names[close[0]]!r}?)" if len(close) == 1 else ""
