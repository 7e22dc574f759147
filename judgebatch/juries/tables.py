"""The flat tables of a batch: verdicts and attempts."""

from collections.abc import Iterator

import numpy as np
import orjson
import polars as pl

from judgebatch.contracts.judgments import JuryAttempts, JuryVerdicts
from judgebatch.contracts.table import conform, empty
from judgebatch.juries.definition import Cascade
from judgebatch.juries.evaluation import Evaluation
from judgebatch.juries.lanes import CODES, NO_CODE, STATUSES, Aggregates, Bools, Floats, Longs
from judgebatch.juries.outcomes import (
    EXECUTION_FAILED,
    REASONS,
    CascadeOutcome,
    CustomOutcome,
    MetaOutcome,
    Outcome,
    Run,
)
from judgebatch.juries.statements import Statement, statements
from judgebatch.juries.text import pointer
from judgebatch.juries.verdict import UNDECIDED
from judgebatch.vocabulary import (
    DecisionBasis,
    DecisionKind,
    Disposition,
    FailureCode,
    Reading,
    Relation,
    Status,
)

READINGS = {
    Status.PASS: Reading.ACCEPTED,
    Status.FAIL: Reading.REJECTED,
    Status.ABSTAIN: Reading.UNDECIDED,
    Status.NOT_APPLICABLE: Reading.NOT_APPLICABLE,
    Status.ERROR: Reading.NOT_ASSESSED,
}
"""How a status reads where no individual rejection goes before it."""

_TEXTS = {
    "strategy": "strategy",
    "error_policy": "errorPolicy",
    "not_applicable_policy": "notApplicablePolicy",
}
_COUNTS = {
    "input_count": "inputCount",
    "eligible_count": "eligibleCount",
    "explicit_abstain_count": "explicitAbstainCount",
    "not_applicable_count": "notApplicableCount",
    "error_count": "errorCount",
    "ignored_error_count": "ignoredErrorCount",
    "errors_treated_as_abstain_count": "errorsTreatedAsAbstainCount",
    "errors_treated_as_fail_count": "errorsTreatedAsFailCount",
    "not_applicable_treated_as_fail_count": "notApplicableTreatedAsFailCount",
    "pass_count": "passCount",
    "fail_count": "failCount",
    "binding_index": "bindingIndex",
}


def verdict_table(keys: pl.DataFrame, outcome: Outcome, evaluation: Evaluation) -> pl.DataFrame:
    """Return the ``jury_verdicts`` table."""
    aggregates = outcome.aggregates
    kinds, number = statements(aggregates, evaluation.rules.rules)
    stated = _spread_out(_stated(kinds), number)
    weighed = stated["weighed"].to_numpy()
    readings = pl.Series([READINGS[status].value for status in STATUSES])
    reading = readings.gather(aggregates.status)
    if outcome.rejection.any():
        rejected = pl.Series([Reading.REJECTED.value]).new_from_index(0, len(reading))
        reading = rejected.zip_with(pl.Series(outcome.rejection), reading)
    frame = pl.concat([keys, stated], how="horizontal").with_columns(
        status=pl.Series([status.value for status in STATUSES]).gather(aggregates.status),
        reason_code=_codes(aggregates),
        score=pl.Series(aggregates.score, nan_to_null=True),
        input_weight=_weight(aggregates.input_weight, weighed),
        eligible_weight=_weight(aggregates.eligible_weight, weighed),
        reading=reading,
        **_decisions(outcome),
    )
    return conform(frame, JuryVerdicts)


def _stated(kinds: list[Statement]) -> pl.DataFrame:
    """Return one row for each different statement, with the columns it fixes."""
    blocks = [kind.evidence or {} for kind in kinds]
    columns: dict[str, pl.Series] = {}
    for name, key in _TEXTS.items():
        columns[name] = pl.Series([block.get(key) for block in blocks], dtype=pl.String)
    for name, key in _COUNTS.items():
        columns[name] = pl.Series([block.get(key) for block in blocks], dtype=pl.Int64)
    columns["error_code_counts"] = pl.Series(
        [orjson.dumps(block["errorCodeCounts"]).decode() if block else None for block in blocks],
        dtype=pl.String,
    )
    columns["threshold"] = pl.Series([block.get("threshold") for block in blocks], dtype=pl.Float64)
    columns["reasoning"] = pl.Series([kind.reasoning for kind in kinds], dtype=pl.String)
    columns["weighed"] = pl.Series(["inputWeight" in block for block in blocks], dtype=pl.Boolean)
    return pl.DataFrame(columns)


def _spread_out(stated: pl.DataFrame, number: Longs) -> pl.DataFrame:
    """Return each verdict's statement; columns in which all agree are not looked up."""
    n = len(number)
    return stated.select(
        column.new_from_index(0, n) if n and column.n_unique() == 1 else column.gather(number)
        for column in stated
    )


