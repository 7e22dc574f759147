"""Writing files so that they survive: whole or not at all, synced, read-only."""

import errno
import hashlib
import os
import re
import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from judgebatch.errors import StoreError, WarehouseWriteError
from judgebatch.objects.url import is_url
from judgebatch.warehouse.failpoints import failpoint

_TEMPORARY = re.compile(r"\.(?P<host>[0-9a-f]{8})-(?P<process>[0-9]+)-[0-9a-f]{8}(\.wal)?\Z")
NOT_PUBLISHED = "Nothing was published."
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)


@contextmanager
def writing(what: str, path: object, consequence: str = NOT_PUBLISHED) -> Iterator[None]:
    """Turn failures to write into one named error.

    Parameters
    ----------
    what, path
        What is being written, and where.
    consequence
        What the failure means for the warehouse: a sentence.

    Raises
    ------
    WarehouseWriteError
        There is no room, no permission, or the device failed.
    StoreError
        The object store cannot be reached, or refuses.
    """
    try:
        yield
    except OSError as error:
        raise write_error(error, what, path, consequence) from error


def force_name(path: Path, what: str, remedy: str = "", place: str = "") -> None:
    """Force the name that a file or folder was just given to the disk.

    Parameters
    ----------
    path
        What was renamed; it is there whatever happens.
    what, remedy
        What is so by now, and what to do where it may not last: clauses.
    place
        The failpoint.

    Raises
    ------
    WarehouseWriteError
        It could not be forced to the disk.
    """
    try:
        failpoint(place)
        fsync_folder(path.parent)
    except OSError as error:
        raise WarehouseWriteError(
            f"{what}, but {path.parent} could not be forced to the disk "
            f"({error.strerror or error}): it may be gone after a power failure. See to the file "
            f"system{remedy}."
        ) from error


def write_error(
    error: OSError, what: str, path: object, consequence: str = NOT_PUBLISHED
) -> WarehouseWriteError | StoreError:
    """Return the named error for a failed write; a store's own stays one of its kind."""
    if isinstance(error, StoreError):
        return error.ending(f"cannot write {what} at {error.filename}", consequence)
    number = _error_number(error)
    if number in _NO_ROOM:
        reason, remedy = "there is no room left", "Make room and run again"
    elif number in _NOT_ALLOWED:
        reason = "this user may not write there"
        remedy = "Give the user that runs judgebatch write permission on the warehouse"
    elif number == errno.EISDIR:
        reason, remedy = "a folder is in its place", "Move that folder out and run again"
    else:
        reason = error.strerror or str(error)
        remedy = "See to the file system and run again"
    # Of a rename, what was to be written is the second name; the first is a temporary file.
    named = str(error.filename2 or error.filename or "")
    if is_url(named):
        path, remedy = named, remedy.replace("the file system", "the object store")
    where = named if named.startswith(f"{path}") else path
    return WarehouseWriteError(f"cannot write {what} at {where}: {reason}. {consequence} {remedy}.")


def is_about_writing(error: OSError) -> bool:
    """Return whether an error can only come of writing: no room, or a read-only file system."""
    return _error_number(error) in (*_NO_ROOM, errno.EROFS)


def _error_number(error: OSError) -> int | None:
    """Return the error's number; Polars gives it in the text alone."""
    in_text = re.search(r"\(os error (\d+)\)", str(error))
    return int(in_text[1]) if error.errno is None and in_text else error.errno


def fsync_file(path: Path) -> None:
    """Force a file's content to the disk."""
    _fsync(path, os.O_RDONLY)


def fsync_folder(path: Path) -> None:
    """Force a folder's entries to the disk."""
    _fsync(path, os.O_RDONLY | os.O_DIRECTORY)


def fsync_below(root: Path) -> None:
    """Force a folder, and everything below it, to the disk."""
    for folder, _, names in os.walk(root, topdown=False):
        for name in names:
            fsync_file(Path(folder, name))
        fsync_folder(Path(folder))


def _fsync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def create_once(path: Path, content: bytes) -> None:
    """Write a file that must not exist yet: it appears whole, synced and read-only.

    Raises
    ------
    FileExistsError
        The file exists already.
    """
    temporary = _write_beside(path, content)
    try:
        temporary.chmod(0o444)
        os.link(temporary, path)
    finally:
        temporary.unlink()
    fsync_folder(path.parent)


def replace(path: Path, content: bytes) -> None:
    """Write a file over its predecessor by rename, so that readers see one or the other."""
    temporary = _write_beside(path, content)
    try:
        temporary.replace(path)
    except OSError:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
    fsync_folder(path.parent)


def temporary_beside(path: Path) -> Path:
    """Return an unused name in the same folder, hidden from globs, that tells whose it is."""
    return path.with_name(f".{path.name}.{_host()}-{os.getpid()}-{secrets.token_hex(4)}")


def is_temporary(path: Path) -> bool:
    """Return whether a name is one that :func:`temporary_beside` gave."""
    return _TEMPORARY.search(path.name) is not None


def abandoned(folder: Path) -> list[Path]:
    """Return the temporary files in a folder whose process, on this machine, is dead."""
    found = []
    for path in sorted(folder.glob(".*")):
        owner = _TEMPORARY.search(path.name)
        if owner and owner["host"] == _host() and not _alive(int(owner["process"])):
            found.append(path)
    return found


def sweep_abandoned(folder: Path) -> None:
    """Remove the temporary files in a folder whose process is dead."""
    for path in abandoned(folder):
        with suppress(FileNotFoundError):
            path.unlink()


def _host() -> str:
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _write_beside(path: Path, content: bytes) -> Path:
    temporary = temporary_beside(path)
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
    return temporary


def link_or_copy(source: Path, target: Path) -> None:
    """Give an immutable file a second name, or a copy where the file system has no links."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EXDEV, errno.EMLINK, errno.ENOTSUP):
            raise
        shutil.copyfile(source, target)
        target.chmod(0o444)
        fsync_file(target)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_of_bytes(content: bytes) -> str:
    """Return the SHA-256 of bytes, in hex."""
    return hashlib.sha256(content).hexdigest()


def files_below(root: Path) -> list[Path]:
    """Return everything below a folder that is not a folder, sorted by path."""
    return sorted(path for path in root.rglob("*") if path.is_symlink() or not path.is_dir())
