"""The objects below one URL: read, created, listed, with patience for a store that is busy."""

import hashlib
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from judgebatch.objects.environment import (
    ENDPOINTS,
    allows_http,
    cannot_connect,
    check_environment,
)
from judgebatch.objects.faults import as_os_error, is_transient
from judgebatch.objects.url import ObjectUrl

T = TypeVar("T")

MULTIPART_BYTES = 16 << 20
"""Above this a file is sent in parts: what is held in memory does not grow with the file."""
_PART_BYTES = 8 << 20
_MOST_PARTS = 9_000
_PARTS_AT_ONCE = 3
_CHUNK_BYTES = 4 << 20
_ATTEMPTS = 4
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_PATIENCE_SECONDS = 120.0
"""After this long no request is begun again: a peer that says nothing uses it up by itself."""
_RETRY = {
    "max_retries": 6,
    "retry_timeout": timedelta(minutes=2),
    "backoff": {
        "init_backoff": timedelta(milliseconds=100),
        "max_backoff": timedelta(seconds=10),
        "base": 2,
    },
}
_CLIENT = {"connect_timeout": "10s", "read_timeout": "60s", "timeout": "1h"}
"""A peer that falls silent is given up after a minute; a long transfer goes on."""


@dataclass(frozen=True)
class Stored:
    """An object as it is listed; ``key`` is relative to the bucket's URL."""

    key: str
    size: int
    etag: str


