"""What the settings say about one input: where it is and how its columns are called."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from judgebatch.contracts.inputs import Answers, Episodes, Verdicts
from judgebatch.contracts.table import Table
from judgebatch.objects.url import is_url


class InputKind(StrEnum):
    """The tables that a run reads."""

    EPISODES = "episodes"
    VERDICTS = "verdicts"
    ANSWERS = "answers"


CONTRACTS: Mapping[InputKind, type[Table]] = {
    InputKind.EPISODES: Episodes,
    InputKind.VERDICTS: Verdicts,
    InputKind.ANSWERS: Answers,
}


@dataclass(frozen=True)
class WideQuestion:
    """A question whose answers stand in columns of their own.

    ``columns`` maps answer columns of the contract (``probability``, ``choice``, ``confidence``,
    ``score``, ``probabilities``) to columns of the file.
    """

    question: str
    answer_type: str
    columns: Mapping[str, str]


@dataclass(frozen=True)
class InputSpec:
    """One input.

    Parameters
    ----------
    kind
        Which contract its rows follow.
    root
        Absolute folder that a relative ``path`` starts at.
    path
        A directory, a file or a glob pattern; or such a one in an object store, as a URL.
    columns
        Contract column to the file's own name for it, where they differ.
    assume_timezone
        Zone of timestamps that carry none; without it they are refused.
    wide
        Questions with columns of their own (answers only).
    """

    kind: InputKind
    root: Path
    path: str
    columns: Mapping[str, str] = field(default_factory=dict)
    assume_timezone: str | None = None
    wide: tuple[WideQuestion, ...] = ()

    @property
    def is_remote(self) -> bool:
        """Whether the files lie in an object store."""
        return is_url(self.path)

    @property
    def place(self) -> str:
        """Where the input is, as messages say it."""
        return self.path if self.is_remote else str(self.root / self.path)

    @property
    def table(self) -> str:
        """The settings table that describes this input."""
        return f"inputs.{self.kind}"
