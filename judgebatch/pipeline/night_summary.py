"""What is worth saying of a published night beside its counts."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from judgebatch.contracts.grading import AuditVerdicts, GradingCounts
from judgebatch.contracts.interpretations import Interpretations
from judgebatch.contracts.table import Table, empty
from judgebatch.verdicts import corpus_counts, instrument_sentence
from judgebatch.vocabulary import ScoreKind
from judgebatch.warehouse import Warehouse
from judgebatch.warehouse.layout import table_folder

REPORT = "report.html"


@dataclass(frozen=True)
class NightSummary:
    """One published night."""

    report: Path
    """Where its report lies, if it has one."""
    by_tenant: list[dict[str, Any]]
    """``tenant, outcome, episodes``: what was decided, without zeros."""
    never_graded: list[str]
    """Tenants of which episodes were decided and none was graded."""
    restatement: str
    """What older pipelines recorded of the night's verdicts; empty where nothing was recorded."""


def night_summary(warehouse: Warehouse, run: int) -> NightSummary:
    """Read a night's summary from its published tables."""
    folder = warehouse.layout.run(run)
    counts = _read(folder, GradingCounts, ["tenant_id", "outcome", "count"])
    counts = counts.filter(pl.col("count") > 0)
    graded = pl.col("outcome").is_in([kind.value for kind in ScoreKind])
    tenants = counts.group_by("tenant_id").agg(graded.any().alias("graded"))
    return NightSummary(
        report=folder / REPORT,
        by_tenant=counts.sort("tenant_id", "outcome")
        .rename({"tenant_id": "tenant", "count": "episodes"})
        .to_dicts(),
        never_graded=tenants.filter(~pl.col("graded"))["tenant_id"].sort().to_list(),
        restatement=_restatement(folder),
    )


def _restatement(folder: Path) -> str:
    key = ["tenant_id", "verdict_id"]
    recorded = _read(folder, AuditVerdicts, [*key, "recorded_passed"])
    recorded = recorded.filter(pl.col("recorded_passed").is_not_null())
    if recorded.is_empty():
        return ""
    said = [*key, "reading", "reading_support", "vacuous_pass"]
    readings = recorded.join(_read(folder, Interpretations, said), on=key)
    return instrument_sentence(corpus_counts(readings))


def _read(folder: Path, table: type[Table], columns: list[str]) -> pl.DataFrame:
    files = sorted((folder / table_folder(table)).glob("*.parquet"))
    rows = [pl.read_parquet(file, columns=columns, hive_partitioning=False) for file in files]
    return pl.concat([empty(table).select(columns), *(one.select(columns) for one in rows)])
