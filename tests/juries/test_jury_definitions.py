import math
from typing import Any

import pytest

from judgebatch.errors import JuryDefinitionError
from judgebatch.juries import (
    Cascade,
    CustomJury,
    Jury,
    Member,
    MetaJury,
    Reduction,
    SeatDefinition,
    SimpleJury,
    Tier,
    describe,
    description_text,
    parse_jury,
)
from tests.juries.made import simple

PLAIN = simple("a")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"strategy": None}, "needs a strategy"),
        ({"strategy": "mean"}, "allowed: consensus, majority, average"),
        ({"strategy": "median", "error_policy": None}, "error policy must not be null"),
        ({"strategy": "median", "not_applicable_policy": None}, "must not be null"),
        ({"strategy": "median", "tie_policy": None}, "must not be null"),
        ({"strategy": "median", "error_policy": "treatasfail"}, "did you mean 'treatAsFail'"),
        ({"strategy": "median", "threshold": 1.1}, r"threshold 1.1 is not in \[0, 1\]"),
        ({"strategy": "consensus", "threshold": -0.1}, "threshold"),
        ({"strategy": "median", "threshold": math.nan}, "threshold"),
        ({"strategy": "median", "threshold": "0.5"}, "not a number"),
        ({"strategy": "conjunctive"}, "conjunctive jury needs a threshold"),
    ],
)
def test_bad_reductions_are_refused(given: dict[str, Any], said: str):
    with pytest.raises(JuryDefinitionError, match=said):
        Reduction(**given)


def test_defaults():
    reduction = Reduction(strategy="average")
    assert (reduction.error_policy, reduction.not_applicable_policy) == ("propagate", "refuse")
    assert (reduction.tie_policy, reduction.threshold) == ("FAIL", 0.5)
    assert Reduction(strategy="consensus").threshold is None


@pytest.mark.parametrize(
    ("seats", "said"),
    [
        ([], "at least one judge"),
        ([{"name": ""}], "seat 0 .''.: the name is blank"),
        ([{"name": "a"}, {"name": " "}], "seat 1"),
        ([{"name": "a", "not_applicable_when": " "}], "seat 0 .'a'.*blank"),
        ([{"name": "a", "weight": -1.0}], "seat 0 .'a'.: weight -1.0"),
        ([{"name": "a", "weight": math.inf}], "weight inf"),
        ([{"name": "a", "weight": math.nan}], "weight nan"),
        ([{"name": "a", "weight": "2"}], "not a number"),
        ([{"name": "a", "not_applicable_when": "w"}], "not-applicable policy is refuse"),
    ],
)
def test_bad_seats_are_refused_by_name(seats: list[dict[str, Any]], said: str):
    with pytest.raises(JuryDefinitionError, match=said):
        SimpleJury(Reduction(strategy="consensus"), tuple(SeatDefinition(**s) for s in seats))


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("a", None), "seat 1 has no name"),
        (("a", "a"), "two seats have the key 'a'"),
        (("Judge#2", None), "seat 1 has no name"),
    ],
)
def test_required_names_are_required(names: tuple[str | None, ...], said: str):
    seats = tuple(SeatDefinition(name=name) for name in names)
    with pytest.raises(JuryDefinitionError, match=said):
        SimpleJury(Reduction(strategy="consensus"), seats, require_declared_names=True)
    SimpleJury(Reduction(strategy="consensus"), seats)


@pytest.mark.parametrize(
    ("tiers", "said"),
    [
        ((), "at least one tier"),
        ((Tier("a", "REJECT_ON_ANY_FAIL", PLAIN),), "the last tier, 'a', must"),
        ((Tier("a", "FINAL", PLAIN),), "policy of tier 'a'.*FINAL_TIER"),
        ((Tier("a", None, PLAIN),), "null"),
        ((Tier("a", "FINAL_TIER", PLAIN), Tier("a", "FINAL_TIER", PLAIN)), "two tiers are"),
        ((Tier("a", "FINAL_TIER", None),), "has no jury"),
    ],
)
def test_bad_cascades_are_refused(tiers: tuple[Tier, ...], said: str):
    with pytest.raises(JuryDefinitionError, match=said):
        Cascade(tiers)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "at least one code point"),
        (3, "not a text"),
        ("x" * 65, "65 code points"),
        (" a", "white space"),
        ("a\u3000", "white space"),
        ("a\x07", r"control character, U\+0007"),
        ("a\u200d", "format character"),
        ("a\u2028b", "line separator"),
        ("a\u2029b", "paragraph separator"),
        ("a\ud800", "lone surrogate"),
        ("e\u0301", "normal form C"),
    ],
)
def test_bad_names_of_tiers_and_members_are_refused(name: Any, said: str):
    with pytest.raises(JuryDefinitionError, match=said):
        Cascade((Tier(name, "FINAL_TIER", PLAIN),))
    with pytest.raises(JuryDefinitionError, match=said):
        MetaJury(Reduction(strategy="consensus"), (Member(name, PLAIN),))


def test_names_of_64_code_points_outside_the_basic_plane_are_good():
    Cascade((Tier("\N{GRINNING FACE}" * 64, "FINAL_TIER", PLAIN),))


