"""What only answers have: distributions over levels, and a wide form."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import duckdb
import polars as pl

from judgebatch.contracts.policies import AnswerRows
from judgebatch.contracts.table import schema_of
from judgebatch.inputs.arrow import Array, DataType, pa, pc, pt
from judgebatch.inputs.spec import WideQuestion

LEVELS = schema_of(AnswerRows)["probabilities"]
_LOOSE = pl.List(pl.Struct({"level": pl.String(), "probability": pl.Float64()}))
_AS_MAP = "SELECT try_cast(try_cast(text AS JSON) AS MAP(VARCHAR, DOUBLE)) AS levels FROM texts"


class Distributions(NamedTuple):
    """Distributions as lists of (level, probability), and what is wrong with a row's."""

    values: pl.Series
    problems: pl.Series


def is_distribution(kind: DataType) -> bool:
    """Return whether a nested Arrow type is a map, or a list of (level, probability)."""
    if pt.is_map(kind):
        return _is_level(kind.key_type) and _is_number(kind.item_type)
    if not (pt.is_list(kind) or pt.is_large_list(kind)) or not pt.is_struct(kind.value_type):
        return False
    entry = kind.value_type
    names = [entry.field(index).name for index in range(entry.num_fields)]
    return (
        sorted(names) == ["level", "probability"]
        and _is_level(entry.field("level").type)
        and _is_number(entry.field("probability").type)
    )


def read_distributions(name: str, array: Array) -> Distributions:
    """Return a column of distributions, given as JSON text, maps or lists.

    A level that is no integer becomes null, so that the evaluator reports the answer as malformed;
    text that is no JSON object is a problem of its row.
    """
    if pt.is_map(array.type) or pt.is_list(array.type) or pt.is_large_list(array.type):
        values = _levels(array)
        return Distributions(values, pl.repeat(None, len(values), dtype=pl.String, eager=True))
    texts = pa.table({"text": array.cast(pa.string())})
    with duckdb.connect() as engine:
        engine.register("texts", texts)
        mapped: Any = engine.sql(_AS_MAP).to_arrow_table()
    values = _levels(mapped["levels"].combine_chunks())
    unread = values.is_null() & pl.Series(array.cast(pa.large_string())).is_not_null()
    message = f"{name} is not a JSON object of levels and their probabilities"
    problems = pl.select(pl.when(unread).then(pl.lit(message))).to_series()
    return Distributions(values, problems)


def _levels(array: Array) -> pl.Series:
    if pt.is_map(array.type):
        whole = pa.concat_arrays([array])
        entries = pa.StructArray.from_arrays(
            [whole.keys.cast(pa.string()), whole.items.cast(pa.float64())],
            names=["level", "probability"],
        )
        array = pa.ListArray.from_arrays(whole.offsets, entries, mask=pc.is_null(whole))
    return pl.Series("levels", array).cast(_LOOSE).cast(LEVELS, strict=False)


def long_answers(
    frame: pl.DataFrame, wide: Sequence[WideQuestion], names: Mapping[tuple[str, str], str]
) -> pl.DataFrame:
    """Return wide answers long: one row per episode and question that has any value.

    ``names`` gives the frame's column of each (question, answer column).
    """
    schema = schema_of(AnswerRows)
    parts = []
    for one in wide:
        own = {column: names[one.question, column] for column in one.columns}
        parts.append(
            frame.filter(pl.any_horizontal(pl.col(column).is_not_null() for column in own.values()))
            .select(
                pl.lit(one.question).alias("question"),
                pl.lit(one.answer_type).alias("answer_type"),
                *[pl.col(source).alias(column) for column, source in own.items()],
                *["tenant_id", "episode_id", "answered_at", "source_file", "source_row"],
            )
            .with_columns(
                pl.lit(None, dtype).alias(name)
                for name, dtype in schema.items()
                if name in {"probability", "choice", "confidence", "score", "probabilities"}
                and name not in own
            )
            .select(schema.names())
        )
    return pl.concat(parts).sort("source_row", "question")


def _is_level(kind: DataType) -> bool:
    return bool(pt.is_integer(kind) or pt.is_string(kind) or pt.is_large_string(kind))


def _is_number(kind: DataType) -> bool:
    return bool(pt.is_integer(kind) or pt.is_floating(kind))
