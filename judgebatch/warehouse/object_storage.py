"""A warehouse in an object store: a run becomes visible when its manifest is created.

Objects of a run are named by the hash of what they hold, so that nobody ever writes another
content under a name that somebody reads. What a run carries over stays where it was written.
Copies of what a command needs lie in a folder of this machine, in the layout of a local
warehouse.
"""

import errno
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TypeVar

import polars as pl
import pyarrow.dataset as ds
from pyarrow.fs import FSSpecHandler, PyFileSystem
from pydantic import ValidationError

from judgebatch.contracts.table import Table
from judgebatch.errors import StoreRefusedError, WarehouseDamagedError, WarehouseWriteError
from judgebatch.objects.bucket import Bucket
from judgebatch.warehouse.damage import OTHER_BYTES
from judgebatch.warehouse.durable import link_or_copy, replace, temporary_beside, writing
from judgebatch.warehouse.failpoints import failpoint
from judgebatch.warehouse.layout import (
    JOURNAL,
    MANIFEST,
    RUNS,
    STAGING,
    STATE,
    Layout,
    run_name,
    run_number,
    staged_number,
)
from judgebatch.warehouse.manifest import FileEntry, Manifest, new_token
from judgebatch.warehouse.object_files import CommittedFiles, object_key
from judgebatch.warehouse.parquet import arrow_schema
from judgebatch.warehouse.runlog import committed_numbers, read_manifest
from judgebatch.warehouse.storage import OvertakenError

T = TypeVar("T")
R = TypeVar("R")

_AT_ONCE = 8
_PUTS_AT_ONCE = 4
"""Fewer: each holds up to 16 MiB or a few parts of a large file."""
_ATTEMPTS = 5
_UNASKED = "The judge was not asked, and nothing was published."


