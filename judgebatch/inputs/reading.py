"""Reading one input file: accepted rows, and the others with what is wrong with them."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import polars as pl

from judgebatch.contracts.policies import AnswerRows
from judgebatch.contracts.rows import EpisodeRows, QuarantineRows, VerdictRows
from judgebatch.contracts.table import Table, conform, schema_of
from judgebatch.errors import InputError
from judgebatch.inputs.answers import long_answers
from judgebatch.inputs.arrow import Array, RecordBatch, pa
from judgebatch.inputs.casts import cast_column
from judgebatch.inputs.files import InputFile
from judgebatch.inputs.json_rows import json_rows
from judgebatch.inputs.layout import Layout, lay_out, wide_name
from judgebatch.inputs.parquet import Span, batches, open_parquet, place, spans
from judgebatch.inputs.spec import InputKind, InputSpec
from judgebatch.vocabulary import QuarantineReason

IDS: Mapping[InputKind, str] = {
    InputKind.EPISODES: "episode_id",
    InputKind.VERDICTS: "verdict_id",
    InputKind.ANSWERS: "question",
}
"""The column that identifies a row inside its tenant."""

_NEVER_EMPTY = frozenset(
    {
        "tenant_id",
        "episode_id",
        "verdict_id",
        "task_id",
        "compared_episode_id",
        "judge_id",
        "question",
        "verifier_outcome",
    }
)


WHOLE = Span()
_WORTH_SPLITTING = 4 << 20


class AcceptedBatch(NamedTuple):
    """Rows of one batch of a file.

    ``rows`` follow EpisodeRows, VerdictRows or AnswerRows, ``quarantined`` follow QuarantineRows;
    together they are all rows of the batch (a wide row of answers becomes several).
    """

    rows: pl.DataFrame
    quarantined: pl.DataFrame


class FileShape(NamedTuple):
    """What a file's footer says: how many rows, and which columns it has beside the contract's."""

    rows: int
    extras: tuple[str, ...]


def inspect_file(file: InputFile, spec: InputSpec) -> FileShape:
    """Check a file's footer and columns without reading its rows.

    Raises
    ------
    InputError
        As :func:`read_file`, as far as the footer shows it.
    """
    with open_parquet(file, spec) as parquet:
        layout = lay_out(parquet.schema, spec, place(file, spec))
        return FileShape(parquet.rows, tuple(name for name, _ in layout.extras))


def split_file(file: InputFile, spec: InputSpec) -> list[Span]:
    """Return the parts of a file that can be read side by side; a small one has one part.

    Raises
    ------
    InputError
        The file is not readable Parquet.
    """
    if file.size < _WORTH_SPLITTING:
        return [Span()]
    with open_parquet(file, spec) as parquet:
        return spans(parquet)


def read_file(file: InputFile, spec: InputSpec, span: Span = WHOLE) -> Iterator[AcceptedBatch]:
    """Yield the rows of a file, or of a part of it, in order, in batches of bounded size.

    Raises
    ------
    InputError
        The file is not readable Parquet, or a column is missing or has a type that cannot be cast
        without loss: the file as a whole is refused. What is wrong with single rows never raises.
    """
    where = place(file, spec)
    with open_parquet(file, spec) as parquet:
        layout = lay_out(parquet.schema, spec, where)
        first_row = span.first_row
        for batch in batches(parquet, file, spec, span):
            yield _accept(batch, layout, spec, file, first_row)
            first_row += batch.num_rows


def _accept(
    batch: RecordBatch, layout: Layout, spec: InputSpec, file: InputFile, first_row: int
) -> AcceptedBatch:
    where = place(file, spec)
    casts = {
        column.name: cast_column(
            column, batch.column(layout.positions[column.name]), spec.assume_timezone, where
        )
        for column in layout.columns
    }
    frame = pl.DataFrame([cast.values for cast in casts.values()]).with_columns(
        pl.lit(file.path).alias("source_file"),
        pl.int_range(first_row, first_row + batch.num_rows, dtype=pl.Int64).alias("source_row"),
    )
    if spec.kind == InputKind.EPISODES:
        frame = frame.with_columns(_extra(batch, layout, where))
    problems: list[pl.Expr] = []
    for name, cast in casts.items():
        problems.append(pl.lit(cast.problems))
        if name in _NEVER_EMPTY:
            problems.append(pl.when(pl.col(name) == "").then(pl.lit(f"{name} is empty")))
    problem = frame.select(pl.coalesce(*problems, *_across(spec.kind)).alias("problem")).to_series()
    bad = problem.is_not_null()
    return AcceptedBatch(
        conform(_finish(frame.filter(~bad), spec), ROWS[spec.kind]),
        _quarantined(batch, frame, problem, spec, where),
    )


def _across(kind: InputKind) -> list[pl.Expr]:
    """Return what can be wrong between two columns."""
    if kind != InputKind.EPISODES:
        return []
    calls, errors = pl.col("tool_calls"), pl.col("tool_errors")
    message = pl.format("tool_errors {} exceeds tool_calls {}", errors, calls)
    return [pl.when(errors > calls).then(message)]


def _finish(frame: pl.DataFrame, spec: InputSpec) -> pl.DataFrame:
    """Name and complete the columns as the rows' contract has them."""
    if spec.wide:
        names = {
            (one.question, column): wide_name(one.question, column)
            for one in spec.wide
            for column in one.columns
        }
        return long_answers(frame, spec.wide, names)
    schema = schema_of(ROWS[spec.kind])
    if "cost_nano_usd" in schema:
        cost = pl.col("cost_usd") if "cost_usd" in frame.columns else pl.lit(None, pl.Int64)
        frame = frame.with_columns(cost.fill_null(0).alias("cost_nano_usd"))
    absent = [
        pl.lit(None, dtype).alias(name)
        for name, dtype in schema.items()
        if name not in frame.columns
    ]
    return frame.with_columns(absent)


