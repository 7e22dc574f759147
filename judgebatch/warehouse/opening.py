"""Making and opening warehouses: in a folder, or in an object store."""

import atexit
import hashlib
import os
import secrets
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from judgebatch.errors import StoreError, UsageError, WarehouseDamagedError
from judgebatch.objects.bucket import Bucket
from judgebatch.objects.url import ObjectUrl
from judgebatch.warehouse.durable import create_once, fsync_folder, writing
from judgebatch.warehouse.failpoints import failpoint
from judgebatch.warehouse.folder import FolderStorage
from judgebatch.warehouse.layout import IDENTITY, RUNS, Layout
from judgebatch.warehouse.locks import FileLock
from judgebatch.warehouse.object_storage import ObjectStorage
from judgebatch.warehouse.runlog import run_numbers
from judgebatch.warehouse.sharding import MAX_SHARDS
from judgebatch.warehouse.store import Warehouse

FORMAT = 1
"""Version of the warehouse's layout."""

Place = Path | ObjectUrl
"""Where a warehouse is."""

_TEMPORARY = "judgebatch-copies-"
_HELD = "held"


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

    @classmethod
    def is_meant(cls, text: bytes) -> bool:
        """Return whether a text is that of some ``judgebatch init``, perhaps of a newer one."""
        try:
            said = orjson.loads(text)
        except ValueError:
            return False
        return isinstance(said, dict) and said.keys() >= cls.model_fields.keys()

    @classmethod
    def new(cls, n_shards: int) -> bytes:
        """Return the text of a new warehouse's ``warehouse.json``."""
        identity = cls(id=secrets.token_hex(16), n_shards=n_shards).sealed()
        options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        return orjson.dumps(identity.model_dump(), option=options)


def init(place: Place, n_shards: int = 8, scratch: Path | None = None) -> Warehouse:
    """Make a warehouse of a new or empty folder, or of a prefix below which nothing is.

    Raises
    ------
    UsageError
        The place is a warehouse already, lies in one, or holds something else, or ``n_shards`` is
        not in range.
    WarehouseDamagedError
        The place has committed runs, but lost its identity.
    WarehouseWriteError
        There is no room or no permission.
    """
    if not 1 <= n_shards <= MAX_SHARDS:
        raise UsageError(f"n_shards is {n_shards}; it must be between 1 and {MAX_SHARDS}.")
    check_can_be_made(place)
    with writing("the warehouse", place):
        identity = _Identity.new(n_shards)
        try:
            if isinstance(place, Path):
                _init_folder(place, identity)
            else:
                Bucket(place).create(IDENTITY, identity)
        except FileExistsError:
            raise UsageError(f"{place} became a warehouse meanwhile: nothing was done.") from None
    return open_warehouse(place, scratch)


def check_can_be_made(place: Place) -> None:
    """Refuse a place that no warehouse can be made of; writes nothing.

    Raises
    ------
    UsageError
        It is a warehouse already, lies in one, or holds something else.
    WarehouseDamagedError
        It has committed runs, but lost its identity.
    WarehouseWriteError
        It may not be read.
    StoreError
        The object store cannot be reached, or refuses: there is no such bucket.
    """
    with writing("the warehouse", place):
        if isinstance(place, Path):
            _check_folder(place)
        else:
            _check_objects(place)
        refuse_inside_another(place)


def _check_folder(path: Path) -> None:
    layout = Layout(path.absolute())
    if layout.root.exists() and not layout.root.is_dir():
        raise UsageError(f"{path} is a file: a warehouse is a folder. Name another one.")
    if layout.identity.exists():
        raise _is_one_already(path)
    if run_numbers(layout):
        raise _lost_identity(path)
    own = {layout.runs, layout.staging, layout.settings, layout.views}
    there = set(layout.root.iterdir()) if layout.root.is_dir() else set()
    in_the_making = {path for path in there if path.name.startswith(f".{layout.identity.name}.")}
    if there - own - in_the_making - {layout.identity}:
        raise _holds_other(path, "folder")


