"""Ingest: an input file, or a part of one, into staged rows by shard, and into quarantine."""

import functools
import operator
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import polars as pl

from judgebatch.contracts.policies import AnswerRows
from judgebatch.contracts.rows import QuarantineRows
from judgebatch.contracts.staged import StagedEpisodes, StagedVerdicts
from judgebatch.contracts.table import Table
from judgebatch.grading.admission import EPISODE_CONTENT, VERDICT_CONTENT, fingerprinted
from judgebatch.inputs import InputFile, InputKind, InputSpec, Span, read_file
from judgebatch.pipeline.scratch import Scratch
from judgebatch.warehouse.sharding import shard_of


@dataclass(frozen=True)
class IngestTask:
    """One file, or a part of it, to read.

    ``place`` is the file's place among the run's files.
    """

    file: InputFile
    spec: InputSpec
    span: Span
    place: int
    scratch: Scratch
    n_shards: int


@dataclass(frozen=True)
class Ingested:
    """What a file, or a part of it, held."""

    kind: InputKind
    path: str
    size: int
    digest: str
    rows: int
    quarantined: int
    staged: Mapping[int, int]
    """Accepted rows by shard."""


def ingest(task: IngestTask) -> Ingested:
    """Read a file, or a part of it, into staged rows.

    Raises
    ------
    InputError
        The file as a whole cannot be read.
    """
    rows = bad = 0
    kind = task.spec.kind
    digest = task.file.sha256
    staged = Counter[int]()
    # Batches have rows, so these numbers rise over all parts of a file.
    for number, batch in enumerate(
        read_file(task.file, task.spec, task.span), start=task.span.first_row
    ):
        accepted = prepared(batch.rows, kind)
        staged += _stage(STAGED[kind], accepted, task, number)
        _stage(QuarantineRows, batch.quarantined, task, number)
        rows += accepted.height + batch.quarantined.height
        bad += batch.quarantined.height
    return Ingested(kind, task.file.path, task.file.size, digest, rows, bad, staged)


def whole_file(parts: Iterable[Ingested]) -> Ingested:
    """Return what a file held, from what its parts held."""
    first, *rest = parts
    return replace(
        first,
        rows=first.rows + sum(part.rows for part in rest),
        quarantined=first.quarantined + sum(part.quarantined for part in rest),
        staged=functools.reduce(operator.add, (Counter(part.staged) for part in rest), Counter())
        + Counter(first.staged),
    )


def prepared(rows: pl.DataFrame, kind: InputKind) -> pl.DataFrame:
    """Return accepted rows as they are staged, in the order in which they are published.

    Then what is published together lies together. Rows without ``released`` are new ones.
    """
    rows = without_negative_zero(rows)
    if "released" not in rows.columns:
        rows = rows.with_columns(released=pl.lit(False))
    if kind == InputKind.EPISODES:
        rows = rows.sort("tenant_id", "task_id", "episode_id", maintain_order=True)
        rows = fingerprinted(rows, "episode_id", EPISODE_CONTENT)
    if kind == InputKind.VERDICTS:
        rows = rows.sort("tenant_id", "task_id", "verdict_id", maintain_order=True)
        rows = fingerprinted(rows, "verdict_id", VERDICT_CONTENT)
        rows = rows.with_columns(live=pl.lit(False))
    return rows


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


def _stage(table: type[Table], rows: pl.DataFrame, task: IngestTask, number: int) -> Counter[int]:
    """Write rows by shard; return how many each shard got."""
    written = Counter[int]()
    if rows.is_empty():
        return written
    # A row without a tenant belongs to no shard; the empty name has one like any other.
    shards = shard_of(rows["tenant_id"].fill_null(""), task.n_shards)
    order = 1_000_000 * list(InputKind).index(task.spec.kind) + task.place
    staged = rows.with_columns(shards.alias("shard"))
    for (shard,), part in staged.partition_by("shard", as_dict=True, include_key=False).items():
        task.scratch.write(table, int(shard), (order, number), part)
        written[int(shard)] = part.height
    return written


STAGED: dict[InputKind, type[Table]] = {
    InputKind.EPISODES: StagedEpisodes,
    InputKind.VERDICTS: StagedVerdicts,
    InputKind.ANSWERS: AnswerRows,
}
