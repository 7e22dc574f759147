"""Pairwise preferences between models, as arenas publish them: each row becomes a comparison.

A model is an episode, and all rows of an import are one closed corpus: the models arrive at its
end and form a single group per task, so that every preference counts in one fit.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from judgebatch.errors import InputError, UsageError, did_you_mean
from judgebatch.imports.documents import TIE, verdict_text
from judgebatch.imports.output import Source
from judgebatch.vocabulary import Status

SUFFIXES = (".parquet", ".csv")
_ROWS = 200_000

LEFT, RIGHT, BOTH_GOOD, BOTH_BAD = "left", "right", "tie", "both_bad"
_WINNERS = {
    "model_a": LEFT,
    "a": LEFT,
    "left": LEFT,
    "model_b": RIGHT,
    "b": RIGHT,
    "right": RIGHT,
    "tie": BOTH_GOOD,
    "both": BOTH_GOOD,
    "tie (bothbad)": BOTH_BAD,
    "tie (both_bad)": BOTH_BAD,
    "tie (both bad)": BOTH_BAD,
    "bothbad": BOTH_BAD,
    "both_bad": BOTH_BAD,
    "neither": BOTH_BAD,
}
_ONE_HOT = ("winner_model_a", "winner_model_b", "winner_tie")
_IDS = ("question_id", "id", "battle_id", "conversation_id")
_BESIDE_ID = ("judge", "turn")
_TIMES = ("tstamp", "timestamp", "judged_at", "created_at")
_MILLIS, _MICROS = 100_000_000_000, 100_000_000_000_000

KNOWN = ("model_a", "model_b", "winner", "id", "judge", "turn", "time")
"""What ``--column NAME=YOURS`` may name."""


@dataclass(frozen=True)
class Options:
    """How preferences are read.

    Parameters
    ----------
    tenant, task
        Where they belong.
    task_column
        The column that tells the tasks apart, in place of ``task``.
    columns
        The user's names of the columns in `KNOWN`.
    judged_at
        When rows were judged that have no time of their own.
    """

    tenant: str = "arena"
    task: str = "arena"
    task_column: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    judged_at: datetime | None = None


class Corpus:
    """The models met so far: what the episodes are made of once all is read."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._seen: list[pl.DataFrame] = []

    def read(self, path: Path, digest: str, into: Source) -> None:
        """Read one file's preferences.

        Raises
        ------
        InputError
            It is no readable Parquet or CSV, or lacks a column that is needed.
        UsageError
            It has no times, and the options give none.
        """
        first_row = 0
        for batch in _batches(path):
            names = self._names(path, batch.columns)
            rows = batch.with_row_index("row", first_row).with_columns(pl.col("row").cast(pl.Int64))
            first_row += batch.height
            told = self._preferences(rows, names, digest)
            bad = told.filter(pl.col("problem").is_not_null())
            into.add_frame("quarantine", _quarantined(bad, path))
            good = told.filter(pl.col("problem").is_null())
            self._remember(good)
            into.add_frame("verdicts", good.drop("row", "problem"))

    def finish(self, into: Source) -> int:
        """Write the episodes; return how many models the largest task has."""
        if not self._seen:
            return 0
        models = _models(self._seen)
        last = pl.col("last").max().over("task_id")
        into.add_frame(
            "episodes",
            models.select(
                tenant_id=pl.lit(self._options.tenant),
                episode_id="model",
                task_id="task_id",
                arrived_at=last,
                verifier_outcome=pl.lit("unverified"),
                cost_usd=pl.lit(0.0),
                latency_ms=pl.lit(0.0),
                tool_calls=pl.lit(0, pl.Int64),
                tool_errors=pl.lit(0, pl.Int64),
                variant="model",
            ).sort("task_id", "episode_id"),
        )
        largest = models.group_by("task_id").len()["len"].max()
        return int(largest) if isinstance(largest, int) else 0

    def _remember(self, good: pl.DataFrame) -> None:
        sides = [
            good.select(task_id="task_id", model=side, last="judged_at")
            for side in ("episode_id", "compared_episode_id")
        ]
        self._seen = [_models([*self._seen, *sides])]

    def _names(self, path: Path, columns: Sequence[str]) -> dict[str, str]:
        """Return which of the file's columns is which."""
        given = dict(self._options.columns)
        names: dict[str, str] = {}
        for name in KNOWN:
            wanted = given.get(name)
            if wanted is not None and wanted not in columns:
                raise InputError(
                    f"{path} has no column {wanted!r}{did_you_mean(wanted, columns)}; it has "
                    f"{', '.join(columns)}. Correct --column {name}={wanted}."
                )
            usual = {"id": _IDS, "time": _TIMES}.get(name, (name,))
            found = wanted or next((one for one in usual if one in columns), None)
            if found is not None:
                names[name] = found
        for name in ("model_a", "model_b"):
            if name not in names:
                raise InputError(_missing(path, name, columns))
        if "winner" not in names and not set(_ONE_HOT) <= set(columns):
            raise InputError(_missing(path, "winner", columns))
        if "time" not in names and self._options.judged_at is None:
            raise UsageError(
                f"{path} does not say when its rows were judged; it has {', '.join(columns)}. "
                "Name the column, --column time=NAME, or give one time for all rows: "
                "--judged-at 2026-03-02T03:00:00Z."
            )
        task = self._options.task_column
        if task is not None and task not in columns:
            raise InputError(
                f"{path} has no column {task!r}{did_you_mean(task, columns)}; it has "
                f"{', '.join(columns)}. Correct --task-column."
            )
        return names

    def _preferences(
        self, rows: pl.DataFrame, names: Mapping[str, str], digest: str
    ) -> pl.DataFrame:
        options = self._options
        winner = _winner(names)
        task = options.task_column
        identity = [names[one] for one in ("id", *_BESIDE_ID) if one in names]
        text = (
            pl.concat_str(
                [pl.col(one).cast(pl.String).fill_null("") for one in identity], separator="/"
            )
            if "id" in names
            else pl.concat_str(pl.lit(f"{digest[:12]}/"), pl.col("row").cast(pl.String))
        )
        at = _time(rows, names["time"]) if "time" in names else pl.lit(options.judged_at)
        told = rows.select(
            row="row",
            tenant_id=pl.lit(options.tenant),
            verdict_id=text,
            task_id=pl.lit(options.task) if task is None else pl.col(task).cast(pl.String),
            episode_id=pl.col(names["model_a"]).cast(pl.String),
            compared_episode_id=pl.col(names["model_b"]).cast(pl.String),
            judged_at=at.cast(pl.Datetime("us", "UTC")),
            judge_id=pl.col(names["judge"]).cast(pl.String)
            if "judge" in names
            else pl.lit(None, pl.String),
            cost_usd=pl.lit(0.0),
            winner=winner,
        )
        problem = pl.coalesce(
            _unless(pl.col("winner").is_in(list(_TEXTS)), "the winner is none of the known ones"),
            _unless(_named("episode_id"), "model_a is empty"),
            _unless(_named("compared_episode_id"), "model_b is empty"),
            _unless(_named("task_id"), "the task is empty"),
            _unless(pl.col("judged_at").is_not_null(), "there is no readable time"),
        )
        verdict = pl.col("winner").replace_strict(_TEXTS, default=None, return_dtype=pl.String)
        return told.with_columns(problem=problem, verdict=verdict).drop("winner")


