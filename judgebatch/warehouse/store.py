"""The warehouse: a folder of committed runs that never change."""

import hashlib
import os
import secrets
import socket
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson
import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from judgebatch.errors import UsageError, WarehouseConflictError, WarehouseDamagedError
from judgebatch.vocabulary import RunKind
from judgebatch.warehouse.durable import (
    create_once,
    fsync_folder,
    sha256_of,
    writing,
)
from judgebatch.warehouse.failpoints import failpoint
from judgebatch.warehouse.layout import STATE, Layout
from judgebatch.warehouse.locks import FileLock
from judgebatch.warehouse.runlog import RunLog, committed_numbers
from judgebatch.warehouse.sharding import MAX_SHARDS, shard_of
from judgebatch.warehouse.staging import Staging, sweep_dead

FORMAT = 1
"""Version of the warehouse's layout."""


class _Identity(BaseModel):
    """What ``warehouse.json`` holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = FORMAT
    id: str
    n_shards: int = Field(ge=1, le=MAX_SHARDS)
    digest: str = ""
    """SHA-256 over the rest."""

    def sealed(self) -> "_Identity":
        text = f"{self.format} {self.id} {self.n_shards}"
        return self.model_copy(update={"digest": hashlib.sha256(text.encode()).hexdigest()})


@dataclass(frozen=True)
class Warehouse:
    """A warehouse on a local file system."""

    path: Path
    id: str
    n_shards: int

    @property
    def layout(self) -> Layout:
        """Where everything is."""
        return Layout(self.path)

    def runs(self) -> RunLog:
        """Return the committed runs as of now; manifests are read when asked for."""
        return RunLog(self.layout)

    def run_numbers(self) -> list[int]:
        """Return the numbers of the run folders, also where the log is damaged."""
        return committed_numbers(self.layout)

    def shard_of(self, tenant_ids: pl.Series) -> pl.Series:
        """Return the shard (Int64) of each tenant."""
        return shard_of(tenant_ids, self.n_shards)

    def begin(self, kind: RunKind, as_of: datetime, seen: RunLog | None = None) -> Staging:
        """Start a run: lock the warehouse, sweep what dead runs left, make a staging folder.

        Publish inside the ``with`` block, after the commit: then nobody who sees the lock free
        sees views that are older than the log.

        Parameters
        ----------
        kind, as_of
            What the run does, and its logical time.
        seen
            The log that the caller decided by: the run is refused if it grew since.

        Raises
        ------
        WarehouseConflictError
            Another process is writing this warehouse, or committed a run since ``seen``.
        WarehouseWriteError
            There is no room or no permission.
        """
        layout = self.layout
        with writing("the warehouse", self.path):
            writer = FileLock.take_patiently(layout.lock)
            if writer is None:
                raise WarehouseConflictError(
                    f"{self.path} is being written by {_holder(layout)}. Nothing was done; wait "
                    "for it to end, then run again."
                )
            try:
                writer.write(_introduction())
                failpoint("lock.taken")
                sweep_dead(layout)
                return Staging(layout, writer, self._unless_grown(seen), kind, as_of)
            except BaseException:
                writer.release()
                raise

    def _unless_grown(self, seen: RunLog | None) -> RunLog:
        log = self.runs()
        if seen is not None and seen.newest != log.newest:
            raise WarehouseConflictError(
                f"run {log.newest} of {self.path} was committed by somebody else while this run "
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
            if not path.exists():
                try:
                    create_once(path, content)
                except FileExistsError:
                    return name
            failpoint("settings.stored")
        return name

    def read_text(self, name: str, suffix: str) -> str:
        """Return a text that :meth:`store_text` kept.

        Raises
        ------
        WarehouseDamagedError
            It is missing or not what its name says.
        """
        path = self.layout.settings / f"{name}.{suffix}"
        try:
            content = path.read_bytes()
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
        if last is None or entry is None:
            return None
        path = self.layout.run(last.number) / inside
        try:
            sound = path.stat().st_size == entry.size and (
                not check or sha256_of(path) == entry.sha256
            )
        except OSError:
            sound = False
        if not sound:
            raise WarehouseDamagedError(
                f"the checkpoint file {path} is missing or not what run {last.number} wrote, so no "
                "run can build on it. Nothing was published. `judgebatch rebuild-state` makes the "
                "checkpoint again from the tables; `judgebatch verify` lists all damage."
            )
        return path


def init(path: Path, n_shards: int = 8) -> Warehouse:
    """Make a warehouse of a new or empty folder.

    Raises
    ------
    UsageError
        The folder is a warehouse already, holds something else, or ``n_shards`` is not in range.
    WarehouseDamagedError
        The folder has committed runs, but lost its identity.
    WarehouseWriteError
        There is no room or no permission.
    """
    if not 1 <= n_shards <= MAX_SHARDS:
        raise UsageError(f"n_shards is {n_shards}; it must be between 1 and {MAX_SHARDS}.")
    layout = Layout(path.absolute())
    if layout.root.exists() and not layout.root.is_dir():
        raise UsageError(f"{path} is a file: a warehouse is a folder. Name another one.")
    if layout.identity.exists():
        raise UsageError(f"{path} is a warehouse already: nothing was done.")
    if committed_numbers(layout):
        raise WarehouseDamagedError(
            f"{path} has committed runs but no warehouse.json: restore that file from a backup."
        )
    own = {layout.runs, layout.staging, layout.settings, layout.views}
    there = set(layout.root.iterdir()) if layout.root.is_dir() else set()
    in_the_making = {path for path in there if path.name.startswith(f".{layout.identity.name}.")}
    if there - own - in_the_making - {layout.identity}:
        raise UsageError(
            f"{path} holds files that are no warehouse's. Name a new or an empty folder."
        )
    identity = _Identity(id=secrets.token_hex(16), n_shards=n_shards).sealed()
    with writing("the warehouse", path):
        for folder in (layout.runs, layout.staging, layout.settings, layout.views):
            folder.mkdir(parents=True, exist_ok=True)
        try:
            create_once(
                layout.identity,
                orjson.dumps(
                    identity.model_dump(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
                ),
            )
        except FileExistsError:
            raise UsageError(f"{path} became a warehouse meanwhile: nothing was done.") from None
        fsync_folder(layout.root)
    return open_warehouse(path)


def open_or_init(path: Path) -> Warehouse:
    """Open a warehouse, and make it first where the folder is new, empty, or half made.

    Raises
    ------
    UsageError
        The folder holds something else.
    WarehouseWriteError
        There is no room or no permission.
    """
    if is_warehouse(path):
        return open_warehouse(path)
    try:
        return init(path)
    except UsageError:
        if is_warehouse(path):  # somebody else made it at the same time
            return open_warehouse(path)
        raise


def is_warehouse(path: Path) -> bool:
    """Return whether a folder is a warehouse."""
    return Layout(path).identity.is_file()


def open_warehouse(path: Path) -> Warehouse:
    """Open a warehouse; reads one small file.

    Raises
    ------
    UsageError
        The folder is not a warehouse, or a newer judgebatch made it.
    WarehouseDamagedError
        ``warehouse.json`` is not readable as such.
    """
    layout = Layout(path.absolute())
    try:
        text = layout.identity.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(
            f"{path} is not a warehouse: it has no warehouse.json. Name the right folder, or make "
            "one with `judgebatch init`."
        ) from error
    except OSError as error:
        raise UsageError(f"{layout.identity} cannot be read: {error.strerror}.") from error
    try:
        identity = _Identity.model_validate_json(text)
    except ValidationError as error:
        raise _not_what_init_wrote(layout) from error
    if identity.format != FORMAT:
        raise UsageError(
            f"{path} has format {identity.format}, and this judgebatch reads format {FORMAT}: use "
            "the version that made it, or a newer one."
        )
    if identity != identity.sealed():
        raise _not_what_init_wrote(layout)
    return Warehouse(layout.root, identity.id, identity.n_shards)


def _not_what_init_wrote(layout: Layout) -> WarehouseDamagedError:
    return WarehouseDamagedError(
        f"{layout.identity} is not what `judgebatch init` wrote: restore it from a backup."
    )


def _introduction() -> str:
    return f"process {os.getpid()} on {socket.gethostname()} since {datetime.now(UTC):%F %T} UTC\n"


def _holder(layout: Layout) -> str:
    try:
        return layout.lock.read_text().strip() or "another process"
    except OSError:
        return "another process"
