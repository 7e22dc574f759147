"""The log of committed runs: the manifests, read only where they are needed."""

import os
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, overload

import orjson
from pydantic import ValidationError

from judgebatch.errors import WarehouseDamagedError
from judgebatch.vocabulary import RunKind
from judgebatch.warehouse.layout import MANIFEST, Layout, run_number
from judgebatch.warehouse.manifest import CONSUMING, InputFile, Manifest

_VIEWS_OF = re.compile(rb"^-- run (?P<number>[0-9]+), ", re.MULTILINE)


class DamagedLogError(WarehouseDamagedError):
    """A place in ``runs/`` is not what the log says; ``what`` and ``meaning`` tell it in parts."""

    def __init__(self, path: Path, what: str, meaning: str = "Restore it from a backup.") -> None:
        super().__init__(
            f"{path} {what}. {meaning} `judgebatch verify` lists everything that is damaged."
        )
        self.path = path
        self.what = what
        self.meaning = meaning


def run_numbers(layout: Layout) -> list[int]:
    """Return the numbers that stand in ``runs/``, ascending, whatever is under them."""
    if not layout.runs.is_dir():
        return []
    with os.scandir(layout.runs) as entries:
        return sorted(number for entry in entries if (number := run_number(entry.name)) is not None)


def committed_numbers(layout: Layout) -> list[int]:
    """Return the numbers of the committed runs, ascending."""
    committed, _ = _apart(layout)
    return committed


def without_manifest(layout: Layout) -> list[DamagedLogError]:
    """Return what stands above the newest committed run under the number of a run, and is none."""
    _, others = _apart(layout)
    return [_no_run(layout, number) for number in others]


def _apart(layout: Layout) -> tuple[list[int], list[int]]:
    """Return the numbers up to the newest manifest, and those above it.

    A run has its manifest from the first moment on, so that the others are no runs.
    """
    numbers = run_numbers(layout)
    committed = len(numbers)
    while committed and not os.path.lexists(layout.manifest(numbers[committed - 1])):
        committed -= 1
    return numbers[:committed], numbers[committed:]


def _no_run(layout: Layout, number: int) -> DamagedLogError:
    path = layout.run(number)
    if not path.is_dir():
        return DamagedLogError(path, "is not a run", "Move it out of the warehouse.")
    has_files = any(path.iterdir())
    if number <= published_for(layout):
        if has_files:
            return DamagedLogError(
                path / MANIFEST, "is missing, although the views were made for its run"
            )
        return DamagedLogError(path, "is empty, although the views were made for it")
    if has_files:
        return DamagedLogError(
            path,
            f"has files, but no {MANIFEST}",
            "If the run was committed, restore it from a backup; otherwise move it out of the "
            "warehouse.",
        )
    return DamagedLogError(
        path,
        "is an empty folder, and no run",
        "Nothing of judgebatch makes one: remove it, or move it out of the warehouse.",
    )


def published_for(layout: Layout) -> int:
    """Return the run that the views were made for, 0 where they do not tell."""
    try:
        made_for = _VIEWS_OF.search((layout.views / "views.sql").read_bytes())
    except OSError:
        return 0
    return int(made_for["number"]) if made_for else 0


def read_manifest(layout: Layout, number: int) -> Manifest:
    """Read one manifest.

    Raises
    ------
    DamagedLogError
        It is missing, is not a manifest, or belongs to another run.
    """
    path = layout.manifest(number)
    try:
        manifest = Manifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise DamagedLogError(path, f"cannot be read: {error.strerror}") from error
    except ValidationError as error:
        what = error.errors(include_url=False)[0]
        where = ".".join(str(step) for step in what["loc"]) or "the document"
        raise DamagedLogError(path, f"is not a manifest: {where}: {what['msg']}") from error
    if manifest.number != number:
        raise DamagedLogError(path, f"is the manifest of run {manifest.number}")
    return manifest


class RunLog(Sequence[Manifest]):
    """The committed runs in order, as of the moment the log was read; ``log[0]`` is run 1."""

    def __init__(self, layout: Layout, numbers: Sequence[int] | None = None) -> None:
        self._layout = layout
        if numbers is None:
            numbers, others = _apart(layout)
            if others:
                raise _no_run(layout, others[0])
        for expected, number in enumerate(numbers, start=1):
            if number != expected:
                what = f"is missing, although run {numbers[-1]} is committed"
                raise DamagedLogError(layout.run(expected), what)
        self._length = len(numbers)
        self._read: dict[int, Manifest] = {}

    def __len__(self) -> int:
        return self._length

    def extended(self, manifest: Manifest) -> "RunLog":
        """Return the log with the run that was just committed on top; reads nothing."""
        log = RunLog(self._layout, range(1, manifest.number + 1))
        log._read[manifest.number] = manifest
        return log

    @overload
    def __getitem__(self, index: int) -> Manifest: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Manifest]: ...
    def __getitem__(self, index: int | slice) -> Manifest | Sequence[Manifest]:
        if isinstance(index, slice):
            return [self[at] for at in range(self._length)[index]]
        number = range(1, self._length + 1)[index]
        if number not in self._read:
            self._read[number] = read_manifest(self._layout, number)
        return self._read[number]

    def __iter__(self) -> Iterator[Manifest]:
        return (self[at] for at in range(self._length))

    @property
    def newest(self) -> int:
        """The newest run's number, 0 without runs."""
        return self._length

    @property
    def last(self) -> Manifest | None:
        """The newest run."""
        return self[-1] if self._length else None

    @property
    def last_grading(self) -> Manifest | None:
        """The newest run that consumed inputs and moved as_of."""
        return next((run for run in reversed(self) if run.kind in CONSUMING), None)

    @property
    def last_as_of(self) -> datetime | None:
        """The as_of of the last run that moved it."""
        last = self.last_grading
        return last.as_of if last else None

    def last_with(self, path_prefix: str) -> Manifest | None:
        """Return the newest run that has a file below ``path_prefix``."""
        return next(
            (
                run
                for run in reversed(self)
                if any(entry.path.startswith(path_prefix) for entry in run.files)
            ),
            None,
        )

    def consumed(self, after: int = 0) -> dict[str, InputFile]:
        """Return every input file that runs after one consumed, by path, as it was last consumed.

        Reads the manifests, but of each only its inputs.
        """
        files: dict[str, InputFile] = {}
        for number in range(after + 1, self._length + 1):
            for document in self._raw_inputs(number):
                files[document["path"]] = InputFile.model_construct(None, **document)
        return files

    def _raw_inputs(self, number: int) -> list[dict[str, Any]]:
        if number in self._read:
            return [file.model_dump() for file in self._read[number].inputs]
        path = self._layout.manifest(number)
        try:
            document = orjson.loads(path.read_bytes())
            inputs: list[dict[str, Any]] = document["inputs"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DamagedLogError(path, f"cannot be read as a manifest: {error}") from error
        return inputs

    def of_kind(self, kind: RunKind) -> list[Manifest]:
        """Return the runs of one kind."""
        return [run for run in self if run.kind == kind]
