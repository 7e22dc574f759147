"""A run killed after paid calls reads the journal and does not call again."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from judgebatch.errors import InputError, WarehouseConflictError
from judgebatch.judging import CallableJudge, Journal, ask
from judgebatch.judging.journal import damaged_lines
from tests.judging.made import AS_OF, REDUCER, pairs, passes

ROOT = Path(__file__).parents[2]


def run(path: Path, function: Any, *lefts: str, **more: Any) -> tuple[pl.DataFrame, CallableJudge]:
    judge = CallableJudge("judge", function, cost_usd=0.5, **more)
    with Journal(path) as journal:
        rows, _ = ask(judge, REDUCER, pairs(*lefts), journal, judged_at=AS_OF)
    return rows, judge


def test_what_was_answered_is_not_asked_again(tmp_path: Path):
    first, asked = run(tmp_path / "j", passes, "a", "b")
    second, again = run(tmp_path / "j", passes, "a", "b")
    assert first.equals(second)
    assert (asked.calls, again.calls, again.loads) == (1, 0, 0)
    third, more = run(tmp_path / "j", passes, "a", "b", "c")
    assert (third.height, len(more.asked)) == (3, 1)


def test_an_answer_that_could_not_be_used_is_not_asked_for_again(tmp_path: Path):
    def bad(asked: pl.DataFrame) -> pl.DataFrame:
        return passes(asked).with_columns(score=pl.lit(float("nan")))

    first, _ = run(tmp_path / "j", bad, "a")
    second, again = run(tmp_path / "j", passes, "a")
    assert first.equals(second)
    assert again.calls == 0
    assert second["cost_nano_usd"].to_list() == [0]


def test_where_nothing_was_answered_it_is_asked_again(tmp_path: Path):
    def down(_: pl.DataFrame) -> pl.DataFrame:
        raise ConnectionError("down")

    run(tmp_path / "j", down, "a")
    run(tmp_path / "j", lambda _: None, "a")
    rows, again = run(tmp_path / "j", passes, "a")
    assert again.calls == 1
    assert rows["cost_nano_usd"].to_list() == [500_000_000]


def test_what_earlier_batches_answered_survives_a_stop(tmp_path: Path):
    def stops(asked: pl.DataFrame) -> pl.DataFrame:
        if "c" in asked["episode_id"]:
            raise KeyboardInterrupt
        return passes(asked)

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "j", stops, *"abcd", batch_size=1)
    _, again = run(tmp_path / "j", passes, *"abcd", batch_size=1)
    assert again.calls == 2


def test_a_line_cut_short_is_passed_over(tmp_path: Path):
    path = tmp_path / "j"
    run(path, passes, "a", "b", batch_size=1)
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for cut in (first + 1, first + 9, first + 30, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with Journal(path) as journal:
            assert (len(journal), journal.torn) == ((1, 1) if cut < len(whole) - 1 else (2, 0))
        rows, again = run(path, passes, "a", "b", batch_size=1)
        assert rows.height == 2
        assert again.calls == (1 if cut < len(whole) - 1 else 0)
        with Journal(path) as journal:
            assert len(journal) == 2


def test_a_damaged_line_is_no_answer(tmp_path: Path):
    path = tmp_path / "j"
    run(path, passes, "a", "b", batch_size=1)
    path.write_bytes(path.read_bytes().replace(b'"pass"', b'"fail"', 1))
    rows, again = run(path, passes, "a", "b")
    assert again.calls == 1
    assert rows["verdict"].str.contains('"status":"fail"').sum() == 0


def test_the_first_answer_stays(tmp_path: Path):
    with Journal(tmp_path / "j") as journal:
        journal.append([{"key": "k", "answer": 1}])
        journal.append([{"key": "k", "answer": 2}])
        assert journal["k"]["answer"] == 1
    with Journal(tmp_path / "j") as journal:
        assert journal["k"]["answer"] == 1


def test_a_journal_is_held_by_one_run(tmp_path: Path):
    with Journal(tmp_path / "j"), pytest.raises(WarehouseConflictError, match="held by another"):
        Journal(tmp_path / "j")
    Journal(tmp_path / "j").close()
    with pytest.raises(InputError, match="cannot be opened"):
        Journal(tmp_path)


KILLED = """
import os, signal, sys
from pathlib import Path
import polars as pl
from judgebatch.judging import CallableJudge, Journal, ask
from judgebatch.judging.journal import damaged_lines
from tests.judging.made import AS_OF, REDUCER, pairs, passes

log = Path(sys.argv[2])

def answers(asked):
    with log.open("a") as calls:
        calls.writelines(f"{left}\\n" for left in asked["episode_id"])
        calls.flush()
        os.fsync(calls.fileno())
    return passes(asked)

class Killing:
    # Stands for the run between the calls and the commit.
    def __getattr__(self, name):
        return getattr(REDUCER, name)

    def verdicts(self, judgments):
        os.kill(os.getpid(), signal.SIGKILL)

judge = CallableJudge("judge", answers, batch_size=2)
with Journal(Path(sys.argv[1])) as journal:
    ask(judge, Killing(), pairs(*"abcde"), journal, judged_at=AS_OF)
"""


def test_a_run_killed_between_call_and_commit_does_not_call_again(tmp_path: Path):
    journal, log = tmp_path / "j", tmp_path / "calls"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(journal), str(log)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    assert log.read_text().split() == list("abcde")
    rows, again = run(journal, passes, *"abcde")
    assert again.calls == 0
    assert rows.height == 5
    assert rows["cost_nano_usd"].sum() == 5 * 500_000_000


def test_a_changed_line_is_told_from_one_that_a_kill_cut_short(tmp_path: Path):
    path = tmp_path / "j"
    run(path, passes, "a", "b")
    whole = path.read_bytes()
    assert damaged_lines(path) == []
    assert damaged_lines(tmp_path / "none") == []
    first = whole.index(b"\n") + 1
    for end in range(first, len(whole)):
        path.write_bytes(whole[:end])
        assert damaged_lines(path) == []
    at = whole.index(b'"') + 2
    path.write_bytes(whole[:at] + b"~" + whole[at + 1 :])
    assert damaged_lines(path) == [1]
