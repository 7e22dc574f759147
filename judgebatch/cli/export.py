"""``judgebatch export``: copies of what was published."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from judgebatch.cli import console
from judgebatch.cli.opening import WarehouseOption, chosen_warehouse
from judgebatch.cli.options import SETTINGS_FILE, JsonOption, SettingsOption
from judgebatch.errors import UsageError
from judgebatch.warehouse.exporting import export_latest, export_tenant


def export(
    *,
    out: Annotated[
        Path, typer.Option("--output", "-o", help="A folder that is not there yet.", metavar="OUT")
    ],
    tenant: Annotated[
        str | None, typer.Option("--tenant", help="Whose tables to export.", metavar="ID")
    ] = None,
    latest: Annotated[
        bool, typer.Option("--latest", help="Export every view, one Parquet file each.")
    ] = False,
    settings: SettingsOption = SETTINGS_FILE,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write one tenant's tables and nothing else, or one plain Parquet file for every view.

    The folder appears whole or not at all, and nothing is ever written over.

    For example:

        judgebatch export --tenant acme -o acme-tables

        judgebatch export --latest -o for-the-dashboard
    """
    if (tenant is None) == (not latest):
        raise UsageError("say what to export: either --tenant with an id, or --latest.")
    found = chosen_warehouse(settings, warehouse)
    with ExitStack() as shown:
        steps: list[console.Step] = []

        def progress(done: int, total: int) -> None:
            if done == 0:
                steps.append(shown.enter_context(console.progress("export", total, "tables")))
            else:
                steps[-1](1)

        if tenant is None:
            exported = export_latest(found, out, progress)
        else:
            exported = export_tenant(found, tenant, out, progress)
    rows = sum(exported.rows.values())
    if as_json:
        console.say_json({"out": str(out), "run": exported.run, "rows": exported.rows})
        return
    files = console.counted(len(exported.rows), "file")
    console.say(
        f"Wrote {console.counted(rows, 'row')} in {files} to {out}, as of run {exported.run}."
    )
