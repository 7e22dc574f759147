import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from judgebatch.contracts import accounting as a
from judgebatch.contracts import grading as g
from judgebatch.contracts import interpretations as i
from judgebatch.errors import InputError, UsageError
from judgebatch.pipeline.mapping import in_processes
from judgebatch.pipeline.recurating import Recuration, Selection, recurate_warehouse
from judgebatch.pipeline.reinterpreting import reinterpret
from judgebatch.warehouse import Warehouse, connect, open_warehouse, verify
from tests.cli.running import run
from tests.conformance.nights import Nights
from tests.scenarios.rows import at, comparison, episode
from tests.verdicts.documents import (
    accepted,
    aggregated,
    errored,
    judgment,
    legacy,
    rejected,
    text,
    verdict,
)


def single(name: str, document: Any, hours: float = 1.5, **more: Any) -> dict[str, Any]:
    """Return a verdict on one episode alone."""
    plain = comparison(name, "", hours, "left", verdict_id=f"v-{name}", judge_id=None)
    return plain | {"compared_episode_id": None, "verdict": text(document)} | more


def excluded_meant() -> dict[str, Any]:
    meant = judgment("ABSTAIN", label="not_applicable")
    return legacy("ABSTAIN", label="not_applicable") | {"individual": [meant, judgment("PASS")]}


@pytest.fixture
def nights(tmp_path: Path) -> Nights:
    nights = Nights(tmp_path)
    nights.configure({"acme": {"mode": "reference"}, "müller": {"mode": "reference"}})
    broken = verdict(
        aggregated("pass", passes=1, fails=0),
        judgment("pass", checks=[{"name": "c", "passed": True, "message": "m"}]),
        judgment("error", reasonCode="judge_failed"),
    )
    nights.deliver(
        "n1",
        [
            *(episode(name, 1) for name in "abcdef"),
            episode("a", 1, tenant_id="müller"),
        ],
        [
            single("a", accepted(), recorded_passed=True),
            single("a", rejected(), tenant_id="müller"),
            single("b", rejected(), recorded_passed=True),
            single("c", errored(), recorded_passed=False),
            single("d", excluded_meant(), judge_id="rubric"),
            single("e", {"aggregated": {"status": "pass"}}),
            single("f", broken, 25),
            comparison("a", "b", 2, "left"),
        ],
    )
    nights.run(at(3))
    nights.deliver("n2", verdicts=[single("b", accepted(), 26, verdict_id="v-late")])
    nights.run(at(30))
    return nights


def warehouse(nights: Nights) -> Warehouse:
    return open_warehouse(nights.folder / "warehouse")


def query(nights: Nights, sql: str) -> list[tuple[Any, ...]]:
    with connect(warehouse(nights)) as database:
        return database.sql(sql).fetchall()


def test_a_night_publishes_readings_with_all_their_parts(nights: Nights) -> None:
    read = nights.table(i.Interpretations)
    assert read.height == nights.table(g.AuditVerdicts).height == 9
    assert set(read["reading_version"]) == {1}
    keys = ["tenant_id", "verdict_id"]
    for table in (i.InterpretationJudges, i.InterpretationChecks, i.InterpretationDefects):
        rows = nights.table(table)
        assert rows.height
        assert rows.join(read, on=keys, how="anti").is_empty()
    assert nights.table(i.InterpretationChecks)["verdict_id"].to_list() == ["v-f"]
    assert not list(verify(warehouse(nights)))


def test_a_night_counts_what_it_newly_read_and_nothing_twice(nights: Nights) -> None:
    counted = nights.table(a.Accounting).group_by("run").agg(pl.col("passes", "non_passes").sum())
    assert sorted(counted.rows()) == [(1, 3, 3), (2, 2, 0)]
    codes = nights.table(a.AccountingCodes).select("run", "code", "instrument_failures")
    assert codes.rows() == [(1, "aggregation_failed", 1)]
    failures = nights.table(a.Accounting).filter(pl.col("instrument_failures") > 0)
    assert failures.select("run", "instrument_failures").rows() == [(1, 1), (2, 1)]


