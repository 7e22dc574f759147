"""Committed objects as files for DuckDB and Arrow: only the ranges that a query needs are read."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import fsspec

from judgebatch.errors import StoreError
from judgebatch.objects.bucket import Bucket, Stored
from judgebatch.objects.reading import ObjectReader
from judgebatch.warehouse.layout import RUNS, object_name, run_name
from judgebatch.warehouse.manifest import FileEntry, Manifest

_ALWAYS = datetime(2000, 1, 1, tzinfo=UTC)


def object_key(number: int, entry: FileEntry) -> str:
    """Return where a file of a run is, relative to the warehouse."""
    written = number if entry.run is None else entry.run
    return f"{RUNS}/{run_name(written)}/{object_name(entry.path, entry.sha256)}"


class CommittedFiles(fsspec.AbstractFileSystem):  # type: ignore[misc]
    """Files that manifests name: what they are called, and how large, is known without asking."""

    cachable = False

    def __init__(self, bucket: Bucket, files: Iterable[tuple[Manifest, FileEntry]]) -> None:
        super().__init__()
        self.failure: StoreError | None = None
        """Why the last read failed, if the store is why: DuckDB makes a text of every error."""
        self._bucket = bucket
        self._prefix = f"{self._strip_protocol(str(bucket.url))}/"
        self._sizes: Mapping[str, int] = {
            object_key(run.number, entry): entry.size for run, entry in files
        }

    @property
    def protocol(self) -> tuple[str, ...]:
        """The scheme of the warehouse's URL."""
        return (self._bucket.url.scheme,)

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path.partition("://")[2] if "://" in path else path

    def _key(self, path: str) -> str:
        key = self._strip_protocol(path).removeprefix(self._prefix)
        if key not in self._sizes:
            raise FileNotFoundError(path)
        return key

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Return a file's size."""
        return {"name": path, "size": self._sizes[self._key(path)], "type": "file"}

    def exists(self, path: str, **_: Any) -> bool:
        """Return whether a manifest names the file."""
        return self._strip_protocol(path).removeprefix(self._prefix) in self._sizes

    def glob(self, path: str, **_: Any) -> list[str]:
        """Return the file of that very name: nothing is matched."""
        return [path] if self.exists(path) else []

    def modified(self, path: str) -> datetime:
        """Return the same for every file: none ever changes."""
        self._key(path)
        return _ALWAYS

    def _open(self, path: str, mode: str = "rb", **_: Any) -> ObjectReader:
        if mode != "rb":
            raise PermissionError(path)
        key = self._key(path)
        return _Remembering(self, self._bucket, Stored(key, self._sizes[key], ""))


class _Remembering(ObjectReader):
    """A file that tells where it came from why it cannot be read."""

    def __init__(self, files: CommittedFiles, bucket: Bucket, stored: Stored) -> None:
        super().__init__(bucket, stored)
        self._files = files

    def read(self, size: int | None = -1) -> bytes:
        """Return up to ``size`` bytes in one request; all that is left without a size."""
        try:
            return super().read(size)
        except StoreError as error:
            self._files.failure = error
            raise
