"""The users' files: finding them, mapping and casting their columns, checking their rows."""

from judgebatch.inputs.emptiness import said_of_nothing
from judgebatch.inputs.files import InputFile, discover
from judgebatch.inputs.lookup import rows_with
from judgebatch.inputs.parquet import Span
from judgebatch.inputs.reading import (
    AcceptedBatch,
    FileShape,
    inspect_file,
    read_file,
    split_file,
)
from judgebatch.inputs.spec import InputKind, InputSpec, WideQuestion

__all__ = [
    "AcceptedBatch",
    "FileShape",
    "InputFile",
    "InputKind",
    "InputSpec",
    "Span",
    "WideQuestion",
    "discover",
    "inspect_file",
    "read_file",
    "rows_with",
    "said_of_nothing",
    "split_file",
]
