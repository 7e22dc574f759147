"""Known identities of a checkpoint, derived from what runs published.

An episode becomes known in the run that ended it, and its row in ``graded`` or ``ungraded`` holds
everything that was kept of it. A verdict becomes known in the run that first considered it: the
one that accepted it (``audit/verdicts``), set it aside for the episodes it names
(``audit/quarantine``), or let it wait for one of them (the spare copy of that run's checkpoint).
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pyarrow.parquet as pq

from judgebatch.contracts import grading as g
from judgebatch.contracts.rows import VerdictRows
from judgebatch.contracts.state import KnownEpisodes, KnownVerdicts, WaitingVerdicts
from judgebatch.contracts.table import Table, conform, empty, schema_of
from judgebatch.grading.admission import EPISODE_CONTENT, ID, VERDICT_CONTENT, fingerprinted
from judgebatch.grading.night import ended_identities
from judgebatch.inputs import InputKind
from judgebatch.inputs.money import nano_from_doubles
from judgebatch.pipeline.checkpoint import shard_folder
from judgebatch.vocabulary import QuarantineReason, RunKind
from judgebatch.warehouse import FileEntry, RunLog, Warehouse
from judgebatch.warehouse.layout import STATE

_BATCH = 8_192
_CONSIDERED = (
    QuarantineReason.ITSELF,
    QuarantineReason.UNKNOWN_EPISODE,
    QuarantineReason.TWO_TASKS,
)
"""Why a verdict is set aside after its identity became known."""
_KNOWN_VERDICT = tuple(schema_of(KnownVerdicts))


Find = Callable[[FileEntry], bytes | None]


class Span(NamedTuple):
    """A file of identities: those of a shard that became known after one run and until another."""

    shard: int
    after: int
    last: int


class DerivedIdentities:
    """Derives files of known identities; what several files need is read once.

    Parameters
    ----------
    warehouse, log
        Whose published tables are read.
    find
        Finds a file of a run's checkpoint, wherever a sound copy of it is.
    """

    def __init__(self, warehouse: Warehouse, log: RunLog, find: Find) -> None:
        self._warehouse = warehouse
        self._log = log
        self._find = find
        self._verdicts: dict[int, pl.DataFrame] = {}

    def of(self, table: type[Table], span: Span) -> pl.DataFrame:
        """Return the rows of KnownEpisodes or KnownVerdicts that a file holds."""
        if table is KnownEpisodes:
            return self._episodes(span)
        if span.shard not in self._verdicts:
            self._verdicts[span.shard] = self._first_considered(span.shard)
        known = self._verdicts[span.shard]
        inside = known.filter((pl.col("run") > span.after) & (pl.col("run") <= span.last))
        return conform(inside, KnownVerdicts)

    def _episodes(self, span: Span) -> pl.DataFrame:
        parts = [empty(KnownEpisodes)]
        reason = pl.lit(None, dtype=pl.String).alias("ungraded_reason")
        for table, extra in ((g.Graded, [reason]), (g.Ungraded, [])):
            columns = ["episode_id", "group_epoch", "is_reference", *EPISODE_CONTENT]
            columns = [name.replace("cost_nano_usd", "cost_usd") for name in columns]
            columns += [] if extra else ["ungraded_reason"]
            for rows in self._rows(
                table, span.shard, columns, range(span.after + 1, span.last + 1)
            ):
                ended = fingerprinted(
                    with_nano(rows.with_columns(*extra)), "episode_id", EPISODE_CONTENT
                )
                parts.append(ended_identities(ended.rename({"ungraded_reason": "reason"})))
        return pl.concat(parts)

    def _first_considered(self, shard: int) -> pl.DataFrame:
        """Return KnownVerdicts of a shard, with the ``run`` in which each became known."""
        parts = [empty(KnownVerdicts).with_columns(run=pl.lit(None, dtype=pl.Int64))]
        parts += map(_fingerprints, self._accepted(shard))
        parts += map(_fingerprints, self._set_aside(shard))
        parts += map(_fingerprints, self._waiting(shard))
        return pl.concat(parts).sort(*ID, "run").unique(ID, keep="first", maintain_order=True)

    def _accepted(self, shard: int) -> Iterator[pl.DataFrame]:
        """Yield accepted verdicts; those that a re-curation wrote came from no input."""
        runs = [run.number for run in self._log if run.kind != RunKind.RECURATE]
        columns = ["verdict_id", *VERDICT_CONTENT]
        columns = [name.replace("cost_nano_usd", "cost_usd") for name in columns]
        yield from map(with_nano, self._rows(g.AuditVerdicts, shard, columns, runs))

    def _set_aside(self, shard: int) -> Iterator[pl.DataFrame]:
        reasons = [reason.value for reason in _CONSIDERED]
        columns = ["input", "reason", "content"]
        runs = [run.number for run in self._log]
        for rows in self._rows(g.Quarantine, shard, columns, runs):
            own = rows.filter(
                (pl.col("input") == InputKind.VERDICTS.value) & pl.col("reason").is_in(reasons)
            )
            yield own.select("run").hstack(content_of(own["content"], VerdictRows))

    def _waiting(self, shard: int) -> Iterator[pl.DataFrame]:
        """Yield verdicts that waited for an episode after a run."""
        inside = f"{STATE}/{shard_folder(shard)}/{WaitingVerdicts.name}.parquet"
        for run in self._log:
            entry = next((file for file in run.files if file.path == inside), None)
            content = None if entry is None else self._find(entry)
            if content is not None:
                waiting = pl.read_parquet(content, hive_partitioning=False)
                yield waiting.filter(pl.col("considered_at").is_not_null()).with_columns(
                    run=pl.lit(run.number, dtype=pl.Int64)
                )

    def _rows(
        self, table: type[Table], shard: int, columns: Sequence[str], runs: Sequence[int]
    ) -> Iterator[pl.DataFrame]:
        """Yield a shard's rows of an event table, a batch at a time."""
        wanted = set(runs)
        for path in self._warehouse.table_files(self._log, table):
            if _run_of(path, table) not in wanted:
                continue
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(_BATCH, columns=["run", "tenant_id", *columns]):
                    rows = pl.DataFrame(pl.from_arrow(batch))
                    shards = self._warehouse.shard_of(rows["tenant_id"].fill_null(""))
                    own = rows.filter(shards == shard)
                    if not own.is_empty():
                        yield own