def test_a_night_restates_what_was_recorded(nights: Nights) -> None:
    causes = dict(nights.table(a.Restatements).select("verdict_id", "cause").iter_rows())
    assert causes == {"v-b": "pass_overstated", "v-c": "instrument_failure_charged"}
    rates = query(
        nights,
        "SELECT recorded_pass_rate, restated_pass_rate FROM restated_pass_rates",
    )
    assert rates == [(2 / 3, 1 / 2)]


def test_reading_again_makes_a_newer_version_beside_the_old_one(nights: Nights) -> None:
    before = nights.published_bytes()
    with in_processes(2) as mapper:
        report = reinterpret(warehouse(nights), at(40), mapper)
    assert report == (3, 2, 9, 0)
    assert {name: nights.published_bytes()[name] for name in before} == before
    versions = (
        nights.table(i.Interpretations).group_by("reading_version").len().sort("reading_version")
    )
    assert versions.rows() == [(1, 9), (2, 9)]
    old, new = (
        nights.table(i.Interpretations)
        .filter(reading_version=version)
        .drop("run", "as_of", "reading_version")
        for version in (1, 2)
    )
    assert old.sort("tenant_id", "verdict_id").equals(new.sort("tenant_id", "verdict_id"))
    assert query(nights, "SELECT DISTINCT reading_version FROM readings_in_force") == [(2,)]
    assert not list(verify(warehouse(nights)))


def test_reading_again_is_not_counted_again_and_moves_no_night(nights: Nights) -> None:
    counted = nights.table(a.Accounting)
    reinterpret(warehouse(nights), at(40))
    assert nights.table(a.Accounting).equals(counted)
    assert nights.run(at(35)).published
    assert not list(verify(warehouse(nights)))


def test_reading_again_at_the_same_time_does_nothing(nights: Nights) -> None:
    first = reinterpret(warehouse(nights), at(40))
    assert reinterpret(warehouse(nights), at(40)) == first
    assert reinterpret(warehouse(nights), at(41)).reading_version == 3


def test_rows_that_are_read_again_stand_in_the_order_of_the_table(nights: Nights) -> None:
    reinterpret(warehouse(nights), at(40))
    for table in (i.Interpretations, i.InterpretationJudges, i.InterpretationDefects):
        rows = nights.table(table, 3)
        shards = warehouse(nights).shard_of(rows["tenant_id"])
        keyed = rows.with_columns(shard=shards)
        assert keyed.equals(keyed.sort("shard", *table.order))


