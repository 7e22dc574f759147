"""Finding the files of an input."""

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from glob import has_magic
from pathlib import Path

from judgebatch.errors import InputError, did_you_mean
from judgebatch.inputs.spec import InputSpec

_CHUNK = 1 << 20
_SUFFIX = ".parquet"


@dataclass(frozen=True)
class InputFile:
    """A file to read.

    Parameters
    ----------
    path
        Its name relative to the input's folder, with forward slashes: the same on any machine.
    location
        Where it is.
    size
        Bytes.
    modified_ns
        When the file system says that it was written; a hint, never an identity.
    """

    path: str
    location: Path
    size: int
    modified_ns: int

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
            with self.location.open("rb") as handle:
                while chunk := handle.read(_CHUNK):
                    digest.update(chunk)
        except OSError as error:
            raise _unreadable(self.location, error) from None
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
    folder = spec.root
    try:
        folder, pattern = _split(spec)
        if pattern is None and folder.is_file():
            return [_file(folder.parent, folder, spec)]
        if not folder.is_dir():
            raise _missing(folder, spec)
        found = _walk(folder, spec) if pattern is None else _match(folder, pattern, spec)
        return sorted((_file(folder, one, spec) for one in found), key=lambda file: file.path)
    except OSError as error:
        raise _unreadable(Path(error.filename or folder), error) from None


def _split(spec: InputSpec) -> tuple[Path, str | None]:
    """Return the folder that a path starts at, and the pattern inside it, if it is one."""
    whole = spec.root / Path(spec.path).expanduser()
    if not has_magic(spec.path) or whole.exists():
        return whole, None
    parts = Path(spec.path).expanduser().parts
    first = next(index for index, part in enumerate(parts) if has_magic(part))
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
    return InputFile(name, location, found.st_size, found.st_mtime_ns)


def _inside(folder: Path, location: Path, spec: InputSpec) -> None:
    if not location.resolve().is_relative_to(folder.resolve()):
        raise InputError(
            f"The {spec.kind} input has a link that leads out of its folder: {location} points to "
            f"{location.resolve()}. Put the file itself there, or name its folder in "
            f"[{spec.table}] path."
        )


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "_"))


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


def _unreadable(location: Path, error: OSError) -> InputError:
    return InputError(
        f"{location} cannot be read: {error.strerror or error}. Check that it is still there and "
        "that its permissions allow reading."
    )
