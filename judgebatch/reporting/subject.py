"""What a report is about: one run, its tables, and what the nights before it came to."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from judgebatch.reporting.run_tables import Tables
from judgebatch.settings import TenantSettings
from judgebatch.vocabulary import RunKind
from judgebatch.warehouse import Manifest, RunFacts

NIGHTS = 14
"""How many nights a report looks back."""


@dataclass(frozen=True)
class Night:
    """What one run decided."""

    run: int
    as_of: datetime
    graded: Mapping[str, int]
    ungraded: Mapping[str, int]
    tables: Tables

    @property
    def decided(self) -> int:
        """Episodes that ended."""
        return sum(self.graded.values()) + sum(self.ungraded.values())


@dataclass(frozen=True)
class Subject:
    """A run and what is needed to tell of it."""

    number: int
    kind: RunKind
    as_of: datetime
    facts: RunFacts
    tables: Tables
    nights: Sequence[Night]
    """The last NIGHTS grading runs, oldest first, this one last where it grades."""
    rules: Callable[[str], TenantSettings] | None
    """The settings in force for a tenant; None where they are not known."""

    @property
    def previous(self) -> Night | None:
        """The grading run before this one."""
        earlier = [night for night in self.nights if night.run < self.number]
        return earlier[-1] if earlier else None


def night_of(manifest: Manifest, tables: Tables) -> Night:
    """Return what a committed grading run decided."""
    return night(manifest.number, manifest.as_of, manifest, tables)


def night(number: int, as_of: datetime, facts: RunFacts, tables: Tables) -> Night:
    """Return what a run decided."""
    said = facts.summary
    return Night(number, as_of, said.get("graded", {}), said.get("ungraded", {}), tables)
