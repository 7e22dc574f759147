"""``judgebatch show RUN``: one run's manifest."""

from collections import Counter
from typing import Annotated

import typer

from judgebatch.cli import console
from judgebatch.cli.opening import WarehouseOption, chosen_warehouse
from judgebatch.cli.options import SETTINGS_FILE, JsonOption, SettingsOption
from judgebatch.errors import UsageError
from judgebatch.warehouse import Manifest


def show(
    run: Annotated[int, typer.Argument(help="The run's number.", metavar="RUN")],
    *,
    settings: SettingsOption = SETTINGS_FILE,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a run read, what it published, and that nothing was lost on the way.

    For example:

        judgebatch show 3

        judgebatch show 3 --json
    """
    found = chosen_warehouse(settings, warehouse)
    log = found.runs()
    if not 1 <= run <= log.newest:
        there = f"there are runs 1 to {log.newest}" if log.newest else "there are no runs yet"
        raise UsageError(f"{found.name} has no run {run}: {there}.")
    manifest = log[run - 1]
    if as_json:
        console.say_json(manifest.model_dump(mode="json"))
        return
    console.say(f"Run {run}, {manifest.kind.value}, as of {manifest.as_of:%Y-%m-%dT%H:%M:%SZ}")
    console.say(f"Folder    {found.layout.shown(found.layout.run(run))}")
    console.say(f"Settings  {manifest.settings or 'none'}")
    for name, digest in sorted(manifest.texts.items()):
        console.say(f"{name}  {digest}")
    console.say("Libraries " + ", ".join(f"{k} {v}" for k, v in manifest.libraries.items()))
    _say_laws(manifest)
    _say_inputs(manifest)
    _say_tables(manifest)


def _say_laws(manifest: Manifest) -> None:
    columns = ["", "read", "waited before", "quarantined", "already known", "ended", "waits after"]
    rows = [
        [
            subject,
            law.read,
            law.waiting_before,
            law.quarantined,
            law.already_known,
            ", ".join(f"{how} {count:,}" for how, count in law.ended.items() if count) or "0",
            law.waiting_after,
        ]
        for subject, law in manifest.conservation.items()
    ]
    if rows:
        console.say_table("Where everything went", columns, rows, right=columns[1:5])


def _say_inputs(manifest: Manifest) -> None:
    rows = [[file.table, file.path, file.size, file.digest[:12]] for file in manifest.inputs]
    if rows:
        console.say_table(
            "Input files", ["table", "file", "bytes", "digest"], rows, right=["bytes"]
        )


def _say_tables(manifest: Manifest) -> None:
    published = [
        entry for entry in manifest.files if entry.path.startswith(("tables", "snapshots"))
    ]
    rows: Counter[str] = Counter()
    size: Counter[str] = Counter()
    for entry in published:
        name = entry.table or entry.path
        rows[name] += entry.rows or 0
        size[name] += entry.size
    columns = ["table", "rows", "bytes"]
    lines = [[name, rows[name], size[name]] for name in sorted(rows)]
    console.say_table("Published", columns, lines, right=columns[1:])