def settings_lines(largest: int) -> list[str]:
    """Return settings under which each task's models form one group with all preferences.

    Parameters
    ----------
    largest
        How many models the largest task has.
    """
    quorum = max(2, largest)
    return [
        'mode = "tournament"',
        f"quorum = {quorum}          # all models of the largest task",
        f"min_group_size = {min(3, quorum)}",
        'judging_window = "none"     # everything was judged before the models arrived',
        'unknown_episode_window = "36500d"',
    ]


def _text(status: Status, reasoning: str, label: str | None = None) -> str:
    return verdict_text("preference", status, reasoning, label=label)


_TEXTS = {
    LEFT: _text(Status.PASS, "model_a was preferred"),
    RIGHT: _text(Status.FAIL, "model_b was preferred"),
    BOTH_GOOD: _text(Status.PASS, "both were called good", TIE),
    BOTH_BAD: _text(Status.FAIL, "both were called bad", TIE),
}


def _batches(path: Path) -> Iterator[pl.DataFrame]:
    try:
        if path.suffix == ".csv":
            reading = pc.ReadOptions(block_size=16 << 20)
            parsing = pc.ParseOptions(newlines_in_values=True)
            with pc.open_csv(path, read_options=reading, parse_options=parsing) as lines:
                for batch in lines:
                    yield _frame(pa.Table.from_batches([batch]))
        else:
            with pq.ParquetFile(path) as file:
                flat = [
                    field.name for field in file.schema_arrow if not pa.types.is_nested(field.type)
                ]
                for batch in file.iter_batches(batch_size=_ROWS, columns=flat):
                    yield _frame(pa.Table.from_batches([batch]))
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path} cannot be read: {str(error).splitlines()[0]}.") from error


