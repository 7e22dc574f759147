"""Finding single rows of an input file again."""

from collections.abc import Mapping

import polars as pl
import pyarrow.parquet as pq

from judgebatch.errors import InputError
from judgebatch.inputs.files import InputFile, read_error

_BATCH_ROWS = 65_536


def rows_with(file: InputFile, values: Mapping[str, str]) -> list[int]:
    """Return the numbers of the rows whose columns have these values; reads those columns alone.

    Raises
    ------
    InputError
        The file cannot be read, or is not Parquet with these columns.
    """
    found: list[int] = []
    first = 0
    same = [pl.col(name).cast(pl.String) == value for name, value in values.items()]
    try:
        with file.open() as source, pq.ParquetFile(source) as parquet:
            for batch in parquet.iter_batches(_BATCH_ROWS, columns=list(values)):
                rows = pl.DataFrame(pl.from_arrow(batch)).with_row_index("row", first)
                found += rows.filter(same)["row"].to_list()
                first += batch.num_rows
    except OSError as error:
        raise read_error(file, error) from None
    except (ValueError, KeyError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"{file.location} is not the file that a run read: {str(error).splitlines()[0]}"
        ) from None
    return found
