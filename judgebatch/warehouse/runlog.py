"""The log of committed runs: the manifests, read only where they are needed."""

import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, overload

import orjson
from pydantic import ValidationError

from judgebatch.errors import WarehouseDamagedError
from judgebatch.vocabulary import RunKind
from judgebatch.warehouse.layout import Layout, run_number
from judgebatch.warehouse.manifest import CONSUMING, InputFile, Manifest


class DamagedLogError(WarehouseDamagedError):
    """A manifest is not what the log says; ``what`` tells that without what to do about it."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}. Restore the file from a backup; `judgebatch verify` lists everything that is "
            "damaged."
        )
        self.what = what


def committed_numbers(layout: Layout) -> list[int]:
    """Return the numbers of the committed runs, ascending."""
    if not layout.runs.is_dir():
        return []
    with os.scandir(layout.runs) as entries:
        return sorted(number for entry in entries if (number := run_number(entry.name)) is not None)


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
        raise DamagedLogError(f"{path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        what = error.errors(include_url=False)[0]
        where = ".".join(str(step) for step in what["loc"]) or "the document"
        raise DamagedLogError(f"{path} is not a manifest: {where}: {what['msg']}") from error
    if manifest.number != number:
        raise DamagedLogError(f"{path} is the manifest of run {manifest.number}")
    return manifest


class RunLog(Sequence[Manifest]):
    """The committed runs in order, as of the moment the log was read; ``log[0]`` is run 1."""

    def __init__(self, layout: Layout, numbers: Sequence[int] | None = None) -> None:
        self._layout = layout
        if numbers is None:
            numbers = committed_numbers(layout)
        for expected, number in enumerate(numbers, start=1):
            if number != expected:
                raise DamagedLogError(
                    f"{layout.run(expected)} is missing, although run {numbers[-1]} is committed"
                )
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
            raise DamagedLogError(f"{path} cannot be read as a manifest: {error}") from error
        return inputs

    def of_kind(self, kind: RunKind) -> list[Manifest]:
        """Return the runs of one kind."""
        return [run for run in self if run.kind == kind]
