"""``judgebatch release``: give quarantined rows to the next run."""

import getpass
from typing import Annotated

import polars as pl
import typer

from judgebatch.cli import console
from judgebatch.cli.opening import WarehouseOption, chosen_warehouse
from judgebatch.cli.options import (
    SETTINGS_FILE,
    AsOfOption,
    JsonOption,
    SettingsOption,
    WhoOption,
    read_as_of,
)
from judgebatch.pipeline.releasing import Release, refusal, release_rows
from judgebatch.settings import Settings, load_settings
from judgebatch.vocabulary import QuarantineReason, UnknownTenants

_SHOWN = 20


def release(
    *,
    where: Annotated[
        str, typer.Option("--where", help="The rows: an SQL condition over audit/quarantine.")
    ],
    reason: Annotated[str, typer.Option("--reason", help="Why, as the record will say it.")],
    who: WhoOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list what would be released.")
    ] = False,
    settings: SettingsOption = SETTINGS_FILE,
    warehouse: WarehouseOption = None,
    as_of: AsOfOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give quarantined rows to the next run, which takes them in like a late delivery.

    For rows that were set aside for what has changed since: a tenant that the settings did not
    name yet, a comparison whose episode came after its window. Malformed rows, duplicates and the
    like are refused. What is set aside again has a new row in the quarantine that says so.

    For example:

        judgebatch release --where "reason = 'unknown_tenant'" --reason "configured late" --dry-run

        judgebatch release --where "tenant_id = 'acme' AND run = 12" --reason "configured late"
    """
    if not reason.strip():
        raise typer.BadParameter("say why in --reason: the record keeps it")
    done = release_rows(
        chosen_warehouse(settings, warehouse),
        where,
        read_as_of(as_of),
        who=who or getpass.getuser(),
        why=reason,
        dry_run=dry_run,
    )
    if warehouse is None:
        _warn_of_strangers(load_settings(settings), done.released)
    if done.refused:
        console.warn(f"some cannot be released: {refusal(done.refused)}.")
    if as_json:
        console.say_json({**done._asdict(), "released": done.released.to_dicts()})
    else:
        _tell(done, dry_run=dry_run)


def _warn_of_strangers(settings: Settings, released: pl.DataFrame) -> None:
    """Warn of rows that the settings in force would set aside again."""
    if settings.unknown_tenants != UnknownTenants.QUARANTINE:
        return
    unknown = released.filter(pl.col("reason") == QuarantineReason.UNKNOWN_TENANT.value)
    frame = settings.tenant_frame(unknown["tenant_id"])
    names = frame.filter(~pl.col("known"))["tenant_id"].to_list()
    if names:
        listed = ", ".join(repr(name) for name in names[:5])
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        console.warn(
            f"the settings still do not name {listed}{more}: the next run would set these rows "
            "aside again. Name them under [tenants] before it."
        )


def _tell(done: Release, *, dry_run: bool) -> None:
    rows = done.released
    if rows.is_empty():
        before = f": {console.counted(done.already, 'row')} released before" if done.already else ""
        console.say(f"Nothing to release{before}.")
        return
    shown = rows.select("input", "tenant_id", "id", "source_file", "source_row", "reason")
    console.say_table("", shown.columns, shown.head(_SHOWN).rows())
    if rows.height > _SHOWN:
        console.say(f"... and {rows.height - _SHOWN:,} more.")
    count = console.counted(rows.height, "row")
    if dry_run:
        console.say(f"Would release {count}.")
    else:
        console.say(f"Run {done.run} released {count}; the next `judgebatch run` takes them in.")
