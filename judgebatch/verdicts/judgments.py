"""Reading judgments: the aggregates and judges of a batch, by the same rules, in one table."""

from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from judgebatch.verdicts import members
from judgebatch.verdicts.defects import Defects, Place, Rule
from judgebatch.verdicts.flatten import Flat
from judgebatch.verdicts.members import Column, Index, Mask, Vocabulary, read_all
from judgebatch.verdicts.records import Judgments, flags, owners
from judgebatch.vocabulary import DefectKind, ReasonCode, Status

_ABSENT, _UNPARSEABLE = DefectKind.ABSENT, DefectKind.UNPARSEABLE
_UNKNOWN = DefectKind.UNKNOWN_VOCABULARY

STATUSES = tuple(Status)
PASS, FAIL, ABSTAIN, NOT_APPLICABLE, ERROR = range(len(STATUSES))
"""Codes of statuses, beside ``Vocabulary.ABSENT`` and ``Vocabulary.UNKNOWN``."""

STATUS_WORDS = Vocabulary([*STATUSES, *(status.name for status in STATUSES)])
REASON_CODES = Vocabulary(list(ReasonCode))
CODE = {code: at for at, code in enumerate(ReasonCode)}

JUDGMENT_ABSENT = Rule("judgment", _ABSENT, "no judgment is stored for this judge")
_STATUS_ABSENT = Rule("status", _ABSENT, "the judgment has no status")
_STATUS_UNPARSEABLE = Rule("status", _UNPARSEABLE, "the status is not text")
_STATUS_UNKNOWN = Rule("status", _UNKNOWN, "the status is none of the five")
_CODE_ABSENT = Rule("reasonCode", _ABSENT, "an error without a reason code")
_CODE_UNPARSEABLE = Rule("reasonCode", _UNPARSEABLE, "the reason code is not text")
_CODE_UNKNOWN = Rule("reasonCode", _UNKNOWN, "the reason code is not a known one")
_REASONING_ABSENT = Rule("reasoning", _ABSENT, "the judgment has no reasoning")
_REASONING_UNPARSEABLE = Rule("reasoning", _UNPARSEABLE, "the reasoning is not text")
_SCORE_UNPARSEABLE = Rule(
    "score", _UNPARSEABLE, "the score is neither a number in [0, 1] nor a value inside its scale"
)
_CHECKS_ABSENT = Rule("checks", _ABSENT, "the judgment has no list of checks")
_CHECKS_UNPARSEABLE = Rule("checks", _UNPARSEABLE, "the checks are not a list")
_CHECK_UNPARSEABLE = Rule(
    "checks", _UNPARSEABLE, "a check without a name or without true or false was dropped"
)
_MESSAGE_ABSENT = Rule("message", _ABSENT, "the check has no message")
_MESSAGE_UNPARSEABLE = Rule("message", _UNPARSEABLE, "the check's message is not text")

# White space as Java's isBlank has it: the no-break spaces are not blank.
_BLANK = (
    r"^[\x09-\x0d\x1c-\x20\x{1680}\x{2000}-\x{2006}\x{2008}-\x{200a}"
    r"\x{2028}\x{2029}\x{205f}\x{3000}]*$"
)


class Where(NamedTuple):
    """Where each judgment stands.

    ``node`` holds it; ``section`` and ``at`` order it there; ``missing`` ones are not there, so
    nothing in them is found wrong; ``name`` is a judge's, and ``by_key`` says that the judgment
    stands in the map under it.
    """

    node: Index
    section: Index
    at: Index
    missing: Mask
    by_key: Mask
    name: pl.Series


class Checks(NamedTuple):
    """Entries of lists of checks: the judgment of each, in order, and which ones were accepted."""

    judgment: Index
    place: Index
    accepted: Mask
    name: pl.Series
    passed: pl.Series
    detail: pl.Series


class Judged(NamedTuple):
    """Judgments read: statuses also as codes, scores also as the bare numbers that were stored."""

    where: Where
    status: pl.Series
    status_code: Index
    reason_code: pl.Series
    code: Index
    reasoning: pl.Series
    score: pl.Series
    bare_score: pl.Series
    scale_min: pl.Series
    scale_max: pl.Series
    label: pl.Series
    vacuous: Index
    checks: Checks


def read_judgments(flat: Flat, at: Where, defects: Defects) -> Judged:
    """Read all judgments of a batch: aggregates, then seats', then unseated judges'."""
    held = (flat.aggregate, flat.seats.judgment, flat.unseated.judgment)
    order = order_of_judgment(at)

    def add(rule: Rule, mask: Mask, step: int) -> None:
        hits = np.flatnonzero(mask & ~at.missing)
        place = Place.JUDGMENT
        defects.add(rule, place, hits, node=at.node[hits], order=order[hits] + (step << 27))

    status = read_all(j.status for j in held)
    code, wire = read_status(status)
    add(_STATUS_ABSENT, status.absent, 4)
    add(_STATUS_UNPARSEABLE, status.wrong, 4)
    add(_STATUS_UNKNOWN, code == Vocabulary.UNKNOWN, 4)

    reason = read_all(j.reason_code for j in held)
    reason_code = REASON_CODES.codes(reason.values)
    add(_CODE_ABSENT, reason.absent & (code == ERROR), 5)
    add(_CODE_UNPARSEABLE, reason.wrong, 5)
    add(_CODE_UNKNOWN, reason_code == Vocabulary.UNKNOWN, 5)

    reasoning = read_all(j.reasoning for j in held)
    add(_REASONING_ABSENT, reasoning.absent, 6)
    add(_REASONING_UNPARSEABLE, reasoning.wrong, 6)

    score, bare, low, high = read_score(held)
    add(_SCORE_UNPARSEABLE, score.wrong, 7)

    firsts = firsts_of(held)
    checks = _read_checks(held, at, order, defects)
    total = len(code)
    absent = _places(firsts, [j.checks.absent for j in held])
    not_list = _places(firsts, [j.checks.not_list for j in held])
    add(_CHECKS_ABSENT, flags(total, absent), 8)
    add(_CHECKS_UNPARSEABLE, flags(total, not_list), 8)
    label = read_all(j.label for j in held)
    return Judged(
        where=at,
        status=wire,
        status_code=code,
        reason_code=reason.values,
        code=reason_code,
        reasoning=reasoning.values,
        score=score.values,
        bare_score=bare,
        scale_min=low,
        scale_max=high,
        label=label.values,
        vacuous=_vacuous(held, code),
        checks=checks,
    )


