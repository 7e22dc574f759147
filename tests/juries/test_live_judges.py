"""Judges that are asked in a batch."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from judgebatch.errors import InputError
from judgebatch.juries import (
    Cascade,
    CustomJury,
    Judgment,
    Reduction,
    Renamed,
    SimpleJury,
    Tier,
    Verdict,
    from_judges,
    seat_for,
    verdicts_of,
    vote,
)

SUBJECTS = pl.DataFrame(
    {"tenant_id": "t", "verdict_id": ["1", "2", "3", "4"], "length": [1, 2, 3, 4]}
)
KEYS = ["tenant_id", "verdict_id"]


class Judge:
    def __init__(self, answer: Callable[[pl.DataFrame], Any], name: str = "judge") -> None:
        self.name = name
        self.answer = answer
        self.asked: list[list[str]] = []

    def judge(self, subjects: pl.DataFrame) -> Any:
        self.asked.append(subjects["verdict_id"].to_list())
        return self.answer(subjects)


def longer_than(limit: int) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda subjects: subjects.select(
        *KEYS,
        status=pl.when(pl.col("length") > limit).then(pl.lit("pass")).otherwise(pl.lit("fail")),
    )


def statuses(jury: Any) -> list[str]:
    return vote(jury, SUBJECTS).verdicts["status"].to_list()


def test_all_subjects_are_asked_about_at_once():
    judge = Judge(longer_than(2))
    assert statuses(from_judges([judge])) == ["fail", "fail", "pass", "pass"]
    assert judge.asked == [["1", "2", "3", "4"]]


def test_a_tier_asks_only_about_what_reaches_it():
    cheap, dear = Judge(longer_than(1)), Judge(longer_than(3))
    jury = Cascade(
        (
            Tier("cheap", "REJECT_ON_ANY_FAIL", from_judges([cheap])),
            Tier("dear", "FINAL_TIER", from_judges([dear])),
        )
    )
    assert statuses(jury) == ["fail", "fail", "fail", "pass"]
    assert dear.asked == [["2", "3", "4"]]
    everything = Judge(longer_than(0))
    jury = Cascade(
        (
            Tier("cheap", "ACCEPT_ON_ALL_PASS", from_judges([everything])),
            Tier("dear", "FINAL_TIER", from_judges([dear])),
        )
    )
    dear.asked.clear()
    assert statuses(jury) == ["pass"] * 4
    assert dear.asked == []


def fails_on(subjects: pl.DataFrame) -> pl.DataFrame:
    if "3" in subjects["verdict_id"]:
        raise ValueError("no 3")
    return longer_than(0)(subjects)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (fails_on, "the judge raised: no 3"),
        (lambda s: longer_than(0)(s).filter(pl.col("verdict_id") != "3"), "returned nothing"),
        (
            lambda s: pl.concat([longer_than(0)(s), longer_than(9)(s).slice(2, 1)]),
            "answered twice",
        ),
        (
            lambda s: longer_than(0)(s).with_columns(
                status=pl.when(pl.col("verdict_id") == "3")
                .then(pl.lit("great"))
                .otherwise("status")
            ),
            "malformed: status is 'great'",
        ),
    ],
)
def test_what_a_judge_does_to_one_subject_is_contained_there(
    answer: Callable[[pl.DataFrame], Any], said: str
):
    verdicts = verdicts_of(vote(from_judges([Judge(answer)]), SUBJECTS))
    codes = [verdict.individual[0].reason_code for verdict in verdicts]
    assert codes == [None, None, "judge_failed", None]
    assert said in verdicts[2].individual[0].reasoning


@pytest.mark.parametrize("answer", [lambda _: None, lambda _: "pass", lambda s: s.select(KEYS)])
def test_a_judge_that_answers_nothing_usable_fails_everywhere(answer: Any):
    verdicts = verdicts_of(vote(from_judges([Judge(answer)]), SUBJECTS))
    assert {verdict.individual[0].reason_code for verdict in verdicts} == {"judge_failed"}


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, MemoryError])
def test_what_says_nothing_of_a_subject_is_not_contained(raised: type[BaseException]):
    def stop(_: pl.DataFrame) -> pl.DataFrame:
        raise raised

    with pytest.raises(raised):
        vote(from_judges([Judge(stop)]), SUBJECTS)


class Unreadable:
    @property
    def name(self) -> str:
        raise RuntimeError("no metadata")

    def judge(self, _: pl.DataFrame) -> pl.DataFrame:
        raise AssertionError("must not be asked")


def test_a_judge_whose_metadata_is_unreadable_is_not_asked():
    good = Judge(longer_than(0), "a")
    (verdict, *_) = verdicts_of(vote(from_judges([good, Unreadable()]), SUBJECTS))
    broken = verdict.individual_by_name["Judge#2"]
    assert broken.reason_code == "judge_metadata_unreadable"
    assert verdict.individual_by_name["a"].status == "pass"


def test_names_are_read_once_before_any_judge_runs():
    judge = Judge(longer_than(0), "before")
    jury = from_judges([judge])
    judge.name = "after"
    (verdict, *_) = verdicts_of(vote(jury, SUBJECTS))
    assert list(verdict.individual_by_name) == ["before"]


def test_repeated_names_are_numbered():
    jury = from_judges([Judge(longer_than(0), name) for name in ("a", "a", "a-2", "a")])
    assert jury.keys == ("a", "a-2", "a-2-2", "a-3")
    assert jury.key_sources == ("DECLARED", "DEDUPLICATED", "DEDUPLICATED", "DEDUPLICATED")
    assert {seat.weight for seat in jury.seats} == {1.0}


class Excluding(Judge):
    not_applicable_when = "it is short"


def test_renaming_a_judge_does_not_strip_its_capability():
    judge = Excluding(lambda s: s.select(*KEYS, status=pl.lit("not_applicable")), "x")
    renamed = Renamed(Renamed(judge, "y"), "z")
    seat = seat_for(renamed)
    assert (seat.name, seat.not_applicable_when) == ("z", "it is short")
    reduction = Reduction(strategy="consensus", not_applicable_policy="exclude")
    assert statuses(SimpleJury(reduction, (seat,))) == ["not_applicable"] * 4


def test_a_custom_jury_is_given_the_subjects():
    def by_length(subjects: pl.DataFrame, stage: str) -> list[Verdict | None]:
        return [
            None
            if length == 4
            else Verdict.single(stage, Judgment(status="pass" if length > 1 else "fail"))
            for length in subjects["length"]
        ]

    jury = Cascade((Tier("own", "FINAL_TIER", CustomJury(by_length)),))
    judged = vote(jury, SUBJECTS)
    assert judged.verdicts["status"].to_list() == ["fail", "pass", "pass", "error"]
    assert judged.verdicts["reason_code"].to_list() == [None, None, None, "no_tier_decided"]


def test_subjects_need_their_keys():
    with pytest.raises(InputError, match="no column verdict_id"):
        vote(from_judges([Judge(longer_than(0))]), SUBJECTS.drop("verdict_id"))
    with pytest.raises(InputError, match="two subjects"):
        vote(from_judges([Judge(longer_than(0))]), pl.concat([SUBJECTS, SUBJECTS]))
