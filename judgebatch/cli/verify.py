"""``judgebatch verify``: is everything as it was written."""

from judgebatch.cli.findings import tell
from judgebatch.cli.opening import WarehouseOption, chosen_warehouse
from judgebatch.cli.options import SETTINGS_FILE, JsonOption, SettingsOption
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
    findings = verify_warehouse(found)
    runs = len(found.run_numbers())
    whole = f"All {runs:,} runs" if runs != 1 else "The only run"
    sound = f"{whole} of {found.path} {'is' if runs == 1 else 'are'} sound."
    tell(found, findings, sound, as_json=as_json)
