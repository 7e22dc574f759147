from datetime import timedelta

import pytest

from judgebatch.errors import WarehouseConflictError
from judgebatch.vocabulary import RunKind
from judgebatch.warehouse import Answer, InputFile, RunFacts, Warehouse, decide_as_of
from tests.warehouse.nights import as_of


def file(path: str, digest: str = "d") -> InputFile:
    return InputFile(table="episodes", path=path, size=1, digest=digest)


@pytest.fixture
def graded(warehouse: Warehouse) -> Warehouse:
    for number, path in ((1, "a"), (2, "b")):
        with warehouse.begin(RunKind.GRADING, as_of(number)) as run:
            run.commit(RunFacts(settings="s", inputs=(file(path),)))
    with warehouse.begin(RunKind.REINTERPRET, as_of(2)) as run:
        run.commit(RunFacts(settings="t"))
    return warehouse


def test_the_first_run_proceeds(warehouse: Warehouse) -> None:
    assert decide_as_of(warehouse.runs(), as_of(1), "s", []).answer is Answer.PROCEED


def test_a_later_as_of_proceeds_with_any_settings_and_inputs(graded: Warehouse) -> None:
    moment = as_of(2) + timedelta(microseconds=1)
    decision = decide_as_of(graded.runs(), moment, "other", [file("b", "changed")])
    assert decision.answer is Answer.PROCEED
    assert decision.message == ""


def test_an_older_as_of_is_superseded(graded: Warehouse) -> None:
    decision = decide_as_of(graded.runs(), as_of(1), "other", [])
    assert decision.answer is Answer.SUPERSEDED
    assert decision.message.startswith("superseded by run 2")


def test_a_repeated_as_of_is_done(graded: Warehouse) -> None:
    decision = decide_as_of(graded.runs(), as_of(2), "s", [file("a"), file("b")])
    assert decision.answer is Answer.REPEAT
    assert decision.run == graded.runs()[1]
    assert decision.landed_since == ()
    assert "run 2 did this as_of already" in decision.message


def test_files_that_landed_since_are_named_as_left_for_the_next_run(graded: Warehouse) -> None:
    landed = [file(f"late-{number}") for number in range(7)]
    decision = decide_as_of(graded.runs(), as_of(2), "s", [file("b"), *landed])
    assert decision.landed_since == tuple(landed)
    assert "left for the next run: late-0, " in decision.message
    assert decision.message.endswith("and 2 more")


def test_a_file_of_an_earlier_run_that_changed_is_left_for_the_next_run(graded: Warehouse) -> None:
    decision = decide_as_of(graded.runs(), as_of(2), "s", [file("a", "new")])
    assert decision.landed_since == (file("a", "new"),)


def test_a_file_that_vanished_is_fine(graded: Warehouse) -> None:
    assert decide_as_of(graded.runs(), as_of(2), "s", []).answer is Answer.REPEAT


def test_other_settings_for_the_same_as_of_are_refused_with_both_digests(graded: Warehouse) -> None:
    with pytest.raises(WarehouseConflictError, match=r"\(s, now other\)"):
        decide_as_of(graded.runs(), as_of(2), "other", [])


def test_changed_inputs_for_the_same_as_of_are_refused_with_both_digests(graded: Warehouse) -> None:
    with pytest.raises(WarehouseConflictError, match=r"b changed since .* \(d, now e\)"):
        decide_as_of(graded.runs(), as_of(2), "s", [file("b", "e")])
