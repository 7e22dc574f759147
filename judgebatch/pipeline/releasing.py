"""Releasing rows from the quarantine: recorded by a run of its own, taken in by the next night.

A released row comes like one that was delivered late. Its old row in ``audit/quarantine`` stays
as it is; where it cannot be graded after all, it is set aside again with a new one.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

import duckdb
import polars as pl

from judgebatch.contracts.grading import Quarantine
from judgebatch.contracts.policies import AnswerRows
from judgebatch.contracts.releases import ReleasedRows, Releases
from judgebatch.contracts.rows import EpisodeRows, VerdictRows
from judgebatch.contracts.table import Table, conform, empty, schema_of
from judgebatch.errors import UsageError
from judgebatch.grading.clock import Clock
from judgebatch.inputs import InputKind
from judgebatch.pipeline.checkpoint import check_files
from judgebatch.pipeline.derived_identities import content_of
from judgebatch.pipeline.ingest import STAGED, prepared
from judgebatch.pipeline.recurating import without_kind
from judgebatch.pipeline.reinterpreting import carry_state
from judgebatch.pipeline.scratch import Scratch
from judgebatch.vocabulary import QuarantineReason, RunKind
from judgebatch.warehouse import Manifest, RunFacts, RunLog, Warehouse, connect, publish

REFUSED: Mapping[QuarantineReason, str] = {
    QuarantineReason.BAD_ROW: "a malformed row cannot be graded; correct it and deliver it in a "
    "new file, where it counts as new",
    QuarantineReason.UNREADABLE_VERDICT: "its text cannot be read; correct it and deliver it in a "
    "new file, where it counts as new",
    QuarantineReason.CONFLICTING_DUPLICATE: "another row with this id was there first, and stays",
    QuarantineReason.ITSELF: "it compares an episode with itself, which no later night changes",
    QuarantineReason.TWO_TASKS: "its task is not that of both episodes, which no later night "
    "changes",
    QuarantineReason.CONFLICTING_ANSWER: "another answer was there first, and stays",
}
"""Why rows set aside for these reasons cannot be released; all others can."""

_KEY = ["quarantined_in", "input", "source_file", "source_row", "id"]
_ROWS: Mapping[InputKind, type[Table]] = {
    InputKind.EPISODES: EpisodeRows,
    InputKind.VERDICTS: VerdictRows,
    InputKind.ANSWERS: AnswerRows,
}
_AFTER_ALL_FILES = (10_000_000, 0)


class Release(NamedTuple):
    """What a release did, or would do."""

    run: int | None
    """None: nothing was written."""
    selected: int
    released: pl.DataFrame
    """Releases without the columns of the run."""
    already: int
    """Selected rows that were released before."""
    refused: dict[str, int]
    """Selected rows that cannot be released, by why they were set aside."""


def release_rows(
    warehouse: Warehouse, where: str, as_of: datetime, *, who: str, why: str, dry_run: bool
) -> Release:
    """Release rows of the quarantine to the next run.

    Parameters
    ----------
    warehouse
        Where the rows are.
    where
        An SQL condition over the columns of audit/quarantine.
    as_of
        The logical time of the run that records the release.
    who, why
        What the record says.
    dry_run
        Only say what would be done.

    Raises
    ------
    UsageError
        The condition is none, or names only rows that cannot be released.
    WarehouseConflictError
        Somebody else writes the warehouse.
    WarehouseDamagedError
        The checkpoint, which the next run starts from, is damaged.
    """
    log = warehouse.runs()
    selected = _selected(warehouse, where)
    refusable = [reason.value for reason in REFUSED]
    refused = selected.filter(pl.col("reason").is_in(refusable))
    can = selected.filter(~pl.col("reason").is_in(refusable))
    before = [pl.read_parquet(path) for path in warehouse.table_files(log, Releases)]
    past = pl.concat([empty(Releases), *before])
    new = can.join(past, on=_KEY, how="anti", nulls_equal=True, maintain_order="left")
    already = can.height - new.height
    # A file that changed may have had two rows in one place: they are released together.
    new = new.unique(_KEY, maintain_order=True)
    released = new.with_columns(who=pl.lit(who), why=pl.lit(why))
    counts = dict(refused.group_by("reason").len().sort("reason").rows())
    done = Release(None, selected.height, released, already, counts)
    if can.is_empty() and counts:
        raise UsageError(f"nothing was released: {refusal(counts)}.")
    if dry_run or new.is_empty():
        if done.already and not dry_run:
            publish(warehouse)  # the release may have been killed after its commit
        return done
    with warehouse.begin(RunKind.RELEASE, as_of, log) as staging:
        check_files(warehouse, staging.parent)
        clock = Clock(staging.number, as_of, None)
        stamped = released.with_columns(
            *clock.stamp(), shard=warehouse.shard_of(released["tenant_id"].fill_null(""))
        ).sort("shard", *Releases.order, nulls_last=False)
        parts = stamped.partition_by("shard", as_dict=True, maintain_order=True)
        for (shard,), part in parts.items():
            staging.write_piece(Releases, shard, conform(part, Releases))
        staging.assemble(Releases)
        carry_state(staging)
        by_input = released.group_by("input").len().sort("input")
        manifest = staging.commit(RunFacts(summary={"released": dict(by_input.rows())}))
        publish(warehouse)
    return done._replace(run=manifest.number)


def refusal(counts: Mapping[str, int]) -> str:
    """Say in one phrase which rows cannot be released, and why."""
    return "; ".join(
        f"{count} {'row' if count == 1 else 'rows'} ({reason}): {REFUSED[QuarantineReason(reason)]}"
        for reason, count in counts.items()
    )


def _selected(warehouse: Warehouse, where: str) -> pl.DataFrame:
    """Return the selected rows, with the columns of Releases that they know."""
    columns = schema_of(Quarantine)
    known = [
        name for name in schema_of(Releases) if name in columns and name not in ("run", "as_of")
    ]
    with connect(warehouse) as database:
        try:
            rows: pl.DataFrame = database.table("audit_quarantine").filter(where).pl()
        except duckdb.Error as error:
            raise UsageError(
                f"--where {where!r} is not an SQL condition over audit/quarantine: "
                f"{without_kind(error)}. Its columns are {', '.join(columns)}; texts stand in "
                "single quotes, as in \"reason = 'unknown_tenant'\"."
            ) from error
    return (
        rows.select(columns.names())
        .cast(columns)
        .select(pl.col("run").alias("quarantined_in"), *known)
        .sort(*_KEY, nulls_last=False)
    )


def stage_released(warehouse: Warehouse, log: RunLog, scratch: Scratch) -> dict[str, int]:
    """Stage the rows that were released since the last night; return how many, by input.

    Parameters
    ----------
    warehouse, log
        Where releases and quarantine are read.
    scratch
        Where the rows go, beside those of the run's files.
    """
    last = log.last_grading
    since = last.number if last is not None else 0
    releases = [run for run in log[since:] if run.kind == RunKind.RELEASE]
    if not releases:
        return {}
    released = pl.concat(_table(warehouse, run, Releases) for run in releases)
    rows = pl.concat(
        _table(warehouse, log[number - 1], Quarantine).with_columns(
            quarantined_in=pl.lit(number, dtype=pl.Int64)
        )
        for number in released["quarantined_in"].unique().sort()
    ).join(
        released.select(*_KEY, "reason", pl.col("run").alias("release")),
        on=[*_KEY, "reason"],
        nulls_equal=True,
        maintain_order="left",
    )
    counts = {}
    for (kind,), part in rows.partition_by("input", as_dict=True, maintain_order=True).items():
        _stage(InputKind(kind), part, warehouse, scratch)
        counts[str(kind)] = part.height
    return counts


def _table(warehouse: Warehouse, run: Manifest, table: type[Table]) -> pl.DataFrame:
    files = warehouse.table_files([run], table)
    return pl.concat([empty(table), *(conform(pl.read_parquet(path), table) for path in files)])


def _stage(kind: InputKind, rows: pl.DataFrame, warehouse: Warehouse, scratch: Scratch) -> None:
    accepted = content_of(rows["content"], _ROWS[kind]).hstack(
        rows.select("source_file", "source_row")
    )
    overdue = rows["reason"] == QuarantineReason.UNKNOWN_EPISODE.value
    accepted = prepared(accepted.with_columns(overdue.alias("released")), kind)
    named = rows.with_columns(released_in=pl.col("release"))
    for table, frame in ((STAGED[kind], accepted), (ReleasedRows, named)):
        shards = warehouse.shard_of(frame["tenant_id"].fill_null(""))
        staged = conform(frame, table).with_columns(shards.alias("shard"))
        parts = staged.partition_by("shard", as_dict=True, include_key=False, maintain_order=True)
        order = list(InputKind).index(kind) if table is ReleasedRows else 0
        for (shard,), part in parts.items():
            scratch.write(table, int(shard), (_AFTER_ALL_FILES[0], order), part)


def marked_as_released(quarantined: pl.DataFrame, released: pl.DataFrame) -> pl.DataFrame:
    """Return rows of the quarantine with ``released_in`` where a release had fed them in.

    Parameters
    ----------
    quarantined
        Quarantine.
    released
        ReleasedRows of the run.
    """
    if released.is_empty():
        return quarantined
    key = ["input", "source_file", "source_row", "tenant_id", "id"]
    # Two rows of one place may have been released together.
    named = released.unique(key)
    return conform(
        quarantined.drop("released_in").join(
            named, on=key, how="left", nulls_equal=True, maintain_order="left"
        ),
        Quarantine,
    )