def _run_of(path: Path, table: type[Table]) -> int:
    return int(path.parents[1 + len(Path(table.name).parts)].name)


def _fingerprints(rows: pl.DataFrame) -> pl.DataFrame:
    return fingerprinted(rows, "verdict_id", VERDICT_CONTENT).select(*_KNOWN_VERDICT, "run")


def with_nano(rows: pl.DataFrame) -> pl.DataFrame:
    """Return published rows with their cost in nano-dollars, as it was read."""
    nano = nano_from_doubles(rows["cost_usd"].to_numpy()).values
    return rows.with_columns(pl.Series("cost_nano_usd", nano, dtype=pl.Int64))


def content_of(content: pl.Series, table: type[Table]) -> pl.DataFrame:
    """Return what rows in quarantine were, in the columns of accepted rows, without their source.

    Parameters
    ----------
    content
        The JSON text that ``audit/quarantine`` keeps of rows that were read well.
    table
        EpisodeRows, VerdictRows or AnswerRows.
    """
    schema = {
        name: dtype for name, dtype in schema_of(table).items() if not name.startswith("source_")
    }
    has_cost = schema.pop("cost_nano_usd", None) is not None
    named = {**schema, "cost_usd": pl.Float64()} if has_cost else schema
    rows = content.str.json_decode(pl.Struct(named)).struct.unnest()
    return with_nano(rows).drop("cost_usd") if has_cost else rows
