"""Interpreting files of stored verdicts, without a warehouse."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from judgebatch.contracts.interpretations import (
    ReadChecks,
    ReadDefects,
    ReadInterpretations,
    ReadJudges,
    ReadQuarantine,
    ReadRestatements,
    ReadStages,
    ReadVerdicts,
)
from judgebatch.contracts.table import Table
from judgebatch.errors import InputError, UsageError
from judgebatch.pipeline.mapping import Mapper, in_process
from judgebatch.pipeline.verdict_files import Part, batches, parts
from judgebatch.verdicts import corpus_counts, interpret_texts, restate
from judgebatch.vocabulary import QuarantineReason
from judgebatch.warehouse import Pieces, write_table
from judgebatch.warehouse.durable import force_name, fsync_below

TABLES: dict[str, type[Table]] = {
    "interpretations": ReadInterpretations,
    "stages": ReadStages,
    "judges": ReadJudges,
    "checks": ReadChecks,
    "defects": ReadDefects,
}
"""The table of each frame of an interpreted batch."""

ALL: tuple[type[Table], ...] = (
    ReadVerdicts,
    *TABLES.values(),
    ReadRestatements,
    ReadQuarantine,
)

_KEYS = ("source_file", "source_row", "item", "verdict_id")
_BATCHES_OF_A_PART = 1_000_000


@dataclass(frozen=True)
class Task:
    """A part of a file to read, its place among all parts, and the corpus that it belongs to."""

    part: Part
    number: int
    corpus: str
    pieces: Pieces


@dataclass(frozen=True)
class Counts:
    """What was read of a corpus, or of a part of one: additive."""

    readings: pl.DataFrame
    """``reading``, ``reading_support`` and ``count``."""
    defects: pl.DataFrame
    """``field`` (without numbers), ``kind`` and ``count``."""
    recorded: pl.DataFrame
    """As of :func:`judgebatch.verdicts.corpus_counts`."""
    causes: pl.DataFrame
    """``cause`` and ``count``."""
    quarantined: int

    def __add__(self, other: "Counts") -> "Counts":
        """Return both together."""
        return Counts(
            _summed(self.readings, other.readings),
            _summed(self.defects, other.defects),
            _summed(self.recorded, other.recorded),
            _summed(self.causes, other.causes),
            self.quarantined + other.quarantined,
        )


def find_verdict_files(inputs: Sequence[Path]) -> dict[str, list[Path]]:
    """Return the files of each input: itself, or all files below a folder, sorted.

    Raises
    ------
    InputError
        An input does not exist, or a folder holds no file.
    """
    found = {}
    for path in inputs:
        if path.is_dir():
            files = sorted(
                file
                for file in path.rglob("*")
                if file.is_file() and not file.name.startswith((".", "_"))
            )
        elif path.is_file():
            files = [path]
        else:
            raise InputError(f"{path} does not exist. Name files of verdicts, or folders of them.")
        if not files:
            raise InputError(f"the folder {path} holds no files.")
        found[str(path)] = files
    return found


def interpret_files(
    inputs: Sequence[Path],
    out: Path,
    *,
    column: str = "verdict",
    mapper: Mapper = in_process,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Counts]:
    """Read files of stored verdicts and write all tables of their readings to a new folder.

    Parameters
    ----------
    inputs
        Files or folders; each is a corpus of its own in the counts.
    out
        A folder that is not there yet, or is empty.
    column
        The column of Parquet files that holds the verdicts' JSON text.
    mapper
        Maps the reading over parts of files.
    progress
        Told how many parts are read, and how many there are.

    Raises
    ------
    InputError
        An input is missing or cannot be read.
    UsageError
        The folder holds something already.
    WarehouseWriteError
        There is no room or no permission.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} exists already. Name a new folder with --out.")
    scratch = out.with_name(f".{out.name}.reading")
    shutil.rmtree(scratch, ignore_errors=True)
    pieces = Pieces(scratch / "pieces")
    try:
        tasks = list(_tasks(find_verdict_files(inputs), column, pieces))
        totals: dict[str, Counts] = {str(path): _nothing() for path in inputs}
        if progress is not None:
            progress(0, len(tasks))
        for done, (task, counts) in enumerate(zip(tasks, mapper(read_part, tasks), strict=True), 1):
            totals[task.corpus] = totals[task.corpus] + counts
            if progress is not None:
                progress(done, len(tasks))
        made = scratch / "tables"
        for table in ALL:
            name = table.name.rpartition("/")[2]
            write_table(made / f"{name}.parquet", table, pieces.batches(table))
        out.parent.mkdir(parents=True, exist_ok=True)
        fsync_below(made)
        made.replace(out)
        force_name(out, f"the results are complete at {out}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return totals


def _tasks(files: dict[str, list[Path]], column: str, pieces: Pieces) -> Iterator[Task]:
    """Yield the parts of all files in the order of their names, each file once."""
    corpus_of: dict[Path, str] = {}
    for corpus, paths in files.items():
        for path in paths:
            corpus_of.setdefault(path, corpus)
    number = 0
    for path in sorted(corpus_of, key=str):
        for part in parts(path, column):
            yield Task(part, number, corpus_of[path], pieces)
            number += 1


def read_part(task: Task) -> Counts:
    """Read one part, write its pieces, and return what was in it."""
    total = _nothing()
    for at, rows in enumerate(batches(task.part)):
        sequence = task.number * _BATCHES_OF_A_PART + at
        total = total + _read_batch(rows, task, sequence)
    return total


def _read_batch(rows: pl.DataFrame, task: Task, sequence: int) -> Counts:
    numbered = rows.with_columns(
        row=pl.int_range(pl.len(), dtype=pl.Int64),
        source_file=pl.lit(str(task.part.path)),
    )
    sound = pl.when(pl.col("problem").is_null()).then(pl.col("verdict"))
    batch = interpret_texts(numbered.select(sound).to_series())
    marked = numbered.join(batch.unreadable, on="row", how="left", maintain_order="left")
    refused = marked.filter(pl.col("problem").is_not_null() | pl.col("message").is_not_null())
    kept = marked.filter(pl.col("problem").is_null() & pl.col("message").is_null())
    quarantine = refused.with_columns(
        reason=pl.when(pl.col("problem").is_null())
        .then(pl.lit(QuarantineReason.UNREADABLE_VERDICT.value))
        .otherwise(pl.col("reason")),
        message=pl.coalesce("problem", "message"),
        content=pl.col("verdict"),
    )

    def write(table: type[Table], frame: pl.DataFrame) -> None:
        task.pieces.write(table, 0, frame.select(table.column_names()), sequence)

    write(ReadQuarantine, quarantine)
    write(ReadVerdicts, kept)
    keys = kept.select("row", *_KEYS)
    for name, table in TABLES.items():
        frame = getattr(batch, name)
        write(table, frame.join(keys, on="row", how="inner", maintain_order="left"))
    read = batch.interpretations.join(
        kept.select("row", *_KEYS, "recorded_passed"), on="row", how="inner", maintain_order="left"
    )
    restated = restate(read)
    write(ReadRestatements, restated)
    field = pl.col("field").str.replace(r"\[\d+\]$", "[]")
    return Counts(
        readings=_counted(read, "reading", "reading_support"),
        defects=_counted(batch.defects.with_columns(field), "field", "kind"),
        recorded=corpus_counts(read),
        causes=_counted(restated, "cause"),
        quarantined=refused.height,
    )


def _counted(frame: pl.DataFrame, *by: str) -> pl.DataFrame:
    return frame.group_by(by).agg(count=pl.len().cast(pl.Int64)).sort(by)


def _summed(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    by = [name for name in one.columns if name != "count"]
    return pl.concat([one, other]).group_by(by).agg(pl.col("count").sum()).sort(by)


def _nothing() -> Counts:
    text, count = pl.String, pl.Int64
    return Counts(
        readings=pl.DataFrame(schema={"reading": text, "reading_support": text, "count": count}),
        defects=pl.DataFrame(schema={"field": text, "kind": text, "count": count}),
        recorded=pl.DataFrame(
            schema={
                "recorded_passed": pl.Boolean,
                "reading": text,
                "reading_support": text,
                "vacuous_pass": pl.Boolean,
                "count": count,
            }
        ),
        causes=pl.DataFrame(schema={"cause": text, "count": count}),
        quarantined=0,
    )
