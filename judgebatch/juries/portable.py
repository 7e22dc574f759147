"""Verdicts as portable JSON: the bytes that orjson gives for the same document.

Every judgment is written once and then used wherever it stands; what differs between aggregates
only in counts is written once per combination. Nothing runs per verdict in Python, except for
what custom juries gave.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import orjson
import polars as pl

from judgebatch.juries.acceptance import read_checks
from judgebatch.juries.definition import Cascade, Jury, Reduction, SimpleJury
from judgebatch.juries.evaluation import Evaluation
from judgebatch.juries.lanes import CODES, NO_CODE, STATUSES, WRAPPER, Aggregates, Longs
from judgebatch.juries.outcomes import (
    EXECUTION_FAILED,
    REASONS,
    USED,
    CascadeOutcome,
    CustomOutcome,
    MetaOutcome,
    Outcome,
    SimpleOutcome,
)
from judgebatch.juries.pool import FIRST, Pool
from judgebatch.juries.statements import Statement, statements
from judgebatch.juries.texts import Piece, after, escaped, join, listed, numbers, quoted, spread
from judgebatch.vocabulary import (
    DecisionBasis,
    Disposition,
    FailureCode,
    Relation,
)

_NOBODY = ',"individual":[],"individualByName":{},"weights":{},"seats":[]'
_OWN = ',"decision":{"kind":"own"}'
_UNDECIDED = ',"decision":{"kind":"undecided"}'
_SLOT = "\x00"
"""Where a number that differs from verdict to verdict goes; JSON text never holds it."""


@dataclass
class Portable:
    """The texts of one evaluation."""

    evaluation: Evaluation

    def __post_init__(self) -> None:
        # By identity: outcomes live as long as the evaluation that these texts belong to.
        self._rests: dict[int, pl.Series] = {}

    @property
    def _pool(self) -> Pool:
        return self.evaluation.source.pool

    def verdicts(self, outcome: Outcome) -> pl.Series:
        """Return the (n,) complete texts of the outermost jury."""
        texts = self._whole(outcome, self._rest(outcome))
        if not outcome.missing.any():
            return texts
        failed = ['{"aggregated":', *self._aggregated(outcome.aggregates), _NOBODY, _UNDECIDED]
        stand_in = join([*failed, ',"compositeAttempts":[]}'], len(outcome.missing))
        return texts.zip_with(pl.Series(~outcome.missing), stand_in)

    def _whole(self, outcome: Outcome, rest: list[Piece]) -> pl.Series:
        """Return the (n,) complete texts of an outcome; null where it is missing."""
        n = len(outcome.missing)
        if isinstance(outcome, CustomOutcome):
            texts = [
                None if verdict is None else verdict.portable() for verdict in outcome.verdicts
            ]
            return pl.Series(texts, dtype=pl.String)
        pieces = ['{"aggregated":', *self._aggregated(outcome.aggregates), *rest]
        pieces += [*self._decision(outcome), ',"compositeAttempts":[']
        if isinstance(outcome, MetaOutcome | CascadeOutcome):
            attempts = [self._attempt(ordinal, outcome) for ordinal in range(len(outcome.runs))]
            pieces.append(listed(attempts, n))
        return join([*pieces, "]}"], n)

    # --- judgments -------------------------------------------------------------------------

    @cached_property
    def judgments(self) -> pl.Series:
        """(m,) texts of the pool's judgments."""
        pool = self._pool
        heads = pl.Series([f'{{"status":"{status.value}"' for status in STATUSES])
        pieces: list[Piece] = [heads.gather(pool.status)]
        if not np.isnan(pool.score).all():
            pieces.append(after(',"score":', numbers(pool.score)))
        label = pool.texts("label")
        if label.null_count() < len(label):
            pieces.append(after(',"label":"', escaped(label), '"'))
        if (pool.code != NO_CODE).any():
            codes = pl.Series(["", *(f',"reasonCode":"{code.value}"' for code in CODES)])
            pieces.append(codes.gather(pool.code.astype(np.int32) + 1))
        pieces += [',"reasoning":"', escaped(pool.reasoning), '","checks":', self._checks]
        pieces += [',"metadata":', self._metadata, "}"]
        return join(pieces, len(pool.status))

    @property
    def _checks(self) -> Piece:
        texts = self._pool.texts("checks")
        if texts.null_count() == len(texts):
            return "[]"
        distinct = texts.drop_nulls().unique()
        documents = [[check.document() for check in read_checks(text)] for text in distinct]
        written = [orjson.dumps(document).decode() for document in documents]
        return texts.replace_strict(
            distinct, pl.Series(written, dtype=pl.String), default=None, return_dtype=pl.String
        ).fill_null("[]")

    @property
    def _metadata(self) -> Piece:
        wrappers = np.flatnonzero(self._pool.code == WRAPPER)
        if not len(wrappers):
            return "{}"
        texts = self._pool.frame["error_code_counts"].gather(wrappers - FIRST)
        distinct = texts.unique()
        # A judge's own causes keep the order in which they were recorded.
        blocks_by_text = [{"aggregation": {"errorCodeCounts": orjson.loads(t)}} for t in distinct]
        written = [quoted_json(block) for block in blocks_by_text]
        blocks = texts.replace_strict(
            distinct, pl.Series(written, dtype=pl.String), return_dtype=pl.String
        )
        return spread(blocks, wrappers, len(self._pool.code)).fill_null("{}")

    # --- aggregates ------------------------------------------------------------------------

    def _aggregated(self, aggregates: Aggregates) -> list[Piece]:
        pieces = _aggregate_pieces(aggregates, self.evaluation.rules.rules)
        rows = np.flatnonzero(aggregates.foreign >= 0)
        if not len(rows):
            return pieces
        made = [self.evaluation.foreign[i].aggregated for i in aggregates.foreign[rows]]
        foreign = pl.Series([quoted_json(judgment.document()) for judgment in made])
        n = len(aggregates.status)
        ours = join(pieces, n)
        choice = np.arange(n)
        choice[rows] = n + np.arange(len(rows))
        return [pl.concat([ours, foreign], rechunk=True).gather(choice)]

    # --- individuals, weights, seats -------------------------------------------------------

    def _rest(self, outcome: Outcome) -> list[Piece]:
        """Return the components from the individuals to the seats."""
        if isinstance(outcome, SimpleOutcome):
            return self._simple_rest(outcome)
        if isinstance(outcome, MetaOutcome):
            return self._meta_rest(outcome)
        if isinstance(outcome, CascadeOutcome):
            return [self._cascade_rest(outcome)]
        if isinstance(outcome, CustomOutcome):
            return [_custom_rest(outcome)]
        raise AssertionError(f"no such outcome: {outcome!r}")

    def _kept_rest(self, outcome: Outcome) -> pl.Series:
        """Return the same as a column, put together once: an attempt and its copy share it."""
        kept = self._rests.get(id(outcome))
        if kept is None:
            kept = join(self._rest(outcome), len(outcome.missing))
            self._rests[id(outcome)] = kept
        return kept

    def _simple_rest(self, outcome: SimpleOutcome) -> list[Piece]:
        jury = outcome.jury
        if not isinstance(jury, SimpleJury):
            raise TypeError("a simple outcome is a simple jury's")
        texts = [self.judgments.gather(index) for index in outcome.index]
        pieces: list[Piece] = [',"individual":[']
        for seat, text in enumerate(texts):
            pieces += [",", text] if seat else [text]
        pieces.append('],"individualByName":{')
        # A repeated key keeps its last judgment, at the place of the first.
        last = {key: seat for seat, key in enumerate(jury.keys)}
        for i, (key, seat) in enumerate(last.items()):
            pieces += [f"{',' if i else ''}{quoted(key)}:", texts[seat]]
        pieces.append('},"weights":{')
        for seat, weight in enumerate(outcome.weight):
            same = len(weight) and (weight == weight[0]).all()
            number: Piece = quoted_json(float(weight[0])) if same else numbers(weight)
            pieces += [f'{"," if seat else ""}"{seat}":', number]
        seats = [
            {"position": position, "verdictKey": key, "keySource": source.value}
            for position, (key, source) in enumerate(zip(jury.keys, jury.key_sources, strict=True))
        ]
        pieces.append(f'}},"seats":{quoted_json(seats)}')
        return pieces

    def _meta_rest(self, outcome: MetaOutcome) -> list[Piece]:
        n = len(outcome.missing)
        individuals, entries, seats = [], [], []
        for position, run in enumerate(outcome.runs):
            used = np.flatnonzero(run.reason == USED)
            text = join(self._aggregated(run.outcome.aggregates), n).gather(used)
            individuals.append(spread(text, used, n))
            entries.append(spread(after(f"{quoted(run.name)}:", text), used, n))
            seat = {"position": position, "verdictKey": run.name, "keySource": "DECLARED"}
            literal = pl.Series([quoted_json(seat)]).new_from_index(0, len(used))
            seats.append(spread(literal, used, n))
        return [
            ',"individual":[',
            listed(individuals, n),
            '],"individualByName":{',
            listed(entries, n),
            '},"weights":{},"seats":[',
            listed(seats, n),
            "]",
        ]

    def _cascade_rest(self, outcome: CascadeOutcome) -> pl.Series:
        """Copy the components of the deciding tiers."""
        parts = [pl.Series([_NOBODY])]
        choice = np.zeros(len(outcome.missing), np.int64)
        taken = 1
        for ordinal, run in enumerate(outcome.runs):
            part = self._kept_rest(run.outcome)
            decided = np.flatnonzero(outcome.tier[run.rows] == ordinal)
            choice[run.rows[decided]] = taken + decided
            parts.append(part)
            taken += len(part)
        return pl.concat(parts, rechunk=True).gather(choice)

    # --- decisions and attempts ------------------------------------------------------------

    def _decision(self, outcome: Outcome) -> list[Piece]:
        if not isinstance(outcome, CascadeOutcome):
            kinds = pl.Series([_OWN, _UNDECIDED])
            if not outcome.undecided.any():
                return [_OWN]
            return [kinds.gather(outcome.undecided.astype(np.int8))]
        texts = [_UNDECIDED]
        for run in outcome.runs:
            for basis in DecisionBasis:
                decision = {"kind": "tier", "tier": run.name, "basis": basis.value}
                texts.append(f',"decision":{quoted_json(decision)}')
        # Two texts for each tier, in the order of the bases, behind the undecided one.
        choice = (outcome.tier.astype(np.int32) * 2 + 1 + outcome.rejected).astype(np.int32)
        return [pl.Series(texts).gather(np.where(outcome.undecided, 0, choice))]

    def _attempt(self, ordinal: int, parent: MetaOutcome | CascadeOutcome) -> pl.Series:
        """Return the attempts of a tier or member; null where it was not entered."""
        run, jury = parent.runs[ordinal], parent.jury
        policy = jury.tiers[ordinal].policy if isinstance(jury, Cascade) else None
        heads = []
        for code, reason in enumerate(REASONS):
            relation = Relation.META_MEMBER if policy is None else Relation.CASCADE_TIER
            head = {"name": run.name, "relation": relation.value}
            if policy is not None:
                head["policy"] = policy.value
            head["disposition"] = (
                Disposition.USED if reason is None else Disposition.STAGE_FAILED
            ).value
            if reason is not None:
                head["dispositionReason"] = reason.value
            failure = {"failure": {"code": FailureCode.JURY_EXECUTION_FAILED.value}}
            text = quoted_json({**head, **failure} if code == EXECUTION_FAILED else head)[:-1]
            heads.append(text if code == EXECUTION_FAILED else f'{text},"verdict":')
        texts = join(
            [
                pl.Series(heads).gather(run.reason),
                self._whole(run.outcome, [self._kept_rest(run.outcome)]),
                "}",
            ],
            len(run.rows),
        )
        return spread(texts, run.rows, len(parent.missing))


