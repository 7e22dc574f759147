"""Spare copies: what a checkpoint alone holds, kept a second time inside its run.

Identities can be derived from the published tables. Rows that wait, open groups, refusals and
sums of sequential tests stand in no table as exactly as the next run needs them, so each run
keeps their files twice: under ``state/``, and packed in ``spare/``, one archive a shard, and one
for each file of rows not yet visible, which may be large and is written once. An archive whose
files did not change is carried over by hard link, and never shares its bytes on disk with the
checkpoint.
"""

import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from judgebatch.pipeline.checkpoint import is_identity_file, is_pending_file
from judgebatch.warehouse import Manifest, Staging
from judgebatch.warehouse.durable import writing
from judgebatch.warehouse.failpoints import failpoint
from judgebatch.warehouse.layout import SPARE, STATE

ENDING = ".tar"


def spare_name(inside: str) -> str:
    """Return which file of a run keeps the spare copy of a checkpoint file, both in the run."""
    path = PurePosixPath(inside)
    own = f"-{path.parent.name}-{path.stem}" if is_pending_file(inside) else ""
    return f"{SPARE}/{path.parts[1]}{own}{ENDING}"


def spared(paths: Iterable[str]) -> dict[str, list[str]]:
    """Return by archive the checkpoint files, named inside their run, that it holds, sorted."""
    archives: dict[str, list[str]] = {}
    for path in sorted(paths):
        if path.startswith(f"{STATE}/") and not is_identity_file(path):
            archives.setdefault(spare_name(path), []).append(path)
    return archives


def keep_spares(staging: Staging) -> None:
    """Write a staged run's spare copies; call it when its checkpoint is complete."""
    files = (path for path in staging.state_dir.rglob("*") if path.is_file())
    own = spared(path.relative_to(staging.root).as_posix() for path in files)
    before = _archives(staging.parent)
    for archive, members in own.items():
        relative = archive.removeprefix(f"{SPARE}/")
        carried = all(staging.is_carried(path.removeprefix(f"{STATE}/")) for path in members)
        if carried and before.get(archive) == members:
            staging.link_from_parent(relative, SPARE)
            failpoint("spares.linked")
        else:
            target = staging.root / archive
            target.parent.mkdir(exist_ok=True)
            with writing("the spare copy of the checkpoint", target):
                pack(target, {path: staging.root / path for path in members})
                failpoint("spares.packed")


def _archives(run: Manifest | None) -> dict[str, list[str]]:
    """Return what each archive of a run holds; none of a run that kept no spare copies."""
    if run is None:
        return {}
    paths = [entry.path for entry in run.files]
    there = set(paths)
    return {archive: held for archive, held in spared(paths).items() if archive in there}


def pack(target: Path, files: Mapping[str, Path]) -> None:
    """Write an archive; equal files give equal bytes."""
    with tarfile.open(target, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, path in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size = path.stat().st_size
            member.mode = 0o444
            with path.open("rb") as content:
                archive.addfile(member, content)
            failpoint("spares.write")


def unpacked(archive: Path) -> dict[str, bytes]:
    """Return what a sound archive holds, by name."""
    with tarfile.open(archive) as opened:
        return {
            member.name: file.read()
            for member in opened
            if (file := opened.extractfile(member)) is not None
        }
