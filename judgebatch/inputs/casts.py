"""Columns of a file as columns of the contract, with what is wrong in which row.

Each cast gives the values and, beside them, a message for every row that cannot be accepted
(null where it can). Nothing is decided row by row in Python.
"""

from typing import NamedTuple

import numpy as np
import polars as pl

from judgebatch.errors import InputError
from judgebatch.inputs.answers import read_distributions
from judgebatch.inputs.arrow import Array, DataType, pa, pc, pt
from judgebatch.inputs.money import (
    NanoUsd,
    nano_from_decimals,
    nano_from_doubles,
    nano_from_integers,
)
from judgebatch.inputs.types import Column, Form

MICROSECONDS = pl.Datetime("us", "UTC")
_FIRST_US = -62_135_596_800_000_000
_LAST_US = 253_402_300_799_999_999
# Years 1 to 9999: what every reader of the published tables can hold.
_PER_UNIT = {"s": 1_000_000, "ms": 1_000, "us": 1}
_EXACT = 2**53
_NANOSECONDS_PER_MICROSECOND = 1_000


class Cast(NamedTuple):
    """Values of a column, and what is wrong with a row's (null where nothing is)."""

    values: pl.Series
    problems: pl.Series


def cast_column(column: Column, array: Array, zone: str | None, place: str) -> Cast:
    """Cast an array of an accepted type; ``zone`` is that of timestamps without one.

    Money becomes integer nano-dollars, times UTC microseconds. Nulls are problems of columns
    that may not be null.

    Raises
    ------
    InputError
        A timestamp in nanoseconds lies between two microseconds.
    """
    plain = _plain(array)
    if pt.is_null(plain.type):
        plain = pa.nulls(len(plain), _EMPTY[column.form])
    match column.form:
        case Form.TEXT:
            cast = _no_problem(pl.Series(plain.cast(pa.large_string())))
        case Form.FLAG:
            cast = _no_problem(pl.Series(plain))
        case Form.COUNT:
            cast = _count(column.name, plain)
        case Form.NUMBER:
            cast = _number(column.name, plain)
        case Form.MONEY:
            cast = _money(column.name, plain)
        case Form.TIME:
            cast = _time(column.name, plain, zone, place)
        case Form.MEASURED:
            cast = _no_problem(pl.Series(plain.cast(pa.float64(), safe=False)))
        case Form.LEVELS:
            cast = Cast(*read_distributions(column.name, plain))
    values = cast.values.alias(column.name)
    missing = (
        pl.when(values.is_null()).then(pl.lit(f"{column.name} is null"))
        if not column.nullable
        else pl.lit(None, pl.String)
    )
    problems = pl.select(pl.coalesce(cast.problems, missing)).to_series()
    return Cast(values, problems.alias("problem"))


_EMPTY: dict[Form, DataType] = {
    Form.TEXT: pa.string(),
    Form.FLAG: pa.bool_(),
    Form.COUNT: pa.int64(),
    Form.NUMBER: pa.float64(),
    Form.MEASURED: pa.float64(),
    Form.MONEY: pa.float64(),
    Form.TIME: pa.timestamp("us", "UTC"),
    Form.LEVELS: pa.string(),
}


def _plain(array: Array) -> Array:
    while True:
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        elif pt.is_dictionary(array.type):
            array = array.dictionary_decode()
        else:
            return array


def _no_problem(values: pl.Series) -> Cast:
    return Cast(values, pl.repeat(None, len(values), dtype=pl.String, eager=True))


def _count(name: str, array: Array) -> Cast:
    given = pl.Series("v", array)
    value = pl.col("v")
    problem = (
        pl.when(value > 2**63 - 1)
        .then(_say(name, "is too large"))
        .when(value < 0)
        .then(_say(name, "is negative"))
    )
    return _cast(given, value.cast(pl.Int64, strict=False), problem)


def _number(name: str, array: Array) -> Cast:
    given = pl.Series("v", array)
    value = pl.col("v")
    if given.dtype.is_integer():
        problem = (
            pl.when((value > _EXACT) | (value < -_EXACT))
            .then(_say(name, "cannot be held exactly"))
            .when(value < 0)
            .then(_say(name, "is negative"))
        )
        return _cast(given, value.cast(pl.Float64), problem)
    given = given.cast(pl.Float64)
    # Adding zero turns a negative zero into zero.
    return _cast(given, value + 0.0, _not_an_amount(name))


