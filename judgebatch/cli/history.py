"""``judgebatch history``: the runs, one line each."""

from typing import Any

from judgebatch.cli import console
from judgebatch.cli.opening import WarehouseOption, chosen_warehouse
from judgebatch.cli.options import SETTINGS_FILE, JsonOption, SettingsOption
from judgebatch.warehouse import Manifest

_COLUMNS = {
    "run": "run",
    "kind": "kind",
    "as_of": "as of",
    "graded": "graded",
    "ungraded": "ungraded",
    "waiting": "waiting",
    "quarantined": "set\naside",
}
"""What a line shows, and how it is headed: as much as 80 columns hold."""


def history(
    *,
    settings: SettingsOption = SETTINGS_FILE,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the committed runs, oldest first.

    For example:

        judgebatch history

        judgebatch history --warehouse corpus/warehouse --json
    """
    found = chosen_warehouse(settings, warehouse)
    lines = [_line(manifest) for manifest in found.runs()]
    if as_json:
        console.say_json({"warehouse": found.name, "runs": lines})
    elif lines:
        rows = [[line[column] for column in _COLUMNS] for line in lines]
        columns = list(_COLUMNS.values())
        console.say_table("", columns, rows, right=columns[3:], unbroken=True)
    else:
        console.say(f"{found.name} has no runs yet: `judgebatch run` makes the first.")


def _line(manifest: Manifest) -> dict[str, Any]:
    episodes = manifest.conservation.get("episodes")
    return {
        "run": manifest.number,
        "kind": manifest.kind.value,
        "as_of": f"{manifest.as_of:%Y-%m-%dT%H:%M:%SZ}",
        "input_files": len(manifest.inputs),
        "graded": manifest.rows("graded"),
        "ungraded": manifest.rows("ungraded"),
        "waiting": episodes.waiting_after if episodes else 0,
        "quarantined": manifest.rows("audit/quarantine"),
        "mib": round(sum(entry.size for entry in manifest.files) / 2**20, 1),
    }
