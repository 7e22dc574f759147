"""The one place that knows where things are in a warehouse."""

import re
from dataclasses import dataclass
from pathlib import Path

from judgebatch.contracts.table import Table

IDENTITY = "warehouse.json"
MANIFEST = "manifest.json"
REPORT = "report.html"
RUNS = "runs"
TABLES = "tables"
SNAPSHOTS = "snapshots"
STATE = "state"
SPARE = "spare"
STAGING = ".staging"
SETTINGS = "settings"
JOURNAL = "journal"
VIEWS = "views"

_RUN = re.compile(r"[0-9]{6,}\Z")
_STAGED = re.compile(r"(?P<number>[0-9]{6,})-(?P<token>[0-9a-f]+)\Z")


@dataclass(frozen=True)
class Layout:
    """Paths below a warehouse folder, or below the folder of copies of one in an object store."""

    root: Path
    url: str | None = None
    """Where the warehouse itself is, if it is in an object store."""

    @property
    def name(self) -> str:
        """How messages name the warehouse."""
        return self.url or str(self.root)

    def shown(self, path: Path) -> str:
        """Return how messages name a file of the warehouse."""
        inside = path.relative_to(self.root).as_posix()
        return str(path) if self.url is None else f"{self.url}/{inside}"

    @property
    def identity(self) -> Path:
        """The write-once file that makes a folder a warehouse."""
        return self.root / IDENTITY

    @property
    def runs(self) -> Path:
        """Committed runs, one folder each."""
        return self.root / RUNS

    @property
    def staging(self) -> Path:
        """Runs that have not committed."""
        return self.root / STAGING

    @property
    def lock(self) -> Path:
        """What the writing process holds."""
        return self.root / ".lock"

    @property
    def settings(self) -> Path:
        """Settings and policy texts by their hash."""
        return self.root / SETTINGS

    @property
    def journal(self) -> Path:
        """Answers of attached judges, kept before they are used."""
        return self.root / JOURNAL / "answers.log"

    @property
    def views(self) -> Path:
        """Generated views."""
        return self.root / VIEWS

    def run(self, number: int) -> Path:
        """Return the folder of a committed run."""
        return self.runs / run_name(number)

    def manifest(self, number: int) -> Path:
        """Return the manifest of a committed run."""
        return self.run(number) / MANIFEST

    def staged(self, number: int, token: str) -> Path:
        """Return the staging folder of a run in the making."""
        return self.staging / f"{run_name(number)}-{token}"


def run_name(number: int) -> str:
    """Return a run's folder name: six digits, more from run 1,000,000 on."""
    return f"{number:06d}"


def run_number(name: str) -> int | None:
    """Return the number of a run's folder name, or None for any other name."""
    return int(name) if _RUN.match(name) and run_name(int(name)) == name else None


def staged_number(name: str) -> tuple[int, str] | None:
    """Return number and token of a staging folder's name, or None for any other name."""
    match = _STAGED.match(name)
    return (int(match["number"]), match["token"]) if match else None


def object_name(inside: str, sha256: str) -> str:
    """Return what a file of a run is called in an object store: ``part-000.<sha256>.parquet``."""
    folder, _, name = inside.rpartition("/")
    stem, _, suffix = name.rpartition(".")
    named = f"{stem}.{sha256}.{suffix}"
    return f"{folder}/{named}" if folder else named


def table_folder(table: type[Table]) -> str:
    """Return a published table's folder inside its run, such as ``tables/audit/ledger``."""
    return f"{SNAPSHOTS if table.kind == 'snapshot' else TABLES}/{table.name}"


def part_name(part: int) -> str:
    """Return the name of a table's file."""
    return f"part-{part:03d}.parquet"