class Bucket:
    """The objects below a URL. Keys are relative to it. Picklable.

    Failures are OSErrors: FileNotFoundError, FileExistsError, one with the number ``CHANGED`` for
    an object that was replaced, and a StoreError where the store itself fails or refuses.
    """

    def __init__(self, url: ObjectUrl) -> None:
        self.url = url
        # Loading the client takes a moment that runs without object stores need not spend.
        self._client: Any = import_module("obstore")
        base = import_module("obstore.exceptions").BaseError
        self._failures: tuple[type[BaseException], ...] = (base, FileNotFoundError)
        self._store = _store(url)

    @property
    def endpoint(self) -> str:
        """What the environment names instead of the provider's own servers."""
        return " ".join(os.environ[name] for name in ENDPOINTS if name in os.environ)

    def __reduce__(self) -> tuple[type["Bucket"], tuple[ObjectUrl]]:
        return Bucket, (self.url,)

    def read(self, key: str) -> bytes:
        """Return a whole object."""
        return self._patiently(key, lambda: bytes(self._client.get(self._store, key).bytes()))

    def read_range(self, key: str, start: int, end: int, etag: str | None = None) -> bytes:
        """Return the bytes from ``start`` to before ``end``, of that version if one is named."""
        options: dict[str, Any] = {"range": (start, end)}
        if etag is not None:
            options["if_match"] = etag
        return self._patiently(
            key, lambda: bytes(self._client.get(self._store, key, options=options).bytes())
        )

    def chunks(self, key: str, etag: str | None = None) -> Iterator[bytes]:
        """Yield an object's bytes, a few MiB at a time.

        A connection that breaks off is taken up where it was; with ``etag`` only by that version.
        """
        options = {} if etag is None else {"if_match": etag}
        at = 0
        failures = 0
        while True:
            try:
                ranged = options | ({"range": {"offset": at}} if at else {})
                got = self._client.get(self._store, key, options=ranged)
                options = {"if_match": got.meta["e_tag"]} if got.meta["e_tag"] else options
                for chunk in got.stream(min_chunk_size=_CHUNK_BYTES):
                    at += len(chunk)
                    failures = 0
                    yield bytes(chunk)
            except self._failures as error:
                failures += 1
                if failures >= _ATTEMPTS or not is_transient(error):
                    raise as_os_error(error, self.url / key) from None
                _pause(failures)
            else:
                return

    def download(self, key: str, target: Path) -> str:
        """Write an object to a new file and return the SHA-256 of its bytes, in hex."""
        digest = hashlib.sha256()
        with target.open("xb") as file:
            for chunk in self.chunks(key):
                digest.update(chunk)
                file.write(chunk)
        return digest.hexdigest()

    def sha256(self, key: str, etag: str | None = None) -> str:
        """Return the SHA-256 of an object's bytes, in hex."""
        digest = hashlib.sha256()
        for chunk in self.chunks(key, etag):
            digest.update(chunk)
        return digest.hexdigest()

    def create(self, key: str, content: bytes) -> None:
        """Put an object that must not exist yet.

        Raises
        ------
        FileExistsError
            It exists already. It may be one's own: an answer can be lost after the put took
            effect, and the put that is tried again then finds it there.
        """
        self._patiently(key, lambda: self._client.put(self._store, key, content, mode="create"))

    def replace(self, key: str, content: bytes) -> None:
        """Put an object over its predecessor."""
        self._patiently(key, lambda: self._client.put(self._store, key, content))

    def upload(self, key: str, path: Path) -> None:
        """Put a file under a name that nothing but this content ever has.

        One that is there already is left as it is. A large one is sent in parts, which stores
        cannot make conditional: put again, it replaces itself.
        """
        size = path.stat().st_size
        if size <= MULTIPART_BYTES:
            try:
                self.create(key, path.read_bytes())
            except FileExistsError:
                return
        elif self.find(key) is None:
            self.overwrite(key, path)

    def overwrite(self, key: str, path: Path) -> None:
        """Put a file over whatever is there; a large one in parts."""
        part = max(_PART_BYTES, -(-path.stat().st_size // _MOST_PARTS))
        self._patiently(
            key,
            lambda: self._client.put(
                self._store, key, path, chunk_size=part, max_concurrency=_PARTS_AT_ONCE
            ),
            uploading=True,
        )

    def find(self, key: str) -> Stored | None:
        """Return an object's size and tag, or None where there is none."""
        try:
            return _stored(self._patiently(key, lambda: self._client.head(self._store, key)))
        except FileNotFoundError:
            return None

    def below(self, prefix: str = "") -> list[Stored]:
        """Return the objects below a prefix, which ends where a name ends, sorted by key."""
        found = self._patiently(
            prefix, lambda: self._client.list(self._store, prefix or None).collect()
        )
        return sorted((_stored(one) for one in found), key=lambda one: one.key)

    def folders(self, prefix: str) -> list[str]:
        """Return the names that stand directly below a prefix and have objects below them."""
        found = self._patiently(
            prefix, lambda: self._client.list_with_delimiter(self._store, prefix)
        )
        return sorted(name.rpartition("/")[2] for name in found["common_prefixes"])

    def delete(self, keys: Sequence[str]) -> None:
        """Remove objects; those that are gone already are no error."""
        for key in keys:
            try:
                self._patiently(key, lambda key=key: self._client.delete(self._store, key))  # type: ignore[misc]
            except FileNotFoundError:
                continue

    def _patiently(
        self,
        key: str,
        request: Callable[[], T],
        *,
        uploading: bool = False,
    ) -> T:
        """Make a request, again where that may help."""
        began = time.monotonic()
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return request()
            except self._failures as error:
                hopeless = not is_transient(error)
                if uploading and isinstance(error, FileNotFoundError):
                    hopeless = False  # the upload ended without our hearing of it
                # An upload may have taken longer than that before it broke off.
                late = not uploading and time.monotonic() - began > _PATIENCE_SECONDS
                if attempt == _ATTEMPTS or hopeless or late:
                    raise as_os_error(error, self.url / key if key else self.url) from None
            _pause(attempt)
        raise AssertionError


def _stored(meta: Any) -> Stored:
    return Stored(meta["path"], meta["size"], meta["e_tag"] or "")


def _pause(attempt: int) -> None:
    longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0**attempt)
    # Jitter keeps writers that were turned away together from coming back together.
    time.sleep(random.uniform(longest / 2, longest))  # noqa: S311 - nothing secret about it


def _store(url: ObjectUrl) -> Any:
    check_environment(url.scheme)
    common: dict[str, Any] = {
        "prefix": url.prefix or None,
        "client_options": _CLIENT | {"allow_http": allows_http()},
        "retry_config": _RETRY,
    }
    kinds = {"s3": "S3Store", "gs": "GCSStore", "az": "AzureStore"}
    failure = import_module("obstore.exceptions").BaseError
    try:
        return getattr(import_module("obstore.store"), kinds[url.scheme])(url.bucket, **common)
    except failure as error:
        raise cannot_connect(url.scheme, error) from None


def listed_below(objects: Iterable[Stored], prefix: str) -> dict[str, Stored]:
    """Return objects by what their key adds to a prefix."""
    return {one.key.removeprefix(prefix): one for one in objects if one.key.startswith(prefix)}
