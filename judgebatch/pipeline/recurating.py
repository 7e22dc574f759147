"""Re-curation of a warehouse: new verdicts beside the old ones, and one record per judgment."""

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import duckdb
import polars as pl

from judgebatch.contracts.accounting import Reclassifications, Restatements
from judgebatch.contracts.grading import AuditVerdicts
from judgebatch.contracts.table import schema_of
from judgebatch.errors import InputError, UsageError
from judgebatch.grading.clock import Clock
from judgebatch.pipeline.readings import BATCH_TABLES, Readings
from judgebatch.pipeline.reinterpreting import carry_state
from judgebatch.verdicts import interpret_texts
from judgebatch.verdicts.recuration import LABEL, Recurated, recurate
from judgebatch.vocabulary import RunKind
from judgebatch.warehouse import RunFacts, Staging, Warehouse, connect, publish

_IDS = ("tenant_id", "verdict_id")
_WITHOUT_KIND = re.compile(r"^(\w+ )*Error: |[.:\s]+$")
"""What frames the database's words: the kind of error before them, the full stop after them."""


class Selection(NamedTuple):
    """Which verdicts are asked for: by a filter over audit/verdicts, or by a file of ids."""

    where: str | None = None
    """An SQL condition over the columns of audit/verdicts."""
    ids: Path | None = None
    """A Parquet or CSV file with tenant_id and verdict_id."""


class Recuration(NamedTuple):
    """What a re-curation did, or would do."""

    run: int | None
    """None: nothing was written."""
    selected: int
    verdicts: int
    """Selected verdicts with something to reclassify that was not reclassified before."""
    judgments: int
    records: pl.DataFrame
    """``reclassifications``, without the columns of the run."""


def recurate_warehouse(
    warehouse: Warehouse,
    selection: Selection,
    as_of: datetime,
    *,
    who: str,
    why: str,
    dry_run: bool,
) -> Recuration:
    """Reclassify legacy abstentions labelled ``not_applicable`` over a selection of verdicts.

    The verdicts stay as they are. A new one is written beside each, with its own reading, and a
    record for each judgment that changed. What was graded stays graded. A verdict that was
    reclassified before is left alone, so that a second time does nothing.

    Parameters
    ----------
    warehouse
        Where the verdicts are.
    selection
        Which of them; everything else is left alone.
    as_of
        The run's logical time.
    who, why
        What the records say.
    dry_run
        Only say what would be done.

    Raises
    ------
    UsageError
        The selection names no verdicts in a way that can be understood.
    InputError
        The file of ids cannot be read.
    WarehouseConflictError
        Somebody else writes the warehouse.
    """
    log = warehouse.runs()
    selected = _selected(warehouse, selection)
    reclassified = _read(warehouse.table_files(log, Reclassifications), _IDS)
    pending = selected.join(reclassified, on=_IDS, how="anti", maintain_order="left")
    changed = pending.with_row_index("place").with_columns(pl.col("place").cast(pl.Int64))
    results = [recurate(text) for text in changed["verdict"].to_list()]
    touched = changed.filter(pl.Series([bool(r.reclassified) for r in results], dtype=pl.Boolean))
    records = _records(touched, results, log.newest + 1, who=who, why=why)
    done = Recuration(None, selected.height, touched.height, records.height, records)
    if dry_run or touched.is_empty():
        if pending.height < selected.height and not dry_run:
            publish(warehouse)  # the re-curation may have been killed after its commit
        return done
    with warehouse.begin(RunKind.RECURATE, as_of, log) as staging:
        texts = pl.Series("verdict", [results[at].text for at in touched["place"].to_list()])
        _write(
            warehouse,
            staging,
            touched.with_columns(texts),
            records,
            Clock(staging.number, as_of, None),
        )
        carry_state(staging)
        summary = {"recurated": touched.height, "reclassified": records.height}
        manifest = staging.commit(RunFacts(summary=summary))
        publish(warehouse)
    return done._replace(run=manifest.number)


def new_id(verdict_id: pl.Expr, run: int) -> pl.Expr:
    """Return the id of the verdict that a run writes beside an old one."""
    return pl.concat_str(verdict_id, pl.lit(f"~recurated-{run:06d}"))


