"""Re-scoring stored judgments under a jury, beside what was recorded."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

import polars as pl

from judgebatch.contracts.judgments import (
    ChangedVerdicts,
    ChangeMatrix,
    JudgmentQuarantine,
    Judgments,
    JuryAttempts,
    JuryVerdicts,
    RescoredVerdicts,
    UnseatedJudgments,
)
from judgebatch.contracts.table import Table, conform, empty, schema_of
from judgebatch.errors import InputError, UsageError, did_you_mean
from judgebatch.juries import Judged, Jury, description_text, reduce_judgments
from judgebatch.juries.acceptance import as_judgments
from judgebatch.juries.seating import simple_stages
from judgebatch.pipeline.stored_judgments import stored_judgments
from judgebatch.vocabulary import Reading
from judgebatch.warehouse import write_table
from judgebatch.warehouse.durable import force_name, fsync_below

SLICE = 50_000
"""Verdicts that are re-scored at once."""
NOTHING = "nothing"
"""What stands where no flag was recorded, or a stored verdict has no reading."""

_Tables: TypeAlias = dict[type[Table], pl.DataFrame]
_KEYS = ["tenant_id", "verdict_id"]
_COLUMNS = (*schema_of(Judgments), "verdict", "recorded_passed")
"""What a judgments table and one of stored verdicts can have."""
_NAMED = 5
"""How many places a warning names."""
_TABLES: tuple[type[Table], ...] = (
    JuryVerdicts,
    JuryAttempts,
    RescoredVerdicts,
    ChangedVerdicts,
    UnseatedJudgments,
    JudgmentQuarantine,
    ChangeMatrix,
)


@dataclass(frozen=True)
class RescoreReport:
    """What a re-scoring came to."""

    out: Path
    verdicts: int
    changed: int
    unseated: int
    quarantined: int
    matrix: pl.DataFrame
    warnings: tuple[str, ...]


def rescore(
    inputs: Sequence[Path],
    jury: Jury,
    out: Path,
    columns: Mapping[str, str] = MappingProxyType({}),
) -> RescoreReport:
    """Re-score judgments tables or stored verdicts, and write what came of it.

    Parameters
    ----------
    inputs
        Parquet files, or folders of them: all judgments tables (with ``status``), or all stored
        verdicts (with ``verdict``).
    jury
        The jury that reduces them.
    out
        A folder that does not exist yet, or is empty.
    columns
        Names of the tables' columns to what the inputs call them.

    Raises
    ------
    InputError
        An input is missing, is not readable Parquet, or is neither of the two.
    UsageError
        ``out`` has something in it, or ``columns`` names one that the tables do not have.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} is not empty: results are never written over; name a new folder")
    _check_names(columns)
    frame = pl.concat([_read(path, columns) for path in _files(inputs)], how="diagonal_relaxed")
    frame = frame.with_columns(pl.int_range(pl.len()).alias("source_row"))
    stored = "verdict" in frame.columns
    if not stored:
        frame = as_judgments(frame).with_columns(frame["source_row"])
    parts = [
        _rescore_stored(part, jury) if stored else _rescore_judgments(part, jury)
        for part in _slices(frame)
    ]
    tables = {
        table: pl.concat([empty(table), *(part[table] for part in parts)]) for table in _TABLES
    }
    matrix = tables[ChangeMatrix].group_by(ChangeMatrix.order).agg(pl.col("verdicts").sum())
    tables[ChangeMatrix] = matrix
    _write(tables, jury, out)
    return RescoreReport(
        out=out,
        verdicts=tables[JuryVerdicts].height,
        changed=tables[ChangedVerdicts].height,
        unseated=tables[UnseatedJudgments].height,
        quarantined=tables[JudgmentQuarantine].height,
        matrix=matrix.sort(ChangeMatrix.order),
        warnings=_warnings(tables[UnseatedJudgments], jury),
    )


def _warnings(unseated: pl.DataFrame, jury: Jury) -> tuple[str, ...]:
    """Say which judgments found no seat, and what seats there are."""
    if unseated.is_empty():
        return ()
    by = ["stage", "name"]
    groups = unseated.group_by(by).len().sort("len", *by, descending=[True, False, False])
    named = [
        f"{_place(stage, name)} ({count:,})" for stage, name, count in groups.head(_NAMED).rows()
    ]
    if groups.height > _NAMED:
        named.append(f"and {groups.height - _NAMED} more")
    seats = [
        _place(stage, seat.name) for stage, simple in simple_stages(jury) for seat in simple.seats
    ]
    said = (
        f"no seat in the jury for {', '.join(named)}; they count in no verdict and are listed in "
        f"{UnseatedJudgments.name}. The jury's seats: {', '.join(seats[:_NAMED])}"
        f"{'' if len(seats) <= _NAMED else ' ...'}. A judgment sits by stage and name."
    )
    return (said,)


