"""Which stored judgments can be reduced, and why the others cannot."""

from collections.abc import Callable
from dataclasses import dataclass

import orjson
import polars as pl

from judgebatch.contracts.judgments import JudgmentQuarantine, Judgments
from judgebatch.contracts.table import conform, empty, schema_of
from judgebatch.errors import InputError, VerdictConstructionError
from judgebatch.juries.judgment import Check
from judgebatch.juries.pool import as_enum, parse_causes
from judgebatch.juries.text import WHITE_SPACE
from judgebatch.vocabulary import JudgeOutcome, JudgmentFault, ReasonCode, Status

REQUIRED = ("tenant_id", "verdict_id", "stage", "position")
_KEYS = ["tenant_id", "verdict_id"]
_STATUS = pl.Enum([status.value for status in Status])
_FARTHEST = 2**31 - 1


def as_judgments(frame: pl.DataFrame) -> pl.DataFrame:
    """Return ``frame`` as the ``judgments`` table; optional columns that are missing are null.

    Raises
    ------
    InputError
        A required column is missing, or a column cannot be taken as its type without loss.
    """
    wanted = schema_of(Judgments)
    missing = [name for name in (*REQUIRED, "status") if name not in frame.columns]
    if missing:
        raise InputError(
            f"the judgments have no column {', '.join(missing)}; required are"
            f" {', '.join((*REQUIRED, 'status'))}"
        )
    for name, dtype in wanted.items():
        given = frame.schema.get(name)
        if given is None:
            frame = frame.with_columns(pl.lit(None, dtype).alias(name))
        elif given != dtype:
            try:
                frame = frame.with_columns(pl.col(name).cast(dtype, strict=True))
            except pl.exceptions.PolarsError as error:
                raise InputError(
                    f"column {name} of the judgments is {given} and cannot be taken as {dtype}:"
                    f" {error}"
                ) from None
    return conform(frame, Judgments)


@dataclass(frozen=True, slots=True)
class Accepted:
    """Judgments that can be reduced, and the table of those that cannot.

    ``status`` of the accepted ones is an Enum of the statuses. ``source_row`` holds the numbers
    of the accepted rows; None where all were accepted.
    """

    judgments: pl.DataFrame
    source_row: pl.Series | None
    quarantine: pl.DataFrame

    def row_numbers(self) -> pl.Series:
        """Return the numbers of the accepted rows in the frame they came from."""
        if self.source_row is not None:
            return self.source_row
        return pl.int_range(self.judgments.height, eager=True).alias("source_row")


@dataclass(frozen=True, slots=True)
class _Rule:
    """A fault: the rows that have it, and what is said of them."""

    fault: JudgmentFault
    applies: pl.Expr
    message: pl.Expr


def accept(judgments: pl.DataFrame) -> Accepted:
    """Set aside the judgments with a fault, and with them all others of their verdicts.

    A verdict is never reduced without a judgment that is there but unusable: that would charge
    the judge with having given none.
    """
    statuses = as_enum(judgments["status"], _STATUS.categories.to_list())
    encoded = judgments.with_columns(statuses)
    # A column of unknown statuses is looked at as it came.
    known = statuses.null_count() == judgments["status"].null_count()
    found = find_faults(encoded if known else judgments)
    return set_aside(Accepted(encoded, None, empty(JudgmentQuarantine)), found)


def find_faults(judgments: pl.DataFrame) -> pl.DataFrame:
    """Return source_row, reason and message of every judgment with a fault."""
    rules = _rules(judgments)
    whether = pl.any_horizontal(pl.lit(False), *(rule.applies for rule in rules)).any()
    if not judgments.select(whether).item():
        return pl.DataFrame(
            schema={"source_row": pl.Int64, "reason": pl.String, "message": pl.String}
        )
    return judgments.select(
        pl.int_range(pl.len()).alias("source_row"),
        reason=pl.coalesce(pl.when(rule.applies).then(pl.lit(rule.fault.value)) for rule in rules),
        message=pl.coalesce(pl.when(rule.applies).then(rule.message) for rule in rules),
    ).filter(pl.col("reason").is_not_null())