def test_a_warehouse_without_verdicts_can_be_read_again(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    nights.configure({})
    assert reinterpret(warehouse(nights), at(1)) == (1, 1, 0, 0)
    nights.run(at(2))
    assert reinterpret(warehouse(nights), at(3)).verdicts == 0


def recurated(nights: Nights, *, dry_run: bool = False, **selection: Any) -> Recuration:
    return recurate_warehouse(
        warehouse(nights),
        Selection(**selection),
        at(50),
        who="me",
        why="rubric 2 had no exclusions",
        dry_run=dry_run,
    )


def test_a_dry_run_writes_nothing_and_says_what_would_change(nights: Nights) -> None:
    done = recurated(nights, dry_run=True, where="judge_id = 'rubric'")
    assert (done.run, done.selected, done.verdicts, done.judgments) == (None, 1, 1, 2)
    assert done.records["path"].to_list() == ["verdict.aggregated", "verdict.individual[0]"]
    assert warehouse(nights).runs().newest == 2


def test_recuration_writes_beside_the_old_verdict_and_says_who_and_why(nights: Nights) -> None:
    before = nights.published_bytes()
    assert recurated(nights, where="true").run == 3
    assert {name: nights.published_bytes()[name] for name in before} == before
    records = nights.table(a.Reclassifications)
    assert records.select(
        "verdict_id", "path", "judge", "from_status", "to_status", "who"
    ).rows() == [
        ("v-d", "verdict.aggregated", None, "ABSTAIN", "NOT_APPLICABLE", "me"),
        ("v-d", "verdict.individual[0]", "only", "ABSTAIN", "NOT_APPLICABLE", "me"),
    ]
    new = nights.table(g.AuditVerdicts, 3)
    assert new["verdict_id"].to_list() == records["new_verdict_id"].unique().to_list()
    assert nights.table(i.Interpretations, 3)["reading"].to_list() == ["NOT_APPLICABLE"]
    assert not list(verify(warehouse(nights)))


def test_recuration_a_second_time_does_nothing(nights: Nights) -> None:
    recurated(nights, where="true")
    again = recurated(nights, where="true")
    assert (again.run, again.verdicts) == (None, 0)
    assert warehouse(nights).runs().newest == 3


def test_the_same_again_publishes_what_a_killed_one_committed(nights: Nights) -> None:
    views = nights.folder / "warehouse" / "views" / "views.sql"
    stale = views.read_bytes()
    for command in (
        lambda: recurated(nights, where="true"),
        lambda: reinterpret(warehouse(nights), at(60)),
    ):
        command()
        views.write_bytes(stale)  # as after a kill between commit and views
        assert list(verify(warehouse(nights)))
        newest = warehouse(nights).runs().newest
        command()
        assert warehouse(nights).runs().newest == newest
        assert not list(verify(warehouse(nights)))


def test_what_was_graded_is_not_touched_and_nights_go_on(nights: Nights) -> None:
    graded = [nights.table(table) for table in (g.Graded, g.Ungraded, g.Comparisons)]
    recurated(nights, where="true")
    for table, rows in zip((g.Graded, g.Ungraded, g.Comparisons), graded, strict=True):
        assert nights.table(table).equals(rows)
    nights.deliver("n3", [episode("z", 51)])
    assert nights.run(at(60)).published
    assert not list(verify(warehouse(nights)))


def test_the_new_reading_stands_for_the_verdict_that_was_reclassified(nights: Nights) -> None:
    recurated(nights, where="true")
    rows = query(
        nights,
        "SELECT verdicts, undecided_verdicts, not_applicable_verdicts FROM readings_by_episode "
        "WHERE episode_id = 'd'",
    )
    assert rows == [(1, 0, 1)]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_verdicts_can_be_named_by_a_file_of_ids(nights: Nights, ending: str) -> None:
    frame = pl.DataFrame({"tenant_id": ["acme", "müller"], "verdict_id": ["v-a", "v-d"]})
    path = nights.folder / f"ids.{ending}"
    (frame.write_csv if ending == "csv" else frame.write_parquet)(path)
    assert recurated(nights, ids=path).verdicts == 0
    frame = pl.DataFrame({"tenant_id": ["acme"], "verdict_id": ["v-d"]})
    (frame.write_csv if ending == "csv" else frame.write_parquet)(path)
    assert recurated(nights, ids=path).verdicts == 1


def test_a_selection_that_cannot_be_understood_is_refused(nights: Nights) -> None:
    with pytest.raises(UsageError, match="--where"):
        recurated(nights)
    for where in ("nothing = 1", "judge_id = ", "judge_id = 'rubric"):
        with pytest.raises(UsageError, match="is not an SQL condition") as found:
            recurated(nights, where=where)
        assert "\n" not in str(found.value)
        assert "Error" not in str(found.value)
    with pytest.raises(InputError, match="cannot be read"):
        recurated(nights, ids=nights.folder / "none.csv")
    (nights.folder / "ids.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="no column 'tenant_id'; its columns are a, b"):
        recurated(nights, ids=nights.folder / "ids.csv")


def test_the_commands_tell_what_they_did(
    nights: Nights, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = nights.folder / "warehouse"
    ran = run(
        capsys, "interpret", "--warehouse", folder, "--as-of", "2026-03-05T00:00:00Z", "-p", 1
    )
    assert ran.code == 0, ran.err
    assert "9 verdicts read again as reading version 2; 0 read differently" in " ".join(
        ran.out.split()
    )
    asked = ["recurate", "--warehouse", folder, "--where", "true", "--why", "checked"]
    dry = run(capsys, *asked)
    assert dry.code == 0, dry.err
    assert "Would reclassify 2 judgments of 1 verdict." in " ".join(dry.out.split())
    said = json.loads(run(capsys, *asked, "--apply", "--json").out)
    assert (said["run"], said["verdicts"], said["judgments"]) == (4, 1, 2)
    assert "Nothing to do" in run(capsys, *asked, "--apply").out
    nothing = run(capsys, "recurate", "--warehouse", folder, "--where", "false", "--why", "checked")
    assert "Only legacy judgments with that label" in nothing.out
