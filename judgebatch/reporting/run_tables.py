"""The published tables of one run, read where they lie: in a staging folder or committed."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import polars as pl

from judgebatch.contracts.slices import TASK, Slice, cut
from judgebatch.contracts.table import Table, empty, schema_of
from judgebatch.warehouse import Manifest, Warehouse
from judgebatch.warehouse.layout import table_folder

NANO = 1_000_000_000
SLICE_ROWS = 2_000_000
"""Rows that are looked at together where rows of a task must be brought together."""


class Tables(Protocol):
    """The published tables of one run."""

    def scan(self, table: type[Table]) -> pl.LazyFrame:
        """Return a table; columns that an older version of its contract lacks are null."""


@dataclass(frozen=True)
class CommittedTables:
    """Those of a committed run, wherever the warehouse is."""

    warehouse: Warehouse
    run: Manifest

    def scan(self, table: type[Table]) -> pl.LazyFrame:
        """Return a table."""
        return self.warehouse.scan([self.run], table)


@dataclass(frozen=True)
class RunTables:
    """Those in the folder of a run in the making; one that it did not write has no rows."""

    folder: Path

    def scan(self, table: type[Table]) -> pl.LazyFrame:
        """Return a table; columns that an older version of its contract lacks are null."""
        files = sorted((self.folder / table_folder(table)).glob("*.parquet"))
        if not files:
            return empty(table).lazy()
        found = pl.scan_parquet(files, hive_partitioning=False)
        known = found.collect_schema().names()
        schema = schema_of(table)
        return found.with_columns(
            pl.lit(None, dtype=dtype).alias(name)
            for name, dtype in schema.items()
            if name not in known
        ).select(schema.names())


def slices(tables: Tables, table: type[Table]) -> list[Slice]:
    """Cut a run's tables where this one is cut into about ``SLICE_ROWS`` rows of whole tasks."""
    counted = tables.scan(table).group_by(TASK).len().sort(TASK).collect()
    return cut(counted.rows(), SLICE_ROWS)


def scan_slice(tables: Tables, table: type[Table], part: Slice) -> pl.LazyFrame:
    """Return the rows of a slice."""
    rows, within = tables.scan(table), part.within()
    return rows if within is None else rows.filter(within)


def nano(column: str = "cost_usd") -> pl.Expr:
    """Return USD as integer nano-dollars, which add up to the same in any order."""
    return (pl.col(column) * NANO).round().cast(pl.Int64)