def set_aside(accepted: Accepted, found: pl.DataFrame) -> Accepted:
    """Quarantine the rows of ``found`` (source_row, reason, message) and their verdicts."""
    if found.is_empty():
        return accepted
    rows = accepted.judgments.with_columns(accepted.row_numbers()).join(
        found, on="source_row", how="left", maintain_order="left"
    )
    spoilt = rows.filter(pl.col("reason").is_not_null()).select(_KEYS).unique()
    kept = rows.join(spoilt, on=_KEYS, how="anti", nulls_equal=True, maintain_order="left")
    gone = rows.join(spoilt, on=_KEYS, how="semi", nulls_equal=True).with_columns(
        pl.col("reason").fill_null(JudgmentFault.SAME_VERDICT.value),
        pl.col("message").fill_null("another judgment of the verdict is in quarantine"),
    )
    quarantine = pl.concat([accepted.quarantine, conform(gone, JudgmentQuarantine)])
    return Accepted(
        kept.select(accepted.judgments.columns),
        kept["source_row"],
        quarantine.sort("source_row"),
    )


def _rules(judgments: pl.DataFrame) -> list[_Rule]:
    """Return the faults that the columns can have at all, in order."""
    filled = {name for name in judgments.columns if judgments[name].null_count() < judgments.height}
    outcome = pl.col("outcome").fill_null(JudgeOutcome.RETURNED.value)
    returned = outcome == JudgeOutcome.RETURNED.value if "outcome" in filled else pl.lit(True)
    rules = [
        *_missing(judgments, returned),
        *_vocabulary(judgments, filled, returned),
        *_numbers(judgments, filled, returned),
        *_texts(judgments, filled, returned),
    ]
    order = list(JudgmentFault)
    return sorted(rules, key=lambda rule: order.index(rule.fault))


def _missing(judgments: pl.DataFrame, returned: pl.Expr) -> list[_Rule]:
    rules = [
        _Rule(JudgmentFault.MISSING_VALUE, pl.col(name).is_null(), pl.lit(f"{name} is missing"))
        for name in REQUIRED
        if judgments[name].null_count()
    ]
    if judgments["status"].null_count():
        applies = pl.col("status").is_null() & returned
        rules.append(_Rule(JudgmentFault.MISSING_VALUE, applies, pl.lit("status is missing")))
    return rules


def _vocabulary(judgments: pl.DataFrame, filled: set[str], returned: pl.Expr) -> list[_Rule]:
    rules = []
    for name, vocabulary, fault, where in (
        ("outcome", JudgeOutcome, JudgmentFault.UNKNOWN_OUTCOME, pl.lit(True)),
        ("status", Status, JudgmentFault.UNKNOWN_STATUS, returned),
        ("reason_code", ReasonCode, JudgmentFault.BAD_REASON_CODE, returned),
    ):
        tokens = [token.value for token in vocabulary]
        if name not in filled or judgments.schema[name] == _STATUS:
            continue
        known = judgments[name].cast(pl.Enum(tokens), strict=False)
        if known.null_count() > judgments[name].null_count():
            message = pl.format(
                "{} is {}; allowed: {}", pl.lit(name), _quoted(name), pl.lit(", ".join(tokens))
            )
            rules.append(_Rule(fault, where & ~pl.col(name).is_in(tokens), message))
    if "reason_code" in filled:
        status, code = pl.col("status"), pl.col("reason_code")
        empty_subject = code == ReasonCode.SUBJECT_EMPTY.value
        fits = (
            pl.when(status == Status.ERROR.value)
            .then(~empty_subject)
            .when(status == Status.FAIL.value)
            .then(empty_subject)
            .otherwise(pl.lit(False))
        )
        message = pl.format("reason_code is {}, on status {}", _quoted("reason_code"), status)
        applies = returned & code.is_not_null() & ~fits
        rules.append(_Rule(JudgmentFault.BAD_REASON_CODE, applies, message))
    return rules


