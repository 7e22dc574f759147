"""The judgments behind stored verdicts of any age: what a jury can be asked about again."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson
import polars as pl

from judgebatch.contracts.judgments import JudgmentQuarantine, Judgments
from judgebatch.contracts.table import conform, schema_of
from judgebatch.juries import pointer
from judgebatch.verdicts import InterpretedBatch, interpret_texts
from judgebatch.vocabulary import JudgmentFault, KeySource, ReasonCode, Status

_KEYS = ["tenant_id", "verdict_id"]
_BLANK = "\t\n\v\f\r\x1c\x1d\x1e\x1f "
_WEIGHTED = r'"weights"\s*:\s*\{[^}]*:\s*(0|[2-9]|1\d|1\.0*[1-9]|1\.?\d*[eE])'
_CAUSES = "recorded_causes"


class StoredJudgments(NamedTuple):
    """The judgments of stored verdicts, how these read, and what cannot be read at all."""

    judgments: pl.DataFrame
    """Rows of the ``judgments`` table, and ``source_row``: the row of their verdict."""
    interpretations: pl.DataFrame
    """One row per readable verdict: its keys, ``source_row``, and how it reads."""
    unusable: pl.DataFrame
    """Verdicts that cannot be read or have no judge, as ``judgment_quarantine``."""


def stored_judgments(verdicts: pl.DataFrame) -> StoredJudgments:
    """Take the judgments out of stored verdicts.

    Parameters
    ----------
    verdicts
        tenant_id, verdict_id, ``verdict`` (JSON text) and ``source_row``.

    Notes
    -----
    A verdict's individuals stand at the root, those of its tiers and members at their stages. A
    stage without a name, as legacy verdicts have them, cannot be asked for by a jury; its
    judgments are kept apart under a pointer that no stage can have. What the format does not
    attach to a judge's status is left out: a score on anything but pass and fail, a blank label,
    a label on an error.
    """
    read = interpret_texts(verdicts["verdict"])
    keys = verdicts.select(*_KEYS, "source_row").with_row_index("row").cast({"row": pl.Int64})
    placed = (
        read.judges.join(_stages(read), on=["row", "stage_ordinal"], how="left")
        .join(keys, on="row")
        .join(_recorded(verdicts["verdict"], read), on=["row", "stage", "position"], how="left")
        .join(_checks(read), on=["row", "ordinal"], how="left")
    )
    scored = pl.col("status").is_in([Status.PASS.value, Status.FAIL.value])
    blank = pl.col("label").str.strip_chars(_BLANK) == ""
    wrapper = pl.col("reason_code") == ReasonCode.ERRORS_PROPAGATED.value
    positional = pl.col("key_source") == KeySource.POSITIONAL.value
    judgments = placed.with_columns(
        name=pl.when(positional | (pl.col("name") == "")).then(None).otherwise("name"),
        score=pl.when(scored).then("score"),
        label=pl.when(~blank & (pl.col("status") != Status.ERROR.value)).then("label"),
        error_code_counts=pl.when(wrapper).then(_CAUSES),
        may_exclude=pl.lit(None, pl.Boolean),
        outcome=pl.lit(None, pl.String),
    ).sort("tenant_id", "verdict_id", "stage", "position", "source_row", "ordinal")
    readings = read.interpretations.select(
        "row", "reading", "reading_support", pl.col("status").alias("recorded_status"), "strategy"
    ).join(keys, on="row")
    return StoredJudgments(
        judgments.select(*schema_of(Judgments).names(), "source_row"),
        readings.sort("row"),
        _unusable(read, keys),
    )


def _unusable(read: InterpretedBatch, keys: pl.DataFrame) -> pl.DataFrame:
    """Return the verdicts that cannot be read, and those in which nobody judged."""
    unreadable = read.unreadable.select(
        "row", "message", reason=pl.lit(JudgmentFault.UNREADABLE_VERDICT.value)
    )
    empty = read.interpretations.join(read.judges, on="row", how="anti").select(
        "row",
        message=pl.lit("the verdict names no judge whose judgment could be reduced"),
        reason=pl.lit(JudgmentFault.NO_JUDGMENTS.value),
    )
    rows = pl.concat([unreadable, empty]).join(keys, on="row")
    return conform(
        rows.with_columns(
            stage=pl.lit(None, pl.String),
            position=pl.lit(None, pl.Int64),
            name=pl.lit(None, pl.String),
        ),
        JudgmentQuarantine,
    )


def _stages(read: InterpretedBatch) -> pl.DataFrame:
    """Return the pointer of every stage; the root, ordinal 0, has the empty one."""
    named = pl.col("stage").is_not_null() & (pl.col("stage") != "")
    # A stage's name has no white space at its ends: no jury has a stage called " 3".
    apart = pl.format("{}/ {}", "path", "ordinal")
    stages = read.stages.select(
        "row",
        pl.col("ordinal").alias("stage_ordinal"),
        pl.when(named).then("path").otherwise(apart).alias("stage"),
    )
    roots = read.interpretations.select(
        "row", pl.lit(0, pl.Int64).alias("stage_ordinal"), pl.lit("").alias("stage")
    )
    return pl.concat([roots, stages])


def _checks(read: InterpretedBatch) -> pl.DataFrame:
    """Return each judge's checks as JSON text."""
    document = pl.struct("name", "passed", message="detail").struct.json_encode()
    return (
        read.checks.sort("row", "judge_ordinal", "ordinal")
        .group_by("row", "judge_ordinal", maintain_order=True)
        .agg(document.str.join(",").alias("checks"))
        .select(
            "row",
            pl.col("judge_ordinal").alias("ordinal"),
            pl.format("[{}]", "checks").alias("checks"),
        )
    )


