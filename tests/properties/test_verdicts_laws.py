"""Whatever is done to a stored verdict, it is read, and what is wrong with it is told."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import orjson
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judgebatch.verdicts import (
    Interpretation,
    comparison_outcome,
    interpret,
    interpret_many,
    interpret_texts,
    restatement_cause,
)
from judgebatch.verdicts.recuration import recurate
from judgebatch.vocabulary import Outcome, Reading, ReadingSupport
from tests.verdicts.documents import known_cases

SMALL = [case["verdict"] for case in known_cases() if len(orjson.dumps(case["verdict"])) < 4000]
SOUND = [
    case["verdict"]
    for case in known_cases()
    if not case["expect"]["defects"] and len(orjson.dumps(case["verdict"])) < 4000
]
TOKENS = [
    "pass", "PASS", "fail", "abstain", "not_applicable", "error", "tier", "own", "undecided",
    "tier_outcome", "individual_rejection", "used", "stage_failed", "child_undecided", "t0",
    "REJECT_ON_ANY_FAIL", "cascade_tier", "meta_member", "consensus", "average", "propagate",
    "judge_failed", "errors_propagated", "DECLARED", "", " ", "a/b~c", '"', "]", "\u2028", "tie",
]  # fmt: skip
SCALARS = (
    st.none()
    | st.booleans()
    | st.sampled_from(TOKENS)
    | st.integers(-(2**65), 2**65)
    | st.sampled_from([0, 1, -1, 2**31, 0.0, -0.0, 0.5, 1.0, 2.0, 1e300])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*TOKENS, "status", "verdict", "name"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)
QUICK = settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where every member and entry stands."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in entries:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a stored verdict, changed in up to four places."""
    document = deepcopy(draw(st.sampled_from(SMALL)))
    for _ in range(draw(st.integers(1, 4))):
        found = list(places(document))
        if not found:
            break
        *inside, last = draw(st.sampled_from(found))
        holder = at(document, tuple(inside))
        change = draw(st.sampled_from(["set", "remove", "copy", "rename"]))
        if change == "set":
            holder[last] = draw(VALUES)
        elif change == "remove":
            del holder[last]
        elif change == "copy":
            holder[last] = deepcopy(at(document, draw(st.sampled_from(found))))
        elif isinstance(holder, dict):
            holder[draw(st.sampled_from(TOKENS))] = holder.pop(last)
    return document


def dumped(one: Interpretation) -> dict[str, Any]:
    return one.model_dump(mode="json", by_alias=True)


@QUICK
@given(st.lists(mutated(), min_size=1, max_size=4))
def test_scalar_and_columnar_agree_and_nothing_raises(documents: list[dict[str, Any]]) -> None:
    texts = [
        orjson.dumps(document, option=orjson.OPT_PASSTHROUGH_SUBCLASS).decode()
        if fits(document)
        else None
        for document in documents
    ]
    together = list(interpret_many(documents))
    assert [dumped(one) for one in together] == [dumped(interpret(one)) for one in documents]
    batch = interpret_texts(pl.Series(texts, dtype=pl.String))
    for row, (text, one) in enumerate(zip(texts, together, strict=True)):
        if text is None:
            continue
        flat = batch.interpretations.filter(row=row).row(0, named=True)
        assert (flat["reading"], flat["reading_support"]) == (one.reading, one.reading_support)
        assert (flat["status"], flat["reason_code"]) == (one.root.status, one.root.reason_code)
        assert flat["summary"] == one.summary
        defects = batch.defects.filter(row=row).select("path", "field", "kind", "note").rows()
        assert defects == [(d.path, d.field, d.kind, d.note) for d in one.defects]
        judges = batch.judges.filter(row=row, stage_ordinal=0).select("name", "status", "score")
        assert judges.rows() == [(j.name, j.status, j.score) for j in one.root.judges]
        assert flat["stage_count"] == len(one.stages)


def fits(value: Any) -> bool:
    """Return whether all integers fit what an encoder writes."""
    if isinstance(value, dict):
        return all(map(fits, value.values()))
    if isinstance(value, list):
        return all(map(fits, value))
    return not isinstance(value, int) or -(2**63) <= value < 2**64


