"""The journal: every answer of a judge, on disk before anything is made of it.

One line per answer, a checksum and a JSON document, appended and synced. A line that a kill cut
short is passed over when the journal is read, and what comes next starts on a line of its own.
"""

import fcntl
import os
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from judgebatch.errors import InputError, WarehouseConflictError


class Journal:
    """Answers by key; append-only, and held by one process at a time.

    Parameters
    ----------
    path
        The file; folders above it are made.
    keep
        Called with every appended block before the append returns: keeps it elsewhere too.

    Raises
    ------
    WarehouseConflictError
        Another process holds it.
    InputError
        It cannot be read or written.
    """

    def __init__(self, path: Path, keep: Callable[[bytes], None] | None = None) -> None:
        self.path = path
        self._keep = keep
        self.torn = 0
        """Lines that could not be read: those that a kill cut short."""
        self._answers: dict[str, dict[str, Any]] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            made = not path.exists()
            self._file = path.open("a+b")
        except OSError as error:
            raise InputError(f"the journal {path} cannot be opened: {error}") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise WarehouseConflictError(
                f"the journal {path} is held by another run; wait until it is done"
            ) from None
        if made:
            _sync_folder(path.parent)
        self._read()

    def _read(self) -> None:
        self._file.seek(0)
        content = self._file.read()
        for line in content.split(b"\n"):
            if not line:
                continue
            entry = _entry(line)
            if entry is None:
                self.torn += 1
            else:
                # The first answer is the one that may have been used.
                self._answers.setdefault(entry["key"], entry)
        if content and not content.endswith(b"\n"):
            self._file.write(b"\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __contains__(self, key: str) -> bool:
        return key in self._answers

    def __len__(self) -> int:
        return len(self._answers)

    def __getitem__(self, key: str) -> Mapping[str, Any]:
        return self._answers[key]

    def append(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Write entries, each with its ``key``, and return when they are safe."""
        written = [dict(entry) for entry in entries]
        if not written:
            return
        block = b"".join(_line(entry) for entry in written)
        self._file.write(block)
        self._file.flush()
        os.fsync(self._file.fileno())
        if self._keep is not None:
            self._keep(block)
        for entry in written:
            self._answers.setdefault(entry["key"], entry)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def damaged_lines(path: Path) -> list[int]:
    """Return the lines, from 1, that were changed after they were written.

    A line that a kill cut short is none: of such a document the outermost brace is still open.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    return [
        number
        for number, line in enumerate(lines, start=1)
        if line and _entry(line) is None and line.count(b"{") == line.count(b"}") > 0
    ]


def _line(entry: Mapping[str, Any]) -> bytes:
    document = orjson.dumps(entry)
    return b"%08x %s\n" % (zlib.crc32(document), document)


def _entry(line: bytes) -> dict[str, Any] | None:
    checksum, _, document = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(document):
        return None
    try:
        entry = orjson.loads(document)
    except orjson.JSONDecodeError:
        return None
    return entry if isinstance(entry, dict) and isinstance(entry.get("key"), str) else None


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
