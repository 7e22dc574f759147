"""``judgebatch check``: settings and inputs, without running."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import polars as pl
import typer

from judgebatch.cli import console
from judgebatch.cli.options import SETTINGS_FILE, JsonOption, SettingsOption
from judgebatch.inputs import (
    InputFile,
    InputKind,
    InputSpec,
    discover,
    inspect_file,
    read_file,
    said_of_nothing,
)
from judgebatch.inputs.reading import IDS
from judgebatch.pipeline.judge import attached_judge
from judgebatch.pipeline.policy_plan import read_plan
from judgebatch.settings import Settings, load_settings
from judgebatch.verdicts import unreadable_texts
from judgebatch.vocabulary import QuarantineReason, UnknownTenants
from judgebatch.warehouse import check_can_be_made, is_warehouse, open_warehouse

_SHOWN = 10
_PLACE = ("source_file", "source_row", "id", "reason", "message")


def check(
    *,
    settings: SettingsOption = SETTINGS_FILE,
    quick: bool = typer.Option(False, "--quick", help="Read footers and columns, not the rows."),
    as_json: JsonOption = False,
) -> None:
    """Check settings, judge, policies and inputs without running, and say what a run would read.

    Files that no run has read are read to the end, so that damage shows before the night. Rows
    that would go to quarantine for what they are themselves are counted and the first ones shown:
    bad rows, unreadable verdicts, unknown tenants where those are refused, and comparisons of an
    episode with itself. Whether a row conflicts with others, or its episode never comes, is known
    to the run alone. The attached judge is made, and not asked. Nothing is written.

    For example:

        judgebatch check

        judgebatch check --settings corpus/judgebatch.toml --json
    """
    found = load_settings(settings)
    policies = read_plan(found).policies
    attached = attached_judge(found)
    ready = is_warehouse(found.warehouse)
    if not ready:
        check_can_be_made(found.warehouse)
    log = open_warehouse(found.warehouse, found.scratch).runs() if ready else None
    consumed = {name: one.digest for name, one in log.consumed().items()} if log else {}
    document: dict[str, Any] = {
        "settings": str(found.source),
        "warehouse": str(found.warehouse),
        "warehouse_ready": ready,
        "runs": len(log) if log else 0,
        "tenants": len(found.tenants),
        "unknown_tenants": found.unknown_tenants.value,
        "policies": sorted(policies),
        "judge": None if attached is None else attached.judge.name,
        "inputs": {
            str(kind): _input(spec, consumed, found, quick=quick)
            for kind, spec in found.inputs.items()
        },
    }
    document["warnings"] = [
        said_of_nothing(spec)
        for kind, spec in found.inputs.items()
        if not document["inputs"][str(kind)]["files"]
    ]
    for warning in document["warnings"]:
        console.warn(warning)
    if as_json:
        console.say_json(document)
        return
    _print(found, document)


def _input(
    spec: InputSpec, consumed: Mapping[str, str], settings: Settings, *, quick: bool
) -> dict[str, Any]:
    files = discover(spec)
    new = [file for file in files if consumed.get(f"{spec.kind}/{file.path}") != file.sha256]
    shapes = [inspect_file(file, spec) for file in new]
    rows = sum(shape.rows for shape in shapes)
    result: dict[str, Any] = {
        "path": spec.place,
        "files": len(files),
        "new_files": len(new),
        "bytes": sum(file.size for file in new),
        "rows": rows,
        "carried_as_extra": sorted({name for shape in shapes for name in shape.extras}),
    }
    if not quick:
        result |= _rows(new, spec, rows, settings)
    return result


def _rows(files: list[InputFile], spec: InputSpec, rows: int, settings: Settings) -> dict[str, Any]:
    tenants: set[str] = set()
    reasons: Counter[str] = Counter()
    shown: list[dict[str, Any]] = []
    with console.progress(f"reading {spec.kind}", rows, "rows") as step:
        for file in files:
            for batch in read_file(file, spec):
                tenants.update(batch.rows["tenant_id"].unique())
                refused = _refused(batch.rows, spec.kind, settings)
                for part in (batch.quarantined, refused):
                    reasons.update(dict(part.group_by("reason").len().rows()))
                    shown += part.select(_PLACE).head(_SHOWN - len(shown)).to_dicts()
                step(len(batch.rows) + len(batch.quarantined))
    return {
        "to_quarantine": reasons.total(),
        "quarantine_reasons": dict(sorted(reasons.items())),
        "first_to_quarantine": shown,
        "tenant_ids": len(tenants),
    }


def _refused(rows: pl.DataFrame, kind: InputKind, settings: Settings) -> pl.DataFrame:
    """Return the well-formed rows that no run would accept, whatever else it has seen."""
    tenant = pl.col("tenant_id")
    checks: list[tuple[QuarantineReason, pl.Expr]] = []
    if kind == InputKind.VERDICTS:
        broken = unreadable_texts(rows["verdict"])
        message = broken.select(pl.col("row").cast(pl.UInt32).alias("at"), "message")
        rows = rows.with_row_index("at").join(message, on="at", how="left", maintain_order="left")
        checks.append((QuarantineReason.UNREADABLE_VERDICT, pl.col("message")))
    if settings.unknown_tenants == UnknownTenants.QUARANTINE:
        stranger = ~tenant.is_in(list(settings.tenants))
        told = pl.format("tenant {} is not in the settings", tenant)
        checks.append((QuarantineReason.UNKNOWN_TENANT, pl.when(stranger).then(told)))
    if kind == InputKind.VERDICTS:
        same = pl.col("episode_id") == pl.col("compared_episode_id")
        told = pl.format("verdict {} compares an episode with itself", pl.col("verdict_id"))
        checks.append((QuarantineReason.ITSELF, pl.when(same).then(told)))
    none = pl.lit(None, dtype=pl.String)
    return rows.select(
        "source_file",
        "source_row",
        pl.col(IDS[kind]).alias("id"),
        pl.coalesce(
            *(pl.when(told.is_not_null()).then(pl.lit(name.value)) for name, told in checks), none
        ).alias("reason"),
        pl.coalesce(*(told for _, told in checks), none).alias("message"),
    ).filter(pl.col("reason").is_not_null())


def _print(found: Settings, document: dict[str, Any]) -> None:
    console.say(f"Settings   {document['settings']}")
    ready = (
        console.counted(document["runs"], "run")
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
    if document["judge"] is not None:
        console.say(f"Judge      {document['judge']}")
    columns = ["input", "files", "new", "rows", "to quarantine", "tenants", "MiB", "path"]
    rows = [
        [
            kind,
            one["files"],
            one["new_files"],
            one["rows"],
            one.get("to_quarantine", "not read"),
            one.get("tenant_ids", "not read"),
            f"{one['bytes'] / 2**20:.1f}",
            one["path"],
        ]
        for kind, one in document["inputs"].items()
    ]
    console.say_table("", columns, rows, right=columns[1:7])
    for kind, one in document["inputs"].items():
        _print_input(kind, one)
    console.say("Everything new can be read.")


def _print_input(kind: str, one: dict[str, Any]) -> None:
    for row in one.get("first_to_quarantine", []):
        console.say(f"{kind}: {row['source_file']} row {row['source_row']}: {row['message']}")
    more = one.get("to_quarantine", 0) - _SHOWN
    if more > 0:
        console.say(f"{kind}: and {console.counted(more, 'more row')} to quarantine")
    for reason, count in one.get("quarantine_reasons", {}).items():
        console.say(f"{kind}: {console.counted(count, 'row')} to quarantine as {reason}")
    if kind == "episodes" and one["carried_as_extra"]:
        names = ", ".join(one["carried_as_extra"])
        console.say(f"{kind}: columns carried as extra: {names}")
