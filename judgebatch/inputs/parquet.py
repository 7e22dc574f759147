"""Opening Parquet files of unknown make, in batches of bounded size."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from judgebatch.errors import InputError, StoreError
from judgebatch.inputs.arrow import DataType, ParquetFile, RecordBatch, Schema, pa, pq, pt
from judgebatch.inputs.bounds import (
    MOST_FOOTER_BYTES,
    TooLargeError,
    checked_groups,
    portions,
)
from judgebatch.inputs.files import InputFile, read_error
from judgebatch.inputs.spec import InputSpec
from judgebatch.inputs.thrift import RowGroup

_MAGIC = b"PAR1"
_MOST_ROWS = 100_000
_BATCH_BYTES = 64 << 20
_SPAN_BYTES = 128 << 20
_SPAN_ROWS = 500_000
_PUNCTUATION = len('"":null,')
_READ_BYTES = 1 << 20
_REMOTE_READ_BYTES = 8 << 20
_MOST_UNPACKED = 2 << 30
_MOST_TIMES = 1_000
_SMALL_ROW = 1 << 10
_FAILURES = (pa.ArrowException, OSError, ValueError, MemoryError, RecursionError, OverflowError)


@dataclass(frozen=True)
class Span:
    """Consecutive row groups of a file; without ``groups`` the whole file.

    Parameters
    ----------
    groups
        Their numbers.
    first_row
        The number of their first row in the file.
    """

    groups: range | None = None
    first_row: int = 0


def place(file: InputFile, spec: InputSpec) -> str:
    """Return how messages name a file of an input."""
    return f"The {spec.kind} file {file.location}"


class OpenParquet(NamedTuple):
    """An open file, and the row groups that its footer lists."""

    arrow: ParquetFile
    groups: list[RowGroup]

    @property
    def schema(self) -> Schema:
        """The columns, as Arrow types."""
        return self.arrow.schema_arrow

    @property
    def rows(self) -> int:
        """The rows of all row groups."""
        return sum(group.rows for group in self.groups)


@contextmanager
def open_parquet(file: InputFile, spec: InputSpec) -> Iterator[OpenParquet]:
    """Open a file and read its footer.

    Raises
    ------
    InputError
        The file is empty, not Parquet, truncated, or cannot be read.
    """
    where = place(file, spec)
    try:
        file.check_unchanged()
    except OSError as error:
        raise read_error(file, error) from None
    _check_ends(file, where)
    try:
        # Page checksums, where a writer left them, tell damage from data. Without buffers a
        # column's part of a row group is read whole.
        here = isinstance(file.location, Path)
        parquet = pq.ParquetFile(
            file.location if here else file.open(),
            page_checksum_verification=True,
            arrow_extensions_enabled=False,
            pre_buffer=not here,
            buffer_size=_READ_BYTES if here else 0,
        )
        with file.open() as handle:
            groups = checked_groups(parquet, handle, file.size)
        _decode_names(parquet.schema_arrow)
    except (TooLargeError, *_FAILURES) as error:
        raise _failed(file, where, error) from None
    with parquet:
        yield OpenParquet(parquet, groups)


def spans(parquet: OpenParquet) -> list[Span]:
    """Return the file in parts that can be read side by side: about 128 MiB or 500,000 rows.

    The parts depend on the file alone.
    """
    found: list[Span] = []
    first = first_row = row = size = 0
    for index, group in enumerate(parquet.groups):
        size += group.unpacked
        row += group.rows
        full = size >= _SPAN_BYTES or row - first_row >= _SPAN_ROWS
        if full or index == len(parquet.groups) - 1:
            found.append(Span(range(first, index + 1), first_row))
            first, first_row, size = index + 1, row, 0
    return found or [Span()]


def batches(
    parquet: OpenParquet,
    file: InputFile,
    spec: InputSpec,
    span: Span = Span(),
    columns: Sequence[str] | None = None,
) -> Iterator[RecordBatch]:
    """Yield the rows of a span in order, in batches of up to 100,000 rows or about 64 MiB.

    Parameters
    ----------
    parquet, file, spec
        The open file, and which it is.
    span
        The part of it.
    columns
        The names of those to read; without them all.

    Raises
    ------
    InputError
        A page is damaged, text is not UTF-8, the file would take too much memory, or it changed.
    """
    # Every row of JSON repeats the names.
    names = sum(len(name) + _PUNCTUATION for name in parquet.schema.names)
    most = max(1, min(_MOST_ROWS, _BATCH_BYTES // max(1, names)))
    gathered: list[RecordBatch] = []
    rows = unpacked = 0
    try:
        for batch in _pieces(parquet, file, span, columns, most):
            if gathered and (rows + len(batch) > most or unpacked + batch.nbytes > _BATCH_BYTES):
                yield from _joined(gathered)
                gathered, rows, unpacked = [], 0, 0
            gathered.append(batch)
            rows += len(batch)
            unpacked += batch.nbytes
        yield from _joined(gathered)
        file.check_unchanged()
    except (TooLargeError, *_FAILURES) as error:
        raise _failed(file, place(file, spec), error) from None


def _pieces(
    parquet: OpenParquet, file: InputFile, span: Span, columns: Sequence[str] | None, most: int
) -> Iterator[RecordBatch]:
    """Yield small batches of a span, of which none is larger than the bounds allow."""
    arrow, listed = parquet
    within = range(len(listed)) if span.groups is None else span.groups
    told = sum(listed[one].rows for one in within)
    total = unpacked = 0
    with file.open() as raw:
        # In an object store every read is a request.
        handle = raw if isinstance(file.location, Path) else _in_large_reads(raw)
        for groups, rows in portions(arrow, listed, handle, file.size, within):
            for given in arrow.iter_batches(min(most, rows), groups, columns):
                given.validate(full=True)
                batch = _without_views(given)
                total += len(batch)
                unpacked += batch.nbytes
                if unpacked > max(_MOST_UNPACKED, _MOST_TIMES * file.size, _SMALL_ROW * total):
                    raise TooLargeError(
                        f"unpacks to more than {_MOST_TIMES:,} times its size, and at most "
                        f"{_MOST_UNPACKED >> 30} GiB of such a file are"
                    )
                size = max(1, len(batch) * _BATCH_BYTES // max(1, batch.nbytes))
                yield from (batch.slice(at, size) for at in range(0, len(batch), size))
    if total != told:
        raise ValueError(f"its footer counts {told:,} rows, it has {total:,}")


def _without_views(batch: RecordBatch) -> RecordBatch:
    """Return texts that are stored as views in their usual form: Arrow cannot filter views."""
    for index, field in enumerate(batch.schema):
        usual = _usual(field.type)
        if usual != field.type:
            batch = batch.set_column(index, field.name, batch.column(index).cast(usual))
    return batch


def _usual(kind: DataType) -> DataType:
    """Return a type without views of texts, at any depth."""
    if pt.is_string_view(kind):
        return pa.large_string()
    if pt.is_binary_view(kind):
        return pa.large_binary()
    if pt.is_struct(kind):
        return pa.struct([one.with_type(_usual(one.type)) for one in kind])
    inner = kind.value_field.with_type(_usual(kind.value_type)) if pt.is_list(kind) else None
    return pa.list_(inner) if inner is not None else kind


def _in_large_reads(raw: BinaryIO) -> BinaryIO:
    return BufferedReader(cast("RawIOBase", raw), _REMOTE_READ_BYTES)


def _joined(gathered: list[RecordBatch]) -> Iterator[RecordBatch]:
    """Yield batches as one, where their type can be joined."""
    if len(gathered) < 2:
        yield from gathered
        return
    try:
        whole = pa.concat_batches(gathered)
    except pa.ArrowNotImplementedError:
        yield from gathered
    else:
        yield whole


def _check_ends(file: InputFile, where: str) -> None:
    try:
        with file.open() as handle:
            head = handle.read(4)
            size = handle.seek(0, 2)
            handle.seek(max(0, size - 8))
            tail = handle.read(8)
    except OSError as error:
        raise read_error(file, error) from None
    if size == 0:
        raise InputError(
            f"{where} should be Parquet and is empty (0 bytes). Remove it, or write it again."
        )
    if head != _MAGIC:
        raise InputError(
            f"{where} should be Parquet and is not: it starts with {head!r} instead of {_MAGIC!r}. "
            "Write it as Parquet, or move it out of the input's folder."
        )
    if tail[-4:] != _MAGIC or size < 12:
        raise InputError(
            f"{where} is truncated: a Parquet file ends with {_MAGIC!r} and this one, of {size} "
            "bytes, does not. Copy or write it again."
        )
    footer = int.from_bytes(tail[:4], "little")
    if footer > size - 12:
        raise InputError(
            f"{where} is damaged Parquet: it should end with a footer of {footer:,} bytes and has "
            f"{size:,} in all. Copy or write it again."
        )
    if footer > MOST_FOOTER_BYTES:
        raise _too_large(
            where,
            f"has a footer of {footer >> 20:,} MiB, and at most {MOST_FOOTER_BYTES >> 20} MiB are",
        )


def _decode_names(schema: Schema) -> None:
    """Fail here, not later, where a damaged footer has names that are no text."""
    for field in schema:
        _ = (field.name, field.type.tz if pt.is_timestamp(field.type) else None)


def _too_large(where: str, what: str) -> InputError:
    return InputError(
        f"{where} {what} read. Write it as several files or smaller row groups, or leave out what "
        "no one needs."
    )


def _failed(file: InputFile, where: str, error: BaseException) -> InputError | StoreError:
    """Return what a failure while reading means: the file changed, is too large, or damaged."""
    try:
        file.check_unchanged()
    except OSError as found:
        return read_error(file, found)
    if isinstance(error, TooLargeError):
        return _too_large(where, str(error))
    if isinstance(error, OSError) and error.errno is not None:
        return read_error(file, error)
    first = str(error).strip().splitlines()
    detail = first[0].rstrip(".") if first else type(error).__name__
    return InputError(f"{where} is damaged Parquet: {detail}. Copy or write it again.")
