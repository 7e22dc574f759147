"""Finding the files of an input."""

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from glob import has_magic
from pathlib import Path
from typing import BinaryIO, cast

from judgebatch.errors import InputError, StoreError, did_you_mean
from judgebatch.inputs.object_files import SUFFIX as _SUFFIX
from judgebatch.inputs.object_files import is_hidden as _is_hidden
from judgebatch.inputs.object_files import listed
from judgebatch.inputs.object_files import unreadable as _unreadable
from judgebatch.inputs.spec import InputSpec
from judgebatch.objects.bucket import Bucket, Stored
from judgebatch.objects.faults import CHANGED
from judgebatch.objects.reading import ObjectReader
from judgebatch.objects.url import ObjectUrl

_CHUNK = 1 << 20


@dataclass(frozen=True)
class InputFile:
    """A file to read.

    Parameters
    ----------
    path
        Its name relative to the input's folder, with forward slashes: the same on any machine.
    location
        Where it is: a path, or a place in an object store.
    size
        Bytes.
    stamp
        What the file system says of its last change and which file it is, or the tag that the
        object store gives its content; a hint, never an identity.
    """

    path: str
    location: Path | ObjectUrl
    size: int
    stamp: str

    def open(self) -> BinaryIO:
        """Open the file for reading from anywhere.

        In an object store every read asks for the version that was listed, and one that was
        replaced meanwhile fails; of a file the caller compares the digest.

        Raises
        ------
        OSError
            It cannot be opened.
        """
        if isinstance(self.location, Path):
            return self.location.open("rb")
        stored = Stored(self.location.name, self.size, self.stamp)
        return cast("BinaryIO", ObjectReader(Bucket(self.location.parent), stored))

    def chunks(self) -> Iterator[bytes]:
        """Yield the file's bytes in order.

        Raises
        ------
        OSError
            It cannot be read, or is not what was listed.
        """
        if isinstance(self.location, Path):
            with self.location.open("rb") as handle:
                while chunk := handle.read(_CHUNK):
                    yield chunk
        else:
            bucket = Bucket(self.location.parent)
            yield from bucket.chunks(self.location.name, self.stamp or None)

    def check_unchanged(self) -> None:
        """Check that a file is still the one that was listed; an object is checked as it is read.

        Raises
        ------
        OSError
            It is gone, or with the number ``CHANGED`` another one or written to.
        """
        if isinstance(self.location, Path):
            found = self.location.stat()
            if (found.st_size, _stamp(found)) != (self.size, self.stamp):
                raise OSError(CHANGED, "it changed while it was read", str(self.location))

    @cached_property
    def sha256(self) -> str:
        """The digest of its bytes, read once, when first asked for.

        Raises
        ------
        InputError
            The file cannot be read.
        """
        digest = hashlib.sha256()
        try:
            for chunk in self.chunks():
                digest.update(chunk)
        except OSError as error:
            raise read_error(self, error) from None
        return digest.hexdigest()


def discover(spec: InputSpec) -> list[InputFile]:
    """Return the files of an input, sorted by name.

    A directory stands for every ``*.parquet`` under it, a pattern for what it matches. Names that
    start with ``.`` or ``_`` are left out: writers use them for files that are not finished.

    Raises
    ------
    InputError
        There is nothing at the path, something there is no readable regular file, or a link leads
        out of the folder.
    """
    if spec.is_remote:
        return [
            InputFile(name, place / one.key, one.size, one.etag)
            for name, place, one in listed(spec)
        ]
    folder = spec.root
    try:
        folder, pattern = _split(spec)
        if pattern is None and folder.is_file():
            return [_file(folder.parent, folder, spec)]
        if not folder.is_dir():
            if folder.exists():
                raise _not_a_file(folder, "a pipe, socket or device", spec)
            raise _missing(folder, spec)
        found = _walk(folder, spec) if pattern is None else _match(folder, pattern, spec)
        return sorted((_file(folder, one, spec) for one in found), key=lambda file: file.path)
    except OSError as error:
        raise _unreadable(Path(error.filename or folder), error) from None


