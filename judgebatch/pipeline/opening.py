"""Open: which input files are new, and under which settings the run stands."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import orjson

from judgebatch.inputs import InputFile, InputKind, InputSpec, discover
from judgebatch.settings import Settings
from judgebatch.warehouse import RunLog
from judgebatch.warehouse.durable import replace
from judgebatch.warehouse.manifest import InputFile as ConsumedFile

HINTS = "inputs.json"


@dataclass(frozen=True)
class Found:
    """An input file as it is now."""

    kind: InputKind
    spec: InputSpec
    file: InputFile

    @property
    def name(self) -> str:
        """How manifests name it: the input, then the file inside it."""
        return f"{self.kind}/{self.file.path}"


@dataclass(frozen=True)
class NewFiles:
    """The files that a run reads."""

    new: list[Found]
    changed: list[str]
    """Names of those that an earlier run read with other content."""
    digests: dict[str, str]
    """SHA-256 of every file that is there, by name."""


class Hints:
    """Digests by path, size and stamp, so that unchanged files need not be read again.

    Derived: without the file all input files are hashed once more. A file that was rewritten
    with the same size and time of change (in an object store: tag) is taken for unchanged.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / HINTS
        try:
            self._known: dict[str, list[object]] = orjson.loads(self._path.read_bytes())
        except (OSError, ValueError):
            self._known = {}

    def digest(self, found: Found) -> str | None:
        """Return the digest that the file had when it last looked like this."""
        known = self._known.get(found.name)
        if known and known[:2] == [found.file.size, found.file.stamp]:
            return str(known[2])
        return None

    def save(self, files: Iterable[Found], digests: Mapping[str, str]) -> None:
        """Remember the files as they are now."""
        known = {one.name: [one.file.size, one.file.stamp, digests[one.name]] for one in files}
        if known != self._known:
            replace(self._path, orjson.dumps(known, option=orjson.OPT_SORT_KEYS))


def find_files(settings: Settings) -> list[Found]:
    """Return all input files, in a fixed order.

    Raises
    ------
    InputError
        An input is not there or cannot be listed.
    """
    return [
        Found(kind, settings.inputs[kind], file)
        for kind in InputKind
        if kind in settings.inputs
        for file in discover(settings.inputs[kind])
    ]


def new_files(files: list[Found], log: RunLog, hints: Hints) -> NewFiles:
    """Return the files that no run has read with the content they have now."""
    consumed = log.consumed()
    digests = {one.name: hints.digest(one) or one.file.sha256 for one in files}
    new = [
        one
        for one in files
        if one.name not in consumed or consumed[one.name].digest != digests[one.name]
    ]
    return NewFiles(new, [one.name for one in new if one.name in consumed], digests)


def as_consumed(found: Found, digest: str, rows: int | None = None) -> ConsumedFile:
    """Return what a manifest remembers of a file."""
    return ConsumedFile(
        table=found.kind.value, path=found.name, size=found.file.size, digest=digest, rows=rows
    )


def settings_hash(settings: Settings) -> str:
    """Return the hash under which the warehouse keeps the effective settings."""
    return sha256(settings.effective_text().encode()).hexdigest()
