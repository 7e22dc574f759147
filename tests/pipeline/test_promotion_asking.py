"""A promotion with an attached judge: asked pair by pair until a bound is crossed, and no more."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import orjson
import polars as pl
import pytest

from judgebatch.contracts import grading as g
from judgebatch.contracts.promotions import OpenPromotions, Promotions
from judgebatch.strengths import SequentialTest, decision_of
from judgebatch.vocabulary import SequentialDecision
from judgebatch.warehouse import open_warehouse
from judgebatch.warehouse.verify import verify
from tests.conformance.nights import Nights
from tests.scenarios.rows import at, episode

REFERENCE = {"mode": "reference"}
SMALL_GROUPS = {"mode": "tournament", "quorum": 4, "min_group_size": 2}
LARGE_GROUPS = {"mode": "tournament", "quorum": 40, "min_group_size": 2, "pair_degree": 2}
TEST = SequentialTest()
CONTINUE = SequentialDecision.CONTINUE


class House:
    """A judge that holds a model: counts how often it is made, loaded and called, on disk.

    Episodes tell by their task who is better: in tasks called ``better`` the variant.
    """

    name = "house"
    cost_usd = 0.02
    may_exclude = None
    batch_size = 1 << 20

    def __init__(self, gone_after: int | None = None) -> None:
        self._log = Path(os.environ["HOUSE_LOG"])
        self._note("made")
        self._left = gone_after

    def _note(self, what: str, **more: object) -> None:
        with self._log.open("ab") as log:
            log.write(orjson.dumps({"what": what, **more}) + b"\n")

    def load(self) -> None:
        self._note("loaded")

    def judge(self, pairs: pl.DataFrame) -> pl.DataFrame:
        asked = pairs.select("task_id", "episode_id", "compared_episode_id").rows()
        self._note("called", asked=asked)
        if self._left is not None:
            self._left -= pairs.height
            if self._left < 0:
                raise RuntimeError("the model is gone")
        return pairs.select("verdict_id", status=pl.Series(map(status_of, asked)))


def status_of(pair: tuple[str, str, str]) -> str:
    """Prefer the better side's episode; ties do not occur."""
    task, left, right = pair
    better = "v" if task.startswith("better") else "b"
    return "pass" if left[0] == better or (right[0] != better and left < right) else "fail"


def answer(pairs: pl.DataFrame) -> pl.DataFrame:
    return make_once().judge(pairs)


_made: list[House] = []


def make_once() -> House:
    if not _made:
        _made.append(House())
        _made[0].load()
    return _made[0]


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.setenv("HOUSE_LOG", str(tmp_path / "house.log"))
    monkeypatch.setattr("tests.pipeline.test_promotion_asking._made", [])
    return tmp_path / "house.log"


@pytest.fixture
def nights(tmp_path, log):
    return Nights(tmp_path)


def noted(log: Path, what: str) -> list[dict]:
    lines = log.read_bytes().splitlines() if log.exists() else []
    return [one for one in map(orjson.loads, lines) if one["what"] == what]


def asked(log: Path) -> list[tuple[str, ...]]:
    return [tuple(pair) for call in noted(log, "called") for pair in call["asked"]]


def between_arms(pairs: list[tuple[str, ...]], task: str) -> list[tuple[str, ...]]:
    return [pair for pair in pairs if pair[0] == task and {pair[1][0], pair[2][0]} == {"v", "b"}]


def settings(scope: str = "task", **more: object) -> str:
    told = {"variant": "new", "baseline": "old", "scope": scope, **more}
    lines = "".join(f"{key} = {value!r}\n" for key, value in told.items())
    return (
        f"[promotion]\n{lines}"
        '[judge]\nname = "callable"\n[judge.options]\nname = "house"\ncost_usd = 0.02\n'
        'function = "tests.pipeline.test_promotion_asking:answer"\n'
    )


def arms(task: str, variants: int, baselines: int, hours: float = 1, tenant: str = "acme") -> list:
    """Return episodes of both arms, in turn; their names begin with v and b."""
    found = []
    for arm, variant, size in (("v", "new", variants), ("b", "old", baselines)):
        found += [
            episode(
                f"{arm}-{task}-{n:03d}",
                hours + n / 1000,
                task_id=task,
                tenant_id=tenant,
                variant=variant,
            )
            for n in range(size)
        ]
    return found


@pytest.mark.parametrize("tenant", [REFERENCE, SMALL_GROUPS, LARGE_GROUPS])
def test_an_accept_and_a_reject_are_decided_by_a_judge_loaded_once(nights, log, tenant):
    nights.configure({"acme": tenant}, extra=settings())
    nights.deliver("n1", arms("better", 20, 20) + arms("worse", 20, 20))
    nights.run(at(5))
    decided = {row["task_id"]: row for row in nights.table(Promotions).to_dicts()}
    assert {task: row["decision"] for task, row in decided.items()} == {
        "better": "accept",
        "worse": "reject",
    }
    assert (len(noted(log, "made")), len(noted(log, "loaded"))) == (1, 1)
    for task, row in decided.items():
        pairs = between_arms(asked(log), task)
        assert len(pairs) == len(set(pairs))
        in_batch = between_arms([tuple(one) for one in noted(log, "called")[0]["asked"]], task)
        # Grading's own pairs come first; if they do not decide, every further one was needed.
        if row["decided_after"] > len(in_batch):
            assert row["decided_after"] == len(pairs)
            assert decision_of(*_without_last(row), TEST) is CONTINUE
        else:
            assert pairs == in_batch
    assert verify(open_warehouse(nights.folder / "warehouse")) == []


