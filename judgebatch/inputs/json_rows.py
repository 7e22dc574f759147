"""Rows of any Arrow table as JSON text, one object a row, the same text for the same values.

Members stand in the order of the columns given. Values that JSON has no form for become text:
binary as hexadecimal, decimals as their digits, times in ISO 8601, NaN and infinities by name.
"""

import math
from collections.abc import Sequence
from typing import Any

import orjson
import polars as pl

from judgebatch.inputs.arrow import Array, DataType, pa, pc, pt


def json_rows(columns: Sequence[tuple[str, Array]], height: int) -> pl.Series:
    """Return a String series of ``height`` JSON objects with the given members.

    Raises
    ------
    TypeError
        A column holds values that Python has no form for; names the column.
    """
    if not columns:
        return pl.repeat("{}", height, dtype=pl.String, eager=True).alias("json")
    members = pl.DataFrame(
        [_members(name, array).alias(str(index)) for index, (name, array) in enumerate(columns)]
    )
    text = pl.concat_str(pl.lit("{"), pl.concat_str(pl.all(), separator=","), pl.lit("}"))
    return members.select(text.alias("json")).to_series()


def _members(name: str, array: Array) -> pl.Series:
    """Return ``"name":value`` for every value."""
    key = orjson.dumps(name).decode() + ":"
    plain = _plain(array)
    if plain is None:
        return _one_by_one(name, key, array)
    far = _outside_the_calendar(plain)
    if far is not None:
        plain = pc.if_else(pa.array(far.is_null().to_numpy()), plain, None)
    values = pl.Series(_VALUE, plain)
    value = pl.struct(_VALUE).struct.json_encode().str.strip_prefix(f'{{"{_VALUE}":')
    value = value.str.strip_suffix("}")
    if values.dtype.is_float():
        number = pl.col(_VALUE)
        value = (
            pl.when(number.is_nan())
            .then(pl.lit('"NaN"'))
            .when(number == float("inf"))
            .then(pl.lit('"Infinity"'))
            .when(number == float("-inf"))
            .then(pl.lit('"-Infinity"'))
            .otherwise(value)
        )
    if far is not None:
        value = pl.coalesce(pl.lit(far), value)
    return values.to_frame().select(pl.concat_str(pl.lit(key), value)).to_series()


def _outside_the_calendar(array: Array) -> pl.Series | None:
    """Return texts for dates and moments outside the years 1 to 9999; None where there are none.

    ISO 8601 has no form for them, and Polars none either; they become a number with its unit.
    """
    if pt.is_date32(array.type):
        number, unit, per_day = array.cast(pa.int32()), "days", 1
    elif pt.is_timestamp(array.type) and array.type.unit != "ns":
        number, unit = array.cast(pa.int64()), array.type.unit
        per_day = _PER_DAY[unit]
    else:
        return None
    given = pl.Series("number", number)
    far = (given < _FIRST_DAY * per_day) | (given >= _END_DAY * per_day)
    if not far.any():
        return None
    text = pl.format('"{} {} since 1970"', pl.col("number"), pl.lit(unit))
    return given.to_frame().select(pl.when(pl.lit(far)).then(text)).to_series()


def _plain(array: Array) -> Array | None:
    """Return the array as one that Polars writes as JSON in full; None where there is none."""
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return _plain(array.storage)
    if pt.is_dictionary(kind):
        return _plain(array.dictionary_decode())
    if pt.is_decimal(kind) or (pt.is_time64(kind) and kind.unit == "ns"):
        return array.cast(pa.string())
    if pt.is_timestamp(kind):
        return array.cast(pa.timestamp(kind.unit, "UTC" if kind.tz else None))
    return array if pt.is_date32(kind) or _is_plain(kind) else None


def _is_plain(kind: DataType) -> bool:
    if pt.is_list(kind) or pt.is_large_list(kind):
        return _is_plain(kind.value_type) and not pt.is_floating(kind.value_type)
    if pt.is_struct(kind):
        inner = [kind.field(index).type for index in range(kind.num_fields)]
        return bool(inner) and all(_is_plain(one) and not pt.is_floating(one) for one in inner)
    texts = pt.is_string(kind) or pt.is_large_string(kind)
    numbers = pt.is_integer(kind) or pt.is_float32(kind) or pt.is_float64(kind)
    others = pt.is_boolean(kind) or pt.is_null(kind)
    return bool(texts or numbers or others)


def _one_by_one(name: str, key: str, array: Array) -> pl.Series:
    """Encode values that no columnar encoder takes in full: nested binary, maps and the like."""
    try:
        texts = [f"{key}{orjson.dumps(_value(one)).decode()}" for one in array.to_pylist()]
    except (ValueError, OverflowError, ArithmeticError, TypeError, RecursionError) as error:
        raise TypeError(f"column {name!r} of type {array.type}: {error}") from None
    return pl.Series(_VALUE, texts, dtype=pl.String)


def _value(value: Any) -> Any:
    """Return a value of an Arrow array as one that JSON has a form for."""
    if isinstance(value, dict):
        return {str(key): _value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_value(inner) for inner in value]
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else _WORDS[str(value)]
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


_VALUE = "value"
_FIRST_DAY = -719_162
_END_DAY = 2_932_897
_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000}
_WORDS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
