"""Laws of juries over generated juries and judgments."""

from typing import Any

import orjson
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from judgebatch.errors import JuryDefinitionError
from judgebatch.juries import (
    Cascade,
    Jury,
    Member,
    MetaJury,
    Reduction,
    SeatDefinition,
    SimpleJury,
    Tier,
    Verdict,
    reduce_judgments,
)
from judgebatch.juries.seating import simple_stages
from judgebatch.verdicts import interpret, interpret_texts
from judgebatch.vocabulary import (
    TERMINAL_CODES,
    ErrorPolicy,
    NotApplicablePolicy,
    Strategy,
    TiePolicy,
    TierPolicy,
)
from tests.juries.made import judgments

VERDICTS = 6


@st.composite
def reductions(draw: st.DrawFn) -> Reduction:
    return Reduction(
        strategy=draw(st.sampled_from(Strategy)),
        error_policy=draw(st.sampled_from(ErrorPolicy)),
        not_applicable_policy=draw(st.sampled_from(NotApplicablePolicy)),
        tie_policy=draw(st.sampled_from(TiePolicy)),
        threshold=draw(st.sampled_from([0.0, 0.5, 0.7, 1.0])),
    )


@st.composite
def simple_juries(draw: st.DrawFn) -> SimpleJury:
    reduction = draw(reductions())
    condition = st.none() if reduction.refuses_exclusions else st.sampled_from([None, "w"])
    seats = [
        SeatDefinition(
            name=draw(st.sampled_from([f"judge {i}", 'the "judge"', None])),
            weight=draw(st.sampled_from([None, 0.0, 1.0, 0.1, 1e308])),
            not_applicable_when=draw(condition),
        )
        for i in range(draw(st.integers(1, 4)))
    ]
    return SimpleJury(reduction, tuple(seats))


@st.composite
def composites(draw: st.DrawFn, inner: st.SearchStrategy[Jury]) -> Jury:
    children = [draw(inner) for _ in range(draw(st.integers(1, 3)))]
    if draw(st.booleans()):
        policies = [draw(st.sampled_from(TierPolicy)) for _ in children[:-1]]
        policies.append(TierPolicy.FINAL_TIER)
        return Cascade(
            tuple(
                Tier(f"t/{i}", policy, jury)
                for i, (policy, jury) in enumerate(zip(policies, children, strict=True))
            )
        )
    members = tuple(Member(f"m~{i}", jury) for i, jury in enumerate(children))
    reduction = draw(reductions())
    try:
        return MetaJury(reduction, members)
    except JuryDefinitionError:
        return MetaJury(Reduction(strategy="majority", not_applicable_policy="exclude"), members)


juries = st.recursive(simple_juries(), composites, max_leaves=5)

answers = st.one_of(
    st.fixed_dictionaries(
        {
            "status": st.sampled_from(["pass", "pass", "fail"]),
            "score": st.none() | st.sampled_from([0.0, -0.0, 0.1, 0.2, 0.7, 1.0]),
            "label": st.sampled_from([None, "good\n"]),
            "checks": st.sampled_from([None, '[{"name":"c","passed":true}]']),
        }
    ),
    st.fixed_dictionaries({"status": st.sampled_from(["abstain", "not_applicable"])}),
    st.fixed_dictionaries(
        {"status": st.just("error"), "reason_code": st.none() | st.sampled_from(TERMINAL_CODES)}
    ),
    st.fixed_dictionaries(
        {
            "status": st.just("error"),
            "reason_code": st.just("errors_propagated"),
            "error_code_counts": st.dictionaries(
                st.sampled_from([code.value for code in TERMINAL_CODES]),
                st.sampled_from([1, 2, 2**53 - 1]),
                min_size=1,
            ).map(lambda counts: orjson.dumps(counts).decode()),
        }
    ),
    st.fixed_dictionaries({"outcome": st.sampled_from(["raised", "nothing"])}),
    st.none(),
)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Jury, pl.DataFrame]:
    jury = draw(juries)
    rows: list[dict[str, Any]] = []
    for verdict in range(VERDICTS):
        rows.append({"verdict_id": f"{verdict}", "stage": "/none", "status": "pass", "position": 9})
        for stage, simple in simple_stages(jury):
            for position, seat in enumerate(simple.seats):
                answer = draw(answers)
                if answer is not None:
                    place = {"stage": stage, "position": position, "name": seat.name}
                    rows.append({"verdict_id": f"{verdict}", **place, **answer})
    return jury, judgments(*rows)


def texts(frame: pl.DataFrame, jury: Jury) -> dict[str, str]:
    portable = reduce_judgments(frame, jury).portable()
    return dict(zip(portable["verdict_id"], portable["verdict"], strict=True))


def weightless(document: dict[str, Any]) -> bool:
    """Whether eligible judges had no weight: the format then lacks the threshold."""
    evidence = document["aggregated"]["metadata"].get("aggregation", {})
    return (
        document["aggregated"]["status"] == "abstain"
        and evidence.get("strategy") == "weightedAverage"
        and evidence.get("eligibleCount", 0) > 0
    )


@settings(max_examples=80, deadline=None)
@given(cases())
def test_a_verdict_is_strictly_built_and_reads_supported(case: tuple[Jury, pl.DataFrame]):
    jury, frame = case
    judged = reduce_judgments(frame, jury)
    assert judged.quarantine.is_empty()
    assert judged.keys.height == VERDICTS
    portable = judged.portable()["verdict"]
    documents = [orjson.loads(text) for text in portable]
    read = interpret_texts(portable)
    single = interpret(Verdict.of_document(documents[0]))
    assert single.reading_support == read.interpretations["reading_support"][0]
    for row, (text, document) in enumerate(zip(portable, documents, strict=True)):
        assert orjson.dumps(document).decode() == text
        assert Verdict.of_document(document).portable() == text
        defects = read.defects.filter(pl.col("row") == row).select("field", "kind").rows()
        support = read.interpretations["reading_support"][row]
        if weightless(document):
            assert support == "UNDETERMINED"
            assert defects == [("metadata.aggregation.threshold", "ABSENT")]
        else:
            assert (support, defects) == ("SUPPORTED", [])
    assert judged.verdicts["reading"].to_list() == read.interpretations["reading"].to_list()
    table = judged.verdicts
    assert table["status"].to_list() == [d["aggregated"]["status"] for d in documents]
    assert table["reasoning"].to_list() == [d["aggregated"]["reasoning"] for d in documents]
    assert judged.attempts.height == read.stages.height
    assert judged.attempts["path"].to_list() == read.stages["path"].to_list()


@settings(max_examples=40, deadline=None)
@given(cases(), st.randoms(use_true_random=False))
def test_neither_order_nor_company_changes_a_verdict(case: tuple[Jury, pl.DataFrame], random: Any):
    jury, frame = case
    together = texts(frame, jury)
    order = list(range(frame.height))
    random.shuffle(order)
    assert texts(frame[order], jury) == together
    alone = {}
    for verdict in together:
        alone |= texts(frame.filter(pl.col("verdict_id") == verdict), jury)
    assert alone == together