def _extra(batch: RecordBatch, layout: Layout, where: str) -> pl.Series:
    if not layout.extras:
        return pl.repeat(None, batch.num_rows, dtype=pl.String, eager=True).alias("extra")
    columns = [(name, batch.column(index)) for name, index in layout.extras]
    return _json(columns, batch.num_rows, where).alias("extra")


def _quarantined(
    batch: RecordBatch, frame: pl.DataFrame, problem: pl.Series, spec: InputSpec, where: str
) -> pl.DataFrame:
    bad = problem.is_not_null()
    try:
        raw = batch.filter(pa.array(bad.to_numpy())) if bad.any() else batch.slice(0, 0)
    except pa.ArrowNotImplementedError as error:
        raise InputError(
            f"{where} has a bad row ({problem.drop_nulls()[0]}), and a column of a type that "
            f"cannot be set aside: {error}. Leave the column out or write it as another type."
        ) from None
    columns = list(zip(raw.schema.names, raw.columns, strict=True))
    rows = frame.filter(bad)
    own_id = pl.col(IDS[spec.kind]) if IDS[spec.kind] in frame.columns else pl.lit(None, pl.String)
    return conform(
        rows.select(
            pl.lit(str(spec.kind)).alias("input"),
            pl.col("tenant_id"),
            own_id.alias("id"),
            pl.col("source_file"),
            pl.col("source_row"),
            pl.lit(QuarantineReason.BAD_ROW.value).alias("reason"),
            pl.lit(problem.filter(bad)).alias("message"),
            pl.lit(_json(columns, len(rows), where)).alias("content"),
        ),
        QuarantineRows,
    )


def _json(columns: list[tuple[str, Array]], height: int, where: str) -> pl.Series:
    try:
        return json_rows(columns, height)
    except TypeError as error:
        raise InputError(
            f"{where}: {error}. A column outside the contract is carried as JSON text, and this "
            "one cannot be; leave it out or write it as another type."
        ) from None


ROWS: Mapping[InputKind, type[Table]] = {
    InputKind.EPISODES: EpisodeRows,
    InputKind.VERDICTS: VerdictRows,
    InputKind.ANSWERS: AnswerRows,
}
"""The contract of a kind's accepted rows."""