def _without_last(row: dict) -> tuple[int, int]:
    """Return wins and losses before the deciding comparison."""
    accepted = row["decision"] == "accept"
    return row["wins"] - accepted, row["losses"] - (not accepted)


def test_where_grading_wants_no_pair_of_both_arms_exactly_the_needed_ones_are_asked(nights, log):
    # Each arm closes its own groups: whatever grading wants is inside an arm.
    nights.configure({"acme": SMALL_GROUPS}, extra=settings())
    rows = [
        row | {"arrived_at": at(1 + row["episode_id"].startswith("v") + n / 1000)}
        for task in ("better", "worse")
        for n, row in enumerate(arms(task, 8, 8))
    ]
    nights.deliver("n1", rows)
    nights.run(at(5))
    needed = {"better": 17, "worse": 14}
    assert {task: len(between_arms(asked(log), task)) for task in needed} == needed
    found = nights.table(Promotions).select("task_id", "wins", "losses", "decided_after")
    assert found.rows() == [("better", 17, 0, 17), ("worse", 0, 14, 14)]
    sides = [pair[1][0] for pair in between_arms(asked(log), "better")]
    assert set(sides) == {"v", "b"}
    compared = nights.table(g.Comparisons)
    assert compared.filter(pl.col("disposition") == "cross_group").height == 31
    assert compared.filter(pl.col("disposition") == "used").height == 8 * 6
    judge = nights.manifest().summary["judge"]
    assert (judge["answered"], judge["in_sequence"]) == (8 * 6 + 31, 31)


def test_a_decided_test_asks_no_further_pair_in_later_nights(nights, log):
    nights.configure({"acme": REFERENCE}, extra=settings())
    nights.deliver("n1", arms("better", 20, 20))
    nights.run(at(5))
    assert nights.table(Promotions).height == 1
    more = [
        row | {"episode_id": row["episode_id"] + "-again", "arrived_at": at(6)}
        for row in arms("better", 3, 3)
    ]
    nights.deliver("n2", more)
    before = len(asked(log))
    nights.run(at(7))
    assert len(asked(log)) - before == 6
    assert nights.manifest().summary["judge"]["in_sequence"] == 0


def test_pairs_of_all_tasks_belong_to_one_test_overall(nights, log):
    nights.configure({"acme": SMALL_GROUPS}, extra=settings("overall"))
    nights.deliver("n1", arms("better", 4, 4) + arms("better too", 4, 4))
    nights.run(at(5))
    (row,) = nights.table(Promotions).to_dicts()
    assert (row["task_id"], row["decision"], row["decided_after"]) == (None, "accept", 17)
    assert len({pair[0] for pair in asked(log)}) == 2


def test_an_undecided_test_goes_on_where_the_last_night_left_it(nights, log):
    nights.configure({"acme": SMALL_GROUPS}, extra=settings())
    nights.deliver("n1", arms("better", 2, 2))
    nights.run(at(5))
    assert nights.table(Promotions).is_empty()
    (row,) = nights.table(OpenPromotions, 1).to_dicts()
    assert (row["wins"], row["comparisons"], row["wins_to_accept"]) == (4, 4, 13)
    assert row["losses_to_reject"] == 17
    assert row["reject_at"] < row["llr"] < row["accept_at"]
    nights.run(at(6))
    assert (
        nights.table(OpenPromotions, 2)
        .drop("run", "as_of")
        .equals(nights.table(OpenPromotions, 1).drop("run", "as_of"))
    )
    more = [
        row | {"episode_id": row["episode_id"] + "-again", "arrived_at": at(7 + n / 100)}
        for n, row in enumerate(arms("better", 4, 4))
    ]
    nights.deliver("n2", more)
    nights.run(at(8))
    (decided,) = nights.table(Promotions).to_dicts()
    assert (decided["decision"], decided["wins"], decided["decided_after"]) == ("accept", 17, 17)
    assert nights.table(OpenPromotions, 3).is_empty()


def test_the_ceiling_ends_the_asking_and_is_never_exceeded(nights, log):
    # Grading costs 12 answers; the ceiling allows five more.
    tenant = {**SMALL_GROUPS, "grading_ceiling_usd": 0.34}
    nights.configure({"acme": tenant}, extra=settings())
    rows = arms("better", 4, 4)
    rows = [row | {"arrived_at": at(1 + n / 1000)} for n, row in enumerate(rows)]
    nights.deliver("n1", rows)
    nights.run(at(5))
    ledger = nights.table(g.Ledger)
    assert len(asked(log)) == 17
    assert sum(ledger["cost_usd"]) == pytest.approx(0.34)
    assert sum(ledger["actual_cost_usd"]) == pytest.approx(0.34)
    assert nights.table(OpenPromotions)["wins"].to_list() == [5]
    assert set(nights.table(g.Graded)["episode_id"]) == {row["episode_id"] for row in rows}


