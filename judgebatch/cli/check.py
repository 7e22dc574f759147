"""``judgebatch check``: settings and inputs, without running."""

from collections.abc import Mapping
from typing import Any

import typer

from judgebatch.cli import console
from judgebatch.cli.options import SETTINGS_FILE, JsonOption, SettingsOption
from judgebatch.inputs import InputFile, InputSpec, discover, inspect_file, read_file
from judgebatch.pipeline.policy_plan import read_plan
from judgebatch.settings import Settings, load_settings
from judgebatch.warehouse import is_warehouse, open_warehouse

_SHOWN = 10


def check(
    *,
    settings: SettingsOption = SETTINGS_FILE,
    quick: bool = typer.Option(False, "--quick", help="Read footers and columns, not the rows."),
    as_json: JsonOption = False,
) -> None:
    """Check settings, policies and inputs without running, and say what the next run would read.

    Files that no run has read are read to the end, so that damage and bad rows show before the
    night; rows that would go to quarantine are counted and the first ones shown. Nothing is
    written.

    For example:

        judgebatch check

        judgebatch check --settings corpus/judgebatch.toml --json
    """
    found = load_settings(settings)
    policies = read_plan(found).policies
    ready = is_warehouse(found.warehouse)
    log = open_warehouse(found.warehouse).runs() if ready else None
    consumed = {name: one.digest for name, one in log.consumed().items()} if log else {}
    document = {
        "settings": str(found.source),
        "warehouse": str(found.warehouse),
        "warehouse_ready": ready,
        "runs": len(log) if log else 0,
        "tenants": len(found.tenants),
        "unknown_tenants": found.unknown_tenants.value,
        "policies": sorted(policies),
        "inputs": {
            str(kind): _input(spec, consumed, quick=quick) for kind, spec in found.inputs.items()
        },
    }
    if as_json:
        console.say_json(document)
        return
    _print(found, document)


def _input(spec: InputSpec, consumed: Mapping[str, str], *, quick: bool) -> dict[str, Any]:
    files = discover(spec)
    new = [file for file in files if consumed.get(f"{spec.kind}/{file.path}") != file.sha256]
    shapes = [inspect_file(file, spec) for file in new]
    rows = sum(shape.rows for shape in shapes)
    result: dict[str, Any] = {
        "path": str(spec.root / spec.path),
        "files": len(files),
        "new_files": len(new),
        "bytes": sum(file.size for file in new),
        "rows": rows,
        "carried_as_extra": sorted({name for shape in shapes for name in shape.extras}),
    }
    if not quick:
        result |= _rows(new, spec, rows)
    return result


def _rows(files: list[InputFile], spec: InputSpec, rows: int) -> dict[str, Any]:
    tenants: set[str] = set()
    bad = 0
    shown: list[dict[str, Any]] = []
    with console.progress(f"reading {spec.kind}", rows, "rows") as step:
        for file in files:
            for batch in read_file(file, spec):
                tenants.update(batch.rows["tenant_id"].unique())
                bad += len(batch.quarantined)
                first = batch.quarantined.head(_SHOWN - len(shown))
                shown += first.select("source_file", "source_row", "id", "message").to_dicts()
                step(len(batch.rows) + len(batch.quarantined))
    return {"bad_rows": bad, "first_bad_rows": shown, "tenant_ids": len(tenants)}


def _print(found: Settings, document: dict[str, Any]) -> None:
    console.say(f"Settings   {document['settings']}")
    ready = (
        f"{document['runs']:,} runs"
        if document["warehouse_ready"]
        else "not made yet: the first run makes it"
    )
    console.say(f"Warehouse  {document['warehouse']} ({ready})")
    console.say(
        f"Tenants    {document['tenants']} in the settings; rows of others go to "
        + ("quarantine" if found.unknown_tenants == "quarantine" else "grading under [defaults]")
    )
    if document["policies"]:
        console.say(f"Policies   {', '.join(document['policies'])}")
    columns = ["input", "files", "new", "rows", "bad rows", "tenants", "MiB", "path"]
    rows = [
        [
            kind,
            one["files"],
            one["new_files"],
            one["rows"],
            one.get("bad_rows", "not read"),
            one.get("tenant_ids", "not read"),
            f"{one['bytes'] / 2**20:.1f}",
            one["path"],
        ]
        for kind, one in document["inputs"].items()
    ]
    console.say_table("", columns, rows, right=columns[1:7])
    for kind, one in document["inputs"].items():
        for row in one.get("first_bad_rows", []):
            console.say(f"{kind}: {row['source_file']} row {row['source_row']}: {row['message']}")
        if one.get("bad_rows", 0) > _SHOWN:
            console.say(f"{kind}: and {one['bad_rows'] - _SHOWN:,} more bad rows")
        if kind == "episodes" and one["carried_as_extra"]:
            names = ", ".join(one["carried_as_extra"])
            console.say(f"{kind}: columns carried as extra: {names}")
    console.say("Everything new can be read.")
