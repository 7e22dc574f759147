"""Which Arrow types are taken for a column of a contract, because nothing is lost in the cast."""

from enum import Enum
from typing import NamedTuple

import polars as pl

from judgebatch.contracts.table import Table
from judgebatch.inputs.answers import is_distribution
from judgebatch.inputs.arrow import DataType, pa, pt
from judgebatch.inputs.money import MAX_SCALE


class Form(Enum):
    """What a column holds; the value is how a message calls it."""

    TEXT = "text"
    COUNT = "a whole number"
    NUMBER = "a number of 0 or more"
    MEASURED = "a number"
    MONEY = "an amount: a number or a decimal"
    FLAG = "true or false"
    TIME = "a timestamp with a time zone"
    LEVELS = "JSON text, a map, or a list of (level, probability)"


class Column(NamedTuple):
    """A column of an input contract."""

    name: str
    form: Form
    required: bool
    """Whether a file must have it."""
    nullable: bool
    """Whether a row may lack it."""


MONEY_COLUMNS = frozenset({"cost_usd"})
LEVEL_COLUMNS = frozenset({"probabilities"})
MEASURED_COLUMNS = frozenset({"probability", "confidence", "score"})
"""Parts of answers: whether a number makes sense there is for the policies to say."""
ALWAYS_PRESENT = frozenset({"answer_type"})
"""Columns that a file must have although a row may lack a value."""


def columns_of(table: type[Table]) -> list[Column]:
    """Return the columns of an input contract, in its order."""
    return [
        Column(
            name,
            _form(name, column.dtype),
            required=not column.nullable or name in ALWAYS_PRESENT,
            nullable=column.nullable,
        )
        for name, column in table.columns().items()
    ]


def _form(name: str, dtype: pl.DataType) -> Form:
    if name in MONEY_COLUMNS:
        return Form.MONEY
    if name in LEVEL_COLUMNS:
        return Form.LEVELS
    if name in MEASURED_COLUMNS:
        return Form.MEASURED
    by_type = {
        pl.String(): Form.TEXT,
        pl.Int64(): Form.COUNT,
        pl.Float64(): Form.NUMBER,
        pl.Boolean(): Form.FLAG,
    }
    return by_type.get(dtype, Form.TIME)


def storage(kind: DataType) -> DataType:
    """Return the type below extensions and dictionaries."""
    while True:
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        elif pt.is_dictionary(kind):
            kind = kind.value_type
        else:
            return kind


def accepts(form: Form, given: DataType) -> bool:
    """Return whether a file's column of type ``given`` can stand for a column of ``form``.

    A column without any value has no type; it is taken for any.
    """
    kind = storage(given)
    text = pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind)
    number = pt.is_integer(kind) or pt.is_floating(kind)
    decimal = pt.is_decimal(kind) and 0 <= kind.scale <= MAX_SCALE
    accepted = {
        Form.TEXT: text,
        Form.COUNT: pt.is_integer(kind),
        Form.NUMBER: number,
        Form.MEASURED: number,
        Form.MONEY: number or decimal,
        Form.FLAG: pt.is_boolean(kind),
        Form.TIME: pt.is_timestamp(kind),
        Form.LEVELS: text or is_distribution(kind),
    }
    return bool(pt.is_null(kind) or accepted[form])
