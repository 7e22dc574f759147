"""``judgebatch doctor``: what needs a person although no file is damaged."""

from judgebatch.cli.findings import tell
from judgebatch.cli.opening import WarehouseOption, chosen_warehouse
from judgebatch.cli.options import SETTINGS_FILE, JsonOption, SettingsOption
from judgebatch.warehouse import doctor as examine


def doctor(
    *,
    settings: SettingsOption = SETTINGS_FILE,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """List episodes that rest past their deadline, and publishing that was not finished.

    Deadlines are measured against the last as_of. Exits 5 where there is anything to list.

    For example:

        judgebatch doctor

        judgebatch doctor --warehouse corpus/warehouse --json
    """
    found = chosen_warehouse(settings, warehouse)
    tell(found, examine(found), "Nothing rests past its deadline.", as_json=as_json)