def _not_an_amount(name: str) -> pl.Expr:
    value = pl.col("v")
    return (
        pl.when(~value.is_finite())
        .then(_say(name, "is not finite"))
        .when(value < 0)
        .then(_say(name, "is negative"))
    )


def _money(name: str, array: Array) -> Cast:
    problem: pl.Expr
    if pt.is_decimal(array.type):
        given = pl.Series("v", array.cast(pa.string()))
        nano = nano_from_decimals(array)
        # The digits of a negative decimal start with its sign, and zero has none.
        problem = pl.when(pl.col("v").str.starts_with("-")).then(_say(name, "is negative"))
    else:
        given = pl.Series("v", array)
        if given.dtype.is_integer():
            held = given.cast(pl.Int64, strict=False).fill_null(2**63 - 1)
            nano = nano_from_integers(held.to_numpy())
            problem = pl.when(pl.col("v") < 0).then(_say(name, "is negative"))
        else:
            given = given.cast(pl.Float64)
            nano = nano_from_doubles(given.fill_null(0.0).to_numpy())
            problem = _not_an_amount(name)
    too_large = pl.lit(pl.Series(nano.too_large)) & pl.col("v").is_not_null()
    worst = pl.coalesce(problem, pl.when(too_large).then(_say(name, "is too large")))
    return _cast(given, _nano(nano, given), worst)


def _nano(nano: NanoUsd, given: pl.Series) -> pl.Expr:
    values = pl.Series(nano.values, dtype=pl.Int64)
    return pl.when(pl.lit(given.is_not_null())).then(pl.lit(values))


def _time(name: str, array: Array, zone: str | None, place: str) -> Cast:
    raw = array.cast(pa.int64())
    if array.type.unit == "ns":
        _refuse_remainders(name, array, raw, place)
        given = pl.Series("v", raw) // _NANOSECONDS_PER_MICROSECOND
        factor = 1
    else:
        given = pl.Series("v", raw)
        factor = _PER_UNIT[array.type.unit]
    value = pl.col("v")
    outside = (value < -(-_FIRST_US // factor)) | (value > _LAST_US // factor)
    held = pl.when(~outside).then(value * factor)
    problem = pl.when(outside).then(pl.lit(f"{name} lies outside the years 1 to 9999"))
    if array.type.tz is not None:
        return _cast(given, held.cast(MICROSECONDS), problem)
    local = held.cast(pl.Datetime("us")).dt.replace_time_zone(
        zone, ambiguous="null", non_existent="null"
    )
    at = local.dt.convert_time_zone("UTC")
    lost = value.is_not_null() & ~outside & local.is_null()
    after = (at.cast(pl.Int64) < _FIRST_US) | (at.cast(pl.Int64) > _LAST_US)
    worst = (
        pl.when(outside | after)
        .then(pl.lit(f"{name} lies outside the years 1 to 9999"))
        .when(lost)
        .then(pl.lit(f"{name} is a local time that {zone} has twice or not at all"))
    )
    return _cast(given, at, worst)


def _refuse_remainders(name: str, array: Array, raw: Array, place: str) -> None:
    odd = np.flatnonzero(pc.fill_null(raw, 0).to_numpy() % _NANOSECONDS_PER_MICROSECOND)
    if len(odd):
        row = int(odd[0])
        moment = array[row].cast(pa.string()).as_py()
        raise InputError(
            f"{place}: column {name} should be a timestamp in whole microseconds, and holds "
            f"{moment}. Round it to microseconds where it is written."
        )


def _cast(given: pl.Series, values: pl.Expr, problem: pl.Expr) -> Cast:
    made = given.to_frame().select(values=values, problems=problem)
    return Cast(made["values"], made["problems"].cast(pl.String))


def _say(name: str, what: str) -> pl.Expr:
    return pl.concat_str(pl.lit(f"{name} {what}: "), pl.col("v").cast(pl.String))