def _recorded(texts: pl.Series, read: InterpretedBatch) -> pl.DataFrame:
    """Return weights other than 1 and the causes behind wrappers, from texts that have them."""
    wrapped = read.judges.filter(pl.col("reason_code") == ReasonCode.ERRORS_PROPAGATED.value)["row"]
    weighted = texts.str.contains(_WEIGHTED).arg_true().cast(pl.Int64)
    rows = pl.concat([wrapped, weighted.rename("row")]).unique().sort()
    found = [(row, *entry) for row in rows for entry in _entries(orjson.loads(texts[row]), "")]
    schema = {
        "row": pl.Int64,
        "stage": pl.String,
        "position": pl.Int64,
        "weight": pl.Float64,
        _CAUSES: pl.String,
    }
    return pl.DataFrame(found, schema=schema, orient="row").unique(
        ["row", "stage", "position"], keep="first", maintain_order=True
    )


def _entries(verdict: Any, stage: str) -> Iterator[tuple[str, int, float | None, str | None]]:
    if not isinstance(verdict, Mapping):
        return
    weights, causes = _weights(verdict), _causes(verdict)
    for position in sorted(weights.keys() | causes.keys()):
        yield stage, position, weights.get(position), causes.get(position)
    attempts = verdict.get("compositeAttempts")
    for attempt in attempts if isinstance(attempts, list) else []:
        if isinstance(attempt, Mapping) and isinstance(attempt.get("name"), str):
            yield from _entries(attempt.get("verdict"), pointer(stage, attempt["name"]))


def _weights(verdict: Mapping[str, Any]) -> dict[int, float]:
    weights = verdict.get("weights")
    if not isinstance(weights, Mapping):
        return {}
    return {
        int(position): float(weight)
        for position, weight in weights.items()
        if position.isdecimal() and isinstance(weight, int | float) and not isinstance(weight, bool)
    }


def _causes(verdict: Mapping[str, Any]) -> dict[int, str]:
    individual = verdict.get("individual")
    seats = verdict.get("seats")
    causes = {}
    for index, judgment in enumerate(individual if isinstance(individual, list) else []):
        try:
            counts = judgment["metadata"]["aggregation"]["errorCodeCounts"]
            position = seats[index]["position"] if isinstance(seats, list) else index
        except (KeyError, IndexError, TypeError):
            continue
        if isinstance(position, int) and judgment.get("reasonCode") == "errors_propagated":
            causes[position] = orjson.dumps(counts).decode()
    return causes