def _init_folder(path: Path, identity: bytes) -> None:
    layout = Layout(path.absolute())
    make_folders(layout)
    create_once(layout.identity, identity)
    fsync_folder(layout.root)


def make_folders(layout: Layout) -> None:
    """Make the folders that every warehouse has on this machine."""
    for folder in (layout.runs, layout.staging, layout.settings, layout.views):
        folder.mkdir(parents=True, exist_ok=True)


def _check_objects(url: ObjectUrl) -> None:
    there = [one.key for one in Bucket(url).below()]
    if IDENTITY in there:
        raise _is_one_already(url)
    if any(key.startswith(f"{RUNS}/") for key in there):
        raise _lost_identity(url)
    if there:
        raise _holds_other(url, "prefix")


def refuse_inside_another(place: Place) -> None:
    """Refuse a place that lies in a warehouse: its ``verify`` would call what is there strange.

    What may not be read above is taken for none.

    Raises
    ------
    UsageError
        The place lies in a warehouse.
    """
    for above in _above(place):
        try:
            text = _identity_text(above)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError):
            continue
        if _Identity.is_meant(text):
            raise UsageError(
                f"{place} lies in the warehouse {above}, and nothing but its own files may: name "
                "a place outside it."
            )


def _above(place: Place) -> list[Place]:
    """Return the places that a place lies in, the nearest first, also where links lead."""
    if isinstance(place, Path):
        named = place.absolute().parent.resolve() / place.name
        return list(dict.fromkeys([*named.parents, *place.resolve().parents]))
    places: list[Place] = []
    while place.prefix:
        place = place.parent
        places.append(place)
    return places


def _identity_text(place: Place) -> bytes:
    """Read ``warehouse.json`` of a folder or a prefix."""
    if isinstance(place, Path):
        return Layout(place.absolute()).identity.read_bytes()
    return Bucket(place).read(IDENTITY)


def _is_one_already(place: Place) -> UsageError:
    return UsageError(f"{place} is a warehouse already: nothing was done.")


def _lost_identity(place: Place) -> WarehouseDamagedError:
    return WarehouseDamagedError(
        f"{place} has committed runs but no {IDENTITY}: restore that file from a backup."
    )


def _holds_other(place: Place, kind: str) -> UsageError:
    return UsageError(
        f"{place} holds files that are no warehouse's. Name a new or an empty {kind}."
    )


def open_or_init(place: Place, scratch: Path | None = None) -> Warehouse:
    """Open a warehouse, and make it first where the place is new, empty, or half made.

    Raises
    ------
    UsageError
        The place holds something else.
    WarehouseWriteError
        There is no room or no permission.
    """
    if is_warehouse(place):
        return open_warehouse(place, scratch)
    try:
        return init(place, scratch=scratch)
    except UsageError:
        if is_warehouse(place):  # somebody else made it at the same time
            return open_warehouse(place, scratch)
        raise


def is_warehouse(place: Place) -> bool:
    """Return whether a place is a warehouse.

    Raises
    ------
    StoreError
        An object store does not say.
    """
    if isinstance(place, Path):
        return Layout(place).identity.is_file()
    return Bucket(place).find(IDENTITY) is not None


