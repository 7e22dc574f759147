"""Making damaged files of checkpoints again, with the bytes that their runs wrote.

What a run wrote depends on nothing but its data, so a file that is derived again has the bytes
that the manifest lists, or it was derived from something that is not what it was. Nothing is put
in place before its hash is that of the manifest: published runs do not change by this.
"""

from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import polars as pl
import pyarrow as pa

from judgebatch.contracts.table import Table
from judgebatch.errors import StoreError, WarehouseConflictError
from judgebatch.pipeline.checkpoint import IDENTITY_TABLES, is_identity_file, shard_folder
from judgebatch.pipeline.derived_identities import DerivedIdentities, Span
from judgebatch.pipeline.identities import Unsorted, write_identities
from judgebatch.pipeline.spares import pack, spared, unpacked
from judgebatch.warehouse import FileEntry, Finding, Manifest, RunLog, Warehouse
from judgebatch.warehouse.damage import damage_of
from judgebatch.warehouse.durable import (
    fsync_file,
    link_or_copy,
    sha256_of_bytes,
    sweep_abandoned,
    temporary_beside,
    writing,
)
from judgebatch.warehouse.failpoints import failpoint
from judgebatch.warehouse.layout import RUNS, SPARE, STATE, run_name
from judgebatch.warehouse.locks import FileLock
from judgebatch.warehouse.verify_objects import with_fresh_copies

_CONSEQUENCE = "What was made again until then is in place."
_COPY = "copied from a run that has the same file"
_FROM_SPARE = "taken from the spare copy"
_DERIVED = "derived from the published tables"
_PACKED = "made from the checkpoint"
_LOST = {
    True: "It could not be derived: a table that it is derived from is damaged too, which "
    "`judgebatch verify` names, or another version of judgebatch wrote it.",
    False: "No sound copy of it is left: the checkpoint and its spare copy are both damaged.",
}
_RESTORE = "Restore it from a backup, then run `judgebatch rebuild-state` again."


def _obstructed(obstacle: str) -> str:
    return (
        f"Nothing was put in its place: {obstacle} is in the way, and may be somebody's. Move it "
        "out of the warehouse, then run `judgebatch rebuild-state` again."
    )


class Restored(NamedTuple):
    """A file that was made again."""

    where: str
    """Its path inside the warehouse."""
    what: str
    """What was wrong with it."""
    how: str


class Rebuilt(NamedTuple):
    """What came of damaged checkpoints."""

    checked: int
    """Files that were hashed."""
    restored: tuple[Restored, ...]
    lost: tuple[Finding, ...]
    """What could not be made again."""


class _Damaged(NamedTuple):
    run: Manifest
    entry: FileEntry
    what: str


def rebuild_state(
    warehouse: Warehouse, progress: Callable[[int, int], None] = lambda _, __: None
) -> Rebuilt:
    """Make every damaged or missing file of every run's checkpoint and its spare copy again.

    Parameters
    ----------
    warehouse
        Whose checkpoints are checked; nothing else of it is touched.
    progress
        Told how many damaged files are done, and how many there are.

    Raises
    ------
    WarehouseConflictError
        A run is writing the warehouse.
    WarehouseDamagedError
        A manifest is damaged: what the files should be is not known.
    WarehouseWriteError
        There is no room or no permission.
    """
    layout = warehouse.layout
    with writing("the checkpoint", layout.runs, _CONSEQUENCE):
        lock = FileLock.take_patiently(layout.lock)
        if lock is None:
            raise WarehouseConflictError(
                f"{warehouse.name} is being written. Nothing was done; wait for the run to end."
            )
        with lock, with_fresh_copies(warehouse) as seen:
            sweep_abandoned(layout.root)
            return _Rebuilding(seen, seen.runs()).all(progress)


def _checkpoint_of(run: Manifest) -> Iterator[FileEntry]:
    """Yield the files of a run's checkpoint and of its spare copy."""
    for entry in run.files:
        if entry.path.startswith((f"{STATE}/", f"{SPARE}/")):
            yield entry


