"""Finding single rows of an input file again."""

from collections.abc import Mapping

import polars as pl

from judgebatch.errors import InputError
from judgebatch.inputs.files import InputFile
from judgebatch.inputs.parquet import batches, open_parquet
from judgebatch.inputs.spec import InputSpec


def rows_with(file: InputFile, spec: InputSpec, values: Mapping[str, str]) -> list[int]:
    """Return the numbers of the rows whose columns have these values; reads those columns alone.

    Raises
    ------
    InputError
        The file cannot be read, or is not Parquet with these columns.
    """
    found: list[int] = []
    first = 0
    same = [pl.col(name).cast(pl.String) == value for name, value in values.items()]
    with open_parquet(file, spec) as parquet:
        for name in values:
            if name not in parquet.schema.names:
                raise _another(file, f"it has no column {name!r}")
        for batch in batches(parquet, file, spec, columns=list(values)):
            try:
                rows = pl.DataFrame(batch).with_row_index("row", first)
                found += rows.filter(same)["row"].to_list()
            except pl.exceptions.PolarsError as error:
                raise _another(file, str(error).splitlines()[0]) from None
            first += batch.num_rows
    return found


def _another(file: InputFile, what: str) -> InputError:
    return InputError(f"{file.location} is not the file that a run read: {what}.")
