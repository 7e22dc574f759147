"""Exclusive locks on files, held by an open descriptor: a dead process holds none."""

import errno
import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

_ATTEMPTS, _PAUSE_SECONDS = 5, 0.02
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


class FileLock:
    """An exclusive lock on a file that is made if need be.

    ``works`` is False on a file system without locks: the lock then excludes nobody, and the
    commit by rename alone keeps writers apart.
    """

    def __init__(self, path: Path, descriptor: int, *, works: bool) -> None:
        self.path = path
        self.works = works
        self._descriptor: int | None = descriptor

    @classmethod
    def take_patiently(cls, path: Path) -> Self | None:
        """Return the lock, or None where somebody keeps holding it for a tenth of a second."""
        for _ in range(_ATTEMPTS):
            lock = cls.take(path)
            if lock is not None:
                return lock
            time.sleep(_PAUSE_SECONDS)
        return None

    @classmethod
    def take(cls, path: Path, *, wait: bool = False) -> Self | None:
        """Return the lock, or None where somebody else holds it and ``wait`` is False.

        Raises
        ------
        OSError
            The file cannot be opened for writing.
        """
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return cls(path, descriptor, works=False)
            os.close(descriptor)
            if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES):
                return None
            raise
        return cls(path, descriptor, works=True)

    @staticmethod
    def is_held(path: Path) -> bool:
        """Return whether a process holds the lock; changes nothing, and needs only to read.

        For an instant the lock is shared with us: whoever takes it must be ready to try again.
        """
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return False

    def still_there(self) -> bool:
        """Return whether the path still names the locked file."""
        if self._descriptor is None:
            return False
        try:
            named = self.path.stat()
        except OSError:
            return False
        held = os.fstat(self._descriptor)
        return (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)

    def write(self, text: str) -> None:
        """Replace the file's content: tells others who holds the lock."""
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, text.encode(), 0)

    def release(self) -> None:
        """Give the lock back; more than once does nothing."""
        if self._descriptor is not None:
            with suppress(OSError):
                # A forked worker may hold a copy of the descriptor: closing ours is not enough.
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()
