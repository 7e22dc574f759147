"""Reading a warehouse's stored verdicts again with today's rules, beside the old readings."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pyarrow.parquet as pq

from judgebatch.contracts.accounting import Restatements
from judgebatch.contracts.grading import AuditVerdicts
from judgebatch.contracts.interpretations import Interpretations
from judgebatch.grading.clock import Clock
from judgebatch.pipeline.arrow_files import mapped
from judgebatch.pipeline.mapping import Mapper, in_process
from judgebatch.pipeline.readings import BATCH_TABLES, Readings
from judgebatch.verdicts import interpret_texts
from judgebatch.vocabulary import RunKind
from judgebatch.warehouse import Manifest, Pieces, RunFacts, RunLog, Staging, Warehouse, publish
from judgebatch.warehouse.layout import SPARE, STATE

CHUNK = 25_000
"""Verdicts read at once."""
_BATCH = 8_192

_KEPT = (
    "tenant_id",
    "task_id",
    "verdict_id",
    "judge_id",
    "judged_at",
    "recorded_passed",
    "verdict",
)
_IDENTITY = ("tenant_id", "verdict_id")
_ORDER = ("tenant_id", "task_id", "verdict_id")


class Reinterpreted(NamedTuple):
    """What a run that read all verdicts again came to."""

    run: int
    reading_version: int
    verdicts: int
    changed: int
    """Verdicts whose reading or support is another than that of the reading before."""


class ShardTask(NamedTuple):
    """A shard whose verdicts are read again."""

    shard: int
    files: tuple[Path, ...]
    """Texts of the shard, one Arrow file per part of a run's table."""
    before: tuple[Path, ...]
    """Interpretations of all runs."""
    reading_version: int
    pieces: Pieces
    clock: Clock


def reinterpret(
    warehouse: Warehouse, as_of: datetime, mapper: Mapper = in_process
) -> Reinterpreted:
    """Read every stored verdict again, as a reading with a higher version.

    Old rows stay as they are; views show the newest reading. Nothing is graded anew, and the
    accounting, which counts a verdict once, does not grow.

    Parameters
    ----------
    warehouse
        Where the verdicts are stored.
    as_of
        The run's logical time. The same again does nothing.
    mapper
        Maps the reading over shards.

    Raises
    ------
    WarehouseConflictError
        Somebody else writes the warehouse.
    WarehouseWriteError
        There is no room or no permission.
    """
    log = warehouse.runs()
    for run in reversed(log.of_kind(RunKind.REINTERPRET)):
        if run.as_of == as_of:
            publish(warehouse)  # it may have been killed after its commit
            return _said(run)
    with warehouse.begin(RunKind.REINTERPRET, as_of, log) as staging:
        clock = Clock(staging.number, as_of, None)
        before = warehouse.table_files(log, Interpretations)
        version = 1 + _newest_version(before)
        texts = split_by_shard(warehouse, log, staging.scratch / "texts")
        tasks = [
            ShardTask(shard, texts[shard], tuple(before), version, staging.pieces, clock)
            for shard in sorted(texts)
        ]
        counts = list(mapper(read_shard, tasks))
        staging.assemble(*BATCH_TABLES, Restatements)
        carry_state(staging)
        verdicts, changed = (sum(part) for part in zip((0, 0), *counts, strict=True))
        summary = {"reinterpreted": verdicts, "changed": changed, "reading_version": version}
        manifest = staging.commit(RunFacts(summary=summary))
        publish(warehouse)
    return _said(manifest)


def _said(run: Manifest) -> Reinterpreted:
    said = run.summary
    return Reinterpreted(
        run.number, said["reading_version"], said["reinterpreted"], said["changed"]
    )