def _place(stage: str, name: str | None) -> str:
    judge = "a judge without a name" if name is None else f"judge {name!r}"
    return judge if stage == "" else f"{judge} at stage {stage}"


def _write(tables: _Tables, jury: Jury, out: Path) -> None:
    """Write everything beside ``out`` and rename it: results appear whole or not at all."""
    partial = out.with_name(f".{out.name}.partial")
    if partial.exists():
        shutil.rmtree(partial)
    partial.mkdir(parents=True)
    for table, rows in tables.items():
        ordered = conform(rows.sort(table.order, nulls_last=False), table)
        write_table(partial / f"{table.name}.parquet", table, ordered)
    (partial / "jury.json").write_text(description_text(jury), encoding="utf-8")
    fsync_below(partial)
    if out.exists():
        out.rmdir()
    partial.rename(out)
    force_name(out, f"the results are complete at {out}")


def _files(inputs: Sequence[Path]) -> list[Path]:
    files: list[Path] = []
    for path in inputs:
        if path.is_dir():
            files += sorted(path.rglob("*.parquet"))
        elif path.exists():
            files.append(path)
        else:
            raise InputError(f"{path} does not exist: name Parquet files or folders of them")
    if not files:
        raise InputError("the inputs hold no Parquet file")
    return files


def _check_names(columns: Mapping[str, str]) -> None:
    for name in columns:
        if name not in _COLUMNS:
            raise UsageError(
                f"there is no column {name!r} to map{did_you_mean(name, _COLUMNS)}; judgments and "
                f"stored verdicts have {', '.join(_COLUMNS)}"
            )


def _renamed(frame: pl.DataFrame, path: Path, columns: Mapping[str, str]) -> pl.DataFrame:
    """Return a file's columns under the tables' names."""
    for theirs in columns.values():
        if theirs not in frame.columns:
            raise InputError(
                f"{path} has no column {theirs!r}{did_you_mean(theirs, frame.columns)}; its "
                f"columns are {', '.join(frame.columns)}"
            )
    # What had the table's own name before is somebody else's column.
    kept = frame.drop(set(columns) - set(columns.values()), strict=False)
    return kept.rename({theirs: ours for ours, theirs in columns.items()})


