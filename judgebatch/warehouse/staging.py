"""A run in the making: everything is written here, and one step publishes it.

``.staging/000042-<token>/`` holds ``lock`` (held by the writer), ``scratch/`` (work that is
thrown away) and ``run/``, which becomes ``runs/000042``: by a rename, or by
creating its manifest in an object store. Nothing is visible before that step, everything after
it, and there is nothing to roll forward.
"""

import shutil
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Self

import polars as pl
import pyarrow as pa

from judgebatch.contracts.table import Table
from judgebatch.errors import (
    JudgebatchError,
    WarehouseConflictError,
    WarehouseDamagedError,
)
from judgebatch.vocabulary import RunKind
from judgebatch.warehouse.durable import (
    NOT_PUBLISHED,
    files_below,
    is_about_writing,
    sha256_of,
    sweep_abandoned,
    write_error,
    writing,
)
from judgebatch.warehouse.failpoints import failpoint
from judgebatch.warehouse.layout import (
    MANIFEST,
    SNAPSHOTS,
    STATE,
    TABLES,
    Layout,
    part_name,
    staged_number,
    table_folder,
)
from judgebatch.warehouse.locks import FileLock
from judgebatch.warehouse.manifest import (
    FileEntry,
    Manifest,
    Parent,
    RunFacts,
    library_versions,
    new_token,
)
from judgebatch.warehouse.parquet import PART_ROWS, TableWriter, read_facts
from judgebatch.warehouse.pieces import Pieces
from judgebatch.warehouse.runlog import RunLog, committed_numbers
from judgebatch.warehouse.storage import OvertakenError, Storage

_LOCK, _RUN, _SCRATCH = "lock", "run", "scratch"
_THREADS = 2
_COMMITTED = "The run itself is committed; what is derived from it is made anew by the next one."