def split_by_shard(warehouse: Warehouse, log: RunLog, folder: Path) -> dict[int, tuple[Path, ...]]:
    """Write all stored verdicts to Arrow files by shard, which can be mapped into memory."""
    folder.mkdir(parents=True)
    made: dict[int, list[Path]] = {}
    for number, source in enumerate(warehouse.table_files(log, AuditVerdicts)):
        with pq.ParquetFile(source) as file:
            for at, batch in enumerate(file.iter_batches(_BATCH, columns=list(_KEPT))):
                rows = pl.DataFrame(pl.from_arrow(batch)).with_columns(
                    pl.col(pl.String).cast(pl.String)
                )
                shards = rows.with_columns(shard=warehouse.shard_of(rows["tenant_id"]))
                for (shard,), part in shards.partition_by("shard", as_dict=True).items():
                    path = folder / f"{shard:05d}-{number:06d}-{at:06d}.arrow"
                    part.select(_KEPT).rechunk().write_ipc(path, compression="uncompressed")
                    made.setdefault(int(shard), []).append(path)
    return {shard: tuple(paths) for shard, paths in made.items()}


def in_key_order(files: tuple[Path, ...]) -> Iterator[pl.DataFrame]:
    """Yield the rows of Arrow files by (tenant_id, task_id, verdict_id), a chunk at a time."""
    pieces = [mapped(path) for path in files]
    keys = pl.concat(
        [
            piece.select(_ORDER).with_columns(
                piece=pl.lit(number, dtype=pl.Int64), place=pl.int_range(pl.len(), dtype=pl.Int64)
            )
            for number, piece in enumerate(pieces)
        ]
    ).sort(_ORDER)
    for first in range(0, keys.height, CHUNK):
        wanted = keys.slice(first, CHUNK).with_columns(at=pl.int_range(pl.len(), dtype=pl.Int64))
        gathered = [
            pieces[piece].select(pl.all().gather(part["place"])).with_columns(part["at"])
            for (piece,), part in wanted.partition_by("piece", as_dict=True).items()
        ]
        yield pl.concat(gathered).sort("at")


def read_shard(task: ShardTask) -> tuple[int, int]:
    """Publish the new readings of a shard; return how many there are, and how many changed."""
    readings = Readings(task.pieces, task.shard, task.clock, task.reading_version)
    before = _newest_readings(task)
    verdicts = changed = 0
    for number, rows in enumerate(in_key_order(task.files)):
        batch = interpret_texts(rows["verdict"])
        readings.publish(rows, batch, number)
        verdicts += rows.height
        changed += _changed(rows, batch.interpretations, before)
    return verdicts, changed


def _newest_readings(task: ShardTask) -> pl.DataFrame:
    """Return the newest reading before this one of each verdict of a shard."""
    tenants = pl.concat([mapped(path).select("tenant_id").unique() for path in task.files])
    return (
        pl.scan_parquet(list(task.before))
        .select(*_IDENTITY, "reading_version", "reading", "reading_support")
        .join(tenants.lazy(), on="tenant_id", how="semi")
        .collect()
        .sort(*_IDENTITY, "reading_version")
        .unique(_IDENTITY, keep="last", maintain_order=True)
    )


def _changed(rows: pl.DataFrame, interpretations: pl.DataFrame, before: pl.DataFrame) -> int:
    """Return how many verdicts read differently than in the newest reading before."""
    keys = rows.select(pl.col("at").alias("row"), *_IDENTITY)
    now = interpretations.join(keys, on="row").select(*_IDENTITY, "reading", "reading_support")
    joined = now.join(before, on=_IDENTITY)
    same = pl.col("reading").eq_missing(pl.col("reading_right")) & (
        pl.col("reading_support") == pl.col("reading_support_right")
    )
    return joined.filter(~same).height


def _newest_version(files: list[Path]) -> int:
    if not files:
        return 0
    newest = pl.scan_parquet(files).select(pl.col("reading_version").max()).collect().item()
    return int(newest or 0)


def carry_state(staging: Staging) -> None:
    """Carry the whole checkpoint over: such a run changes nothing in it."""
    if staging.parent is not None:
        for entry in staging.parent.files:
            inside, _, relative = entry.path.partition("/")
            if inside in (STATE, SPARE):
                staging.link_from_parent(relative, inside)