def _read(path: Path, columns: Mapping[str, str]) -> pl.DataFrame:
    try:
        frame = pl.read_parquet(path, hive_partitioning=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{path} cannot be read as Parquet: {error}") from None
    frame = _renamed(frame, path, columns)
    stored = "verdict" in frame.columns
    if stored == ("status" in frame.columns):
        raise InputError(
            f"{path} is neither a judgments table (with the column status) nor one of stored"
            " verdicts (with the column verdict), or has both; --column verdict=NAME says what a"
            " column is called in your files"
        )
    wanted = ("tenant_id", "verdict_id", "verdict") if stored else ("tenant_id", "verdict_id")
    for name in wanted:
        if name not in frame.columns:
            raise InputError(
                f"{path} has no column {name}{did_you_mean(name, frame.columns)}; its columns are "
                f"{', '.join(frame.columns)}. --column {name}=NAME says what it is called there."
            )
    if not stored:
        return frame
    optional = [name for name in ("recorded_passed",) if name in frame.columns]
    try:
        return frame.select(
            *(pl.col(name).cast(pl.String) for name in wanted),
            *(pl.col(name).cast(pl.Boolean) for name in optional),
        )
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{path} has a column of another type: {error}") from None


def _slices(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield the rows of so many verdicts at a time, in the order of their keys."""
    ordered = frame.sort(*_KEYS, "source_row", nulls_last=False)
    number = ordered.select(pl.struct(_KEYS).rle_id() // SLICE).to_series()
    at = 0
    for size in number.rle().struct.field("len"):
        yield ordered.slice(at, size)
        at += size


def _rescore_judgments(part: pl.DataFrame, jury: Jury) -> _Tables:
    judged = reduce_judgments(part.drop("source_row"), jury)
    recorded = judged.keys.with_columns(
        recorded=pl.lit(NOTHING),
        reads=pl.lit(NOTHING),
        recorded_status=pl.lit(None, pl.String),
        strategy=pl.lit(None, pl.String),
    )
    return _beside(judged, recorded, part["source_row"], judged.unseated, compared=False)


def _rescore_stored(part: pl.DataFrame, jury: Jury) -> _Tables:
    """Re-score stored verdicts; a verdict that stands there twice, the same, counts once."""
    distinct = part.unique([*_KEYS, "verdict"], keep="first", maintain_order=True)
    stored = stored_judgments(distinct)
    judged = reduce_judgments(stored.judgments.drop("source_row"), jury)
    flag = pl.lit(None, pl.Boolean)
    if "recorded_passed" in distinct.columns:
        flag = pl.col("recorded_passed")
    flags = distinct.select("source_row", recorded_passed=flag)
    recorded = judged.keys.join(
        stored.interpretations.join(flags, on="source_row", how="left"),
        on=_KEYS,
        how="left",
        maintain_order="left",
    ).with_columns(
        recorded=pl.when("recorded_passed")
        .then(pl.lit("passed"))
        .when(~pl.col("recorded_passed"))
        .then(pl.lit("not_passed"))
        .otherwise(pl.lit(NOTHING)),
        reads=pl.col("reading").fill_null(NOTHING),
    )
    # Behind a composite verdict the root's individuals are copies or members' aggregates: that
    # a jury of stages has no seat for them is no news.
    staged = stored.judgments.filter(pl.col("stage") != "").select(_KEYS).unique()
    copies = judged.unseated.filter(pl.col("stage") == "").join(staged, on=_KEYS, how="semi")
    news = judged.unseated.join(copies, on=[*_KEYS, "stage", "position"], how="anti")
    tables = _beside(judged, recorded, stored.judgments["source_row"], news, compared=True)
    quarantine = pl.concat([tables[JudgmentQuarantine], stored.unusable])
    return {**tables, JudgmentQuarantine: quarantine}


def _beside(
    judged: Judged,
    recorded: pl.DataFrame,
    source_row: pl.Series,
    unseated: pl.DataFrame,
    *,
    compared: bool,
) -> _Tables:
    """Set what was recorded and what it reads beside what the jury says now."""
    verdicts = judged.verdicts
    now = recorded.with_columns(
        rescored=verdicts["reading"],
        rescored_status=verdicts["status"],
        reasoning=verdicts["reasoning"],
        now=verdicts["strategy"],
    )
    accepted = pl.col("rescored") == Reading.ACCEPTED.value
    flagged = pl.col("recorded") != NOTHING
    differs = (pl.col("reads") != pl.col("rescored")) | (
        flagged & ((pl.col("recorded") == "passed") != accepted)
    )
    changed = now.filter(differs) if compared else now.clear()
    quarantine = judged.quarantine.with_columns(
        source_row=source_row.gather(judged.quarantine["source_row"]).cast(pl.Int64)
    )
    matrix = now.group_by(ChangeMatrix.order).agg(pl.len().cast(pl.Int64).alias("verdicts"))
    return {
        JuryVerdicts: verdicts,
        JuryAttempts: judged.attempts,
        RescoredVerdicts: judged.portable(),
        ChangedVerdicts: conform(changed.with_columns(why=_why()), ChangedVerdicts),
        UnseatedJudgments: unseated,
        JudgmentQuarantine: quarantine,
        ChangeMatrix: conform(matrix, ChangeMatrix),
    }


def _why() -> pl.Expr:
    """Say what the new jury states and, where another strategy was recorded, that it differs."""
    other = pl.col("strategy").is_not_null() & pl.col("strategy").ne_missing(pl.col("now"))
    disagrees = (pl.col("recorded") != NOTHING) & (
        (pl.col("recorded") == "passed") != (pl.col("reads") == Reading.ACCEPTED.value)
    )
    return pl.concat_str(
        pl.col("reasoning"),
        pl.when(other).then(pl.format("; recorded by {}", "strategy")).otherwise(pl.lit("")),
        pl.when(disagrees)
        .then(pl.format("; the record says {}, its verdict reads {}", "recorded", "reads"))
        .otherwise(pl.lit("")),
    )
