"""What a run answers, and that its bytes depend on nothing but inputs, settings and as_of."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from judgebatch.contracts import grading as g
from judgebatch.contracts.accounting import Accounting, Restatements
from judgebatch.contracts.interpretations import Interpretations
from judgebatch.contracts.promotions import Promotions
from judgebatch.errors import InputError, WarehouseConflictError
from judgebatch.synthesis import synthesize
from judgebatch.warehouse import init, open_warehouse
from judgebatch.warehouse.verify import verify
from tests.conformance.nights import Nights
from tests.scenarios.rows import at, comparison, episode

REFERENCE = {"mode": "reference", "judging_window": "24h"}


@pytest.fixture
def nights(tmp_path):
    nights = Nights(tmp_path)
    nights.configure({"acme": REFERENCE})
    return nights


def test_same_as_of_again_does_nothing_and_names_what_landed_since(nights):
    nights.deliver("n1", [episode("first", 1)])
    first = nights.run(at(3))
    before = nights.published_bytes()
    nights.deliver("n2", [episode("second", 2)])
    again = nights.run(at(3))
    assert (first.published, again.published, again.run) == (True, False, 1)
    assert "episodes/n2.parquet" in again.message
    assert nights.published_bytes() == before
    nights.run(at(4))
    assert nights.table(g.OpenEpisodes, 2)["episode_id"].to_list() == ["second"]


def test_older_as_of_is_superseded(nights):
    nights.deliver("n1", [episode("first", 1)])
    nights.run(at(3))
    report = nights.run(at(2))
    assert not report.published
    assert "superseded by run 1" in report.message


def test_same_as_of_with_other_settings_is_a_conflict(nights):
    nights.deliver("n1", [episode("first", 1)])
    nights.run(at(3))
    nights.configure({"acme": {**REFERENCE, "judging_window": "1h"}})
    with pytest.raises(WarehouseConflictError, match="other settings"):
        nights.run(at(3))


def test_night_without_input_publishes_every_table_with_its_schema(nights):
    report = nights.run(at(3))
    assert report.published
    for table in (g.Graded, g.Ungraded, g.Strengths, Interpretations, Accounting, Promotions):
        assert nights.table(table).is_empty()


def test_one_row_is_enough(nights):
    nights.deliver("n1", [episode("first", 1)])
    nights.run(at(3))
    assert nights.table(g.Ungraded).height == 1


def test_file_that_changed_is_read_again_with_a_warning(nights):
    nights.deliver("n1", [episode("first", 1)])
    nights.run(at(3))
    nights.deliver("n1", [episode("first", 1), episode("second", 2)])
    report = nights.run(at(4))
    assert "episodes/n1.parquet changed" in report.warnings[0]
    law = nights.manifest().conservation["episodes"]
    assert (law.read, law.already_known, law.waiting_after) == (2, 1, 1)


def test_file_that_vanished_is_fine(nights):
    nights.deliver("n1", [episode("first", 1)])
    nights.run(at(3))
    (nights.folder / "episodes" / "n1.parquet").unlink()
    nights.deliver("n2", [episode("second", 4)], [comparison("second", "first", 5, "tie")])
    nights.run(at(6))
    assert nights.table(g.Graded)["score"].to_list() == [0.5]


def test_strict_publishes_nothing_and_says_how_many(nights):
    nights.deliver("n1", [episode("good", 1), episode("bad", 2, cost_usd=-1.0)])
    with pytest.raises(InputError, match=r"--strict: .* bad_row 1\. .*episodes/n1\.parquet"):
        nights.run(at(3), strict=True)
    assert len(open_warehouse(nights.folder / "warehouse").runs()) == 0
    assert not list((nights.folder / "warehouse" / ".staging").glob("0*"))
    nights.run(at(3))
    assert nights.table(g.Quarantine)["reason"].to_list() == ["bad_row"]


def test_strict_does_not_blame_this_night_for_rows_of_earlier_files(nights):
    late = comparison("first", "never", 1, "left")
    nights.deliver("n1", [episode("first", 1)], [late])
    nights.run(at(3))
    nights.deliver("n2", [episode("second", 4)])
    nights.run(at(24 * 8), strict=True)
    assert nights.table(g.Quarantine, 2)["reason"].to_list() == ["unknown_episode"]


def test_unreadable_file_publishes_nothing(nights):
    nights.deliver("n1", [episode("first", 1)])
    (nights.folder / "verdicts" / "broken.parquet").write_bytes(b"PAR1 but not really PAR1")
    with pytest.raises(InputError, match=r"broken\.parquet"):
        nights.run(at(3))
    assert len(open_warehouse(nights.folder / "warehouse").runs()) == 0


ODD = [
    " ",
    "007",
    "..",
    "a/b",
    "k=v",
    "'\"`",
    "a\nb\r\n",
    "🙂🏽",
    "שלום",
    "x" * 10_000,
    "NULL",
    "7",
]


def test_odd_ids_come_back_as_they_were(nights):
    nights.configure(dict.fromkeys(ODD, REFERENCE))
    rows = [
        episode(name, hours, tenant_id=tenant, task_id=tenant)
        for tenant in ODD
        for hours, name in enumerate(ODD)
    ]
    judged = [
        comparison(ODD[1], ODD[0], 20, "left", tenant_id=tenant, task_id=tenant, verdict_id=name)
        for tenant in ODD
        for name in ODD
    ]
    nights.deliver("n1", rows, judged)
    nights.run(at(100))
    graded = nights.table(g.Graded)
    assert sorted(graded["tenant_id"]) == sorted(ODD)
    assert set(graded["episode_id"]) == {ODD[1]}
    assert graded["wins"].to_list() == [len(ODD)] * len(ODD)
    ended = pl.concat(
        [
            graded.select("tenant_id", "episode_id"),
            nights.table(g.Ungraded).select("tenant_id", "episode_id"),
        ]
    )
    assert set(ended.rows()) == {(tenant, name) for tenant in ODD for name in ODD}
    names = {path.name for path in (nights.folder / "warehouse").rglob("*")}
    assert not names & set(ODD)


def test_tenants_with_equal_ids_stay_apart(nights):
    nights.configure({"a": REFERENCE, "b": REFERENCE})
    rows = [
        episode(name, hours, tenant_id=tenant)
        for tenant in "ab"
        for hours, name in ((1, "one"), (2, "two"))
    ]
    nights.deliver("n1", rows, [comparison("two", "one", 3, "left", tenant_id="a")])
    nights.run(at(60))
    assert nights.table(g.Graded).select("tenant_id", "episode_id").rows() == [("a", "two")]
    missing = nights.table(g.Ungraded).filter(pl.col("ungraded_reason") == "no_usable_comparison")
    assert missing.select("tenant_id", "episode_id", "missing").rows() == [("b", "two", 1)]


def test_grading_counts_name_every_tenant_and_reason_zeros_included(nights):
    nights.deliver("n1", [episode("first", 1)])
    nights.run(at(3))
    counts = dict(nights.table(g.GradingCounts).select("outcome", "count").rows())
    assert counts == {
        "relative": 0,
        "tournament": 0,
        "no_reference": 1,
        "budget_exhausted": 0,
        "insufficient_group": 0,
        "no_usable_comparison": 0,
    }


def test_variant_is_accepted_once_and_stays_accepted(nights):
    nights.configure(
        {"acme": REFERENCE},
        extra='[promotion]\nvariant = "v2"\nbaseline = "v1"\np1 = 0.9\n',
    )
    rows = [episode("base", 0, variant="v1")]
    rows += [episode(f"e{number}", 1 + number / 10, variant="v2") for number in range(12)]
    judged = [comparison(f"e{number}", "base", 3 + number / 10, "left") for number in range(12)]
    nights.deliver("n1", rows, judged[:3])
    nights.run(at(5))
    assert nights.table(Promotions).is_empty()
    nights.deliver("n2", verdicts=judged[3:])
    nights.run(at(9))
    nights.run(at(40))
    (decision,) = nights.table(Promotions).to_dicts()
    assert (decision["decision"], decision["decided_after"], decision["wins"]) == ("accept", 6, 6)
    assert decision["verdict_id"] == judged[5]["verdict_id"]


def test_recorded_flags_are_restated(nights):
    judged = [
        comparison("second", "first", 3, "error", recorded_passed=False),
        comparison("second", "first", 3.5, "left", recorded_passed=True),
    ]
    nights.deliver("n1", [episode("first", 1), episode("second", 2)], judged)
    nights.run(at(4))
    assert nights.table(Restatements)["cause"].to_list() == ["instrument_failure_charged"]
    (day,) = nights.table(Accounting).to_dicts()
    assert (day["passes"], day["non_passes"], day["instrument_failures"]) == (1, 0, 1)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    return synthesize(folder, episodes=1500, tenants=6, nights=2, seed=5)


def hashes(warehouse: Path) -> dict[str, str]:
    return {
        str(path.relative_to(warehouse)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(warehouse.glob("runs/*/tables/**/*.parquet"))
    }


def run_in_subprocess(corpus, warehouse: Path, *options: str, **environment: str) -> dict[str, str]:
    """Run both nights by the command line, with a warehouse and an environment of its own."""
    for moment in corpus.as_of:
        subprocess.run(
            [
                sys.executable,
                "-m",
                "judgebatch",
                "run",
                "--settings",
                str(corpus.settings),
                "--as-of",
                moment.isoformat(),
                *options,
            ],
            check=True,
            capture_output=True,
            env={**os.environ, "JUDGEBATCH_WAREHOUSE": str(warehouse), **environment},
        )
    return hashes(warehouse)


def test_same_bytes_with_one_thread_two_threads_and_two_processes(corpus, tmp_path):
    one = run_in_subprocess(corpus, tmp_path / "one", POLARS_MAX_THREADS="1", OMP_NUM_THREADS="1")
    two = run_in_subprocess(corpus, tmp_path / "two", POLARS_MAX_THREADS="2", PYTHONHASHSEED="7")
    three = run_in_subprocess(corpus, tmp_path / "three", "--processes", "2")
    assert len(one) > 40
    assert one == two == three
    assert verify(open_warehouse(tmp_path / "one")) == []


def test_shards_do_not_change_any_row(corpus, tmp_path):
    def rows(shards: int) -> dict[str, list[tuple[object, ...]]]:
        nights = Nights(tmp_path / str(shards), shards)
        for name in ("episodes", "verdicts"):
            (nights.folder / name).rmdir()
            (nights.folder / name).symlink_to(corpus.settings.parent / name)
        nights.settings.write_text(corpus.settings.read_text())
        for moment in corpus.as_of:
            nights.run(moment)
        return {
            table.name: nights.table(table).sort(*table.order, "run").rows()
            for table in (g.Graded, g.Ungraded, g.Strengths, g.Groups, g.Comparisons, g.Ledger)
        }

    assert rows(1) == rows(5)


def test_every_table_is_bi_safe(corpus, tmp_path):
    warehouse = tmp_path / "warehouse"
    init(warehouse, 3)
    run_in_subprocess(corpus, warehouse)
    safe = {
        "int64",
        "double",
        "large_string",
        "string",
        "bool",
        "date32[day]",
        "timestamp[us, tz=UTC]",
    }
    files = list(warehouse.glob("runs/*/tables/**/*.parquet"))
    files += warehouse.glob("runs/*/snapshots/**/*.parquet")
    assert files
    for file in files:
        types = {str(field.type) for field in pq.read_schema(file)}
        assert types <= safe, file
        for name, column in zip(pl.read_parquet(file).columns, pl.read_parquet(file), strict=True):
            if column.dtype == pl.Float64:
                assert not column.is_nan().any(), name
