"""``judgebatch recurate``: correct what legacy judges could not say."""

import getpass
from pathlib import Path
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
from judgebatch.pipeline.recurating import Recuration, Selection, recurate_warehouse

_SHOWN = 20


def recurate(
    *,
    why: Annotated[str, typer.Option("--why", help="The reason, as the records will say it.")],
    where: Annotated[
        str | None,
        typer.Option("--where", help="The verdicts: an SQL condition over audit/verdicts."),
    ] = None,
    ids: Annotated[
        Path | None,
        typer.Option("--ids", help="The verdicts: a Parquet or CSV file of ids.", metavar="FILE"),
    ] = None,
    who: WhoOption = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Write it. Without, only what would change is shown.")
    ] = False,
    settings: SettingsOption = SETTINGS_FILE,
    warehouse: WarehouseOption = None,
    as_of: AsOfOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read legacy abstentions labelled not_applicable as what they meant: exclusions.

    Only of the verdicts that you name, only judgments with that label, and only with --apply. Old
    verdicts stay as they are; a new one is written beside each, and one record for each judgment.
    What was graded stays graded.

    For example:

        judgebatch recurate --where "judge_id = 'rubric'" --why "rubric 2 had no exclusions"

        judgebatch recurate --ids ids.csv --why "checked by hand" --apply
    """
    done = recurate_warehouse(
        chosen_warehouse(settings, warehouse),
        Selection(where, ids),
        read_as_of(as_of),
        who=who or getpass.getuser(),
        why=why,
        dry_run=not apply,
    )
    if as_json:
        console.say_json({**done._asdict(), "records": done.records.to_dicts()})
    else:
        _tell(done, applied=apply)


def _tell(done: Recuration, *, applied: bool) -> None:
    if not done.selected:
        console.say(
            "Nothing to do: no verdict that was named has the label not_applicable. Only legacy "
            "judgments with that label can be reclassified; all other verdicts are left alone, "
            "whatever names them."
        )
        return
    if not done.verdicts:
        console.say(
            f"Nothing to do: of {console.counted(done.selected, 'verdict')} with the label "
            "not_applicable, none has an abstention so labelled that was not reclassified before."
        )
        return
    shown = done.records.select(
        "tenant_id",
        "verdict_id",
        "path",
        pl.col("judge").fill_null("(aggregate)"),
        "from_status",
        "to_status",
    )
    console.say_table("", shown.columns, shown.head(_SHOWN).rows())
    if done.judgments > _SHOWN:
        console.say(f"... and {done.judgments - _SHOWN:,} more.")
    what = " of ".join(
        (console.counted(done.judgments, "judgment"), console.counted(done.verdicts, "verdict"))
    )
    if applied:
        console.say(f"Run {done.run} reclassified {what}; the old verdicts are as they were.")
    else:
        console.say(f"Would reclassify {what}. Write it with --apply.")
