"""Files that hold stored verdicts: how they are cut into parts, and what a part holds."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import orjson
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from judgebatch.errors import InputError, did_you_mean
from judgebatch.imports.result_documents import VERDICT_MEMBERS, Held, held
from judgebatch.vocabulary import QuarantineReason

BATCH_ROWS = 16_384
BATCH_BYTES = 64 << 20
"""A batch has at most this many rows, and ends with the text that brings it to this size."""
PART_BYTES = 64 << 20
"""Lines are cut into parts of about this size."""

FLAGS = ("recorded_passed", "passed", "success")
"""Columns that say what an older pipeline recorded; the first one there counts."""
ID = "verdict_id"

_UNREADABLE = QuarantineReason.UNREADABLE_VERDICT.value
_FIRST_KEY = r'^\s*\{\s*"([^"\\]*)"'
_MAGIC = b"PAR1"
_COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "Zstandard", b"PK\x03\x04": "zip"}
"""How files begin that hold no lines before they are unpacked."""
_MARK = b"\xef\xbb\xbf"
"""A byte order mark: at the beginning of a file it is no part of the text."""

SCHEMA = {
    "source_row": pl.Int64,
    "item": pl.Int64,
    "verdict_id": pl.String,
    "recorded_passed": pl.Boolean,
    "verdict": pl.String,
    "problem": pl.String,
    "reason": pl.String,
}
"""Columns of a batch: ``problem`` says what is wrong where there is no verdict, and ``reason`` is
the quarantine's token for it."""


class Form(StrEnum):
    """How a file holds verdicts."""

    PARQUET = "parquet"
    LINES = "lines"
    DOCUMENT = "document"


@dataclass(frozen=True)
class Part:
    """A part of a file, which one process reads.

    ``begin`` and ``end`` are row groups of a Parquet file, or bytes; ``first_row`` is the number
    of the part's first row or line.
    """

    path: Path
    form: Form
    column: str
    begin: int
    end: int
    first_row: int


