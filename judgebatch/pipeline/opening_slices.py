"""What a slice of a shard starts from: its rows, its state, and where its texts lie."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from judgebatch.contracts.rows import VerdictRows
from judgebatch.contracts.slices import WHOLE, Slice
from judgebatch.contracts.staged import StagedEpisodes, StagedVerdicts
from judgebatch.contracts.state import WaitingVerdicts
from judgebatch.contracts.table import Table, empty, schema_of
from judgebatch.grading.admission import VERDICT_CONTENT, fingerprinted
from judgebatch.grading.state import ShardState
from judgebatch.pipeline import tenants
from judgebatch.pipeline.arrow_files import mapped, stretch
from judgebatch.pipeline.checkpoint import Checkpoint
from judgebatch.pipeline.scratch import Scratch
from judgebatch.settings import Settings

SLIM = [name for name in schema_of(StagedVerdicts) if name != "verdict"]
"""Columns of staged verdicts that are read at once; their texts are fetched when needed."""


@dataclass(frozen=True)
class OpenedSlice:
    """What a slice starts from."""

    state: ShardState
    episodes: pl.DataFrame
    verdicts: pl.DataFrame
    """Without their texts."""
    pieces: list[pl.DataFrame | Path]
    """Where the texts lie."""
    tenants: pl.DataFrame
    """The settings in force."""


def open_slice(
    scratch: Scratch, shard: int, checkpoint: Checkpoint, settings: Settings, part: Slice = WHOLE
) -> OpenedSlice:
    """Open a slice of a shard."""
    state = checkpoint.state(part)
    episodes = staged_rows(scratch, StagedEpisodes, shard, part)
    verdicts, pieces = _verdict_rows(scratch, shard, state.waiting_verdicts, part)
    ids = [frame["tenant_id"] for frame in (episodes, verdicts, state.pending_episodes)]
    in_force = tenants.in_force(settings, pl.concat(ids), state.known_tenants)
    return OpenedSlice(state, episodes, verdicts, pieces, in_force)


def staged_rows(scratch: Scratch, table: type[Table], shard: int, part: Slice) -> pl.DataFrame:
    """Return the staged rows of a slice."""
    pieces = [_rows(path, part) for path in scratch.paths(table, shard)]
    return pl.concat([empty(table), *pieces])


def _rows(path: Path, part: Slice, columns: list[str] | None = None) -> pl.DataFrame:
    rows = mapped(path, columns)
    if part.is_whole:
        return rows
    first, end = stretch(path, part)
    return rows.slice(first, end - first)


def _verdict_rows(
    scratch: Scratch, shard: int, waiting: pl.DataFrame, part: Slice
) -> tuple[pl.DataFrame, list[pl.DataFrame | Path]]:
    """Return the verdicts without their texts, and the pieces in which those lie."""
    waiting = waiting_rows(waiting)
    paths = scratch.paths(StagedVerdicts, shard)
    slim = [placed(waiting.drop("verdict"), 0)]
    for number, path in enumerate(paths, start=1):
        first = 0 if part.is_whole else stretch(path, part)[0]
        slim.append(placed(fresh(_rows(path, part, SLIM)), number, first))
    return pl.concat(slim, how="diagonal"), [waiting, *paths]


def waiting_rows(waiting: pl.DataFrame) -> pl.DataFrame:
    """Return WaitingVerdicts as rows that an earlier run left."""
    return fingerprinted(waiting, "verdict_id", VERDICT_CONTENT).with_columns(
        from_state=pl.lit(True), live=pl.lit(False), released=pl.lit(False)
    )


def fresh(rows: pl.DataFrame) -> pl.DataFrame:
    """Return staged verdicts with what those that wait have beside, null."""
    new = schema_of(WaitingVerdicts)
    missing = {
        name: pl.lit(None, dtype=new[name]) for name in new if name not in schema_of(VerdictRows)
    }
    return rows.with_columns(**missing, from_state=pl.lit(False))


def placed(rows: pl.DataFrame, piece: int, first: int = 0) -> pl.DataFrame:
    """Return rows with ``piece`` and ``row``: where they lie."""
    return rows.with_columns(
        piece=pl.lit(piece, dtype=pl.Int64),
        row=pl.int_range(first, first + pl.len(), dtype=pl.Int64),
    )
