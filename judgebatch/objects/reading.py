"""An object as a file that can be read from anywhere, and is noticed to change."""

import io
from typing import TYPE_CHECKING

from judgebatch.objects.bucket import Bucket, Stored

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class ObjectReader(io.RawIOBase):
    """Reads ranges of one version of an object.

    Parameters
    ----------
    bucket
        Where it is.
    stored
        Which version: every read of another one fails with the number ``CHANGED``.
    """

    def __init__(self, bucket: Bucket, stored: Stored) -> None:
        self._bucket = bucket
        self._stored = stored
        self._at = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return where the next read starts."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to another place."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._stored.size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """Fill a buffer, as far as there is anything left."""
        view = memoryview(buffer).cast("B")
        content = self.read(len(view))
        view[: len(content)] = content
        return len(content)

    def read(self, size: int | None = -1) -> bytes:
        """Return up to ``size`` bytes in one request; all that is left without a size."""
        left = max(0, self._stored.size - self._at)
        wanted = left if size is None or size < 0 else min(size, left)
        if not wanted:
            return b""
        end = self._at + wanted
        content = self._bucket.read_range(
            self._stored.key, self._at, end, self._stored.etag or None
        )
        self._at += len(content)
        return content

    def readall(self) -> bytes:
        """Return all that is left."""
        return self.read()
