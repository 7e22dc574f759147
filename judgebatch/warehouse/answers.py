"""What a run is told whose as_of is not later than the last one's."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from judgebatch.errors import WarehouseConflictError
from judgebatch.vocabulary import Token
from judgebatch.warehouse.manifest import InputFile, Manifest
from judgebatch.warehouse.runlog import RunLog


class Answer(Token):
    """What to do for an as_of."""

    PROCEED = "proceed"
    REPEAT = "repeat"
    SUPERSEDED = "superseded"


@dataclass(frozen=True)
class Decision:
    """The answer, the run it refers to, and files that a repeated run leaves for the next."""

    answer: Answer
    run: Manifest | None = None
    landed_since: tuple[InputFile, ...] = ()

    @property
    def message(self) -> str:
        """One sentence for the user; empty where the run proceeds."""
        if self.run is None or self.answer is Answer.PROCEED:
            return ""
        if self.answer is Answer.SUPERSEDED:
            return (
                f"superseded by run {self.run.number} (as_of {self.run.as_of:%Y-%m-%dT%H:%M:%SZ}): "
                "nothing to do"
            )
        text = f"run {self.run.number} did this as_of already: nothing to do"
        if self.landed_since:
            names = ", ".join(file.path for file in self.landed_since[:5])
            more = len(self.landed_since) - 5
            text += f"; left for the next run: {names}" + (f" and {more} more" if more > 0 else "")
        return text


def decide_as_of(
    log: RunLog, as_of: datetime, settings: str | None, inputs: Iterable[InputFile]
) -> Decision:
    """Answer a run's as_of against the last run that moved it.

    Parameters
    ----------
    log
        The run log.
    as_of
        The logical time asked for, with zone.
    settings
        Hash of the effective settings.
    inputs
        The input files as they are now.

    Raises
    ------
    WarehouseConflictError
        The same as_of with other settings, or with a file that changed since that run read it.
    """
    last = log.last_grading
    if last is None or as_of > last.as_of:
        return Decision(Answer.PROCEED)
    if as_of < last.as_of:
        return Decision(Answer.SUPERSEDED, last)
    if settings != last.settings:
        raise WarehouseConflictError(
            f"run {last.number} did as_of {as_of:%Y-%m-%dT%H:%M:%SZ} already, with other settings "
            f"({last.settings}, now {settings}). Published runs do not change: use a later --as-of "
            "for the new settings."
        )
    consumed = log.consumed()
    landed = []
    for file in inputs:
        before = consumed.get(file.path)
        if before is None:
            landed.append(file)
        elif before.digest != file.digest:
            if any(own.path == file.path for own in last.inputs):
                raise WarehouseConflictError(
                    f"run {last.number} did as_of {as_of:%Y-%m-%dT%H:%M:%SZ} already, and "
                    f"{file.path} changed since it read it ({before.digest}, now {file.digest}). "
                    "Published runs do not change: use a later --as-of to read the file anew."
                )
            landed.append(file)
    return Decision(Answer.REPEAT, last, tuple(landed))