def open_warehouse(place: Place, scratch: Path | None = None) -> Warehouse:
    """Open a warehouse; reads one small file.

    Parameters
    ----------
    place
        A folder, or a place in an object store.
    scratch
        Where copies of objects are kept from one command to the next; without it, in a temporary
        folder for as long as this process uses the warehouse. Not used by one in a folder.

    Raises
    ------
    UsageError
        The place is not a warehouse, or a newer judgebatch made it.
    WarehouseDamagedError
        ``warehouse.json`` is not readable as such.
    StoreError
        The object store cannot be reached, or refuses.
    """
    where = Layout(place.absolute()).identity if isinstance(place, Path) else place / IDENTITY
    try:
        text = _identity_text(place)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(
            f"{place} is not a warehouse: it has no {IDENTITY}. Name the right one, or make one "
            "with `judgebatch init`."
        ) from error
    except StoreError:
        raise
    except OSError as error:
        raise UsageError(f"{where} cannot be read: {error.strerror}.") from error
    try:
        identity = _Identity.model_validate_json(text)
    except ValidationError as error:
        raise _not_what_init_wrote(where) from error
    if identity.format != FORMAT:
        raise UsageError(
            f"{place} has format {identity.format}, and this judgebatch reads format {FORMAT}: use "
            "the version that made it, or a newer one."
        )
    if identity != identity.sealed():
        raise _not_what_init_wrote(where)
    if isinstance(place, Path):
        storage = FolderStorage(Layout(place.absolute()))
        return Warehouse(storage.layout.root, identity.id, identity.n_shards, storage)
    return _open_objects(place, identity, scratch)


def _open_objects(url: ObjectUrl, identity: _Identity, scratch: Path | None) -> Warehouse:
    base = Path(tempfile.gettempdir()) if scratch is None else scratch
    with writing("copies of the warehouse", base):
        # A copy of a warehouse has its id, and one URL may mean two stores.
        bucket = Bucket(url)
        told = f"{identity.id} {url} {bucket.endpoint}".encode()
        name = f"judgebatch-{hashlib.sha256(told).hexdigest()[:24]}"
        folder = _temporary(name) if scratch is None else base / name
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        storage = ObjectStorage(bucket, Layout(folder, str(url)))
        make_folders(storage.layout)
        storage.forget_if_other()
    return Warehouse(folder, identity.id, identity.n_shards, storage)


_FOLDERS: dict[str, tuple[Path, FileLock]] = {}
"""The temporary folders of this process by name, each held by a lock."""


def _temporary(name: str) -> Path:
    """Return this process's folder for a warehouse, which no other user reads.

    It goes with the process. One that was killed leaves its folder to the next that comes here.
    """
    if name in _FOLDERS:
        return _FOLDERS[name][0]
    for other in Path(tempfile.gettempdir()).glob(f"{_TEMPORARY}*"):
        with suppress(OSError):
            _remove_if_dead(other)
    folder, lock = _FOLDERS[name] = _made_and_held()
    atexit.register(_remove, folder, lock, os.getpid())
    return folder


def _made_and_held() -> tuple[Path, FileLock]:
    """Make a folder and hold it; another process may remove it in between, so look again."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_TEMPORARY))
        failpoint("copies.folder")
        try:
            lock = FileLock.take(folder / _HELD, wait=True)
        except FileNotFoundError:
            continue
        if lock is not None and lock.still_there():
            return folder, lock


def _remove_if_dead(folder: Path) -> None:
    """Remove a folder that no process holds.

    It need not have the file that is locked: a process may have died before it made that, or a
    worker that outlived its run for a moment wrote where a folder was just removed.
    """
    facts = folder.lstat()  # what a link of somebody else leads to is not ours to touch
    if facts.st_uid != os.getuid() or not stat.S_ISDIR(facts.st_mode):
        return
    lock = FileLock.take(folder / _HELD)
    if lock is not None:
        if lock.works and lock.still_there():
            shutil.rmtree(folder, ignore_errors=True)
        lock.release()


def _remove(folder: Path, lock: FileLock, process: int) -> None:
    """Remove a temporary folder, unless this is a fork of the process that made it."""
    if process == os.getpid():
        shutil.rmtree(folder, ignore_errors=True)
        lock.release()


def _not_what_init_wrote(where: Place) -> WarehouseDamagedError:
    return WarehouseDamagedError(
        f"{where} is not what `judgebatch init` wrote: restore it from a backup."
    )