def _frame(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    if not isinstance(frame, pl.DataFrame):
        raise TypeError("a table gave no frame")
    return frame


def _winner(names: Mapping[str, str]) -> pl.Expr:
    if "winner" in names:
        text = pl.col(names["winner"]).cast(pl.String).str.strip_chars().str.to_lowercase()
        return text.replace_strict(_WINNERS, default=None, return_dtype=pl.String)
    a, b, tie = (pl.col(one).cast(pl.Float64, strict=False) == 1 for one in _ONE_HOT)
    return (
        pl.when(a & ~b & ~tie)
        .then(pl.lit(LEFT))
        .when(b & ~a & ~tie)
        .then(pl.lit(RIGHT))
        .when(tie & ~a & ~b)
        .then(pl.lit(BOTH_GOOD))
    )


def _time(rows: pl.DataFrame, name: str) -> pl.Expr:
    """Return times in UTC: a timestamp, text in ISO 8601, or seconds, ms or us since 1970."""
    kind = rows.schema[name]
    column = pl.col(name)
    if isinstance(kind, pl.Datetime):
        return (
            column.dt.convert_time_zone("UTC")
            if kind.time_zone
            else (column.dt.replace_time_zone("UTC"))
        )
    if kind == pl.String:
        return column.str.to_datetime(time_unit="us", time_zone="UTC", strict=False)
    if not kind.is_numeric():
        return pl.lit(None)
    number = column.cast(pl.Float64)
    micros = (
        pl.when(number.abs() < _MILLIS)
        .then(number * 1_000_000)
        .when(number.abs() < _MICROS)
        .then(number * 1_000)
        .otherwise(number)
    )
    return micros.round(0).cast(pl.Int64, strict=False).cast(pl.Datetime("us", "UTC"))


def _named(column: str) -> pl.Expr:
    return pl.col(column).is_not_null() & (pl.col(column) != "")


def _unless(holds: pl.Expr, message: str) -> pl.Expr:
    return pl.when(holds.fill_null(value=False)).then(None).otherwise(pl.lit(message))


def _models(seen: list[pl.DataFrame]) -> pl.DataFrame:
    together = pl.concat(seen).group_by("task_id", "model").agg(pl.col("last").max())
    return together.sort("task_id", "model")


def _quarantined(bad: pl.DataFrame, path: Path) -> pl.DataFrame:
    shown = pl.struct("task_id", "episode_id", "compared_episode_id", "judged_at")
    return bad.select(
        source=pl.lit(path.name),
        place=pl.concat_str(pl.lit("row "), pl.col("row").cast(pl.String)),
        message="problem",
        content=shown.struct.json_encode(),
    )


def _missing(path: Path, name: str, columns: Sequence[str]) -> str:
    also = f", nor {', '.join(_ONE_HOT)}" if name == "winner" else ""
    return (
        f"{path} has no column {name!r}{also}{did_you_mean(name, columns)}; it has "
        f"{', '.join(columns)}. If it has another name there: --column {name}=NAME."
    )
