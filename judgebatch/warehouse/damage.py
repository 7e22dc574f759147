"""What is wrong with a published file's bytes."""

from pathlib import Path

from judgebatch.warehouse.durable import sha256_of
from judgebatch.warehouse.manifest import FileEntry

RESTORE = "Restore it from a backup"


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


def meaning_of(inside: str) -> str:
    """Return what damage to a file of a run means, and what to do."""
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