def _selected(warehouse: Warehouse, selection: Selection) -> pl.DataFrame:
    """Return the selected verdicts that hold the label at all, by tenant and id."""
    if (selection.where is None) == (selection.ids is None):
        raise UsageError(
            "name the verdicts: either --where with a condition over audit/verdicts, such as "
            "\"judge_id = 'rubric'\", or --ids with a file of tenant_id and verdict_id."
        )
    columns = schema_of(AuditVerdicts)
    with connect(warehouse) as database:
        labelled = database.table("audit_verdicts").filter(f"contains(verdict, '{LABEL}')")
        try:
            named = labelled if selection.where is None else labelled.filter(selection.where)
            rows: pl.DataFrame = named.pl()
        except duckdb.Error as error:
            raise UsageError(
                f"--where {selection.where!r} is not an SQL condition over audit/verdicts: "
                f"{without_kind(error)}. Its columns are {', '.join(columns)}; texts "
                "stand in single quotes, as in \"judge_id = 'rubric'\"."
            ) from error
    if selection.ids is not None:
        rows = rows.join(_ids(selection.ids), on=_IDS, how="semi")
    return rows.select(columns.names()).cast(columns).sort(_IDS)


def without_kind(error: duckdb.Error) -> str:
    """Return what the database says is wrong with a condition, in a phrase."""
    said = str(error).strip().splitlines() or [""]
    return _WITHOUT_KIND.sub("", said[0])


def _ids(path: Path) -> pl.DataFrame:
    try:
        rows = (
            pl.read_csv(path, infer_schema=False)
            if path.suffix == ".csv"
            else pl.read_parquet(path)
        )
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path} cannot be read as a file of ids: {error}") from error
    missing = [name for name in _IDS if name not in rows.columns]
    if missing:
        raise InputError(
            f"{path} has no column {missing[0]!r}; its columns are {', '.join(rows.columns)}. A "
            "file of ids has tenant_id and verdict_id."
        )
    return rows.select(pl.col(_IDS).cast(pl.String))


def _read(files: list[Path], columns: tuple[str, ...]) -> pl.DataFrame:
    if not files:
        return pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
    return pl.scan_parquet(files).select(columns).unique().collect()


def _records(
    touched: pl.DataFrame, results: list[Recurated], run: int, *, who: str, why: str
) -> pl.DataFrame:
    """Return one row per reclassified judgment."""

    def rows() -> Iterator[tuple[int, str, str | None, str, str]]:
        for place in touched["place"].to_list():
            for one in results[place].reclassified:
                yield (place, *one)

    schema = {
        "place": pl.Int64,
        "path": pl.String,
        "judge": pl.String,
        "from_status": pl.String,
        "to_status": pl.String,
    }
    keys = touched.select("place", "tenant_id", "task_id", "verdict_id")
    return (
        pl.DataFrame(list(rows()), schema=schema, orient="row")
        .join(keys, on="place", how="left", maintain_order="left")
        .with_columns(
            new_verdict_id=new_id(pl.col("verdict_id"), run), who=pl.lit(who), why=pl.lit(why)
        )
        .drop("place")
        .sort("tenant_id", "task_id", "verdict_id", "path")
    )


def _write(
    warehouse: Warehouse,
    staging: Staging,
    verdicts: pl.DataFrame,
    records: pl.DataFrame,
    clock: Clock,
) -> None:
    """Write the new verdicts with their readings, and the records."""
    named = verdicts.drop("place").with_columns(
        *clock.stamp(), verdict_id=new_id(pl.col("verdict_id"), clock.run)
    )
    by_shard = named.with_columns(shard=warehouse.shard_of(named["tenant_id"])).sort(
        "shard", *AuditVerdicts.order
    )
    for (shard,), part in by_shard.partition_by("shard", as_dict=True, maintain_order=True).items():
        rows = part.drop("shard").with_columns(at=pl.int_range(pl.len(), dtype=pl.Int64))
        staging.write_piece(AuditVerdicts, shard, rows.select(AuditVerdicts.column_names()))
        readings = Readings(staging.pieces, shard, clock)
        readings.publish(rows, interpret_texts(rows["verdict"]), 0)
    stamped = records.with_columns(
        *clock.stamp(), shard=warehouse.shard_of(records["tenant_id"])
    ).sort("shard", *Reclassifications.order)
    for (shard,), part in stamped.partition_by("shard", as_dict=True, maintain_order=True).items():
        staging.write_piece(Reclassifications, shard, part.select(Reclassifications.column_names()))
    staging.assemble(AuditVerdicts, *BATCH_TABLES, Restatements, Reclassifications)
