"""Where a warehouse keeps its runs: a folder, or objects with copies on this machine.

Runs are always written into a folder. What differs is how one becomes visible, and whether the
files of committed runs are here already.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import polars as pl
import pyarrow.dataset as ds

from judgebatch.contracts.table import Table
from judgebatch.warehouse.layout import Layout
from judgebatch.warehouse.manifest import FileEntry, Manifest


class OvertakenError(Exception):
    """Somebody else committed the run's number; the text says who."""


class Storage(Protocol):
    """What differs between a warehouse in a folder and one in an object store."""

    @property
    def layout(self) -> Layout:
        """Where files are on this machine: the warehouse itself, or the copies of it."""

    def refresh(self) -> None:
        """Learn of runs that were committed since."""

    def run_names(self) -> list[str]:
        """Return what stands where runs stand, sorted."""

    def fetch(self, manifest: Manifest, entries: Sequence[FileEntry]) -> list[Path]:
        """Return where files of a committed run are on this machine; bring them if need be.

        Raises
        ------
        WarehouseDamagedError
            One that had to be brought is missing, or not what the manifest says.
        """

    def bring(self, manifest: Manifest, entries: Sequence[FileEntry]) -> Mapping[str, str]:
        """Bring files of a committed run as far as they are sound.

        Returns what is wrong with those that were left out, by path.
        """

    def put_back(self, manifest: Manifest, entry: FileEntry, path: Path) -> None:
        """Make a file of a committed run safe that is on this machine as it should be again."""

    def scan(self, files: Sequence[tuple[Manifest, FileEntry]], table: type[Table]) -> pl.LazyFrame:
        """Return the rows of files of one table, at least one, without fetching them whole.

        Columns that an older version of the contract lacks are null.
        """

    def dataset(
        self, files: Sequence[tuple[Manifest, FileEntry]], table: type[Table]
    ) -> ds.Dataset:
        """Return the same as a dataset of Arrow."""

    def carry(self, parent: Manifest, entry: FileEntry, target: Path) -> None:
        """Give a run in the making its parent's unchanged file, as far as that takes a file.

        Raises
        ------
        FileNotFoundError
            It should be here and is not.
        """

    def announce(self, number: int, token: str, who: str) -> None:
        """Tell others that a run is in the making."""

    def prepare(self, staged: Path, manifest: Manifest) -> None:
        """Make a run's files safe, so that only its commit is left to do."""

    def commit(self, staged: Path, manifest: Manifest) -> None:
        """Make a run visible, in one step.

        Raises
        ------
        OvertakenError
            The number is taken.
        """

    def settle(self, number: int) -> None:
        """Finish what a commit left to do; the run is committed whatever happens here."""

    def read(self, name: str) -> bytes:
        """Return a file that stands beside the runs, such as a settings text."""

    def create(self, name: str, content: bytes) -> None:
        """Write such a file, which must not exist yet.

        Raises
        ------
        FileExistsError
            It exists.
        """

    def replace(self, name: str, content: bytes) -> None:
        """Write such a file over its predecessor."""

    def journal(self) -> tuple[Path, Callable[[bytes], None] | None]:
        """Return the file of the judges' answers, and what keeps further ones elsewhere."""

    def orphans(self) -> list[tuple[str, str]]:
        """Return what no manifest names and no run at work can need, each with why."""

    def remove(self, names: Iterable[str]) -> None:
        """Remove what :meth:`orphans` listed."""
