"""The views that put tables together, on a few rows whose answer is plain."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from judgebatch.contracts.accounting import Accounting
from judgebatch.contracts.grading import AuditVerdicts, Graded, Ungraded
from judgebatch.contracts.interpretations import Interpretations
from judgebatch.contracts.policies import PolicyResults
from judgebatch.contracts.table import Table, schema_of
from judgebatch.vocabulary import RunKind
from judgebatch.warehouse import RunFacts, Warehouse, connect
from tests.warehouse.nights import as_of, rows_of

T0 = datetime(2026, 3, 1, tzinfo=UTC)


def made(table: type[Table], rows: Sequence[Mapping[str, object]], run: int = 1) -> pl.DataFrame:
    """Return rows with the given values; all others as in any sample."""
    frame = rows_of(table, run, len(rows))
    schema = schema_of(table)
    given = {
        name: pl.Series(name, [row[name] for row in rows], dtype=schema[name]) for name in rows[0]
    }
    return frame.with_columns(**given)


def commit(warehouse: Warehouse, *frames: tuple[type[Table], pl.DataFrame]) -> None:
    with warehouse.begin(RunKind.GRADING, as_of(len(warehouse.runs()) + 1)) as run:
        for table, frame in frames:
            run.write_piece(table, 0, frame.sort(table.order))
        run.assemble(*(table for table, _ in frames))
        run.commit(RunFacts())


def ask(warehouse: Warehouse, query: str) -> list[tuple[object, ...]]:
    with connect(warehouse) as connection:
        return connection.execute(query).fetchall()


def verdict(number: int, episode: str, **more: object) -> dict[str, object]:
    row: dict[str, object] = {
        "tenant_id": "t",
        "task_id": "k",
        "verdict_id": f"v{number}",
        "episode_id": episode,
        "compared_episode_id": None,
        "judged_at": T0 + timedelta(hours=number),
        "recorded_passed": None,
    }
    return row | more


def reading(number: int, says: str | None, support: str = "SUPPORTED", version: int = 1):
    return {
        "tenant_id": "t",
        "verdict_id": f"v{number}",
        "reading_version": version,
        "reading": says,
        "reading_support": support,
    }


@pytest.fixture
def judged(warehouse: Warehouse) -> Warehouse:
    episodes = [{"tenant_id": "t", "task_id": "k", "episode_id": name} for name in ("e1", "e2")]
    ended = [{"tenant_id": "t", "task_id": "k", "episode_id": "e3"}]
    verdicts = [
        verdict(1, "e1", recorded_passed=True),
        verdict(2, "e1", recorded_passed=False),
        verdict(3, "e1", recorded_passed=False),
        verdict(4, "e1", recorded_passed=True),
        verdict(5, "e1", compared_episode_id="e2"),
        verdict(6, "other", recorded_passed=False),
    ]
    readings = [
        reading(1, "ACCEPTED"),
        reading(2, "REJECTED", "UNDETERMINED"),
        reading(3, "NOT_ASSESSED"),
        reading(4, "ACCEPTED", "CONTRADICTED"),
        reading(5, "ACCEPTED"),
        reading(6, "NOT_APPLICABLE"),
    ]
    results = [
        {"tenant_id": "t", "episode_id": "e1", "policy": name, "policy_passed": passed}
        for name, passed in (("cost", False), ("release", True), ("tone", None), ("form", False))
    ]
    commit(
        warehouse,
        (Graded, made(Graded, episodes)),
        (Ungraded, made(Ungraded, ended)),
        (AuditVerdicts, made(AuditVerdicts, verdicts)),
        (Interpretations, made(Interpretations, readings)),
        (PolicyResults, made(PolicyResults, results)),
    )
    return warehouse


def test_episodes_joins_gradings_policies_and_the_episodes_own_verdicts(judged: Warehouse) -> None:
    query = """
        SELECT episode_id, policies, policies_passed, policies_unmet, policies_not_evaluated,
               policies_unmet_names, verdicts, accepted, rejected, not_assessed,
               unattestable_verdicts, last_reading, last_reading_support, last_verdict_id
        FROM episodes ORDER BY episode_id
    """
    nothing = (0, 0, 0, 0, None, 0, 0, 0, 0, 0, None, None, None)
    assert ask(judged, query) == [
        ("e1", 4, 1, 2, 1, "cost, form", 4, 1, 1, 1, 1, "ACCEPTED", "CONTRADICTED", "v4"),
        ("e2", *nothing),
        ("e3", *nothing),
    ]


def test_episodes_has_one_row_for_each_grading(judged: Warehouse) -> None:
    query = "SELECT count(*), count(score), count(ungraded_reason) FROM episodes"
    assert ask(judged, query) == [(3, 2, 1)]


def test_a_later_reading_is_the_one_in_force(judged: Warehouse) -> None:
    later = [reading(2, "ACCEPTED", version=2), reading(3, "UNDECIDED", version=2)]
    commit(judged, (Interpretations, made(Interpretations, later, run=2)))
    query = "SELECT accepted, rejected, undecided_verdicts, not_assessed FROM readings_by_episode"
    assert ask(judged, f"{query} WHERE episode_id = 'e1'") == [(2, 0, 1, 0)]


def test_not_judged_counts_episodes_that_no_verdict_names(judged: Warehouse) -> None:
    assert ask(judged, "FROM not_judged") == [("t", "k", 3, 1)]


def test_the_restated_pass_rate_stands_beside_the_recorded_one(judged: Warehouse) -> None:
    query = """
        SELECT verdicts, recorded_passes, recorded_non_passes, recorded_pass_rate,
               restated_passes, restated_non_passes, excluded, instrument_failures, unattestable,
               restated_pass_rate
        FROM restated_pass_rates
    """
    assert ask(judged, query) == [(5, 2, 3, 0.4, 1, 1, 1, 1, 1, 0.5)]


def test_pass_rates_leave_comparisons_out(judged: Warehouse) -> None:
    query = """
        SELECT sum(passes), sum(non_passes), sum(excluded), sum(not_assessed), sum(unattestable)
        FROM pass_rates
    """
    assert ask(judged, query) == [(1, 1, 1, 1, 1)]
    query = "SELECT count(*) FROM pass_rates WHERE (pass_rate IS NULL) <> (passes + non_passes = 0)"
    assert ask(judged, query) == [(0,)]


def test_verdict_rates_add_up_over_runs_and_are_null_over_nothing(warehouse: Warehouse) -> None:
    def counted(task: str, passes: int, non_passes: int, excluded: int) -> dict[str, object]:
        return {
            "tenant_id": "t",
            "task_id": task,
            "judge_id": "j",
            "day": T0.date(),
            "passes": passes,
            "non_passes": non_passes,
            "excluded": excluded,
        }

    nights = ([counted("a", 1, 2, 0), counted("b", 0, 0, 4)], [counted("a", 2, 3, 1)])
    for run, rows in enumerate(nights, start=1):
        commit(warehouse, (Accounting, made(Accounting, rows, run)))
    query = "SELECT task_id, passes, non_passes, excluded, pass_rate FROM verdict_rates ORDER BY 1"
    assert ask(warehouse, query) == [("a", 3, 5, 1, 0.375), ("b", 0, 0, 4, None)]
