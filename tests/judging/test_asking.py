"""What a judge does wrong stays with its pair, costs nothing, and is counted."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pytest

from judgebatch.contracts.rows import VerdictRows
from judgebatch.contracts.table import schema_of
from judgebatch.errors import InputError
from judgebatch.judging import (
    Asking,
    CallableJudge,
    Journal,
    MalformedAnswerError,
    ask,
    pair_key,
)
from judgebatch.juries import JuryReducer, Reduction, SeatDefinition, SimpleJury, Verdict
from tests.judging.made import AS_OF, REDUCER, pairs, passes
from tests.juries.made import simple


@pytest.fixture
def journal(tmp_path: Path) -> Any:
    with Journal(tmp_path / "journal") as journal:
        yield journal


def judge(function: Any, **more: Any) -> CallableJudge:
    return CallableJudge("judge", function, **{"cost_usd": 0.01, **more})


def statuses(rows: pl.DataFrame) -> dict[str, str]:
    documents = [orjson.loads(text) for text in rows["verdict"]]
    return {
        left: document["aggregated"]["status"]
        for left, document in zip(rows["episode_id"], documents, strict=True)
    }


def test_every_pair_gets_a_verdict_row(journal: Journal):
    mine = judge(passes)
    rows, counts = ask(mine, REDUCER, pairs("b", "a"), journal, judged_at=AS_OF)
    assert rows.schema == schema_of(VerdictRows)
    assert rows.select("episode_id", "compared_episode_id", "judge_id", "source_row").rows() == [
        ("a", "reference", "judge", 0),
        ("b", "reference", "judge", 1),
    ]
    assert rows["cost_nano_usd"].to_list() == [10_000_000] * 2
    assert rows["judged_at"].to_list() == [AS_OF] * 2
    assert (mine.loads, mine.calls, mine.closes) == (1, 1, 1)
    assert (counts.calls, counts.answered) == (1, 2)
    for text in rows["verdict"]:
        Verdict.of_document(orjson.loads(text))


def test_where_nothing_is_wanted_the_judge_is_not_even_loaded(journal: Journal):
    mine = judge(passes)
    rows, counts = ask(mine, REDUCER, pairs(), journal, judged_at=AS_OF)
    assert rows.is_empty()
    assert (mine.loads, mine.calls, mine.closes, counts.calls) == (0, 0, 0, 0)


def test_batches_are_contiguous_and_loaded_once(journal: Journal):
    mine = judge(passes, batch_size=2)
    rows, counts = ask(mine, REDUCER, pairs(*"abcde"), journal, judged_at=AS_OF)
    assert rows.height == 5
    assert (mine.loads, mine.calls, counts.calls) == (1, 3, 3)
    assert mine.asked == [pair_key("judge", ("t", "task", e, "reference", 0)) for e in "abcde"]


def without(asked: pl.DataFrame, left: str) -> pl.DataFrame:
    return passes(asked.filter(pl.col("episode_id") != left))


def raises(asked: pl.DataFrame) -> pl.DataFrame:
    if "b" in asked["episode_id"]:
        raise RuntimeError("not b")
    return passes(asked)


def twice(asked: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([passes(asked), passes(asked.filter(pl.col("episode_id") == "b"))])


def twice_elsewhere(asked: pl.DataFrame) -> pl.DataFrame:
    more = passes(asked.filter(pl.col("episode_id") == "b")).with_columns(position=pl.lit(1))
    return pl.concat([passes(asked).with_columns(position=pl.lit(0)), more])


def malformed(asked: pl.DataFrame) -> pl.DataFrame:
    score = pl.when(pl.col("episode_id") == "b").then(7.0).otherwise(0.5)
    return asked.select("verdict_id", status=pl.lit("pass"), score=score)


def another_type(asked: pl.DataFrame) -> pl.DataFrame:
    if "b" in asked["episode_id"]:
        return asked.select("verdict_id", status=pl.lit("pass"), score=pl.lit("high"))
    return passes(asked)


def gives_up(asked: pl.DataFrame) -> pl.DataFrame:
    if "b" in asked["episode_id"]:
        raise MalformedAnswerError("no JSON")
    return passes(asked)


@pytest.mark.parametrize(
    ("function", "count", "said"),
    [
        (raises, "raised", "not b"),
        (lambda asked: without(asked, "b"), "short", "returned nothing"),
        (twice, "twice", "answered twice"),
        (twice_elsewhere, "twice", "answered twice"),
        (malformed, "malformed", "score is 7.0"),
        (another_type, "malformed", "score"),
        (gives_up, "malformed", "no JSON"),
        (lambda asked: None if asked.height == 1 else without(asked, "b"), "short", "nothing"),
    ],
)
def test_what_goes_wrong_is_contained_charged_to_nobody_and_counted(
    journal: Journal, function: Any, count: str, said: str
):
    rows, counts = ask(judge(function), REDUCER, pairs(*"abc"), journal, judged_at=AS_OF)
    assert statuses(rows) == {"a": "pass", "b": "error", "c": "pass"}
    assert rows["cost_nano_usd"].to_list() == [10_000_000, 0, 10_000_000]
    told = asdict(counts)
    assert {name: told[name] for name in ("raised", "short", "twice", "malformed")} == {
        name: int(name == count) for name in ("raised", "short", "twice", "malformed")
    }
    assert counts.answered == 2
    (broken,) = orjson.loads(rows["verdict"][1])["individual"]
    assert broken["reasonCode"] == "judge_failed"
    assert said in broken["reasoning"]


@pytest.mark.parametrize("function", [lambda _: "pass", lambda _: pl.DataFrame({"status": ["x"]})])
def test_a_judge_that_answers_in_another_form_fails_everywhere(journal: Journal, function: Any):
    rows, counts = ask(judge(function), REDUCER, pairs("a", "b"), journal, judged_at=AS_OF)
    assert set(statuses(rows).values()) == {"error"}
    assert counts.malformed == 2


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, MemoryError])
def test_what_says_nothing_of_a_pair_stops_the_run_and_closes_the_judge(
    journal: Journal, raised: type[BaseException]
):
    def stop(_: pl.DataFrame) -> pl.DataFrame:
        raise raised

    mine = judge(stop)
    with pytest.raises(raised):
        ask(mine, REDUCER, pairs("a"), journal, judged_at=AS_OF)
    assert mine.closes == 1


def test_answers_nobody_asked_for_are_counted(journal: Journal):
    def more(asked: pl.DataFrame) -> pl.DataFrame:
        return pl.concat([passes(asked), passes(asked).with_columns(verdict_id=pl.lit("other"))])

    rows, counts = ask(judge(more), REDUCER, pairs("a"), journal, judged_at=AS_OF)
    assert (rows.height, counts.unasked) == (1, 1)


def test_a_panel_fills_several_seats(journal: Journal):
    def panel(asked: pl.DataFrame) -> pl.DataFrame:
        seats = pl.DataFrame(
            {"position": [0, 1, 2], "name": ["x", "y", "z"], "status": ["pass", "fail", "pass"]}
        )
        return asked.select("verdict_id").join(seats, how="cross")

    reducer = JuryReducer(simple("x", "y", strategy="majority"))
    rows, counts = ask(judge(panel), reducer, pairs("a"), journal, judged_at=AS_OF)
    assert statuses(rows) == {"a": "fail"}
    assert counts.unseated == 1


def test_only_what_a_judge_declared_may_be_excluded(journal: Journal):
    def excludes(asked: pl.DataFrame) -> pl.DataFrame:
        return asked.select("verdict_id", status=pl.lit("not_applicable"), reasoning=pl.lit("r"))

    seat = SeatDefinition(name="judge", not_applicable_when="w")
    able = JuryReducer(
        SimpleJury(Reduction(strategy="consensus", not_applicable_policy="exclude"), (seat,))
    )
    for declared, status, ordinal in ((None, "error", 0), ("w", "not_applicable", 1)):
        mine = judge(excludes, may_exclude=declared)
        wanted = pairs("a", ordinal=ordinal)
        rows, _ = ask(mine, able, wanted, journal, judged_at=AS_OF)
        assert statuses(rows) == {"a": status}


def test_pairs_are_asked_in_order_until_it_is_decided_and_not_one_more(journal: Journal):
    mine = judge(passes)
    seen = []

    def three(rows: pl.DataFrame) -> bool:
        seen.append(rows.height)
        return rows.height == 3

    with Asking(mine, REDUCER, journal, AS_OF) as asking:
        rows = asking.ask_until(pairs(*"abcdef"), three)
    order = [
        pair_key("judge", ("t", "task", e, "reference", 0), in_sequence=True) for e in "abcdef"
    ]
    assert mine.asked == sorted(order)[:3] == rows["verdict_id"].to_list()
    assert min(order) > max(pair_key("judge", ("t", "task", e, "reference", 0)) for e in "abcdef")
    assert (mine.loads, mine.calls, len(mine.asked), mine.closes) == (1, 3, 3, 1)
    assert seen == [0, 1, 2, 3]
    assert asking.counts.in_sequence == 3


def test_questions_have_the_same_identity_everywhere_and_different_ones_differ():
    pair = ("t", "task", "a", "b", 0)
    assert pair_key("judge", pair) == "judge:5e2b7ff1ae78357e09e1827e846e4021"
    others = [
        ("t", "task", "a", "b", 1),
        ("t", "task", "b", "a", 0),
        ("t", "task", "a", None, 0),
        ("t", "task", "a", "", 0),
        ("t", "taska", "", "b", 0),
    ]
    assert len({pair_key("judge", one) for one in (pair, *others)}) == 6
    assert pair_key("other", pair).split(":")[1] != pair_key("judge", pair).split(":")[1]


def test_a_pair_wanted_twice_needs_ordinals(journal: Journal):
    with pytest.raises(InputError, match="wanted twice"):
        ask(judge(passes), REDUCER, pairs("a", "a"), journal, judged_at=AS_OF)
    with pytest.raises(InputError, match="no column ordinal"):
        ask(judge(passes), REDUCER, pairs("a").drop("ordinal"), journal, judged_at=AS_OF)