def test_bad_meta_juries_are_refused():
    able = SimpleJury(
        Reduction(strategy="consensus", not_applicable_policy="exclude"),
        (SeatDefinition(name="a", not_applicable_when="w"),),
    )
    consensus = Reduction(strategy="consensus")
    with pytest.raises(JuryDefinitionError, match="at least one member"):
        MetaJury(consensus, ())
    with pytest.raises(JuryDefinitionError, match="two members are called 'm'"):
        MetaJury(consensus, (Member("m", PLAIN), Member("m", PLAIN)))
    with pytest.raises(JuryDefinitionError, match="member 'm' may be not applicable"):
        MetaJury(consensus, (Member("m", able),))
    with pytest.raises(JuryDefinitionError, match="member 'm' may be not applicable"):
        MetaJury(consensus, (Member("m", Cascade((Tier("t", "FINAL_TIER", able),))),))
    excluding = Reduction(strategy="consensus", not_applicable_policy="exclude")
    assert MetaJury(excluding, (Member("m", able),)).may_exclude
    assert not MetaJury(excluding, (Member("m", PLAIN),)).may_exclude


def nested(levels: int) -> Jury:
    jury: Jury = PLAIN
    for _ in range(levels):
        jury = Cascade((Tier("t", "FINAL_TIER", jury),))
    return jury


def test_depth_and_number_of_attempts_are_limited():
    nested(8)
    with pytest.raises(JuryDefinitionError, match="9 levels deep; 8 are allowed"):
        nested(9)
    consensus = Reduction(strategy="consensus")
    members = tuple(Member(str(i), PLAIN) for i in range(33))
    MetaJury(consensus, members[:32])
    with pytest.raises(JuryDefinitionError, match="33 tiers and members; 32"):
        MetaJury(consensus, members)
    opaque = CustomJury(lambda *_: [None])
    MetaJury(consensus, tuple(Member(str(i), opaque) for i in range(32)))
    with pytest.raises(JuryDefinitionError, match="33 tiers"):
        MetaJury(
            consensus,
            (*members[:31], Member("x", Cascade((Tier("t", "FINAL_TIER", opaque),)))),
        )


TOML = """
[[tiers]]
name = "cheap"
policy = "REJECT_ON_ANY_FAIL"

[tiers.jury]
strategy = "weightedAverage"
threshold = 1
not_applicable_policy = "exclude"
seats = [{ name = "a", weight = 2, not_applicable_when = "it is code" }, {}]

[[tiers]]
name = "all"
policy = "FINAL_TIER"

[tiers.jury]
strategy = "majority"
tie_policy = "ABSTAIN"
members = [{ name = "m", jury = { strategy = "consensus", seats = [{ name = "b" }] } }]
"""


def test_a_jury_from_toml_describes_itself():
    jury = parse_jury(TOML)
    document = describe(jury)
    assert document["descriptionVersion"] == 2
    assert (document["depth"], document["possibleAttempts"]) == (2, 3)
    assert document["mayBeNotApplicable"] is True
    first, second = document["tiers"]
    assert first["jury"]["seats"] == [
        {
            "position": 0, "key": "a", "keySource": "DECLARED", "weight": 2.0,
            "mayExclude": True, "notApplicableWhen": "it is code",
        },
        {
            "position": 1, "key": "Judge#2", "keySource": "POSITIONAL",
            "weight": "recorded, else 1.0", "mayExclude": False,
        },
    ]  # fmt: skip
    assert second["jury"]["reduction"] == {
        "strategy": "majority",
        "errorPolicy": "propagate",
        "notApplicablePolicy": "refuse",
        "tiePolicy": "ABSTAIN",
    }
    assert description_text(jury) == description_text(parse_jury(TOML))


def test_json_is_read_the_same_way():
    text = '{"strategy": "consensus", "seats": [{"name": "a"}]}'
    assert parse_jury(text, "json") == simple("a")


def test_custom_parts_that_say_nothing_are_opaque_never_empty():
    silent = Cascade((Tier("t", "FINAL_TIER", CustomJury(lambda *_: [])),))
    assert describe(silent)["tiers"][0]["jury"] == {"kind": "opaque", "mayBeNotApplicable": False}
    told = CustomJury(lambda *_: [], description="asks the house")
    assert describe(told)["kind"] == "custom"
    assert describe(told)["description"] == "asks the house"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("strategy = ", "not TOML"),
        ('strategy = "consensus"', "either seats, or tiers, or members"),
        ("seats = [{}]", "needs a strategy"),
        ('strategy = "consensus"\nseats = [{}]\ntiers = []', "either seats"),
        ('strategy = "concensus"\nseats = [{}]', "did you mean 'consensus'"),
        ('strategy = "consensus"\nseats = [{weigth = 1}]', "seat 0: weigth.*'weight'"),
        ('strategy = "consensus"\nseats = [{name = "a", weight = "2"}]', "seat 0 .'a'.: weight"),
        ('strategy = "consensus"\ntreshold = 1\nseats = [{}]', "treshold.*'threshold'"),
        ('strategy = "consensus"\ntiers = []', "a cascade reduces nothing; remove strategy"),
        (
            'strategy = "median"\nrequire_declared_names = true\nmembers = []',
            "require_declared_names",
        ),
        (
            (
                '[[tiers]]\nname = "t"\npolicy = "FINAL_TIER"\n'
                'jury = {strategy = "median", members = [{name = "m", jury = '
                '{strategy = "conjunctive", seats = [{name = "a"}]}}]}'
            ),
            "tier 't': member 'm': a conjunctive jury needs a threshold",
        ),
    ],
)
def test_bad_files_are_refused_by_tier_member_and_seat(text: str, said: str):
    with pytest.raises(JuryDefinitionError, match=said):
        parse_jury(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("[]", "table of settings"),
        ('{"strategy": "median", "seats": [{}], "tie_policy": null}', "tie_policy.*null"),
        ('{"strategy": "median", "seats": [{"name": null}]}', "seat 0: name.*null"),
    ],
)
def test_bad_json_is_refused(text: str, said: str):
    with pytest.raises(JuryDefinitionError, match=said):
        parse_jury(text, "json")