@dataclass(frozen=True)
class ObjectStorage:
    """The objects of a warehouse, and the folder of their copies."""

    bucket: Bucket
    layout: Layout

    def refresh(self) -> None:
        """Fetch the manifests that are not here yet."""
        known = set(committed_numbers(self.layout))
        numbers = (run_number(name) for name in self.run_names())
        _side_by_side(self._learn, [one for one in numbers if one is not None and one not in known])

    def forget_if_other(self) -> None:
        """Remove the copies if they are of other runs: of a warehouse that was set back."""
        newest = max(committed_numbers(self.layout), default=0)
        if newest and self._manifest(newest) != self.layout.manifest(newest).read_bytes():
            shutil.rmtree(self.layout.runs)
            self.layout.runs.mkdir()

    def run_names(self) -> list[str]:
        """Return the names below ``runs/``, also of runs that did not commit."""
        return self.bucket.folders(f"{RUNS}/")

    def _learn(self, number: int) -> None:
        content = self._manifest(number)
        if content is not None:
            self._keep(number, content)

    def _manifest(self, number: int) -> bytes | None:
        try:
            return self.bucket.read(f"{RUNS}/{run_name(number)}/{MANIFEST}")
        except FileNotFoundError:
            return None

    def _keep(self, number: int, content: bytes) -> None:
        """Make the run's folder, with its manifest in it from the first moment on."""
        folder = self.layout.run(number)
        made = temporary_beside(folder)
        made.mkdir(parents=True)
        try:
            (made / MANIFEST).write_bytes(content)
            if not folder.exists():
                with suppress(OSError):  # another process made it just now
                    made.rename(folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def fetch(self, manifest: Manifest, entries: Sequence[FileEntry]) -> list[Path]:
        """Bring what is not here, side by side, and compare it with its hash."""

        def one(entry: FileEntry) -> Path:
            return self._fetch(manifest.number, entry)

        return _side_by_side(one, entries)

    def _fetch(self, number: int, entry: FileEntry) -> Path:
        path = self.layout.run(number) / entry.path
        if _is_there(path, entry):
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        written = number if entry.run is None else entry.run
        origin = self.layout.run(written) / entry.path
        if entry.run is not None and _is_there(origin, entry):
            with suppress(FileExistsError):
                link_or_copy(origin, path)
            return path
        name = object_key(number, entry)
        temporary = temporary_beside(path)
        try:
            digest = self.bucket.download(name, temporary)
            if digest != entry.sha256:
                raise _damaged(f"{self.bucket.url}/{name} {OTHER_BYTES}", number)
            temporary.chmod(0o444)
            temporary.replace(path)
        except FileNotFoundError as error:
            raise _damaged(f"{self.bucket.url}/{name} is missing", number) from error
        finally:
            temporary.unlink(missing_ok=True)
        return path

    def bring(self, manifest: Manifest, entries: Sequence[FileEntry]) -> Mapping[str, str]:
        """Fetch what is sound."""

        def one(entry: FileEntry) -> str | None:
            try:
                self._fetch(manifest.number, entry)
            except WarehouseDamagedError:
                there = self.bucket.find(object_key(manifest.number, entry))
                return "is missing" if there is None else OTHER_BYTES
            return None

        found = zip(entries, _side_by_side(one, entries), strict=True)
        return {entry.path: wrong for entry, wrong in found if wrong is not None}

    def put_back(self, manifest: Manifest, entry: FileEntry, path: Path) -> None:
        """Put the object over what is in its place."""
        self.bucket.overwrite(object_key(manifest.number, entry), path)

    def scan(self, files: Sequence[tuple[Manifest, FileEntry]], table: type[Table]) -> pl.LazyFrame:
        """Read of the objects the columns and row groups that are asked for."""
        return pl.scan_pyarrow_dataset(self.dataset(files, table))

    def dataset(
        self, files: Sequence[tuple[Manifest, FileEntry]], table: type[Table]
    ) -> ds.Dataset:
        """Open the objects as a dataset."""
        source = PyFileSystem(FSSpecHandler(CommittedFiles(self.bucket, files)))  # type: ignore[abstract]
        prefix = str(self.bucket.url).partition("://")[2]
        names = [f"{prefix}/{object_key(run.number, entry)}" for run, entry in files]
        return ds.dataset(names, schema=arrow_schema(table), filesystem=source, format="parquet")

    def carry(self, parent: Manifest, entry: FileEntry, target: Path) -> None:
        """Link the copy that is here; without one the manifest's word is enough."""
        source = self.layout.run(parent.number) / entry.path
        if _is_there(source, entry):
            target.parent.mkdir(parents=True, exist_ok=True)
            link_or_copy(source, target)

    def announce(self, number: int, token: str, who: str) -> None:
        """Leave a note for whoever loses against this run; fails early where none may be left."""
        self.bucket.create(_note(number, token), who.encode())
        failpoint("objects.announced")

    def prepare(self, staged: Path, manifest: Manifest) -> None:
        """Put the run's own objects, and see that they are there; stop where the run is lost."""
        self._yield_to_winner(manifest.number)
        prefix = f"{RUNS}/{run_name(manifest.number)}/"
        own = [entry for entry in manifest.files if entry.run is None]

        def put(entry: FileEntry) -> None:
            failpoint("objects.put")
            self.bucket.upload(object_key(manifest.number, entry), staged / entry.path)

        self._check_carried(manifest)
        _side_by_side(put, own, _PUTS_AT_ONCE)
        failpoint("objects.stored")
        there = {one.key: one.size for one in self.bucket.below(prefix)}
        for entry in own:
            name = object_key(manifest.number, entry)
            if there.get(name) != entry.size:
                self._yield_to_winner(manifest.number)  # who then removed what we put
                raise OSError(
                    errno.EIO,
                    f"{there.get(name, 0)} of {entry.size} bytes arrived",
                    f"{self.bucket.url}/{name}",
                )

    def _check_carried(self, manifest: Manifest) -> None:
        """See that what is carried over is there: a copy here may be all that is left of it."""
        carried = [entry for entry in manifest.files if entry.run is not None]
        runs = sorted({entry.run for entry in carried if entry.run is not None})
        listed = _side_by_side(lambda run: self.bucket.below(f"{RUNS}/{run_name(run)}/"), runs)
        sizes = {one.key: one.size for below in listed for one in below}
        for entry in carried:
            name = object_key(manifest.number, entry)
            if sizes.get(name) != entry.size:
                what = f"{self.bucket.url}/{name} is missing or not what it was"
                raise _damaged(what, manifest.number - 1)

    def _yield_to_winner(self, number: int) -> None:
        content = self._manifest(number)
        if content is not None:
            raise OvertakenError(self._overtaker(number, content))

    def commit(self, staged: Path, manifest: Manifest) -> None:
        """Create the manifest: whoever creates it has committed the run.

        An answer can be lost, and a put that is tried again finds an object: with the run's own
        token in it, it is this one.
        """
        number = manifest.number
        name = f"{RUNS}/{run_name(number)}/{MANIFEST}"
        for _ in range(_ATTEMPTS):
            try:
                self.bucket.create(name, manifest.to_json())
            except FileExistsError:
                if self._is_won(manifest):
                    return self._adopt(staged, manifest)
                # It was refused and is not there: the put that was in the way came to nothing.
                continue
            except StoreRefusedError:
                raise
            except OSError as error:
                if self._is_won(manifest, after=error):
                    return self._adopt(staged, manifest)
                raise
            return self._adopt(staged, manifest)
        raise OSError(
            errno.EIO, "the object store keeps refusing to create it", f"{self.bucket.url}/{name}"
        )

    def _is_won(self, manifest: Manifest, after: OSError | None = None) -> bool:
        """Return whether the manifest that is there is this run's; False where there is none.

        Raises
        ------
        OvertakenError
            It is another run's.
        WarehouseWriteError
            It cannot be known.
        """
        try:
            content = self._manifest(manifest.number)
        except OSError as error:
            raise _unknown(manifest.number, after or error) from error
        if content is None:
            if after is not None:
                raise _unknown(manifest.number, after) from after
            return False
        if content == manifest.to_json():
            return True
        raise OvertakenError(self._overtaker(manifest.number, content))

    def _overtaker(self, number: int, content: bytes) -> str:
        """Learn of the run that won, drop what only the loser put, and return who the winner is."""
        self._keep(number, content)
        with suppress(OSError, WarehouseDamagedError):
            self.remove([*self._unnamed(number, self._below(number)), *self._old_notes(number)])
        try:
            token = Manifest.model_validate_json(content).token
            return self.bucket.read(_note(number, token)).decode().strip()
        except (OSError, ValidationError):
            return "somebody else"

    def _adopt(self, staged: Path, manifest: Manifest) -> None:
        """Keep of the run what the next one needs of it: its checkpoint."""
        self._keep(manifest.number, manifest.to_json())
        with suppress(OSError):
            (staged / STATE).rename(self.layout.run(manifest.number) / STATE)

    def settle(self, number: int) -> None:
        """Remove what was put for this number by runs that lost or died, and old copies."""
        if not number:
            return
        with suppress(OSError, WarehouseDamagedError):
            self.remove([*self._unnamed(number, self._below(number)), *self._old_notes(number)])
        for older in committed_numbers(self.layout):
            if older < number:
                shutil.rmtree(self.layout.run(older) / STATE, ignore_errors=True)
        failpoint("objects.settled")

    def read(self, name: str) -> bytes:
        """Return an object beside the runs."""
        return self.bucket.read(name)

    def create(self, name: str, content: bytes) -> None:
        """Put an object beside the runs, once."""
        self.bucket.create(name, content)

    def replace(self, name: str, content: bytes) -> None:
        """Put an object beside the runs over its predecessor."""
        self.bucket.replace(name, content)

    def journal(self) -> tuple[Path, Callable[[bytes], None] | None]:
        """Write a file of all blocks that were ever put, and return it and how to put more."""
        with writing("the journal", f"{self.bucket.url}/{JOURNAL}", _UNASKED):
            blocks = [one.key for one in self.bucket.below(f"{JOURNAL}/")]
            path = self.layout.journal
            path.parent.mkdir(parents=True, exist_ok=True)
            replace(path, b"".join(_side_by_side(self.bucket.read, blocks)))
        numbers = count(len(blocks) + 1)
        session = new_token()

        def keep(block: bytes) -> None:
            name = f"{JOURNAL}/{next(numbers):08d}-{session}.log"
            with writing("the journal", f"{self.bucket.url}/{name}"):
                self.bucket.create(name, block)

        return path, keep

    def orphans(self) -> list[tuple[str, str]]:
        """Return the objects below committed numbers that the run's manifest does not name.

        A run that works on such a number can commit no more. What is above the newest run may be
        a living run's and is left: the run that commits that number uses or removes it.
        """
        by_run: dict[int, list[str]] = {}
        for one in self.bucket.below(f"{RUNS}/"):
            number = run_number(one.key.split("/")[1])
            if number is not None:
                by_run.setdefault(number, []).append(one.key)
        self.refresh()
        committed = committed_numbers(self.layout)
        newest = max(committed, default=0)
        found = [
            (name, "an object of a run that did not commit")
            for number in committed
            for name in self._unnamed(number, by_run.get(number, []))
        ]
        found += [
            (name, "a note of a run that can commit no more") for name in self._old_notes(newest)
        ]
        return found

    def remove(self, names: Iterable[str]) -> None:
        """Remove objects."""
        _side_by_side(lambda name: self.bucket.delete([name]), list(names))

    def _below(self, number: int) -> list[str]:
        return [one.key for one in self.bucket.below(f"{RUNS}/{run_name(number)}/")]

    def _unnamed(self, number: int, names: Sequence[str]) -> list[str]:
        """Return those names below a committed run that its manifest does not account for."""
        manifest = read_manifest(self.layout, number)
        if manifest.sealed().digest != manifest.digest:
            return []  # what it names is not certain, so nothing is certain to be unnamed
        prefix = f"{RUNS}/{run_name(number)}/"
        named = {object_key(number, entry) for entry in manifest.files}
        return [name for name in names if name not in named | {prefix + MANIFEST}]

    def _old_notes(self, newest: int) -> list[str]:
        """Return the notes up to the newest run's number, but for that of the run itself."""
        if not newest:
            return []
        winner = newest, read_manifest(self.layout, newest).token
        noted = {
            one.key: staged_number(one.key.rpartition("/")[2])
            for one in self.bucket.below(f"{STAGING}/")
        }
        return [name for name, of in noted.items() if of and of[0] <= newest and of != winner]


def _note(number: int, token: str) -> str:
    return f"{STAGING}/{run_name(number)}-{token}"


def _is_there(path: Path, entry: FileEntry) -> bool:
    try:
        return path.stat().st_size == entry.size
    except OSError:
        return False


def _side_by_side(
    function: Callable[[T], R], over: Sequence[T], at_once: int = _AT_ONCE
) -> list[R]:
    with ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(function, over))


def _damaged(what: str, number: int) -> WarehouseDamagedError:
    return WarehouseDamagedError(
        f"{what}, although run {number} lists it. `judgebatch rebuild-state` makes files of "
        "checkpoints again; restore others from a backup. `judgebatch verify` lists all damage."
    )


def _unknown(number: int, error: OSError) -> WarehouseWriteError:
    return WarehouseWriteError(
        f"it is not known whether run {number} was published: the store stopped answering while "
        f"its manifest was put ({error.strerror or error}). Either all of it is there or nothing; "
        "run the same as-of again, which finishes or repeats it."
    )
