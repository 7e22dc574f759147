"""The warehouse: committed runs that never change."""

import hashlib
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from judgebatch.contracts.table import Table, empty
from judgebatch.errors import StoreError, WarehouseConflictError, WarehouseDamagedError
from judgebatch.vocabulary import RunKind
from judgebatch.warehouse.durable import sha256_of, writing
from judgebatch.warehouse.failpoints import failpoint
from judgebatch.warehouse.layout import SETTINGS, STATE, Layout, table_folder
from judgebatch.warehouse.locks import FileLock
from judgebatch.warehouse.manifest import FileEntry, Manifest
from judgebatch.warehouse.runlog import RunLog, committed_numbers
from judgebatch.warehouse.sharding import shard_of
from judgebatch.warehouse.staging import Staging, sweep_dead
from judgebatch.warehouse.storage import Storage


@dataclass(frozen=True)
class Warehouse:
    """A warehouse, in a folder or in an object store."""

    path: Path
    """Its folder, or that of the copies of what was needed of it."""
    id: str
    n_shards: int
    storage: Storage = field(compare=False)

    @property
    def layout(self) -> Layout:
        """Where everything is."""
        return self.storage.layout

    @property
    def name(self) -> str:
        """How messages name it: its folder, or its URL."""
        return self.layout.name

    def runs(self) -> RunLog:
        """Return the committed runs as of now; manifests are read when asked for."""
        self.storage.refresh()
        return RunLog(self.layout)

    def committed(self) -> list[int]:
        """Return the numbers of the committed runs, also where the log is damaged."""
        self.storage.refresh()
        return committed_numbers(self.layout)

    def shard_of(self, tenant_ids: pl.Series) -> pl.Series:
        """Return the shard (Int64) of each tenant."""
        return shard_of(tenant_ids, self.n_shards)

    @contextmanager
    def held(self) -> Iterator[FileLock]:
        """Hold the warehouse for several runs in a row: nobody else writes between them.

        Raises
        ------
        WarehouseConflictError
            Another process is writing this warehouse.
        WarehouseWriteError
            There is no room or no permission.
        """
        with writing("the warehouse", self.path):
            writer = self._taken()
        with writer:
            yield writer

    def _taken(self) -> FileLock:
        """Take the warehouse's lock and say who holds it."""
        writer = FileLock.take_patiently(self.layout.lock)
        if writer is None:
            raise WarehouseConflictError(
                f"{self.name} is being written by {_holder(self.layout)}. Nothing was done; wait "
                "for it to end, then run again."
            )
        try:
            writer.write(_introduction())
            failpoint("lock.taken")
        except BaseException:
            writer.release()
            raise
        return writer

    def begin(
        self,
        kind: RunKind,
        as_of: datetime,
        seen: RunLog | None = None,
        held: FileLock | None = None,
    ) -> Staging:
        """Start a run: lock the warehouse, sweep what dead runs left, make a staging folder.

        Publish inside the ``with`` block, after the commit: then nobody who sees the lock free
        sees views that are older than the log.

        Parameters
        ----------
        kind, as_of
            What the run does, and its logical time.
        seen
            The log that the caller decided by: the run is refused if it grew since.
        held
            The lock, where the caller holds it for several runs.

        Raises
        ------
        WarehouseConflictError
            Another process is writing this warehouse, or committed a run since ``seen``.
        WarehouseWriteError
            There is no room or no permission.
        """
        layout = self.layout
        with writing("the warehouse", self.path):
            writer = held or self._taken()
            try:
                sweep_dead(layout)
                staging = Staging(
                    self.storage,
                    writer,
                    self._unless_grown(seen),
                    kind,
                    as_of,
                    releases=held is None,
                )
            except BaseException:
                if held is None:
                    writer.release()
                raise
            self._announce(staging)
            return staging

    def _announce(self, staging: Staging) -> None:
        try:
            self.storage.announce(staging.number, staging.token, _introduction())
        except BaseException as error:
            staging.__exit__(type(error), error, None)
            raise

    def _unless_grown(self, seen: RunLog | None) -> RunLog:
        log = self.runs()
        if seen is not None and seen.newest == log.newest:
            return seen  # it has read what it was asked for
        if seen is not None:
            raise WarehouseConflictError(
                f"run {log.newest} of {self.name} was committed by somebody else while this run "
                "was being prepared. Nothing was done; run again to build on it."
            )
        return log

    def store_text(self, text: str, suffix: str) -> str:
        """Keep a settings or policy text under its hash, once; return the hash.

        Parameters
        ----------
        text
            The text, kept as UTF-8.
        suffix
            The file's ending without a dot, such as ``toml``.
        """
        content = text.encode()
        name = hashlib.sha256(content).hexdigest()
        path = self.layout.settings / f"{name}.{suffix}"
        with writing("settings", path):
            failpoint("settings.write")
            with suppress(FileExistsError):
                self.storage.create(f"{SETTINGS}/{path.name}", content)
            failpoint("settings.stored")
        return name

    def read_text(self, name: str, suffix: str) -> str:
        """Return a text that :meth:`store_text` kept.

        Raises
        ------
        WarehouseDamagedError
            It is missing or not what its name says.
        """
        path = self.layout.shown(self.layout.settings / f"{name}.{suffix}")
        try:
            content = self.storage.read(f"{SETTINGS}/{name}.{suffix}")
        except StoreError:
            raise
        except OSError as error:
            raise WarehouseDamagedError(
                f"{path} cannot be read ({error.strerror}): restore it from a backup."
            ) from error
        if hashlib.sha256(content).hexdigest() != name:
            raise WarehouseDamagedError(f"{path} was changed: restore it from a backup.")
        return content.decode()

    def state_file(self, relative: str, *, check: bool = True) -> Path | None:
        """Return a file of the newest checkpoint, or None where the newest run has none such.

        Parameters
        ----------
        relative
            The file inside ``state/``.
        check
            Hash it first; without, only its size is compared.

        Raises
        ------
        WarehouseDamagedError
            It is missing, or not what the manifest says.
        """
        last = self.runs().last
        inside = f"{STATE}/{relative}"
        entry = next((file for file in (last.files if last else ()) if file.path == inside), None)
        return None if last is None or entry is None else self.sound(last, [entry], check=check)[0]

    def sound(
        self, run: Manifest, entries: Sequence[FileEntry], *, check: bool = True
    ) -> list[Path]:
        """Return where checkpoint files of a run are on this machine, and that they are sound.

        Raises
        ------
        WarehouseDamagedError
            One is missing, or not what the manifest says.
        """
        paths = self.storage.fetch(run, entries)
        for path, entry in zip(paths, entries, strict=True):
            try:
                sound = path.stat().st_size == entry.size and (
                    not check or sha256_of(path) == entry.sha256
                )
            except OSError:
                sound = False
            if not sound:
                raise WarehouseDamagedError(
                    f"the checkpoint file {self.layout.shown(path)} is missing or not what run "
                    f"{run.number} wrote, so no run can build on it. Nothing was published; "
                    "`judgebatch rebuild-state` makes the checkpoint again from the tables; "
                    "`judgebatch verify` lists all damage."
                )
        return paths

    def state_folder(self, run: Manifest, inside: str) -> Path:
        """Return where a folder of a run's checkpoint is on this machine, with its files."""
        folder = f"{STATE}/{inside}"
        self.storage.fetch(run, [one for one in run.files if one.path.startswith(f"{folder}/")])
        return self.layout.run(run.number) / folder

    def scan(self, log: Sequence[Manifest], table: type[Table]) -> pl.LazyFrame:
        """Return the rows of a table over some runs; reads what the query on it needs."""
        folder = f"{table_folder(table)}/"
        files = [
            (run, entry) for run in log for entry in run.files if entry.path.startswith(folder)
        ]
        return self.storage.scan(files, table) if files else empty(table).lazy()

    def table_files(self, log: Sequence[Manifest], table: type[Table]) -> list[Path]:
        """Return where the files of a table over some runs are on this machine, in order."""
        folder = f"{table_folder(table)}/"
        return [
            path
            for run in log
            for path in self.storage.fetch(
                run, [entry for entry in run.files if entry.path.startswith(folder)]
            )
        ]


def _introduction() -> str:
    return f"process {os.getpid()} on {socket.gethostname()} since {datetime.now(UTC):%F %T} UTC\n"


def _holder(layout: Layout) -> str:
    try:
        return layout.lock.read_text().strip() or "another process"
    except OSError:
        return "another process"
