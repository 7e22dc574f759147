"""What is wrong with a published file's bytes."""

from pathlib import Path

from judgebatch.warehouse.durable import sha256_of
from judgebatch.warehouse.manifest import FileEntry


def damage_of(path: Path, entry: FileEntry) -> str | None:
    """Return what is wrong with a file that a manifest lists, None where nothing is."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        return "is not a plain file"
    try:
        size = path.stat().st_size
        if size != entry.size:
            return f"has {size} {'byte' if size == 1 else 'bytes'} instead of {entry.size}"
        if sha256_of(path) != entry.sha256:
            return "has other bytes than were written"
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return None
