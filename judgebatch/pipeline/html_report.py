"""The HTML report of a run: made before it commits, or later of what it published."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from judgebatch.reporting.run_tables import CommittedTables, RunTables
from judgebatch.reporting.subject import NIGHTS, Night, Subject, night, night_of
from judgebatch.settings import Settings, TenantSettings, stored_settings
from judgebatch.warehouse import Manifest, RunFacts, RunLog, Staging, Warehouse
from judgebatch.warehouse.layout import REPORT
from judgebatch.warehouse.manifest import CONSUMING

Rules = Callable[[str], TenantSettings]


def stage_report(
    staging: Staging, warehouse: Warehouse, log: RunLog, facts: RunFacts, settings: Settings
) -> None:
    """Write the report of a run in the making beside its tables, where the commit finds it."""
    tables = RunTables(staging.root)
    this = night(staging.number, staging.as_of, facts, tables)
    earlier = _earlier(warehouse, log, staging.number)
    subject = Subject(
        staging.number,
        staging.kind,
        staging.as_of,
        facts,
        tables,
        [*earlier, this],
        settings.tenant,
    )
    (staging.root / REPORT).write_bytes(_html(subject))


def report_of(warehouse: Warehouse, number: int) -> bytes:
    """Return the report of a committed run: the one it wrote, or else one made of its tables.

    Raises
    ------
    WarehouseDamagedError
        A manifest or the stored settings cannot be read.
    """
    log = warehouse.runs()
    manifest = log[number - 1]
    written = [entry for entry in manifest.files if entry.path == REPORT]
    for path in warehouse.storage.fetch(manifest, written):
        if path.exists():
            return path.read_bytes()
    tables = CommittedTables(warehouse, manifest)
    nights = _earlier(warehouse, log, number)
    if manifest.consumes:
        nights = [*nights, night_of(manifest, tables)]
    subject = Subject(
        number,
        manifest.kind,
        manifest.as_of,
        manifest,
        tables,
        nights,
        _rules(warehouse, manifest),
    )
    return _html(subject)


def _html(subject: Subject) -> bytes:
    # Drawing needs libraries that take a second to load, and most commands do without.
    from judgebatch.reporting.page import report  # noqa: PLC0415

    return report(subject)


def _earlier(warehouse: Warehouse, log: RunLog, number: int) -> Sequence[Night]:
    """Return the grading runs before a run, oldest first, as many as a report looks back."""

    def grading() -> Iterator[Manifest]:
        return (log[at] for at in range(number - 2, -1, -1) if log[at].kind in CONSUMING)

    found = islice(grading(), NIGHTS - 1)
    return [night_of(one, CommittedTables(warehouse, one)) for one in found][::-1]


def _rules(warehouse: Warehouse, manifest: Manifest) -> Rules | None:
    if manifest.settings is None:
        return None
    return stored_settings(warehouse.read_text(manifest.settings, "toml")).tenant