def _numbers(judgments: pl.DataFrame, filled: set[str], returned: pl.Expr) -> list[_Rule]:
    rules = []
    lowest, highest = judgments["position"].min(), judgments["position"].max()
    if not (lowest is None or (lowest >= 0 and highest <= _FARTHEST)):  # type: ignore[operator]
        rules.append(
            _Rule(
                JudgmentFault.BAD_POSITION,
                ~pl.col("position").is_between(0, _FARTHEST),
                pl.format("position is {}; it counts from 0", pl.col("position")),
            )
        )
    if "score" in filled:
        score = pl.col("score")
        scored = (pl.col("status") == Status.PASS.value) | (pl.col("status") == Status.FAIL.value)
        # NaN is above every number, and so outside the interval.
        rules.append(
            _Rule(
                JudgmentFault.BAD_SCORE,
                returned & score.is_not_null() & ~(score.is_between(0.0, 1.0) & scored),
                pl.format(
                    "score is {}, on status {}; it lies in [0, 1] and stands on pass and fail only",
                    score,
                    pl.col("status"),
                ),
            )
        )
    if "weight" in filled:
        weight = pl.col("weight")
        rules.append(
            _Rule(
                JudgmentFault.BAD_WEIGHT,
                weight.is_not_null() & ~((weight >= 0) & weight.is_finite()),
                pl.format("weight is {}; it is finite and not negative", weight),
            )
        )
    return rules


def _texts(judgments: pl.DataFrame, filled: set[str], returned: pl.Expr) -> list[_Rule]:
    rules = []
    if "label" in filled:
        label = pl.col("label")
        blank = label.str.strip_chars(WHITE_SPACE) == ""
        rules.append(
            _Rule(
                JudgmentFault.BAD_LABEL,
                returned & label.is_not_null() & (blank | (pl.col("status") == Status.ERROR.value)),
                pl.format(
                    "label is {}, on status {}; it is not blank and not on an error",
                    _quoted("label"),
                    pl.col("status"),
                ),
            )
        )
    wrapper = pl.lit(False)
    if "reason_code" in filled:
        wrapper = (pl.col("reason_code") == ReasonCode.ERRORS_PROPAGATED.value).fill_null(
            value=False
        )
        lacking = returned & wrapper & pl.col("error_code_counts").is_null()
        rules.append(
            _Rule(
                JudgmentFault.BAD_ERROR_CODE_COUNTS,
                lacking,
                pl.lit("error_code_counts is missing, and the error stands for others"),
            )
        )
    if "error_code_counts" in filled:
        counts = pl.col("error_code_counts")
        rules.append(
            _Rule(
                JudgmentFault.BAD_ERROR_CODE_COUNTS,
                returned & ~wrapper & counts.is_not_null() & (counts != "{}"),
                pl.lit("error_code_counts stands on a judgment that is not errors_propagated"),
            )
        )
        rules += _by_text(
            judgments,
            "error_code_counts",
            returned & wrapper,
            _counts_fault,
            JudgmentFault.BAD_ERROR_CODE_COUNTS,
        )
    if "checks" in filled:
        rules += _by_text(judgments, "checks", returned, _checks_fault, JudgmentFault.BAD_CHECKS)
    return rules


def _by_text(
    judgments: pl.DataFrame,
    column: str,
    where: pl.Expr,
    fault_of: Callable[[str], str | None],
    fault: JudgmentFault,
) -> list[_Rule]:
    """Return the rule for a JSON column; each distinct text is read once."""
    texts = judgments[column].drop_nulls().unique().to_list()
    bad = {text: said for text in texts if (said := fault_of(text)) is not None}
    if not bad:
        return []
    message = pl.col(column).replace_strict(bad, default=None, return_dtype=pl.String)
    applies = where & pl.col(column).is_in(list(bad)).fill_null(value=False)
    return [_Rule(fault, applies, pl.format("{} {}", pl.lit(column), message))]


def _counts_fault(text: str) -> str | None:
    parsed = parse_causes(text)
    return parsed if isinstance(parsed, str) else None


def _checks_fault(text: str) -> str | None:
    try:
        read_checks(text)
    except (orjson.JSONDecodeError, VerdictConstructionError) as error:
        return f"cannot be read: {error}"
    return None


def read_checks(text: str) -> list[Check]:
    """Return the checks that a JSON text states.

    Raises
    ------
    VerdictConstructionError
        It is not an array of objects with a name that is not blank, and ``passed`` true or false.
    """
    entries = orjson.loads(text)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise VerdictConstructionError("checks must be an array of objects")
    return [
        Check(entry.get("name"), entry.get("passed"), entry.get("message", "")) for entry in entries
    ]


def _quoted(column: str) -> pl.Expr:
    return pl.format("'{}'", pl.col(column))