def _weight(weight: Floats, weighed: Bools) -> pl.Series:
    return pl.Series(np.where(weighed, weight, np.nan), nan_to_null=True)


def _codes(aggregates: Aggregates) -> pl.Series:
    names = pl.Series([None, *(code.value for code in CODES)], dtype=pl.String)
    return names.gather(aggregates.code.astype(np.int32) - NO_CODE)


def _decisions(outcome: Outcome) -> dict[str, pl.Series]:
    n = len(outcome.missing)
    kinds = pl.Series([kind.value for kind in (DecisionKind.OWN, DecisionKind.UNDECIDED)])
    nothing = pl.Series([None], dtype=pl.String).new_from_index(0, n)
    kind, tier, basis = kinds.gather(outcome.undecided.astype(np.int8)), nothing, nothing
    if isinstance(outcome, CustomOutcome):
        decisions = [UNDECIDED if one is None else one.decision for one in outcome.verdicts]
        kind = pl.Series([one.kind.value for one in decisions], dtype=pl.String)
        tier = pl.Series([one.tier for one in decisions], dtype=pl.String)
        basis = pl.Series([one.basis for one in decisions], dtype=pl.String)
    if isinstance(outcome, CascadeOutcome):
        names = pl.Series([None, *(run.name for run in outcome.runs)], dtype=pl.String)
        tier = names.gather(outcome.tier.astype(np.int32) + 1)
        kinds = pl.Series([DecisionKind.UNDECIDED.value, DecisionKind.TIER.value])
        decided = (outcome.tier >= 0).astype(np.int8)
        kind = kinds.gather(decided)
        bases = pl.Series([None, *(basis.value for basis in DecisionBasis)], dtype=pl.String)
        basis = bases.gather(decided + outcome.rejected.astype(np.int8))
    return {"decision_kind": kind, "decision_tier": tier, "decision_basis": basis}


def attempt_table(keys: pl.DataFrame, outcome: Outcome) -> pl.DataFrame:
    """Return the ``jury_attempts`` table."""
    rows = np.arange(keys.height)
    frames = [
        _entries(run, where, outcome_of, ordinal).with_columns(place=pl.lit(place, pl.Int64))
        for place, (run, where, outcome_of, ordinal) in enumerate(_entered(outcome, rows))
    ]
    if not frames:
        return empty(JuryAttempts)
    attempts = pl.concat(frames).sort("row", "place")
    frame = pl.concat([keys[attempts["row"]], attempts], how="horizontal")
    return conform(frame.with_columns(ordinal=pl.int_range(pl.len()).over("row")), JuryAttempts)


def _entered(
    outcome: Outcome, rows: Longs
) -> Iterator[tuple[Run, Longs, "MetaOutcome | CascadeOutcome", int]]:
    """Yield every run of the tree depth first, with the verdicts that entered it."""
    if not isinstance(outcome, MetaOutcome | CascadeOutcome):
        return
    for ordinal, run in enumerate(outcome.runs):
        yield run, rows[run.rows], outcome, ordinal
        yield from _entered(run.outcome, rows[run.rows])


def _entries(
    run: Run, rows: Longs, parent: "MetaOutcome | CascadeOutcome", ordinal: int
) -> pl.DataFrame:
    n = len(rows)
    policy, relation = None, Relation.META_MEMBER
    if isinstance(parent.jury, Cascade):
        policy, relation = parent.jury.tiers[ordinal].policy.value, Relation.CASCADE_TIER
    aggregates = run.outcome.aggregates
    missing = pl.Series(run.reason == EXECUTION_FAILED)
    reasons = pl.Series([None if r is None else r.value for r in REASONS], dtype=pl.String)
    dispositions = pl.Series([Disposition.USED.value, Disposition.STAGE_FAILED.value])
    statuses = pl.Series([status.value for status in STATUSES])
    return pl.DataFrame(
        {
            "row": rows,
            "path": pl.Series([pointer(parent.stage, run.name)]).new_from_index(0, n),
            "stage": pl.Series([run.name]).new_from_index(0, n),
            "relation": pl.Series([relation.value]).new_from_index(0, n),
            "policy": pl.Series([policy], dtype=pl.String).new_from_index(0, n),
            "disposition": dispositions.gather((run.reason > 0).astype(np.int8)),
            "disposition_reason": reasons.gather(run.reason),
            "status": statuses.gather(aggregates.status),
            "score": pl.Series(aggregates.score, nan_to_null=True),
            "reason_code": _codes(aggregates),
            "missing": missing,
        }
    ).with_columns(
        pl.when("missing")
        .then(None)
        .otherwise(pl.col("status", "score", "reason_code"))
        .name.keep(),
        failure=pl.when("missing").then(pl.lit(FailureCode.JURY_EXECUTION_FAILED.value)),
    )
