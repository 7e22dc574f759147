"""What a committed run says about itself: ``manifest.json``."""

import hashlib
import secrets
from datetime import datetime
from importlib.metadata import version
from typing import Any

import orjson
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from judgebatch.vocabulary import RunKind
from judgebatch.warehouse.layout import SNAPSHOTS, TABLES

FORMAT = 1
"""Version of the manifest's own format."""

CONSUMING = (RunKind.GRADING, RunKind.BACKFILL)
"""Kinds of run that consume inputs and move as_of."""

_LIBRARIES = ("judgebatch", "polars", "pyarrow", "numpy", "scipy")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class InputFile(_Frozen):
    """A consumed input file."""

    table: str
    """episodes, verdicts or answers."""
    path: str
    size: int
    digest: str
    rows: int | None = None


class FileEntry(_Frozen):
    """A file of the run; the last four only where it is a table."""

    path: str
    """Inside the run's folder, with forward slashes."""
    size: int
    sha256: str
    table: str | None = None
    version: int | None = None
    rows: int | None = None
    content: str | None = None
    run: int | None = None
    """The run that wrote it, where this one carried it over unchanged."""

    @model_serializer(mode="wrap")
    def _without_own_run(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        document: dict[str, Any] = dump(self)
        if self.run is None:
            document.pop("run", None)
        return document


class Conservation(_Frozen):
    """What went in and where it is; read + waiting before = all the others."""

    read: int = 0
    waiting_before: int = 0
    quarantined: int = 0
    already_known: int = 0
    ended: dict[str, int] = Field(default_factory=dict)
    """By how they ended: graded and ungraded, or the dispositions of comparisons."""
    waiting_after: int = 0

    @property
    def difference(self) -> int:
        """What is missing (positive) or came from nowhere (negative); 0 where the law holds."""
        went = self.quarantined + self.already_known + sum(self.ended.values())
        return self.read + self.waiting_before - went - self.waiting_after


class Parent(_Frozen):
    """The run that this one was built on."""

    number: int
    digest: str
    """The parent manifest's digest: a chain over the whole log."""


class RunFacts(_Frozen):
    """What the stages of a run know and the warehouse does not."""

    settings: str | None = None
    """Hash of the effective settings, as :meth:`Warehouse.store_text` gave it."""
    texts: dict[str, str] = Field(default_factory=dict)
    """Other stored texts in force, such as policies: name → hash."""
    inputs: tuple[InputFile, ...] = ()
    conservation: dict[str, Conservation] = Field(default_factory=dict)
    """episodes, verdicts, comparisons → the law's counts."""
    summary: dict[str, Any] = Field(default_factory=dict)
    """Counts for people, ``show`` and metrics: JSON; no clock, no path of the machine."""


class Manifest(RunFacts):
    """A committed run."""

    format: int = FORMAT
    number: int
    kind: RunKind
    as_of: datetime
    token: str
    """Random: tells the writer that it, and nobody else, committed this number."""
    parent: Parent | None
    libraries: dict[str, str]
    files: tuple[FileEntry, ...]
    digest: str = ""
    """SHA-256 of everything else but the token: equal for equal runs, and the run's seal."""

    @property
    def consumes(self) -> bool:
        """Whether the run consumed inputs and moved as_of."""
        return self.kind in CONSUMING

    def rows(self, table: str) -> int:
        """Return the rows that the run published in a table."""
        return sum(
            entry.rows or 0
            for entry in self.files
            if entry.table == table and entry.path.startswith((f"{TABLES}/", f"{SNAPSHOTS}/"))
        )

    def sealed(self) -> "Manifest":
        """Return the manifest with its digest."""
        content = _json(self.model_dump(mode="json", exclude={"token", "digest"}))
        return self.model_copy(update={"digest": hashlib.sha256(content).hexdigest()})

    def to_json(self) -> bytes:
        """Return the text of ``manifest.json``."""
        return _json(self.model_dump(mode="json"))


def _json(document: dict[str, Any]) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def new_token() -> str:
    """Return a random token whose last eight digits check the others."""
    stem = secrets.token_hex(8)
    return stem + _check_digits(stem)


def is_token(text: str) -> bool:
    """Return whether a token's digits check."""
    return len(text) == 24 and _check_digits(text[:16]) == text[16:]


def _check_digits(stem: str) -> str:
    return hashlib.sha256(stem.encode()).hexdigest()[:8]


def library_versions() -> dict[str, str]:
    """Return the versions of what could change the bytes of a run."""
    return {name: version(name) for name in _LIBRARIES}