@pytest.mark.parametrize("ceiling", [0, 0.13])
def test_a_tenant_over_its_ceiling_is_asked_nothing_for_a_promotion(nights, log, ceiling):
    tenant = {**SMALL_GROUPS, "grading_ceiling_usd": ceiling}
    nights.configure({"acme": tenant, "other": SMALL_GROUPS}, extra=settings())
    nights.deliver("n1", arms("better", 4, 4) + arms("better", 2, 2, tenant="other"))
    nights.run(at(5))
    graded = nights.table(g.Graded).filter(pl.col("tenant_id") == "acme").height
    assert graded == (4 if ceiling else 0)
    assert nights.manifest().summary["judge"]["in_sequence"] == 0
    assert set(nights.table(g.Ungraded)["ungraded_reason"]) == {"budget_exhausted"}


def gone(pairs: pl.DataFrame) -> pl.DataFrame:
    """Answer a batch, then never again."""
    if pairs.height == 1:
        raise RuntimeError("the model is gone")
    return answer(pairs)


def test_a_judge_that_is_gone_is_not_asked_about_everything(nights, log):
    told = settings().replace("asking:answer", "asking:gone")
    nights.configure({"acme": SMALL_GROUPS}, extra=told)
    nights.deliver("n1", arms("better", 4, 4) + arms("worse", 4, 4))
    report = nights.run(at(5))
    judge = nights.manifest().summary["judge"]
    assert (judge["raised"], judge["in_sequence"]) == (3, 3)
    assert any("2 undecided ones go on" in warning for warning in report.warnings)
    assert nights.table(OpenPromotions)["errors"].to_list() == [3, 0]


def run_command(nights: Nights, failpoint: str | None = None) -> int:
    command = [sys.executable, "-m", "judgebatch", "run", "--settings", str(nights.settings)]
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    if failpoint:
        environment["JUDGEBATCH_FAILPOINT"] = failpoint
    done = subprocess.run(
        [*command, "--as-of", at(5).isoformat()],
        check=False,
        env=environment,
        capture_output=True,
    )
    return done.returncode


def test_a_run_killed_after_sequential_calls_asks_none_of_them_again(nights, log, tmp_path):
    rows = arms("better", 6, 6) + arms("worse", 6, 6)
    nights.configure({"acme": SMALL_GROUPS}, extra=settings())
    nights.deliver("n1", rows)
    assert run_command(nights, "commit.begin") == -signal.SIGKILL
    before = asked(log)
    assert run_command(nights) == 0
    assert asked(log) == before
    undisturbed = Nights(tmp_path / "undisturbed")
    undisturbed.configure({"acme": SMALL_GROUPS}, extra=settings())
    undisturbed.deliver("n1", rows)
    assert run_command(undisturbed) == 0
    assert undisturbed.published_bytes() == nights.published_bytes()
    assert nights.table(Promotions).height == 2


def dies_at_the_fifth(pairs: pl.DataFrame) -> pl.DataFrame:
    """Answer; take the whole process down when first asked about a fifth single pair."""
    died = Path(os.environ["HOUSE_LOG"]).with_name("died")
    single = [call for call in noted(Path(os.environ["HOUSE_LOG"]), "called") if
              len(call["asked"]) == 1]  # fmt: skip
    if pairs.height == 1 and len(single) == 4 and not died.exists():
        died.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return answer(pairs)


def test_a_run_killed_between_two_sequential_calls_goes_on_where_it_was(nights, log):
    told = settings().replace("asking:answer", "asking:dies_at_the_fifth")
    nights.configure({"acme": SMALL_GROUPS}, extra=told)
    nights.deliver("n1", arms("better", 6, 6))
    assert run_command(nights) == -signal.SIGKILL
    before = asked(log)
    assert run_command(nights) == 0
    after = asked(log)
    assert after[: len(before)] == before
    assert len(set(after)) == len(after)
    (row,) = nights.table(Promotions).to_dicts()
    assert (row["decision"], row["decided_after"]) == ("accept", 17)
    assert len(between_arms(after, "better")) == 17


def test_a_replay_of_the_verdicts_decides_the_same_without_a_judge(nights, tmp_path):
    nights.configure({"acme": SMALL_GROUPS}, extra=settings())
    rows = arms("better", 6, 6) + arms("worse", 6, 6)
    nights.deliver("n1", rows)
    nights.run(at(5))
    again = Nights(tmp_path / "replay")
    told = '[promotion]\nvariant = "new"\nbaseline = "old"\n'
    again.configure({"acme": {**SMALL_GROUPS, "judging_window": "none"}}, extra=told)
    again.deliver("n1", rows, nights.table("audit/verdicts").to_dicts())
    again.run(at(5))
    assert again.table(Promotions).equals(nights.table(Promotions))
    kept = ["episode_id", "strength", "score", "wins", "losses"]
    assert again.table(g.Graded).select(kept).equals(nights.table(g.Graded).select(kept))