def parts(path: Path, column: str) -> list[Part]:
    """Return the parts of a file, in order.

    Parameters
    ----------
    path
        A Parquet file with a column of JSON text, lines of JSON, or one JSON document.
    column
        The name of that column.

    Raises
    ------
    InputError
        The file cannot be read, or has no such column.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
        if magic == _MAGIC:
            return _parquet_parts(path, column)
        for begins, packer in _COMPRESSED.items():
            if magic.startswith(begins):
                raise InputError(
                    f"{path} is compressed ({packer}). Unpack it first: Parquet and lines of JSON "
                    "are read as they are."
                )
        if _is_document(path):
            return [Part(path, Form.DOCUMENT, column, 0, path.stat().st_size, 0)]
        return list(_line_parts(path, column))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error


def _parquet_parts(path: Path, column: str) -> list[Part]:
    try:
        metadata = pq.read_metadata(path)
        schema = metadata.schema.to_arrow_schema()
    except pa.ArrowException as error:
        raise InputError(f"{path} is not readable Parquet: {error}.") from error
    if column not in schema.names:
        raise InputError(
            f"{path} has no column {column!r}{did_you_mean(column, schema.names)}; its columns "
            f"are {', '.join(schema.names)}. Name the one with the verdicts' JSON text: --column "
            "NAME."
        )
    if not _is_text(schema.field(column).type):
        raise InputError(
            f"column {column!r} of {path} holds {schema.field(column).type}, not JSON text. Name "
            f"another one with --column NAME; the columns are {', '.join(schema.names)}."
        )
    found, first = [], 0
    for group in range(metadata.num_row_groups):
        found.append(Part(path, Form.PARQUET, column, group, group + 1, first))
        first += metadata.row_group(group).num_rows
    return found


def _is_text(dtype: pa.DataType) -> bool:
    inner = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
    return bool(
        pa.types.is_string(inner)
        or pa.types.is_large_string(inner)
        or pa.types.is_string_view(inner)
        or pa.types.is_null(inner)
    )


def _is_document(path: Path) -> bool:
    """Return whether a file is one JSON document over several lines."""
    with path.open("rb") as file:
        for line in file:
            begun = line.removeprefix(_MARK)
            if begun.strip():
                # A broken line is no reason to read all of a large file at once.
                return _is_open(begun) and _is_json(path.read_bytes().removeprefix(_MARK))
    return False


def _is_open(text: bytes) -> bool:
    """Return whether a text is JSON as far as it goes, and goes on."""
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return error.pos == len(error.doc)
    return False


def _is_json(text: bytes) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def _line_parts(path: Path, column: str) -> Iterator[Part]:
    """Yield parts that begin and end with lines."""
    begin = first = 0
    with path.open("rb") as file:
        while chunk := file.read(PART_BYTES):
            rest = b"" if chunk.endswith(b"\n") else file.readline()
            end = file.tell()
            yield Part(path, Form.LINES, column, begin, end, first)
            first += chunk.count(b"\n") + rest.count(b"\n")
            begin = end


def batches(part: Part) -> Iterator[pl.DataFrame]:
    """Yield what a part holds, in order, in batches of bounded size with the columns of SCHEMA.

    Raises
    ------
    InputError
        The file cannot be read any more.
    """
    try:
        if part.form is Form.PARQUET:
            yield from _parquet_batches(part)
        elif part.form is Form.DOCUMENT:
            yield from _slices(_document(part))
        else:
            yield from _slices(_lines(part))
    except OSError as error:
        raise InputError(f"{part.path} cannot be read: {error.strerror or error}.") from error
    except pa.ArrowException as error:
        raise InputError(f"{part.path} is not readable Parquet: {error}.") from error


def _parquet_batches(part: Part) -> Iterator[pl.DataFrame]:
    with pq.ParquetFile(part.path) as file:
        names = file.schema_arrow.names
        flag = next((name for name in FLAGS if name in names), None)
        wanted = [name for name in (part.column, ID, flag) if name in names]
        row = part.first_row
        for batch in file.iter_batches(BATCH_ROWS, [part.begin], wanted):
            rows = pl.DataFrame(pl.from_arrow(batch))
            text = pl.col(part.column).cast(pl.String)
            frame = rows.select(
                source_row=pl.int_range(row, row + pl.len(), dtype=pl.Int64),
                item=pl.lit(0, dtype=pl.Int64),
                verdict_id=pl.col(ID).cast(pl.String) if ID in wanted else pl.lit(None, pl.String),
                recorded_passed=_flag(rows, flag),
                verdict=text,
                problem=pl.when(text.is_null()).then(pl.lit("the row has no verdict")),
                reason=pl.lit(QuarantineReason.BAD_ROW.value),
            )
            row += rows.height
            yield from _slices(frame)


def _flag(rows: pl.DataFrame, name: str | None) -> pl.Expr:
    if name is None or rows.schema[name] != pl.Boolean:
        return pl.lit(None, dtype=pl.Boolean)
    return pl.col(name)


def _document(part: Part) -> pl.DataFrame:
    text = part.path.read_bytes().removeprefix(_MARK).decode(errors="replace")
    return _frame((part.first_row, one) for one in held(text))


def _lines(part: Part) -> pl.DataFrame:
    with part.path.open("rb") as file:
        file.seek(part.begin)
        content = file.read(part.end - part.begin)
    if part.begin == 0:
        content = content.removeprefix(_MARK)
    lines = content.split(b"\n")
    try:
        texts = pl.Series("verdict", content.decode().split("\n"), dtype=pl.String)
        broken: dict[int, str] = {}
    except UnicodeDecodeError:
        texts, broken = _decoded(lines)
    rows = pl.DataFrame({"verdict": texts}).with_columns(
        source_row=pl.int_range(part.first_row, part.first_row + pl.len(), dtype=pl.Int64)
    )
    first_key = pl.col("verdict").str.extract(_FIRST_KEY)
    kinds = rows.select(
        blank=pl.col("verdict").str.strip_chars(" \t\r\n") == "",
        bare=first_key.is_in(VERDICT_MEMBERS).fill_null(value=False),
    )
    bare = rows.filter(kinds["bare"]).select(
        "source_row",
        item=pl.lit(0, dtype=pl.Int64),
        verdict_id=pl.lit(None, dtype=pl.String),
        recorded_passed=pl.lit(None, dtype=pl.Boolean),
        verdict=pl.col("verdict").str.strip_chars_end("\r"),
        problem=pl.lit(None, dtype=pl.String),
        reason=pl.lit(_UNREADABLE),
    )
    others = rows.filter(~kinds["bare"] & ~kinds["blank"])
    read = _frame(
        (row, one)
        for row, text in zip(
            others["source_row"].to_list(), others["verdict"].to_list(), strict=True
        )
        for one in _line(text, broken.get(row - part.first_row))
    )
    return pl.concat([bare, read]).sort("source_row", "item")


def _line(text: str, problem: str | None) -> Iterator[Held]:
    if problem is not None:
        yield Held(0, None, None, text, problem)
    else:
        yield from held(text)


def _decoded(lines: list[bytes]) -> tuple[pl.Series, dict[int, str]]:
    """Return lines as text, and what is wrong with those that are not UTF-8."""
    texts, broken = [], {}
    for at, line in enumerate(lines):
        try:
            texts.append(line.decode())
        except UnicodeDecodeError as error:
            texts.append(f"\ufffd{line.decode(errors='replace')}")
            broken[at] = f"not UTF-8: {error.reason} at byte {error.start}"
    return pl.Series("verdict", texts, dtype=pl.String), broken


def _frame(found: Iterator[tuple[int, Held]]) -> pl.DataFrame:
    rows = [(row, *one) for row, one in found]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _slices(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield a frame in batches of bounded size."""
    size = pl.col("verdict").str.len_bytes().fill_null(0).cast(pl.Int64).cum_sum()
    cuts = frame.select(
        cut=size // BATCH_BYTES * frame.height + pl.int_range(pl.len()) // BATCH_ROWS
    )
    lengths = cuts["cut"].rle().struct.field("len").to_list()
    first = 0
    for length in lengths:
        yield frame.slice(first, length)
        first += length
