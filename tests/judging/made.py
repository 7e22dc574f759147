"""Pairs, judges and juries for the tests of judging."""

from datetime import UTC, datetime

import polars as pl

from judgebatch.contracts.judgments import WantedPairs
from judgebatch.contracts.table import schema_of
from judgebatch.juries import JuryReducer
from tests.juries.made import simple

AS_OF = datetime(2026, 3, 2, 3, tzinfo=UTC)
REDUCER = JuryReducer(simple("judge"))


def pairs(*lefts: str, tenant: str = "t", ordinal: int = 0) -> pl.DataFrame:
    rows = [(tenant, "task", left, "reference", ordinal) for left in lefts]
    return pl.DataFrame(rows, schema=schema_of(WantedPairs), orient="row")


def passes(asked: pl.DataFrame) -> pl.DataFrame:
    return asked.select("verdict_id", status=pl.lit("pass"), score=pl.lit(0.5))
