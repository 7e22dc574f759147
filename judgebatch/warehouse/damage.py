"""What is wrong with a published file's bytes."""

from collections.abc import Callable
from pathlib import Path

from judgebatch.warehouse.durable import sha256_of
from judgebatch.warehouse.manifest import FileEntry

RESTORE = "Restore it from a backup"
FOLDER = "is a folder"
"""What is wrong where a folder is in the place of a file; nothing replaces one."""
OTHER_BYTES = "has other bytes than were written"
"""What is wrong where the hash is not that of the manifest."""


class Hashes:
    """SHA-256 of files, of each once: nights carry large files over by hard link."""

    def __init__(self) -> None:
        self._linked: dict[tuple[int, int], str] = {}

    def __call__(self, path: Path) -> str:
        """Return the SHA-256 of a file's bytes, in hex."""
        facts = path.stat()
        if facts.st_nlink == 1:
            return sha256_of(path)
        one = facts.st_dev, facts.st_ino
        if one not in self._linked:
            self._linked[one] = sha256_of(path)
        return self._linked[one]


def damage_of(
    path: Path, entry: FileEntry, sha256: Callable[[Path], str] = sha256_of
) -> str | None:
    """Return what is wrong with a file that a manifest lists, None where nothing is."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        return FOLDER if path.is_dir() and not path.is_symlink() else "is not a plain file"
    try:
        size = path.stat().st_size
        if size != entry.size:
            return f"has {size} {'byte' if size == 1 else 'bytes'} instead of {entry.size}"
        if sha256(path) != entry.sha256:
            return OTHER_BYTES
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return None


def meaning_of(inside: str, damage: str | None = None) -> str:
    """Return what damage to a file of a run means, and what to do about it."""
    if damage == FOLDER:
        return f"Move that folder out of the warehouse first. {_meaning(inside)}"
    return _meaning(inside)


def _meaning(inside: str) -> str:
    if inside.startswith("state/"):
        return (
            "It is part of a checkpoint. In the newest run, no run can build on it; in an older "
            "run, nothing needs it. `judgebatch rebuild-state` makes it again."
        )
    if inside.startswith("spare/"):
        return (
            "It is the spare copy of a checkpoint, which runs do not need. `judgebatch "
            "rebuild-state` makes it again."
        )
    if inside.startswith("snapshots/"):
        return f"The state as of that run. {RESTORE}; the next run writes a new one."
    if inside.startswith("tables/"):
        return f"Published rows are lost or changed. {RESTORE}."
    return f"{RESTORE}; no table depends on it."
