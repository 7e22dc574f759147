"""Opening Parquet files of unknown make, in batches of bounded size."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from judgebatch.errors import InputError
from judgebatch.inputs.arrow import ParquetFile, RecordBatch, Schema, pa, pq, pt
from judgebatch.inputs.files import InputFile, read_error
from judgebatch.inputs.spec import InputSpec

_MAGIC = b"PAR1"
_MOST_ROWS = 100_000
_FEWEST_ROWS = 1_000
_BATCH_BYTES = 64 << 20
_SPAN_BYTES = 128 << 20
_SPAN_ROWS = 500_000
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


@contextmanager
def open_parquet(file: InputFile, spec: InputSpec) -> Iterator[ParquetFile]:
    """Open a file and read its footer.

    Raises
    ------
    InputError
        The file is empty, not Parquet, truncated, or cannot be read.
    """
    where = place(file, spec)
    _check_ends(file, where)
    try:
        # Page checksums, where a writer left them, tell damage from data.
        source = file.location if isinstance(file.location, Path) else file.open()
        parquet = pq.ParquetFile(
            source, page_checksum_verification=True, arrow_extensions_enabled=False
        )
        _decode_names(parquet.schema_arrow)
    except _FAILURES as error:
        raise _failed(file, where, error) from None
    with parquet:
        yield parquet


def spans(parquet: ParquetFile) -> list[Span]:
    """Return the file in parts that can be read side by side: about 128 MiB or 500,000 rows.

    The parts depend on the file alone.
    """
    meta = parquet.metadata
    found: list[Span] = []
    first = first_row = row = size = 0
    for index in range(meta.num_row_groups):
        group = meta.row_group(index)
        size += group.total_byte_size
        row += group.num_rows
        full = size >= _SPAN_BYTES or row - first_row >= _SPAN_ROWS
        if full or index == meta.num_row_groups - 1:
            found.append(Span(range(first, index + 1), first_row))
            first, first_row, size = index + 1, row, 0
    return found or [Span()]


def batches(
    parquet: ParquetFile, file: InputFile, spec: InputSpec, span: Span
) -> Iterator[RecordBatch]:
    """Yield the rows of a span in order, in batches of up to 100,000 rows or about 64 MiB.

    Raises
    ------
    InputError
        A page is damaged, or text is not UTF-8.
    """
    meta = parquet.metadata
    size = sum(meta.row_group(index).total_byte_size for index in range(meta.num_row_groups))
    per_row = max(1, size // max(1, meta.num_rows))
    rows = min(_MOST_ROWS, max(_FEWEST_ROWS, _BATCH_BYTES // per_row))
    try:
        groups = None if span.groups is None else list(span.groups)
        for batch in parquet.iter_batches(batch_size=rows, row_groups=groups):
            batch.validate(full=True)
            yield batch
    except _FAILURES as error:
        raise _failed(file, place(file, spec), error) from None


def _check_ends(file: InputFile, where: str) -> None:
    try:
        with file.open() as handle:
            head = handle.read(4)
            size = handle.seek(0, 2)
            handle.seek(max(0, size - 4))
            tail = handle.read(4)
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
    if tail != _MAGIC or size < 12:
        raise InputError(
            f"{where} is truncated: a Parquet file ends with {_MAGIC!r} and this one, of {size} "
            "bytes, does not. Copy or write it again."
        )


def _decode_names(schema: Schema) -> None:
    """Fail here, not later, where a damaged footer has names that are no text."""
    for field in schema:
        _ = (field.name, field.type.tz if pt.is_timestamp(field.type) else None)


def _failed(file: InputFile, where: str, error: BaseException) -> InputError:
    """Return what a failure while reading means: the file changed, or it is damaged."""
    if isinstance(error, OSError) and error.errno is not None:
        return read_error(file, error)
    first = str(error).strip().splitlines()
    detail = first[0].rstrip(".") if first else type(error).__name__
    return InputError(f"{where} is damaged Parquet: {detail}. Copy or write it again.")