def order_of_judgment(at: Where) -> Index:
    """Return where each judgment's turn begins inside its node."""
    return (at.section << 60) + ((at.at + 1) << 31)


def read_status(status: Column) -> tuple[npt.NDArray[np.int64], pl.Series]:
    """Return each status as a code and as its wire token; unknown ones are kept as they are."""
    words = STATUS_WORDS.codes(status.values)
    code = np.where(words >= 0, words % len(STATUSES), words)
    if (words < len(STATUSES)).all():
        return code, status.values
    upper = np.flatnonzero(words >= len(STATUSES))
    tokens = pl.Series([str(token) for token in STATUSES]).gather(code[upper])
    return code, status.values.clone().scatter(upper, tokens)


def firsts_of(held: tuple[Judgments, ...]) -> list[int]:
    """Return the number of each part's first judgment in the one table."""
    return [0, held[0].size, held[0].size + held[1].size]


def _places(firsts: list[int], parts: list[list[int]]) -> list[int]:
    """Return places in the one table, given the places in each part."""
    return [first + place for first, part in zip(firsts, parts, strict=True) for place in part]


def read_score(
    held: tuple[Judgments, ...],
) -> tuple[Column, pl.Series, pl.Series, pl.Series]:
    """Return scores in [0, 1], the bare numbers as stored, and the scales that were read.

    A legacy score is an object: (value - min) / (max - min).
    """
    bare = read_all(j.score for j in held)
    values = bare.values
    inside = members.where((values >= 0.0) & (values <= 1.0))
    wrong = bare.wrong | (~inside & ~members.nulls(values))
    none = pl.Series([None], dtype=pl.Float64).new_from_index(0, len(values))
    score = values.zip_with(pl.Series(inside), none)
    scaled = _places(firsts_of(held), [j.scaled for j in held])
    if not scaled:
        return Column(score, wrong), values, none, none
    at = np.array(scaled, dtype=np.int64)
    value = read_all(j.scale_value for j in held).values
    low = read_all(j.scale_min for j in held).values
    high = read_all(j.scale_max for j in held).values
    readable = members.where(low < high) & ~members.nulls(value)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        lowest = low.to_numpy()
        share = (value.to_numpy() - lowest) / (high.to_numpy() - lowest)
    good = readable & (share >= 0.0) & (share <= 1.0)
    wrong[at] = ~good
    score = score.clone().scatter(at[good], share[good])
    scale_min = none.clone().scatter(at[readable], low.filter(pl.Series(readable)))
    scale_max = none.clone().scatter(at[readable], high.filter(pl.Series(readable)))
    return Column(score, wrong), values, scale_min, scale_max


def _read_checks(held: tuple[Judgments, ...], at: Where, order: Index, defects: Defects) -> Checks:
    """Read the entries of all lists of checks."""
    firsts = firsts_of(held)
    owner = _places(firsts, [j.checks.owner for j in held])
    judgment, index = owners(owner, list(chain.from_iterable(j.checks.size for j in held)))
    name = read_all(j.checks.name for j in held).values
    passed = read_all(j.checks.passed for j in held).values
    message = read_all(j.checks.message for j in held)
    good = _not_blank(name) & ~members.nulls(passed)

    def add(rule: Rule, place: Place, mask: Mask, suffix: pl.Series | None = None) -> None:
        hits = np.flatnonzero(mask)
        of = judgment[hits]
        defects.add(
            rule,
            place,
            hits if place is Place.CHECK else of,
            node=at.node[of],
            order=order[of] + (9 << 27) + index[hits],
            suffix=suffix,
        )

    dropped = np.flatnonzero(~good)
    if len(dropped):
        suffix = "[" + pl.Series(index[dropped]).cast(pl.String) + "]"
        add(_CHECK_UNPARSEABLE, Place.JUDGMENT, ~good, suffix)
    add(_MESSAGE_ABSENT, Place.CHECK, good & message.absent)
    add(_MESSAGE_UNPARSEABLE, Place.CHECK, good & message.wrong)
    return Checks(judgment, index, good, name, passed, message.values.fill_null(""))


def _not_blank(texts: pl.Series) -> Mask:
    """Return which texts are there and not blank."""
    # Most texts begin with a printable character of ASCII, which is quick to see.
    good = members.where((texts >= "!") & (texts < "\x7f"))
    if good.all():
        return good
    others = np.flatnonzero(~good)
    good = good.copy()
    good[others] = members.where(~texts.gather(others).str.contains(_BLANK))
    return good


def _vacuous(held: tuple[Judgments, ...], code: Index) -> Index:
    """Return judgments that passed over a roster of no requirements."""
    at = np.array(_places(firsts_of(held), [j.roster for j in held]), dtype=np.int64)
    criteria = read_all(j.criteria for j in held).values
    constraints = read_all(j.constraints for j in held).values
    none = members.where(criteria == 0.0) | members.where(constraints == 0.0)
    passed: Mask = none & (code[at] == PASS)
    return at[passed]
