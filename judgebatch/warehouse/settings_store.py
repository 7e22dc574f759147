"""Settings and policy texts: each file is named by the hash of what it holds."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from judgebatch.warehouse.durable import sha256_of
from judgebatch.warehouse.findings import Finding
from judgebatch.warehouse.layout import Layout
from judgebatch.warehouse.manifest import Manifest


def settings_findings(layout: Layout, manifests: Sequence[Manifest]) -> Iterator[Finding]:
    """Yield texts that are not what their name says, and texts that a run names and are gone."""
    there = set()
    for path in _stored(layout):
        there.add(path.stem)
        try:
            sound = sha256_of(path) == path.stem and not path.is_symlink()
        except OSError:
            sound = False
        if not sound:
            yield Finding(
                path.relative_to(layout.root).as_posix(),
                "is not the text that its name is the hash of",
                "Restore it from a backup; no table depends on it.",
            )
    for manifest in manifests:
        for name in sorted(_named_by(manifest) - there):
            yield Finding(
                f"{layout.settings.name}/{name}",
                f"is missing, although run {manifest.number} used it",
                "Restore it from a backup; no table depends on it.",
            )


def _stored(layout: Layout) -> list[Path]:
    """Return the files of the settings folder, temporary ones apart."""
    if not layout.settings.is_dir():
        return []
    return sorted(path for path in layout.settings.iterdir() if not path.name.startswith("."))


def _named_by(manifest: Manifest) -> set[str]:
    settings = () if manifest.settings is None else (manifest.settings,)
    return {*manifest.texts.values(), *settings}