class Staging:
    """One run in the making; leave the ``with`` block without commit and it is gone."""

    def __init__(
        self,
        storage: Storage,
        writer: FileLock,
        log: RunLog,
        kind: RunKind,
        as_of: datetime,
        *,
        releases: bool = True,
    ) -> None:
        self._storage = storage
        self._layout = layout = storage.layout
        self._writer = writer
        self._releases = releases
        self.kind = kind
        self.as_of = as_of
        self.parent = log.last
        self.number = log.newest + 1
        self._linked: dict[str, FileEntry] = {}
        self._committed = False
        self.token, self._lock = _claim(layout, self.number)
        self.folder = layout.staged(self.number, self.token)
        self.root = self.folder / _RUN
        """What becomes the run's folder."""
        self.scratch = self.folder / _SCRATCH
        """Work that is thrown away."""
        self.state_dir = self.root / STATE
        """Where the run writes its checkpoint."""
        self.pieces = Pieces(self.scratch / "pieces")
        """Where shards write; picklable."""
        self._make_folders()
        failpoint("staging.ready")

    def _make_folders(self) -> None:
        try:
            for folder in (self.scratch, self.root / TABLES, self.root / SNAPSHOTS, self.state_dir):
                folder.mkdir(parents=True)
        except OSError:
            shutil.rmtree(self.folder, ignore_errors=True)
            self._lock.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        overtaken = error is not None and not self._committed and self._overtaken()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.release()
        if self._releases:
            self._writer.release()
        if overtaken and not isinstance(error, WarehouseConflictError):
            raise self._conflict() from error
        if isinstance(error, OSError) and is_about_writing(error):
            consequence = _COMMITTED if self._committed else NOT_PUBLISHED
            raise write_error(error, f"run {self.number}", self.folder, consequence) from error

    def write_piece(
        self, table: type[Table], shard: int, frame: pl.DataFrame, sequence: int = 0
    ) -> None:
        """Write a piece of a table; see :meth:`Pieces.write`."""
        self.pieces.write(table, shard, frame, sequence)

    def assemble(self, *tables: type[Table]) -> dict[str, int]:
        """Make each table's published files of its pieces, and return rows by table.

        Pieces are streamed in (shard, sequence) order into files of 4,000,000 rows at most. A
        table without pieces becomes one empty file with its full schema.
        """
        # The largest first: then none is left alone at the end.
        ordered = sorted(tables, key=self.pieces.size, reverse=True)
        with ThreadPoolExecutor(_THREADS) as pool:
            rows = pool.map(self._assemble, ordered)
            return {table.name: count for table, count in zip(ordered, rows, strict=True)}

    def _assemble(self, table: type[Table]) -> int:
        return self.write_parts(table, self.pieces.batches(table))

    def write_parts(self, table: type[Table], batches: Iterable[pa.RecordBatch]) -> int:
        """Write a published table's files from batches in its total order; return the rows."""
        folder = self.root / table_folder(table)
        remaining = iter(batches)
        batch = next(remaining, None)
        part = rows = 0
        with writing(f"table {table.name}", folder):
            while part == 0 or batch is not None:
                with TableWriter(folder / part_name(part), table) as writer:
                    room = PART_ROWS
                    while batch is not None and room:
                        writer.add(batch.slice(0, room))
                        taken = min(room, batch.num_rows)
                        room -= taken
                        batch = batch.slice(taken)
                        while batch is not None and not batch.num_rows:
                            batch = next(remaining, None)
                    rows += writer.close().rows
                part += 1
        return rows

    def is_carried(self, relative: str) -> bool:
        """Return whether a checkpoint file was carried over from the parent unchanged."""
        return str(PurePosixPath(STATE, relative)) in self._linked

    def link_from_parent(self, relative: str, folder: str = STATE) -> Path:
        """Carry an unchanged file of the parent's checkpoint over, without copying it.

        Parameters
        ----------
        relative
            The file inside ``state/``.
        folder
            ``spare`` for a spare copy instead.

        Raises
        ------
        WarehouseDamagedError
            The parent run has no such file.
        """
        inside = str(PurePosixPath(folder, relative))
        entry = next(
            (file for file in (self.parent.files if self.parent else ()) if file.path == inside),
            None,
        )
        if self.parent is None or entry is None:
            raise WarehouseDamagedError(f"the newest run has no checkpoint file {inside}")
        target = self.root / inside
        with writing("the checkpoint", target):
            try:
                self._storage.carry(self.parent, entry, target)
            except FileNotFoundError as error:
                source = self._layout.shown(self._layout.run(self.parent.number) / inside)
                raise WarehouseDamagedError(
                    f"{source} is missing, although run {self.parent.number} lists it. Nothing was "
                    "published; `judgebatch rebuild-state` makes the file again."
                ) from error
        written_by = self.parent.number if entry.run is None else entry.run
        self._linked[inside] = entry.model_copy(update={"run": written_by})
        failpoint("state.linked")
        return target

    def commit(self, facts: RunFacts) -> Manifest:
        """Publish the run: hash, write the manifest, make all of it safe, and make it visible.

        Raises
        ------
        WarehouseConflictError
            Somebody else committed this run number meanwhile.
        WarehouseWriteError
            There is no room or no permission; nothing is published.
        """
        failpoint("commit.begin")
        for subject, law in facts.conservation.items():
            if law.difference:
                raise JudgebatchError(
                    f"run {self.number} lost count of {subject}: {law.difference} of "
                    f"{law.read + law.waiting_before} are unaccounted for ({law}). Nothing was "
                    "published; this is a mistake in judgebatch, please report it."
                )
        shutil.rmtree(self.scratch)
        with writing(f"run {self.number}", self.root):
            manifest = self._manifest(facts)
            (self.root / MANIFEST).write_bytes(manifest.to_json())
            failpoint("commit.manifest")
            try:
                self._storage.prepare(self.root, manifest)
                failpoint("commit.rename")
                if not self._lock.still_there():
                    raise self._conflict()
                self._storage.commit(self.root, manifest)
            except OvertakenError as overtaken:
                raise self._conflict(str(overtaken)) from overtaken
        self._committed = True
        failpoint("commit.renamed")
        self._storage.settle(self.number)
        shutil.rmtree(self.folder, ignore_errors=True)
        failpoint("commit.swept")
        return manifest

    def _manifest(self, facts: RunFacts) -> Manifest:
        named = {path.relative_to(self.root).as_posix(): path for path in files_below(self.root)}
        own = [path for inside, path in named.items() if inside not in self._linked]
        with ThreadPoolExecutor(_THREADS) as pool:
            entries = [*pool.map(self._entry, own), *self._linked.values()]
        failpoint("commit.hash")
        parent = self.parent
        return Manifest(
            number=self.number,
            kind=self.kind,
            as_of=self.as_of,
            token=self.token,
            parent=Parent(number=parent.number, digest=parent.digest) if parent else None,
            libraries=library_versions(),
            files=tuple(sorted(entries, key=lambda entry: PurePosixPath(entry.path))),
            **{name: getattr(facts, name) for name in RunFacts.model_fields},
        ).sealed()

    def _entry(self, path: Path) -> FileEntry:
        inside = path.relative_to(self.root).as_posix()
        facts = read_facts(path) if path.suffix == ".parquet" else None
        return FileEntry(
            path=inside,
            size=path.stat().st_size,
            sha256=sha256_of(path),
            table=facts.table if facts else None,
            version=facts.version if facts else None,
            rows=facts.rows if facts else None,
            content=facts.content if facts else None,
        )

    def _overtaken(self) -> bool:
        return not self._lock.still_there() and self.number in committed_numbers(self._layout)

    def _conflict(self, by: str = "somebody else") -> WarehouseConflictError:
        return WarehouseConflictError(
            f"run {self.number} of {self._layout.name} was committed by {by} meanwhile; "
            "nothing of this run was published. Run again to build on it."
        )


