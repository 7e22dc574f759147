import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from judgebatch.warehouse import Warehouse, init
from tests.cli.running import run
from tests.warehouse.nights import run_night


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Two nights; not to be changed."""
    warehouse = init(tmp_path_factory.mktemp("commands") / "warehouse")
    for _ in range(2):
        run_night(warehouse, count=2)
    return warehouse


@pytest.fixture
def empty(tmp_path: Path) -> Warehouse:
    return init(tmp_path / "warehouse")


def ask(capsys, warehouse: Warehouse, command: str, *arguments: object):
    return run(capsys, command, *arguments, "--warehouse", warehouse.path)


def test_verify_says_that_all_is_sound(capsys, graded):
    ran = ask(capsys, graded, "verify")
    assert (ran.code, ran.out) == (0, f"All 2 runs of {graded.path} are sound.\n")
    ran = ask(capsys, graded, "verify", "--json")
    assert json.loads(ran.out) == {"warehouse": str(graded.path), "runs": 2, "findings": []}
    assert ran.out.count("\n") == 1


def test_verify_names_damage_and_exits_with_five(capsys, empty):
    run_night(empty)
    path = empty.layout.run(1) / "tables/strengths/part-000.parquet"
    path.chmod(0o644)
    path.write_bytes(path.read_bytes() + b"x")
    ran = ask(capsys, empty, "verify")
    assert ran.code == 5
    assert ran.out.startswith("runs/000001/tables/strengths/part-000.parquet: has ")
    assert "1 found in" in ran.out
    ran = ask(capsys, empty, "verify", "--json")
    assert ran.code == 5
    (finding,) = json.loads(ran.out)["findings"]
    assert finding["where"] == "runs/000001/tables/strengths/part-000.parquet"


def test_verify_says_once_what_to_do_about_a_manifest_and_a_folder_for_views(capsys, empty):
    run_night(empty)
    views = empty.layout.views / "judgebatch.duckdb"
    views.unlink()
    views.mkdir()
    ran = ask(capsys, empty, "verify")
    assert "judgebatch.duckdb: cannot be read: Is a directory. Move it out" in ran.out
    manifest = empty.layout.manifest(1)
    manifest.chmod(0o644)
    manifest.write_bytes(b"[]")
    ran = ask(capsys, empty, "verify")
    assert ran.out.count("Restore") == ran.out.count("from a backup") == 1
    assert ".." not in ran.out


def test_doctor_lists_the_overdue_and_exits_with_five(capsys, graded, empty):
    # The sample's open episodes have the next night as their deadline.
    assert ask(capsys, graded, "doctor").out == "Nothing rests past its deadline.\n"
    run_night(empty, count=0)
    (empty.layout.views / "views.sql").unlink()
    ran = ask(capsys, empty, "doctor")
    assert ran.code == 5
    assert "publishing was not finished" in ran.out


def test_history_lists_the_runs(capsys, graded, empty):
    ran = ask(capsys, graded, "history", "--json")
    runs = json.loads(ran.out)["runs"]
    assert [line["run"] for line in runs] == [1, 2]
    assert runs[0]["as_of"] == "2026-03-01T03:00:00Z"
    assert (runs[1]["graded"], runs[1]["ungraded"], runs[1]["waiting"]) == (4, 4, 2)
    assert "grading" in ask(capsys, graded, "history").out
    assert "has no runs yet" in ask(capsys, empty, "history").out


@pytest.mark.parametrize("columns", ["40", "80"])
def test_history_shows_an_as_of_in_one_piece(capsys, monkeypatch, graded, columns):
    monkeypatch.setenv("COLUMNS", columns)
    runs = json.loads(ask(capsys, graded, "history", "--json").out)["runs"]
    shown = ask(capsys, graded, "history").out
    assert [line.split("│")[3].strip() for line in shown.splitlines() if "│" in line] == [
        run["as_of"] for run in runs
    ]
    assert "aside" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_show_tells_where_everything_went(capsys, graded):
    ran = ask(capsys, graded, "show", 2)
    assert ran.code == 0
    assert "Run 2, grading, as of 2026-03-02T03:00:00Z" in ran.out
    assert "audit/comparisons" in ran.out
    assert "in/2.parquet" in ran.out
    document = json.loads(ask(capsys, graded, "show", 2, "--json").out)
    assert document["number"] == 2
    assert document["conservation"]["episodes"]["ended"] == {"graded": 4, "ungraded": 4}


@pytest.mark.parametrize("number", [0, 3, 1000])
def test_show_names_the_runs_that_there_are(capsys, graded, number):
    ran = ask(capsys, graded, "show", number)
    assert ran.code == 2
    assert f"has no run {number}: there are runs 1 to 2" in " ".join(ran.err.split())


def test_sql_prints_a_table_csv_or_json(capsys, graded):
    query = "SELECT run, count(*) AS rows, NULL AS nothing, true AS yes FROM graded GROUP BY run"
    query += " ORDER BY run"
    assert "rows" in ask(capsys, graded, "sql", query).out
    ran = ask(capsys, graded, "sql", query, "--csv")
    assert list(csv.reader(io.StringIO(ran.out))) == [
        ["run", "rows", "nothing", "yes"],
        ["1", "4", "", "true"],
        ["2", "4", "", "true"],
    ]
    ran = ask(capsys, graded, "sql", query, "--json")
    assert [json.loads(line) for line in ran.out.splitlines()] == [
        {"run": 1, "rows": 4, "nothing": None, "yes": True},
        {"run": 2, "rows": 4, "nothing": None, "yes": True},
    ]


ODD = """
    SELECT NULL AS n, '' AS e, 0.1 + 0.2::DOUBLE AS f, [1, NULL] AS l, {'a': 'b'} AS s,
           'x,"y"' AS q, 170141183460469231731687303715884105727::HUGEINT AS h, 'x'::BLOB AS b,
           1.10::DECIMAL(5, 2) AS d, ' pad' AS p
