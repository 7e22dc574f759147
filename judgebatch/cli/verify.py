"""``judgebatch verify``: is everything as it was written."""

from collections.abc import Iterator

from judgebatch.cli.findings import tell
from judgebatch.cli.opening import WarehouseOption, chosen_warehouse
from judgebatch.cli.options import SETTINGS_FILE, JsonOption, SettingsOption
from judgebatch.judging.journal import damaged_lines
from judgebatch.warehouse import Finding, Warehouse
from judgebatch.warehouse import verify as verify_warehouse


def verify(
    *,
    settings: SettingsOption = SETTINGS_FILE,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check every byte, the run log, contracts, conservation laws and identities.

    Changes nothing, and may run beside a run. Exits 5 where something is not as it was written,
    and says what that means.

    For example:

        judgebatch verify

        judgebatch verify --warehouse corpus/warehouse --json
    """
    found = chosen_warehouse(settings, warehouse)
    findings = [*verify_warehouse(found), *_journal(found)]
    runs = len(found.committed())
    whole = f"All {runs:,} runs" if runs != 1 else "The only run"
    sound = f"{whole} of {found.name} {'is' if runs == 1 else 'are'} sound."
    tell(found, findings, sound, as_json=as_json)


def _journal(warehouse: Warehouse) -> Iterator[Finding]:
    """Yield the answers of attached judges that were changed after they were kept."""
    path, _ = warehouse.storage.journal()
    for line in damaged_lines(path):
        yield Finding(
            path.relative_to(warehouse.path).as_posix(),
            f"line {line} is not what was written",
            "Published rows do not depend on it. That answer is passed over, and where it is "
            "still wanted the judge is asked again. Restore the file from a backup.",
        )