def quoted_json(document: object) -> str:
    """Return JSON values as text."""
    return orjson.dumps(document).decode()


def aggregate_texts(aggregates: Aggregates, rules: Sequence[Reduction | Jury]) -> pl.Series:
    """Return the (n,) texts of aggregates that built-in parts made."""
    return join(_aggregate_pieces(aggregates, rules), len(aggregates.status))


def _aggregate_pieces(aggregates: Aggregates, rules: Sequence[Reduction | Jury]) -> list[Piece]:
    kinds, number = statements(aggregates, rules)
    texts = [_aggregate_text(kind) for kind in kinds]
    if any(kind.scored or _weighed(kind) for kind in kinds):
        return _slotted([text.split(_SLOT) for text in texts], number, aggregates)
    whole = pl.Series([text.replace(_SLOT, "") for text in texts], dtype=pl.String)
    return [whole.gather(number)]


def _weighed(statement: Statement) -> bool:
    return statement.evidence is not None and "inputWeight" in statement.evidence


def _slotted(split: list[list[str]], number: Longs, aggregates: Aggregates) -> list[Piece]:
    """Return the parts of aggregates around their own numbers, and the numbers."""
    slots = (aggregates.score, aggregates.input_weight, aggregates.eligible_weight)
    pieces: list[Piece] = []
    for i in range(max(map(len, split))):
        parts = [texts[i] if i < len(texts) else None for texts in split]
        if i:
            present = np.array([part is not None for part in parts])[number]
            pieces.append(numbers(np.where(present, slots[i - 1], np.nan)))
        pieces.append(pl.Series(parts, dtype=pl.String).gather(number))
    return pieces


def _aggregate_text(statement: Statement) -> str:
    """Return the text of an aggregate, with a slot for each number of its own."""
    pieces = [f'{{"status":"{statement.status.value}"']
    pieces.append(f',"score":{_SLOT}' if statement.scored else _SLOT)
    if statement.reason_code is not None:
        pieces.append(f',"reasonCode":"{statement.reason_code.value}"')
    pieces.append(f',"reasoning":{quoted(statement.reasoning)},"checks":[],"metadata":{{')
    if statement.evidence is not None:
        entries = [
            f"{quoted(key)}:{_SLOT if value is None else quoted_json(value)}"
            for key, value in statement.evidence.items()
        ]
        pieces.append(f'"aggregation":{{{",".join(entries)}}}')
    return "".join([*pieces, "}}"])


def _custom_rest(outcome: CustomOutcome) -> pl.Series:
    names = ("individual", "individualByName", "weights", "seats")
    texts: list[str | None] = []
    for verdict in outcome.verdicts:
        if verdict is None:
            texts.append(None)
            continue
        document = verdict.document()
        texts.append("," + quoted_json({name: document[name] for name in names})[1:-1])
    return pl.Series(texts, dtype=pl.String)
