"""The laws that the manifests of a log must obey, one by one and in a row."""

from collections.abc import Iterator, Mapping, Sequence

from judgebatch.warehouse.findings import Finding
from judgebatch.warehouse.layout import MANIFEST, RUNS, run_name
from judgebatch.warehouse.manifest import Manifest

_MISTAKE = "This is a mistake in judgebatch, not damage: please report it with the manifest."
_EPISODE_TABLES = ("graded", "ungraded")


def law_findings(manifests: Sequence[Manifest]) -> Iterator[Finding]:
    """Yield every breach: counts that do not add up, as_of that does not move forward.

    What waited before a run is compared with the run before it only where that one can be read;
    a subject that a missing run may have changed is compared again once a later run names it.
    """
    last: Manifest | None = None
    waiting: dict[str, int] = {}
    unseen = False
    expected = 1
    for manifest in manifests:
        if manifest.number != expected:
            waiting.clear()
            unseen = True
        expected = manifest.number + 1
        yield from _conservation(manifest, waiting, unseen=unseen)
        waiting |= {subject: law.waiting_after for subject, law in manifest.conservation.items()}
        if manifest.consumes:
            if last is not None and manifest.as_of <= last.as_of:
                yield _breach(manifest, f"its as_of is not later than run {last.number}'s")
            last = manifest


def _conservation(
    manifest: Manifest, waiting: Mapping[str, int], *, unseen: bool
) -> Iterator[Finding]:
    """Check one run; with ``unseen`` runs before it, a subject may have waited unknown to us."""
    for subject, law in manifest.conservation.items():
        if law.difference:
            yield _breach(manifest, f"{law.difference} {subject} are unaccounted for")
        before = waiting.get(subject, law.waiting_before if unseen else 0)
        if law.waiting_before != before:
            yield _breach(
                manifest,
                f"{law.waiting_before} {subject} waited before it, but {before} after the run "
                "before",
            )
    episodes = manifest.conservation.get("episodes")
    if episodes is not None:
        for table in _EPISODE_TABLES:
            yield from _ended(manifest, table, episodes.ended.get(table, 0))
    comparisons = manifest.conservation.get("comparisons")
    if comparisons is not None:
        yield from _ended(manifest, "audit/comparisons", sum(comparisons.ended.values()))


def _ended(manifest: Manifest, table: str, ended: int) -> Iterator[Finding]:
    rows = manifest.rows(table)
    if rows != ended:
        noun = "row" if rows == 1 else "rows"
        yield _breach(manifest, f"{ended} ended, but {table} has {rows} {noun}")


def _breach(manifest: Manifest, what: str) -> Finding:
    return Finding(f"{RUNS}/{run_name(manifest.number)}/{MANIFEST}", what, _MISTAKE)