def _split(spec: InputSpec) -> tuple[Path, str | None]:
    """Return the folder that a path starts at, and the pattern inside it, if it is one."""
    try:
        path = Path(spec.path).expanduser()
    except RuntimeError:
        raise _missing(spec.root / spec.path, spec) from None
    whole = spec.root / path
    if not has_magic(spec.path) or whole.exists():
        return whole, None
    parts = path.parts
    first = next(index for index, part in enumerate(parts) if has_magic(part))
    if ".." in parts[first:]:
        raise InputError(
            f"The {spec.kind} input is the pattern {spec.path!r}, which leads out of its folder "
            f"with '..' after a wildcard. Start [{spec.table}] path at the folder itself."
        )
    return spec.root.joinpath(*parts[:first]), "/".join(parts[first:])


def _walk(folder: Path, spec: InputSpec) -> Iterator[Path]:
    def stop(error: OSError) -> None:
        raise error

    for here, names, files in os.walk(folder, onerror=stop):
        place = Path(here)
        names[:] = [name for name in names if not _is_hidden(name)]
        for name in names:
            if name.endswith(_SUFFIX):
                raise _not_a_file(place / name, "a directory", spec)
            _inside(folder, place / name, spec)
        yield from (
            place / name for name in files if name.endswith(_SUFFIX) and not _is_hidden(name)
        )


def _match(folder: Path, pattern: str, spec: InputSpec) -> Iterator[Path]:
    for one in folder.glob(pattern):
        if any(_is_hidden(part) for part in one.relative_to(folder).parts):
            continue
        if one.is_dir():
            if pattern.endswith("**"):
                continue
            raise _not_a_file(one, "a directory", spec)
        yield one


def _file(folder: Path, location: Path, spec: InputSpec) -> InputFile:
    _inside(folder, location, spec)
    name = location.relative_to(folder).as_posix()
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InputError(
            f"The {spec.kind} input has a file whose name is not UTF-8: {name!r} in {folder}. "
            "Rename it."
        ) from None
    try:
        found = location.stat()
    except OSError as error:
        raise _unreadable(location, error) from None
    if not stat.S_ISREG(found.st_mode):
        raise _not_a_file(location, "a pipe, socket or device", spec)
    return InputFile(name, location, found.st_size, _stamp(found))


def _stamp(found: os.stat_result) -> str:
    """Return what differs after any write: a time of change can be set back, one of state not."""
    return f"{found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}"


def _inside(folder: Path, location: Path, spec: InputSpec) -> None:
    # Unlike Path.resolve, this follows links that lead in a circle to some place, too.
    real = Path(os.path.realpath(location))
    if not real.is_relative_to(os.path.realpath(folder)):
        raise InputError(
            f"The {spec.kind} input has a link that leads out of its folder: {location} points to "
            f"{real}. Put the file itself there, or name its folder in [{spec.table}] path."
        )


def _missing(folder: Path, spec: InputSpec) -> InputError:
    parent = folder.parent
    near = sorted(one.name for one in parent.iterdir()) if parent.is_dir() else []
    hint = did_you_mean(folder.name, near)
    return InputError(
        f"The {spec.kind} input is not there: {folder} does not exist{hint}. Correct "
        f"[{spec.table}] path in the settings, or make the directory (an empty one is fine)."
    )


def _not_a_file(location: Path, found: str, spec: InputSpec) -> InputError:
    return InputError(
        f"The {spec.kind} input expected a Parquet file and found {found}: {location}. Name the "
        f"directory of the files in [{spec.table}] path, or move it away."
    )


def read_error(file: InputFile, error: OSError) -> InputError | StoreError:
    """Return the named error for a file that cannot be read to its end."""
    if error.errno == CHANGED:
        return changed(file)
    return _unreadable(file.location, error)


def changed(file: InputFile) -> InputError:
    """Return the named error for a file that was written to while it was read."""
    return InputError(
        f"{file.location} changed while it was read. Nothing was published; run again once its "
        "writer has finished."
    )
