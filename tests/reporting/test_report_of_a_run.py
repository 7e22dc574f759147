"""The report as a run writes it, and as it is made later."""

import resource
from pathlib import Path

import duckdb
import pytest

from judgebatch.cli.main import run_command
from judgebatch.pipeline import html_report
from judgebatch.pipeline.html_report import report_of
from judgebatch.warehouse import Warehouse, connect, open_warehouse, verify
from judgebatch.warehouse.layout import REPORT
from tests.cli.running import run

NIGHTS = ("2026-03-02T03:00:00Z", "2026-03-03T03:00:00Z", "2026-03-04T03:00:00Z")


def graded_corpus(folder: Path, more: str = "") -> Warehouse:
    size = ["--episodes", "400", "--tenants", "4", "--nights", "3", "--seed", "5"]
    assert run_command(["synth", str(folder), *size]) == 0
    settings = folder / "judgebatch.toml"
    settings.write_text(settings.read_text() + more)
    for as_of in NIGHTS:
        assert run_command(["run", "--settings", str(settings), "--as-of", as_of]) == 0
    return open_warehouse(folder / "warehouse")


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return graded_corpus(tmp_path_factory.mktemp("reported") / "corpus")


def test_a_run_leaves_its_report_and_the_same_one_is_made_later_elsewhere(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    without = graded_corpus(tmp_path / "corpus", "\n[report]\nwrite = false\n")
    assert list(verify(warehouse)) == []
    for manifest in warehouse.runs():
        number = manifest.number
        written = (warehouse.layout.run(number) / REPORT).read_bytes()
        assert REPORT in {entry.path for entry in manifest.files}
        assert not (without.layout.run(number) / REPORT).exists()
        assert report_of(without, number) == written


def test_the_command_copies_the_report_of_the_newest_run(
    warehouse: Warehouse,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    place = ("--warehouse", warehouse.path)
    assert run(capsys, "report", *place).code == 0
    assert (tmp_path / "run-3.html").read_bytes() == report_of(warehouse, 3)
    ran = run(capsys, "report", *place, "--run", 1, "-o", "night.html")
    assert ran.out.startswith("Wrote night.html: run 1, ")
    assert (tmp_path / "night.html").read_bytes() == report_of(warehouse, 1)
    ran = run(capsys, "report", *place, "--run", 7)
    assert (ran.code, ran.out) == (2, "")
    assert "there are runs 1 to 3" in ran.err
    ran = run(capsys, "report", *place, "-o", tmp_path / "nowhere" / "x.html")
    assert ran.code == 2
    assert "Name another file with -o." in ran.err


def test_budgets_and_tests_add_up_to_what_was_published(warehouse: Warehouse) -> None:
    def ask(query: str) -> list[tuple[object, ...]]:
        return connection.execute(query).fetchall()

    connection: duckdb.DuckDBPyConnection
    with connect(warehouse) as connection:
        spent = """
            SELECT tenant_id, period, round(sum(cost_usd), 9) FROM audit_ledger GROUP BY ALL
            HAVING sum(cost_usd) > 0
        """
        standing = """
            SELECT tenant_id, period, round(spent_usd, 9) FROM spend_against_ceiling
            WHERE spent_usd > 0
        """
        assert ask(standing)
        assert sorted(ask(standing)) == sorted(ask(spent))
        refused = "SELECT DISTINCT tenant_id FROM audit_budgets WHERE refused"
        exhausted = """
            SELECT DISTINCT tenant_id FROM ungraded WHERE ungraded_reason = 'budget_exhausted'
        """
        assert set(ask(refused)) >= set(ask(exhausted))
        fallen = "SELECT tenant_id, task_id, decision, llr FROM audit_promotions ORDER BY ALL"
        decided = """
            SELECT tenant_id, task_id, decision, llr FROM decisions WHERE decision <> 'pending'
            ORDER BY ALL
        """
        assert ask(decided) == ask(fallen)
        assert ask("SELECT count(*) > 0 FROM decisions WHERE decision = 'pending'") == [(True,)]
        whole = "SELECT sum(answers) FROM audit_judge_answers WHERE judge = ''"
        assert ask(whole) == ask("SELECT count(*) FROM audit_verdicts")
        by_whole = "SELECT sum(answers) FROM audit_judge_answers WHERE judge = '' AND answer = '{}'"
        outcomes = "SELECT count(*) FROM audit_interpretations WHERE reading = 'NOT_ASSESSED'"
        assert ask(by_whole.format("error")) == ask(outcomes)


def test_a_report_costs_little_once_the_libraries_are_loaded(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html_report, "REPORT", "none.html")

    def seconds() -> float:
        before = resource.getrusage(resource.RUSAGE_SELF)
        report_of(warehouse, 3)
        after = resource.getrusage(resource.RUSAGE_SELF)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    yardstick = min(bare_charts() for _ in range(3))
    seconds()
    # Up to five charts with axes and legends, some twenty tables, and as many queries.
    assert min(seconds() for _ in range(3)) < 40 * yardstick


def bare_charts() -> float:
    """Return what drawing one bare bar chart takes."""
    import vl_convert  # noqa: PLC0415

    values = [{"at": at, "count": at} for at in range(14)]
    spec = {
        "data": {"values": values},
        "mark": "bar",
        "encoding": {"x": {"field": "at"}, "y": {"field": "count", "type": "quantitative"}},
    }
    before = resource.getrusage(resource.RUSAGE_SELF)
    vl_convert.vegalite_to_svg(spec)
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
