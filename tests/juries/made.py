"""Judgments and juries for the tests, short to write down."""

from typing import Any

import polars as pl

from judgebatch.contracts.judgments import Judgments
from judgebatch.contracts.table import schema_of
from judgebatch.juries import Judged, Jury, Reduction, SeatDefinition, SimpleJury, reduce_judgments


def judgments(*rows: dict[str, Any]) -> pl.DataFrame:
    """Return rows of the table; tenant, verdict, stage and position have defaults."""
    defaults = {"tenant_id": "t", "verdict_id": "v", "stage": "", "reasoning": "r"}
    full = [{**defaults, "position": i, **row} for i, row in enumerate(rows)]
    return pl.DataFrame(full, schema=schema_of(Judgments))


def votes(*statuses: str, **more: Any) -> pl.DataFrame:
    """Return one judgment per status, of judges a, b, c and so on."""
    names = "abcdefghij"
    return judgments(
        *({"name": names[i], "status": status, **more} for i, status in enumerate(statuses))
    )


def simple(*names: str | None, **reduction: Any) -> SimpleJury:
    """Return a jury of named (or, for None, positional) seats; consensus unless told."""
    settings = {"strategy": "consensus", **reduction}
    return SimpleJury(Reduction(**settings), tuple(SeatDefinition(name=name) for name in names))


def status_of(frame: pl.DataFrame, jury: Jury) -> str:
    """Return the status of the only verdict."""
    return only(reduce_judgments(frame, jury))["status"]


def only(judged: Judged) -> dict[str, Any]:
    """Return the only row of the verdict table."""
    (row,) = judged.verdicts.to_dicts()
    return row
