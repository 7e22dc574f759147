"""The files of ``judgebatch policy``: policies, questions, and answers to try them on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa

from judgebatch.contracts.policies import AnswerRows
from judgebatch.contracts.table import conform, schema_of
from judgebatch.errors import InputError, UsageError, did_you_mean
from judgebatch.inputs import InputKind, InputSpec, discover
from judgebatch.inputs.answers import read_distributions
from judgebatch.inputs.parquet import batches, open_parquet
from judgebatch.pipeline.policy_plan import read_text
from judgebatch.policies import Question, ValidatedPolicy
from judgebatch.policies.admission import KEY, compare_answers
from judgebatch.policies.documents import read_policy, read_questions

NUMBERS = ("probability", "confidence", "score")
TEXTS = ("tenant_id", "episode_id", "question", "answer_type", "choice")
REQUIRED = ("episode_id", "question", "answer_type")
_LEVELS = "STRUCT(level VARCHAR, probability DOUBLE)[]"
_DISTRIBUTION = f"""
CASE json_type(probabilities)
WHEN 'NULL' THEN NULL
WHEN 'VARCHAR' THEN probabilities ->> '$'
WHEN 'ARRAY' THEN coalesce(
    to_json(try(map_from_entries(try_cast(probabilities AS {_LEVELS}))))::VARCHAR,
    probabilities::VARCHAR
)
ELSE probabilities::VARCHAR
END
"""


def load_questions(path: Path) -> dict[str, Question]:
    """Return the questions of a file.

    Raises
    ------
    SettingsError
        It cannot be read, or is wrong; names the line and the column.
    """
    return read_questions(read_text(path), file=str(path))


def load_policy(path: Path, questions: dict[str, Question]) -> ValidatedPolicy:
    """Return the policy of a file.

    Raises
    ------
    SettingsError
        It cannot be read, or is wrong; names the line and the column.
    """
    return read_policy(read_text(path), questions, file=str(path))


def load_answers(path: Path) -> pl.DataFrame:
    """Return the answers of a file, one for each question of an episode.

    Repeated answers are dropped, and questions with different answers marked ``conflicting``, as
    in a run. Without a column ``tenant_id`` all episodes are of one tenant without a name.

    Raises
    ------
    UsageError
        The file is missing, or its name does not say what it is.
    InputError
        It cannot be read, or lacks a column or a key.
    """
    readers: dict[str, Callable[[Path], pl.DataFrame]] = {
        ".parquet": _read_parquet,
        ".csv": _read_csv,
        ".ndjson": _read_ndjson,
        ".jsonl": _read_ndjson,
    }
    if path.suffix.lower() not in readers:
        raise UsageError(
            f"{path} is not called .parquet, .ndjson, .jsonl or .csv, so that it is not known how "
            "to read it. Give the file the name of its format."
        )
    if not path.is_file():
        raise UsageError(f"There is no file {path}. Check the path of --answers.")
    try:
        frame = readers[path.suffix.lower()](path)
    except (pl.exceptions.PolarsError, pa.ArrowException, duckdb.Error, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(
            f"{path} cannot be read as {path.suffix.lower()[1:]}: {reason}. Correct the file."
        ) from error
    return _as_answers(frame, path)


def _read_parquet(path: Path) -> pl.DataFrame:
    place = path.resolve()
    spec = InputSpec(kind=InputKind.ANSWERS, root=place.parent, path=str(place))
    (file,) = discover(spec)
    with open_parquet(file, spec) as parquet:
        frames = [pl.DataFrame(batch) for batch in batches(parquet, file, spec)]
        return pl.concat(frames) if frames else pl.DataFrame(parquet.schema.empty_table())


def _read_csv(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, infer_schema=False)


def _read_ndjson(path: Path) -> pl.DataFrame:
    """Read the known members of every line; distributions become JSON text.

    One that is written as a string stands for the JSON in it; one that is written as a list of
    levels and probabilities, as Polars writes it, for the object of them.
    """
    types = dict.fromkeys(TEXTS, "VARCHAR") | dict.fromkeys(NUMBERS, "DOUBLE")
    types["probabilities"] = "JSON"
    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in types.items())
    with duckdb.connect() as engine:
        found: Any = engine.sql(
            f"SELECT * REPLACE ({_DISTRIBUTION} AS probabilities) "  # noqa: S608 - own names
            f"FROM read_ndjson(?, columns = {{{columns}}})",
            params=[str(path)],
        ).to_arrow_table()
    frame = pl.DataFrame(found)
    absent = [name for name in frame.columns if frame[name].null_count() == len(frame)]
    return frame.drop(absent) if len(frame) else frame


def _as_answers(frame: pl.DataFrame, path: Path) -> pl.DataFrame:
    for name in REQUIRED:
        if name not in frame.columns:
            meant = did_you_mean(name, frame.columns)
            raise InputError(
                f"{path} has no column {name!r}{meant}; it has {', '.join(frame.columns)}. "
                "Answers stand one to a row, with the columns of the table answers."
            )
    texts = [_cast(frame, name, pl.String(), path) for name in TEXTS]
    numbers = [_cast(frame, name, pl.Float64(), path) for name in NUMBERS]
    rows = pl.DataFrame([*texts, *numbers, _distributions(frame, path)]).with_columns(
        pl.col("tenant_id").fill_null(""),
        pl.lit(str(path)).alias("source_file"),
        pl.int_range(pl.len(), dtype=pl.Int64).alias("source_row"),
        # Here all answers count, whenever they came.
        pl.lit(0).cast(schema_of(AnswerRows)["answered_at"]).alias("answered_at"),
    )
    for name in ("episode_id", "question"):
        empty = rows.filter(pl.col(name).is_null() | (pl.col(name) == ""))
        if len(empty):
            raise InputError(
                f"{path}, row {empty['source_row'][0]}: {name} is missing. Each answer names its "
                "episode and its question."
            )
    placed = conform(rows, AnswerRows).with_columns(considered_at="answered_at")
    compared = compare_answers(placed).sort("source_row")
    differs = (pl.col("copy") == "other").any().over(KEY)
    return compared.with_columns(conflicting=differs).filter(pl.col("copy") == "first")


def _cast(frame: pl.DataFrame, name: str, dtype: pl.DataType, path: Path) -> pl.Series:
    if name not in frame.columns:
        return pl.repeat(None, len(frame), dtype=dtype, eager=True).alias(name)
    given = frame[name]
    if dtype == pl.String and not isinstance(given.dtype, pl.String | pl.Categorical | pl.Enum):
        if given.dtype != pl.Null:
            raise InputError(f"{path}: the column {name!r} is {given.dtype}, not text.")
        return given.cast(dtype)
    cast = given.cast(dtype, strict=False)
    lost = (cast.is_null() & given.is_not_null()).arg_true()
    if len(lost):
        raise InputError(
            f"{path}, row {lost[0]}: {name} is {given[lost[0]]!r}, which is not a number."
        )
    return cast


def _distributions(frame: pl.DataFrame, path: Path) -> pl.Series:
    name = "probabilities"
    wanted = schema_of(AnswerRows)[name]
    if name not in frame.columns or frame[name].dtype == pl.Null:
        return pl.repeat(None, len(frame), dtype=wanted, eager=True).alias(name)
    given = frame[name]
    if given.dtype not in (pl.String, wanted):
        try:
            return given.cast(wanted)
        except pl.exceptions.PolarsError as error:
            raise InputError(
                f"{path}: the column {name!r} is {given.dtype}; it is JSON text such as "
                '{"0": 0.2, "1": 0.8}, or a list of structs of level and probability.'
            ) from error
    array = given.to_arrow()
    texts = given.dtype == pl.String
    values, problems = read_distributions(name, array.cast(pa.string()) if texts else array)
    wrong = problems.is_not_null().arg_true()
    if len(wrong):
        raise InputError(f"{path}, row {wrong[0]}: {problems[wrong[0]]}.")
    return values.alias(name)
