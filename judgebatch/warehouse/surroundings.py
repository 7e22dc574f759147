"""What lies beside the runs and the settings, and should not, or not so."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from judgebatch.warehouse.durable import is_temporary
from judgebatch.warehouse.findings import Finding
from judgebatch.warehouse.layout import RUNS, Layout, run_name
from judgebatch.warehouse.runlog import committed_numbers, published_for, run_numbers

_STRANGE = "Nothing of judgebatch wrote it; move it out of the warehouse."
_VIEWS = ("views.sql", "judgebatch.duckdb", "judgebatch.duckdb.wal", "inputs.json")


def surroundings_findings(layout: Layout) -> Iterator[Finding]:
    """Yield what is too many in the warehouse's folder, and what is not what it should be."""
    folders = (layout.runs, layout.staging, layout.settings, layout.views, layout.journal.parent)
    files = (layout.identity, layout.lock)
    for path in sorted(layout.root.iterdir()):
        inside = path.name
        if path in folders:
            if path.is_symlink() or not path.is_dir():
                yield Finding(inside, "is not a plain folder", "Restore it from a backup.")
        elif path in files:
            if path.is_symlink() or not path.is_file():
                meaning = "Restore it from a backup."
                if path == layout.lock:
                    meaning = "No run can take it. Remove it: the next run makes it again."
                yield Finding(inside, "is not a plain file", meaning)
        elif not is_temporary(path):
            yield Finding(inside, "is not part of a warehouse", _STRANGE)
    yield from _beside(layout, layout.views, _VIEWS)
    yield from _beside(layout, layout.journal.parent, (layout.journal.name,))


def _beside(layout: Layout, folder: Path, own: Sequence[str]) -> Iterator[Finding]:
    """Yield what is in a folder and not one of its own files."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.name not in own and not is_temporary(path):
            inside = path.relative_to(layout.root).as_posix()
            yield Finding(inside, "is not part of a warehouse", _STRANGE)


def lost_runs(layout: Layout) -> Iterator[Finding]:
    """Yield the newest runs where they are gone: only the views can tell that they were there."""
    made_for = published_for(layout)  # first: what it names is there by now
    numbers = run_numbers(layout)
    newest = max(committed_numbers(layout), default=0)
    # What else stands under such a number is a finding of its own.
    for number in sorted(set(range(newest + 1, made_for + 1)) - set(numbers)):
        yield Finding(
            f"{RUNS}/{run_name(number)}",
            "is missing, although the views were made for it",
            "Restore it from a backup: its rows are in no other run. Where an older state was "
            "restored on purpose, the next run makes the views anew.",
        )
