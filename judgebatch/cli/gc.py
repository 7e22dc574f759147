"""``judgebatch gc``: what a crash left."""

from typing import Annotated

import typer

from judgebatch.cli import console
from judgebatch.cli.opening import WarehouseOption, chosen_warehouse
from judgebatch.cli.options import SETTINGS_FILE, JsonOption, SettingsOption
from judgebatch.warehouse.sweeping import rubbish, sweep


def gc(
    *,
    settings: SettingsOption = SETTINGS_FILE,
    warehouse: WarehouseOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list what would be removed.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Remove what dead runs left: staging and temporary files.

    Committed runs are never touched. A run removes dead staging anyway, so this is for a
    warehouse that no run will visit soon.

    For example:

        judgebatch gc --dry-run

        judgebatch gc --warehouse corpus/warehouse
    """
    found = chosen_warehouse(settings, warehouse)
    removed = rubbish(found) if dry_run else sweep(found)
    if as_json:
        files = [{"path": str(path), "why": why} for path, why in removed]
        console.say_json({"warehouse": found.name, "removed": not dry_run, "files": files})
        return
    verb = "Would remove" if dry_run else "Removed"
    for path, why in removed:
        console.say(f"{verb} {path}: {why}")
    if not removed:
        console.say(f"Nothing to remove in {found.name}.")
