import orjson
import polars as pl

from judgebatch.verdicts import interpret_texts
from judgebatch.verdicts.recuration import recurate
from tests.verdicts.documents import accepted, judgment, legacy, text, verdict


def meant_exclusion(status: str = "abstain") -> dict[str, object]:
    return judgment(status, label="not_applicable")


def test_an_abstention_labelled_not_applicable_becomes_an_exclusion() -> None:
    done = recurate(text(legacy("ABSTAIN", label="not_applicable")))
    assert [one[:2] for one in done.reclassified] == [
        ("verdict.aggregated", None),
        ("verdict.individual[0]", "only"),
    ]
    read = interpret_texts(pl.Series([done.text]))
    assert read.interpretations["reading"].to_list() == ["NOT_APPLICABLE"]


def test_both_places_of_a_judge_change_and_are_named_once() -> None:
    document = verdict(judgment("pass"), meant_exclusion(), judgment("pass"))
    done = recurate(text(document))
    assert [one.path for one in done.reclassified] == ["verdict.individual[0]"]
    new = orjson.loads(done.text)
    assert new["individual"][0]["status"] == new["individualByName"]["j0"]["status"]
    assert new["individual"][0]["status"] == "not_applicable"


def test_judges_of_attempts_change_too() -> None:
    inner = verdict(judgment("pass"), meant_exclusion())
    document = accepted() | {
        "compositeAttempts": [{"name": "t", "verdict": inner}],
        "subVerdicts": [legacy("ABSTAIN", label="not_applicable")],
    }
    assert [one.path for one in recurate(text(document)).reclassified] == [
        "verdict.compositeAttempts[0].verdict.individual[0]",
        "verdict.subVerdicts[0].aggregated",
        "verdict.subVerdicts[0].individual[0]",
    ]


def test_nothing_else_changes_and_a_second_time_does_nothing() -> None:
    plain = '{"aggregated": {"status":"abstain",  "label":"other"}, "n": 1.0e2}'
    assert recurate(plain).text == plain
    for document in (accepted(), legacy("abstain"), legacy("pass", label="not_applicable")):
        assert recurate(text(document)) == (text(document), ())
    once = recurate(text(verdict(meant_exclusion(), meant_exclusion())))
    assert recurate(once.text) == (once.text, ())


def test_nothing_in_a_verdict_raises() -> None:
    odd = {
        "aggregated": [],
        "individual": {"a": 1},
        "individualByName": [1],
        "compositeAttempts": [1, {}],
        "subVerdicts": [2],
    }
    assert recurate(text(odd)).reclassified == ()
    deep = "[" * 1000 + "]" * 1000
    aggregate = text(meant_exclusion())[:-1]
    done = recurate(f'{{"aggregated":{aggregate},"deep":{deep}}},"k":[1,{{"a":"b"}}]}}')
    assert len(done.reclassified) == 1
    assert orjson.loads(done.text)["k"] == [1, {"a": "b"}]