class _Rebuilding:
    def __init__(self, warehouse: Warehouse, log: RunLog) -> None:
        self._warehouse = warehouse
        self._log = log
        self._derived = DerivedIdentities(warehouse, log, self._find)
        self._damaged: dict[Path, _Damaged] = {}
        self._sound: dict[str, Path] = {}
        """A sound file of each content, by hash."""
        self._archives: dict[str, Path | None] = {}
        """By the hash of a checkpoint file, a spare copy that holds it."""
        self._checked = 0

    def all(self, progress: Callable[[int, int], None]) -> Rebuilt:
        self._look()
        restored: list[Restored] = []
        lost: list[Finding] = []
        # State tables first: identities and spare copies may be made from them.
        order = sorted(self._damaged, key=lambda path: (self._rank(path), path))
        progress(0, len(order))
        for done, path in enumerate(order, start=1):
            run, entry, what = self._damaged[path]
            where = f"{RUNS}/{run_name(run.number)}/{entry.path}"
            obstacle = self._in_the_way(path)
            how = None if obstacle else self._restore(path, run, entry)
            if obstacle:
                lost.append(Finding(where, what, _obstructed(obstacle)))
            elif how is None:
                meaning = f"{_LOST[is_identity_file(entry.path)]} {_RESTORE}"
                lost.append(Finding(where, what, meaning))
            else:
                restored.append(Restored(where, what, how))
            progress(done, len(order))
        return Rebuilt(self._checked, tuple(restored), tuple(lost))

    def _look(self) -> None:
        """Hash every file of every checkpoint."""
        left_out: dict[tuple[int, str], str] = {}
        for run in self._log:
            wrong = self._warehouse.storage.bring(run, list(_checkpoint_of(run)))
            left_out |= {(run.number, inside): what for inside, what in wrong.items()}
        for run, entry, path in self._entries():
            self._checked += 1
            what = left_out.get((run.number, entry.path)) or damage_of(path, entry)
            if what is None:
                self._sound.setdefault(entry.sha256, path)
            else:
                self._damaged[path] = _Damaged(run, entry, what)
        for run, _, _ in self._entries():
            listed = {entry.path: entry for entry in run.files}
            for archive, members in spared(listed).items():
                kept = listed.get(archive)
                source = None if kept is None else self._sound.get(kept.sha256)
                for inside in members:
                    if source is not None:
                        self._archives.setdefault(listed[inside].sha256, source)

    def _entries(self) -> Iterator[tuple[Manifest, FileEntry, Path]]:
        for run in self._log:
            for entry in _checkpoint_of(run):
                yield run, entry, self._warehouse.layout.run(run.number) / entry.path

    def _in_the_way(self, path: Path) -> str | None:
        """Return what stands where the file or a folder above it should be, and is not its kind."""
        root = self._warehouse.layout.root
        if path.is_dir() and not path.is_symlink():
            return f"the folder {path.relative_to(root).as_posix()}"
        above = path.parent
        while not (above.exists() or above.is_symlink()):
            above = above.parent
        return None if above.is_dir() else f"the file {above.relative_to(root).as_posix()}"

    def _rank(self, path: Path) -> int:
        inside = self._damaged[path].entry.path
        if inside.startswith(f"{SPARE}/"):
            return 2
        return 1 if is_identity_file(inside) else 0

    def _restore(self, path: Path, run: Manifest, entry: FileEntry) -> str | None:
        """Put a file in place again and return where it is from; None: there is no source.

        It is replaced by rename.
        """
        made = temporary_beside(self._warehouse.layout.root / path.name)
        try:
            failpoint("rebuild.make")
            how = self._make(made, run, entry)
            if how is None or damage_of(made, entry) is not None:
                return None
            failpoint("rebuild.made")
            made.chmod(0o444)
            fsync_file(made)
            failpoint("rebuild.synced")
            path.parent.mkdir(parents=True, exist_ok=True)
            made.replace(path)
            failpoint("rebuild.renamed")
        finally:
            made.unlink(missing_ok=True)
        self._warehouse.storage.put_back(run, entry, path)
        failpoint("rebuild.durable")
        self._sound[entry.sha256] = path
        return how

    def _make(self, target: Path, run: Manifest, entry: FileEntry) -> str | None:
        """Write what a file should be, as well as it can be told; its hash is still to be seen."""
        if entry.sha256 in self._sound:
            link_or_copy(self._sound[entry.sha256], target)
            return _COPY
        if entry.path.startswith(f"{SPARE}/"):
            members = spared(file.path for file in run.files).get(entry.path, [])
            folder = self._warehouse.layout.run(run.number)
            files = {inside: folder / inside for inside in members}
            if not all(path.is_file() for path in files.values()):
                return None
            pack(target, files)
            return _PACKED
        if is_identity_file(entry.path):
            return self._derive(target, run, entry)
        content = self._find(entry)
        if content is None:
            return None
        target.write_bytes(content)
        return _FROM_SPARE

    def _derive(self, target: Path, run: Manifest, entry: FileEntry) -> str | None:
        table, span = self._span(run, entry)
        try:
            identities = self._derived.of(table, span)
        except StoreError:
            raise
        except (OSError, pa.ArrowException, pl.exceptions.PolarsError):
            return None  # a table that it is derived from cannot be read
        write_identities(target, table, [Unsorted([identities])])
        return _DERIVED

    def _find(self, entry: FileEntry) -> bytes | None:
        """Return the content of a checkpoint file from wherever a sound copy is."""
        if entry.sha256 in self._sound:
            return self._sound[entry.sha256].read_bytes()
        archive = self._archives.get(entry.sha256)
        if archive is None:
            return None
        contents = unpacked(archive).values()
        return next((one for one in contents if sha256_of_bytes(one) == entry.sha256), None)

    def _span(self, run: Manifest, entry: FileEntry) -> tuple[type[Table], Span]:
        """Return which identities a file holds: files are named by the last run in them."""
        path = PurePosixPath(entry.path)
        siblings = (PurePosixPath(file.path) for file in run.files)
        earlier = [
            int(one.stem)
            for one in siblings
            if one.parent == path.parent and int(one.stem) < int(path.stem)
        ]
        table = next(one for one in IDENTITY_TABLES if one.name == path.parent.name)
        shards = range(self._warehouse.n_shards)
        shard = next(one for one in shards if shard_folder(one) == path.parts[1])
        return table, Span(shard, max(earlier, default=0), int(path.stem))
