"""Ingest: one input file into staged rows by shard, and into quarantine."""

from dataclasses import dataclass

import polars as pl

from judgebatch.contracts.policies import AnswerRows
from judgebatch.contracts.rows import EpisodeRows, QuarantineRows
from judgebatch.contracts.staged import StagedVerdicts
from judgebatch.contracts.table import Table
from judgebatch.grading.admission import VERDICT_CONTENT, fingerprinted
from judgebatch.inputs import InputFile, InputKind, InputSpec, read_file
from judgebatch.pipeline.scratch import Scratch
from judgebatch.warehouse.sharding import shard_of


@dataclass(frozen=True)
class IngestTask:
    """One file to read; ``place`` is its place among the run's files of its kind."""

    file: InputFile
    spec: InputSpec
    place: int
    scratch: Scratch
    n_shards: int


@dataclass(frozen=True)
class Ingested:
    """What a file held."""

    kind: InputKind
    path: str
    size: int
    digest: str
    rows: int
    quarantined: int


def ingest(task: IngestTask) -> Ingested:
    """Read a file into staged rows.

    Raises
    ------
    InputError
        The file as a whole cannot be read.
    """
    rows = bad = 0
    kind = task.spec.kind
    digest = task.file.sha256
    for number, batch in enumerate(read_file(task.file, task.spec)):
        accepted = without_negative_zero(batch.rows)
        if kind == InputKind.VERDICTS:
            # In the order in which they are published: then a chunk of texts lies together.
            accepted = accepted.sort("tenant_id", "verdict_id", maintain_order=True)
            accepted = fingerprinted(accepted, "verdict_id", VERDICT_CONTENT).with_columns(
                live=pl.lit(False), released=pl.lit(False)
            )
        _stage(STAGED[kind], accepted, task, number)
        _stage(QuarantineRows, batch.quarantined, task, number)
        rows += accepted.height + batch.quarantined.height
        bad += batch.quarantined.height
    return Ingested(kind, task.file.path, task.file.size, digest, rows, bad)


def without_negative_zero(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows in which -0.0 is 0.0: equal content has equal bytes.

    Answers keep theirs: a policy prints what it compared.
    """
    if "latency_ms" not in rows.columns:
        return rows
    latency = pl.col("latency_ms")
    return rows.with_columns(
        pl.when(latency == 0.0).then(pl.lit(0.0)).otherwise(latency).alias("latency_ms")
    )


def _stage(table: type[Table], rows: pl.DataFrame, task: IngestTask, number: int) -> None:
    if rows.is_empty():
        return
    # A row without a tenant belongs to no shard; the empty name has one like any other.
    shards = shard_of(rows["tenant_id"].fill_null(""), task.n_shards)
    order = 1_000_000 * list(InputKind).index(task.spec.kind) + task.place
    staged = rows.with_columns(shards.alias("shard"))
    for (shard,), part in staged.partition_by("shard", as_dict=True, include_key=False).items():
        task.scratch.write(table, int(shard), (order, number), part)


STAGED: dict[InputKind, type[Table]] = {
    InputKind.EPISODES: EpisodeRows,
    InputKind.VERDICTS: StagedVerdicts,
    InputKind.ANSWERS: AnswerRows,
}