def _claim(layout: Layout, number: int) -> tuple[str, FileLock]:
    """Make a staging folder and lock it; a sweeper may take it in between, so look again."""
    while True:
        token = new_token()
        folder = layout.staged(number, token)
        folder.mkdir(parents=True)
        failpoint("staging.folder")
        try:
            lock = FileLock.take(folder / _LOCK, wait=True)
        except FileNotFoundError:
            continue
        failpoint("staging.locked")
        if lock is not None and lock.still_there():
            return token, lock


def dead_staging(layout: Layout) -> list[Path]:
    """Return the staging folders that nobody is working in; changes nothing."""
    committed = committed_numbers(layout)
    newest = committed[-1] if committed else 0
    return [
        folder
        for folder, number in _staged(layout)
        if number <= newest or not FileLock.is_held(folder / _LOCK)
    ]


def sweep_dead(layout: Layout) -> None:
    """Remove what dead runs left: staging folders that nobody works in, temporary files.

    Lock first, then read the run log: a writer between its steps is never mistaken for dead.
    """
    for folder in (layout.root, layout.settings, layout.views):
        sweep_abandoned(folder)
    for folder, number in _staged(layout):
        try:
            lock = FileLock.take(folder / _LOCK)
        except FileNotFoundError:
            continue
        committed = committed_numbers(layout)
        overtaken = bool(committed) and number <= committed[-1]
        if overtaken or (lock is not None and lock.works and lock.still_there()):
            failpoint("staging.sweep")
            shutil.rmtree(folder, ignore_errors=True)
            failpoint("staging.swept")
        if lock is not None:
            lock.release()


def _staged(layout: Layout) -> list[tuple[Path, int]]:
    if not layout.staging.is_dir():
        return []
    named = ((path, staged_number(path.name)) for path in sorted(layout.staging.iterdir()))
    return [(path, name[0]) for path, name in named if name]