"""


def test_sql_tells_null_from_empty_and_loses_no_value(capsys, graded):
    assert ask(capsys, graded, "sql", ODD, "--csv").out.splitlines()[1] == (
        ',"",0.30000000000000004,"[1,null]","{""a"":""b""}","x,""y""",'
        '170141183460469231731687303715884105727,78,1.10," pad"'
    )
    assert json.loads(ask(capsys, graded, "sql", ODD, "--json").out) == {
        "n": None,
        "e": "",
        "f": 0.30000000000000004,
        "l": [1, None],
        "s": {"a": "b"},
        "q": 'x,"y"',
        "h": "170141183460469231731687303715884105727",
        "b": "78",
        "d": "1.10",
        "p": " pad",
    }
    assert ask(capsys, graded, "sql", "SELECT NULL AS n, '' AS e").out.count("NULL") == 1


def test_sql_prints_times_in_utc(capsys, graded):
    query = "SELECT DISTINCT as_of FROM graded ORDER BY as_of"
    ran = ask(capsys, graded, "sql", query, "--csv")
    assert ran.out == "as_of\n2026-03-01T03:00:00Z\n2026-03-02T03:00:00Z\n"
    ran = ask(capsys, graded, "sql", query, "--json")
    assert json.loads(ran.out.splitlines()[0]) == {"as_of": "2026-03-01T03:00:00Z"}


def test_sql_says_that_a_table_was_cut(capsys, graded):
    ran = ask(capsys, graded, "sql", "FROM range(101)")
    assert "first 100 rows" in ran.err
    assert "first 100 rows" not in ask(capsys, graded, "sql", "FROM range(100)").err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["FROM nowhere"], "nowhere does not exist"),
        (["SELECT FROM"], "the query does not work"),
        (["  "], "The query is empty"),
        (["FROM graded", "--csv", "--json"], "exclude each other"),
    ],
)
def test_sql_names_what_is_wrong_in_one_paragraph(capsys, graded, arguments, told):
    ran = ask(capsys, graded, "sql", *arguments)
    assert ran.code == 2
    assert told in ran.err
    assert ran.err.count("\n") == 1


def test_sql_works_on_a_new_warehouse(capsys, empty):
    assert ask(capsys, empty, "sql", "SELECT count(*) AS n FROM episodes", "--csv").out == "n\n0\n"


def test_sql_does_not_reach_published_files_for_writing(capsys, graded):
    before = {path: path.read_bytes() for path in graded.layout.runs.rglob("*.parquet")}
    ran = ask(capsys, graded, "sql", "DELETE FROM graded")
    assert ran.code == 2
    assert {path: path.read_bytes() for path in before} == before


def test_gc_lists_and_removes_what_a_dead_run_left(capsys, empty):
    environment = {"JUDGEBATCH_FAILPOINT": "staging.ready"}
    command = [sys.executable, "-m", "tests.faults.night", str(empty.path), "unused", "1"]
    assert subprocess.run(command, env=environment, check=False).returncode < 0
    ran = ask(capsys, empty, "gc", "--dry-run")
    assert ran.out.startswith(f"Would remove {empty.layout.staging}/000001-")
    assert list(empty.layout.staging.iterdir())
    ran = ask(capsys, empty, "gc", "--json")
    document = json.loads(ran.out)
    assert document["removed"] is True
    assert len(document["files"]) == 1
    assert not list(empty.layout.staging.iterdir())
    assert ask(capsys, empty, "gc").out == f"Nothing to remove in {empty.path}.\n"


@pytest.mark.parametrize(
    "command", [["verify"], ["doctor"], ["history"], ["show", "1"], ["sql", "FROM graded"], ["gc"]]
)
def test_a_folder_that_is_no_warehouse_is_named(capsys, tmp_path, command):
    ran = run(capsys, *command, "--warehouse", tmp_path / "nowhere")
    assert ran.code == 2
    assert "is not a warehouse" in ran.err
    assert "Traceback" not in ran.err


def test_the_settings_name_the_warehouse(capsys, tmp_path):
    assert run(capsys, "init", tmp_path / "grading").code == 0
    settings = tmp_path / "grading" / "judgebatch.toml"
    ran = run(capsys, "verify", "--settings", settings)
    assert ran.out == f"All 0 runs of {tmp_path / 'grading' / 'warehouse'} are sound.\n"


def test_more_columns_than_the_terminal_is_wide_are_shown_row_by_row(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    init(tmp_path / "w")
    names = ", ".join(f"{n} as column_{n}" for n in range(20))
    ran = run(capsys, "sql", f"select {names}", "--warehouse", tmp_path / "w")
    assert ran.code == 0, ran.err
    assert "row 1" in ran.out
    assert "column_19  19" in ran.out
