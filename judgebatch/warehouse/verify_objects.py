"""What verify does differently in an object store: every object is read anew, none from a copy."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from judgebatch.errors import StoreError
from judgebatch.objects.bucket import Stored
from judgebatch.warehouse.damage import OTHER_BYTES, meaning_of
from judgebatch.warehouse.findings import Finding
from judgebatch.warehouse.known_inputs import KNOWN_INPUTS
from judgebatch.warehouse.layout import (
    IDENTITY,
    JOURNAL,
    MANIFEST,
    RUNS,
    SETTINGS,
    STAGING,
    VIEWS,
    Layout,
    run_name,
)
from judgebatch.warehouse.manifest import FileEntry, Manifest
from judgebatch.warehouse.object_files import object_key
from judgebatch.warehouse.object_storage import ObjectStorage
from judgebatch.warehouse.opening import make_folders
from judgebatch.warehouse.store import Warehouse
from judgebatch.warehouse.table_files import table_findings

_THREADS = 4
_STRANGE = "Nothing of judgebatch wrote it; move it out of the warehouse."
_EXTRA = (
    "A run that did not commit left it, or a run that lost against this one. Readers of a plain "
    "pattern may read it as if it were published: `judgebatch gc` removes it."
)


@contextmanager
def with_fresh_copies(warehouse: Warehouse) -> Iterator[Warehouse]:
    """Yield the warehouse itself, or in an object store the same one without any copies yet."""
    if not isinstance(warehouse.storage, ObjectStorage):
        yield warehouse
        return
    bucket = warehouse.storage.bucket
    with TemporaryDirectory(prefix="judgebatch-verify-") as folder:
        storage = ObjectStorage(bucket, Layout(Path(folder), str(bucket.url)))
        make_folders(storage.layout)
        for one in [*bucket.below(f"{SETTINGS}/"), *bucket.below(f"{VIEWS}/")]:
            (storage.layout.root / one.key).write_bytes(bucket.read(one.key))
        yield Warehouse(Path(folder), warehouse.id, warehouse.n_shards, storage)


def strange_objects(storage: ObjectStorage) -> Iterator[Finding]:
    """Yield the objects below the warehouse's URL that are not part of a warehouse."""
    own = tuple(f"{folder}/" for folder in (RUNS, SETTINGS, STAGING, JOURNAL))
    names = {IDENTITY, f"{VIEWS}/views.sql", KNOWN_INPUTS}
    for one in storage.bucket.below():
        if one.key not in names and not one.key.startswith(own):
            yield Finding(one.key, "is not part of a warehouse", _STRANGE)


def object_findings(
    storage: ObjectStorage, manifest: Manifest, there: Mapping[str, Stored]
) -> list[Finding]:
    """Check the objects of a run: there, of the right bytes, and the tables they should be.

    Parameters
    ----------
    storage
        Where they are.
    manifest
        The run.
    there
        All objects below ``runs/`` by key.
    """
    prefix = f"{RUNS}/{run_name(manifest.number)}/"
    listed = {object_key(manifest.number, entry): entry for entry in manifest.files}
    findings = [
        Finding(key, "is missing", meaning_of(listed[key].path))
        for key in listed.keys() - there.keys()
    ]
    findings += [
        Finding(key, "is in no manifest", _EXTRA)
        for key in there
        if key.startswith(prefix) and key not in listed and key != prefix + MANIFEST
    ]
    # What was carried over is checked where it was written.
    own = sorted(key for key in listed.keys() & there.keys() if key.startswith(prefix))

    def check(key: str) -> list[Finding]:
        return list(_object(storage, manifest, listed[key], there[key]))

    with ThreadPoolExecutor(_THREADS) as pool:
        for found in pool.map(check, own):
            findings += found
    return sorted(findings, key=lambda finding: finding.where)


def _object(
    storage: ObjectStorage, manifest: Manifest, entry: FileEntry, stored: Stored
) -> Iterator[Finding]:
    key, meaning = stored.key, meaning_of(entry.path)
    if stored.size != entry.size:
        yield Finding(key, f"has {stored.size} bytes instead of {entry.size}", meaning)
        return
    with TemporaryDirectory(dir=storage.layout.staging) as folder:
        path = Path(folder) / Path(entry.path).name
        try:
            digest = storage.bucket.download(key, path)
        except StoreError:
            raise
        except OSError as error:
            yield Finding(key, f"cannot be read: {error.strerror}", meaning)
            return
        if digest != entry.sha256:
            yield Finding(key, OTHER_BYTES, meaning)
            return
        for what, means in table_findings(path, entry, manifest):
            yield Finding(key, what, means)
