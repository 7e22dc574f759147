import pytest

from judgebatch.verdicts import interpret, interpret_many
from tests.conformance.interpret import differences
from tests.verdicts.documents import known_cases


def test_all_known_verdicts_are_read_as_expected() -> None:
    read = interpret_many(case["verdict"] for case in known_cases())
    wrong = [
        (case["id"], found)
        for case, one in zip(known_cases(), read, strict=True)
        if (found := differences(case["expect"], one.model_dump(mode="json", by_alias=True)))
    ]
    assert not wrong
    assert len(known_cases()) == 1143


@pytest.mark.parametrize("place", range(0, 1143, 60))
def test_one_verdict_is_read_as_in_a_batch(place: int) -> None:
    case = known_cases()[place]
    assert not differences(
        case["expect"], interpret(case["verdict"]).model_dump(mode="json", by_alias=True)
    )
