"""A warehouse in a folder: a run becomes visible by one rename."""

import errno
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow.dataset as ds

from judgebatch.contracts.table import Table, schema_of
from judgebatch.warehouse.durable import (
    create_once,
    files_below,
    force_name,
    fsync_file,
    fsync_folder,
    link_or_copy,
    replace,
)
from judgebatch.warehouse.failpoints import failpoint
from judgebatch.warehouse.layout import Layout
from judgebatch.warehouse.manifest import FileEntry, Manifest
from judgebatch.warehouse.parquet import arrow_schema
from judgebatch.warehouse.storage import OvertakenError

_SYNCING = 16


@dataclass(frozen=True)
class FolderStorage:
    """The files of a warehouse on a local file system."""

    layout: Layout

    def refresh(self) -> None:
        """Do nothing: the folder shows what there is."""

    def run_names(self) -> list[str]:
        """Return the names in ``runs/``."""
        return sorted(os.listdir(self.layout.runs))  # noqa: PTH208 - names, not paths

    def fetch(self, manifest: Manifest, entries: Sequence[FileEntry]) -> list[Path]:
        """Return the paths."""
        folder = self.layout.run(manifest.number)
        return [folder / entry.path for entry in entries]

    def bring(self, manifest: Manifest, entries: Sequence[FileEntry]) -> Mapping[str, str]:  # noqa: ARG002
        """Leave nothing out: what there is is here."""
        return {}

    def put_back(self, manifest: Manifest, entry: FileEntry, path: Path) -> None:  # noqa: ARG002
        """Force the file's new place to the disk."""
        fsync_folder(path.parent)

    def scan(self, files: Sequence[tuple[Manifest, FileEntry]], table: type[Table]) -> pl.LazyFrame:
        """Scan the files."""
        paths = [self.layout.run(run.number) / entry.path for run, entry in files]
        return pl.scan_parquet(
            paths,
            glob=False,
            hive_partitioning=False,
            schema=schema_of(table),
            missing_columns="insert",
        )

    def dataset(
        self, files: Sequence[tuple[Manifest, FileEntry]], table: type[Table]
    ) -> ds.Dataset:
        """Open the files as a dataset."""
        paths = [str(self.layout.run(run.number) / entry.path) for run, entry in files]
        return ds.dataset(paths, schema=arrow_schema(table), format="parquet")

    def carry(self, parent: Manifest, entry: FileEntry, target: Path) -> None:
        """Link the file, or copy it where the file system has no links."""
        target.parent.mkdir(parents=True, exist_ok=True)
        link_or_copy(self.layout.run(parent.number) / entry.path, target)

    def announce(self, number: int, token: str, who: str) -> None:
        """Do nothing: the lock says who writes."""

    def prepare(self, staged: Path, manifest: Manifest) -> None:
        """Make files read-only and force everything to the disk."""
        carried = {entry.path for entry in manifest.files if entry.run is not None}
        paths = files_below(staged)
        own = [path for path in paths if path.relative_to(staged).as_posix() not in carried]
        for path in own:
            path.chmod(0o444)
        failpoint("commit.read_only")
        folders = [path for path in staged.rglob("*") if path.is_dir()]
        # Side by side, the file system forces many to the disk at once.
        with ThreadPoolExecutor(_SYNCING) as pool:
            list(pool.map(fsync_file, own))
            list(pool.map(fsync_folder, [*folders, staged]))
        failpoint("commit.fsync")

    def commit(self, staged: Path, manifest: Manifest) -> None:
        """Rename the folder into ``runs/``."""
        target = self.layout.run(manifest.number)
        # A rename onto an existing empty folder would succeed, and such a folder is nobody's run.
        if target.exists():
            raise OvertakenError("somebody else")
        try:
            staged.rename(target)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise OvertakenError("somebody else") from error
            raise

    def settle(self, number: int) -> None:
        """Force ``runs/`` to the disk."""
        run = self.layout.run(number)
        force_name(run, f"run {number} is published", ", then run `judgebatch verify`")
        failpoint("commit.durable")

    def read(self, name: str) -> bytes:
        """Return a file beside the runs."""
        return (self.layout.root / name).read_bytes()

    def create(self, name: str, content: bytes) -> None:
        """Write a file beside the runs, once."""
        path = self.layout.root / name
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        create_once(path, content)

    def replace(self, name: str, content: bytes) -> None:
        """Write a file beside the runs over its predecessor."""
        replace(self.layout.root / name, content)

    def journal(self) -> tuple[Path, Callable[[bytes], None] | None]:
        """Return the file, which is safe by itself."""
        return self.layout.journal, None

    def orphans(self) -> list[tuple[str, str]]:
        """Return nothing: runs appear whole."""
        return []

    def remove(self, names: Iterable[str]) -> None:
        """Do nothing: there are no orphans."""