@QUICK
@given(mutated())
def test_every_reading_stays_inside_its_vocabulary(document: dict[str, Any]) -> None:
    one = interpret(document)
    assert one.reading is None or one.reading in Reading
    contradicted = any(defect.kind == "INCONSISTENT" for defect in one.defects)
    assert (one.reading_support == ReadingSupport.CONTRADICTED) == contradicted
    if one.reading is None and not contradicted:
        assert one.reading_support == ReadingSupport.UNDETERMINED
    for judge in one.root.judges:
        assert judge.score is None or 0.0 <= judge.score <= 1.0
        assert abs(judge.position) <= 2**31
        assert all(check.name and isinstance(check.passed, bool) for check in judge.checks)


REQUIRED = {
    "aggregated": ["status", "reasoning", "checks"],
    "individual": ["status", "reasoning", "checks"],
    "seats": ["verdictKey", "keySource", "position"],
}


@QUICK
@given(st.sampled_from([one for one in SOUND if one.keys() >= REQUIRED.keys()]), st.data())
def test_a_member_that_is_taken_away_is_told_where_it_stood(
    document: dict[str, Any], data: st.DataObject
) -> None:
    part = data.draw(st.sampled_from(sorted(REQUIRED)))
    field = data.draw(st.sampled_from(REQUIRED[part]))
    damaged = deepcopy(document)
    holder, path = damaged[part], f"verdict.{part}"
    if isinstance(holder, list):
        seated = min(len(damaged["seats"]), len(holder))
        if not seated:
            return
        place = data.draw(st.integers(0, seated - 1))
        holder, path = holder[place], f"{path}[{place}]"
    if not isinstance(holder, dict) or field not in holder:
        return
    del holder[field]
    found = [(d.path, d.field) for d in interpret(damaged).defects]
    assert (path, field) in found


@QUICK
@given(st.sampled_from(SOUND), st.data())
def test_defects_of_one_place_survive_damage_at_another(
    document: dict[str, Any], data: st.DataObject
) -> None:
    first = deepcopy(document)
    first["aggregated"]["reasoning"] = data.draw(st.integers() | st.none())
    both = deepcopy(first)
    both["weights"] = data.draw(VALUES)
    both["individual"] = data.draw(VALUES)
    before = [d for d in interpret(first).defects if d.path == "verdict.aggregated"]
    after = [d for d in interpret(both).defects if d.path == "verdict.aggregated"]
    assert before
    assert before == after


@QUICK
@given(mutated(), st.sampled_from([True, False, None]))
def test_an_outcome_and_a_cause_follow_from_the_columns_alone(
    document: dict[str, Any],
    recorded: bool | None,  # noqa: FBT001
) -> None:
    if not fits(document):
        return
    batch = interpret_texts(pl.Series([orjson.dumps(document).decode()]))
    row = batch.interpretations.with_columns(
        pl.Series("recorded_passed", [recorded], dtype=pl.Boolean)
    ).with_columns(outcome=comparison_outcome(), cause=restatement_cause())
    said = row.row(0, named=True)
    assert said["outcome"] in list(Outcome)
    assert (said["outcome"] == "unattestable") == (
        said["reading"] is None or said["reading_support"] == "CONTRADICTED"
    )
    assert (said["error_codes"] is not None) == (said["reading"] == "NOT_ASSESSED")
    if recorded is None or (said["reading"] is None and not said["vacuous_pass"]):
        assert said["cause"] is None


@QUICK
@given(mutated())
def test_recuration_changes_nothing_but_statuses_and_is_done_once(document: dict[str, Any]) -> None:
    if not fits(document):
        return
    text = orjson.dumps(document).decode()
    done = recurate(text)
    assert (done.text == text) == (not done.reclassified)
    assert recurate(done.text) == (done.text, ())


@pytest.mark.parametrize("document", [{}, {"aggregated": {}}, {"seats": []}, {"decision": {}}])
def test_the_smallest_documents_are_read(document: dict[str, Any]) -> None:
    assert interpret(document).reading is None
