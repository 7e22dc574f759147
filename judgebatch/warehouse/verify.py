"""Everything that a warehouse promises, checked: files, log, contracts, laws, identities."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

from judgebatch.errors import WarehouseDamagedError
from judgebatch.warehouse.damage import RESTORE as _RESTORE
from judgebatch.warehouse.damage import Hashes, damage_of, meaning_of
from judgebatch.warehouse.durable import files_below
from judgebatch.warehouse.findings import Finding
from judgebatch.warehouse.identities import identity_findings
from judgebatch.warehouse.laws import law_findings
from judgebatch.warehouse.layout import MANIFEST, RUNS, Layout, run_name, run_number
from judgebatch.warehouse.locks import FileLock
from judgebatch.warehouse.manifest import Manifest, is_token
from judgebatch.warehouse.object_storage import ObjectStorage
from judgebatch.warehouse.runlog import DamagedLogError, read_manifest, without_manifest
from judgebatch.warehouse.settings_store import settings_findings
from judgebatch.warehouse.stale import stale_findings
from judgebatch.warehouse.store import Warehouse
from judgebatch.warehouse.surroundings import lost_runs, surroundings_findings
from judgebatch.warehouse.table_files import table_findings
from judgebatch.warehouse.verify_objects import object_findings, strange_objects, with_fresh_copies

_THREADS = 2


def verify(warehouse: Warehouse) -> list[Finding]:
    """Check a warehouse and return what is wrong; an empty list means that all is as written.

    Reads every byte of every committed file. Runs that commit meanwhile are left for next time.
    """
    with with_fresh_copies(warehouse) as seen:
        return _verify(seen)


def _verify(warehouse: Warehouse) -> list[Finding]:
    layout = warehouse.layout
    numbers = warehouse.committed()
    findings = list(_names(warehouse, numbers))
    findings += [_damage(layout, no_run) for no_run in without_manifest(layout)]
    manifests: list[Manifest] = []
    for number in numbers:
        try:
            manifest = read_manifest(layout, number)
        except DamagedLogError as error:
            findings.append(_damage(layout, error))
            continue
        manifests.append(manifest)
        findings += _seal(layout, manifest)
    findings += _chain(layout, manifests)
    findings += _all_files(warehouse, manifests)
    if not findings:
        # Only of files that are as they were written can the rows be trusted.
        findings += identity_findings(warehouse)
    findings += law_findings(manifests)
    findings += settings_findings(layout, manifests)
    findings += _surroundings(warehouse)
    findings += _views(warehouse, numbers)
    return findings


def _all_files(warehouse: Warehouse, manifests: list[Manifest]) -> Iterator[Finding]:
    storage = warehouse.storage
    if isinstance(storage, ObjectStorage):
        there = {one.key: one for one in storage.bucket.below(f"{RUNS}/")}
        for manifest in manifests:
            yield from object_findings(storage, manifest, there)
    else:
        hashes = Hashes()
        for manifest in manifests:
            yield from _files(warehouse.layout, manifest, hashes)


def _surroundings(warehouse: Warehouse) -> Iterator[Finding]:
    if isinstance(warehouse.storage, ObjectStorage):
        return strange_objects(warehouse.storage)
    return surroundings_findings(warehouse.layout)


def _views(warehouse: Warehouse, numbers: list[int]) -> Iterator[Finding]:
    """Check what stands under ``views/``, unless a run is at work that will make it anew."""
    layout = warehouse.layout
    if FileLock.is_held(layout.lock) or warehouse.committed() != numbers:
        return
    yield from lost_runs(layout)
    if not numbers or without_manifest(layout):
        return  # no run can make it anew before that is settled
    try:
        yield from stale_findings(warehouse)
    except WarehouseDamagedError:
        return  # a table that the views read is damaged, which is among the findings already


def _damage(layout: Layout, error: DamagedLogError) -> Finding:
    return _finding(layout, error.path, error.what, error.meaning)


def _finding(layout: Layout, path: Path, what: str, meaning: str) -> Finding:
    return Finding(path.relative_to(layout.root).as_posix(), what, meaning)


def _names(warehouse: Warehouse, numbers: list[int]) -> Iterator[Finding]:
    layout = warehouse.layout
    if layout.runs.is_dir():
        for name in warehouse.storage.run_names():
            if run_number(name) is None:
                yield _finding(
                    layout,
                    layout.runs / name,
                    "is not a run",
                    "Nothing of judgebatch wrote it; move it out of the warehouse.",
                )
    else:
        yield _finding(layout, layout.runs, "is missing", _RESTORE + ".")
    newest = max(numbers, default=0)
    for number in sorted(set(range(1, newest + 1)) - set(numbers)):
        yield _finding(
            layout,
            layout.run(number),
            f"is missing, although run {newest} is committed",
            f"{_RESTORE}: its rows are in no other run.",
        )


def _seal(layout: Layout, manifest: Manifest) -> Iterator[Finding]:
    path = layout.manifest(manifest.number)
    sealed = manifest.sealed()
    if (
        path.is_symlink()
        or sealed.digest != manifest.digest
        or not is_token(manifest.token)
        or path.read_bytes() != sealed.to_json()
    ):
        yield _finding(
            layout,
            path,
            "was changed after the commit",
            f"What it says is not certain. {_RESTORE}.",
        )


def _chain(layout: Layout, manifests: list[Manifest]) -> Iterator[Finding]:
    for before, after in pairwise(manifests):
        named = after.parent
        if after.number != before.number + 1:
            continue
        if named is None or (named.number, named.digest) != (before.number, before.digest):
            yield _finding(
                layout,
                layout.manifest(after.number),
                f"was built on another run {before.number} than the one that is here",
                f"One of the two was swapped. Restore {run_name(before.number)} and "
                f"{run_name(after.number)} from one backup.",
            )
    if manifests and manifests[0].number == 1 and manifests[0].parent is not None:
        yield _finding(
            layout,
            layout.manifest(1),
            "names a run before the first",
            f"It was swapped. {_RESTORE}.",
        )


def _files(layout: Layout, manifest: Manifest, hashes: Hashes) -> list[Finding]:
    folder = layout.run(manifest.number)
    listed = {entry.path: entry for entry in manifest.files}
    there = {path.relative_to(folder).as_posix(): path for path in files_below(folder)}
    findings = [
        _finding(layout, folder / inside, damage, meaning_of(inside, damage))
        for inside in listed.keys() - there.keys()
        if (damage := damage_of(folder / inside, listed[inside], hashes))
    ]
    findings += [
        _finding(
            layout,
            there[inside],
            "is in no manifest",
            "Readers of a glob may read it as if it were published; move it out of the warehouse.",
        )
        for inside in there.keys() - listed.keys() - {MANIFEST}
    ]
    both = sorted(listed.keys() & there.keys())
    with ThreadPoolExecutor(_THREADS) as pool:
        damages = pool.map(lambda inside: damage_of(there[inside], listed[inside], hashes), both)
        for inside, damage in zip(both, damages, strict=True):
            if damage:
                findings.append(_finding(layout, there[inside], damage, meaning_of(inside, damage)))
            else:
                findings += [
                    _finding(layout, there[inside], what, meaning)
                    for what, meaning in table_findings(there[inside], listed[inside], manifest)
                ]
    return sorted(findings, key=lambda finding: finding.where)
