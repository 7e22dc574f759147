import json
import tomllib
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from judgebatch.cli.options import read_as_of
from judgebatch.errors import UsageError
from judgebatch.warehouse import is_warehouse
from tests.cli.running import run
from tests.inputs.made import episodes, times, verdicts


@pytest.fixture
def project(tmp_path, capsys):
    folder = tmp_path / "grading"
    assert run(capsys, "init", folder).code == 0
    return folder


def checked(capsys, project, *more):
    return run(capsys, "check", "--settings", project / "judgebatch.toml", *more)


def test_init_leaves_settings_that_work_and_a_warehouse(capsys, project):
    assert is_warehouse(project / "warehouse")
    text = (project / "judgebatch.toml").read_text()
    assert tomllib.loads(text)["warehouse"] == "warehouse"
    ran = checked(capsys, project)
    assert ran.code == 0
    assert "Everything new can be read." in ran.out


def test_the_commented_keys_of_the_template_are_settings_too(capsys, project):
    path = project / "judgebatch.toml"
    lines = [
        line.removeprefix("# ").split("#")[0]
        if line.startswith("# ")
        and (" = " in line or line.startswith("# ["))
        and not line.startswith(("# overridden", "# `"))
        else line
        for line in path.read_text().splitlines()
    ]
    text = "\n".join(line for line in lines if "columns" not in line)
    path.write_text(text)
    for folder in ("answers", "policies"):
        (project / folder).mkdir()
    (project / "policies/questions.json").write_text('{"relevant": {"type": "noul"}}')
    rule = '{"question": "relevant", "pass": {"noul": {"min": 0.5}}}'
    (project / "policies/release.json").write_text(f'{{"rules": [{rule}]}}')
    ran = checked(capsys, project)
    assert ran.code == 0, ran.err
    assert "Tenants    1 in the settings" in ran.out
    assert "Policies   release" in ran.out


def test_init_overwrites_nothing(capsys, project):
    path = project / "judgebatch.toml"
    path.write_text('warehouse = "elsewhere"\n')
    ran = run(capsys, "init", project)
    assert ran.code == 0
    assert "Kept" in ran.out
    assert path.read_text() == 'warehouse = "elsewhere"\n'
    assert is_warehouse(project / "elsewhere")
    before = (project / "elsewhere" / "warehouse.json").read_bytes()
    assert "Kept the warehouse" in run(capsys, "init", project).out
    assert (project / "elsewhere" / "warehouse.json").read_bytes() == before


def test_init_makes_a_warehouse_of_as_many_shards_as_it_is_told(capsys, tmp_path):
    assert run(capsys, "init", tmp_path / "few", "--shards", 1).code == 0
    identity = json.loads((tmp_path / "few" / "warehouse" / "warehouse.json").read_text())
    assert identity["n_shards"] == 1
    assert run(capsys, "init", tmp_path / "none", "--shards", 0).code == 2
    assert not (tmp_path / "none").exists()


def test_init_inside_a_warehouse_is_a_usage_error_and_leaves_nothing_there(capsys, project):
    run(capsys, "init", project)
    inner = project / "warehouse" / "inner"
    ran = run(capsys, "init", inner)
    assert ran.code == 2
    assert f"lies in the warehouse {project / 'warehouse'}" in ran.err.replace("\n", " ")
    assert not inner.exists()


def test_init_where_a_file_stands_is_a_usage_error(capsys, tmp_path):
    (tmp_path / "file").touch()
    ran = run(capsys, "init", tmp_path / "file")
    assert ran.code == 2
    assert "cannot be written" in ran.err


def test_check_says_what_would_be_read(capsys, project):
    pq.write_table(
        episodes(3, cost_usd=[0.1, -1.0, 0.2], note=["a"] * 3), project / "episodes/a.parquet"
    )
    pq.write_table(verdicts(2), project / "verdicts/a.parquet")
    ran = checked(capsys, project)
    assert ran.code == 0
    assert "episodes: a.parquet row 1: cost_usd is negative: -1.0" in ran.out
    assert "carried as extra: note" in ran.out
    document = json.loads(checked(capsys, project, "--json").out)
    assert document["inputs"]["episodes"]["rows"] == 3
    assert document["inputs"]["episodes"]["quarantine_reasons"] == {"bad_row": 1}
    assert document["inputs"]["verdicts"]["files"] == 1
    assert document["warehouse_ready"] is True
    quick = json.loads(checked(capsys, project, "--json", "--quick").out)
    assert "to_quarantine" not in quick["inputs"]["episodes"]


def test_check_counts_what_would_go_to_quarantine(capsys, project):
    path = project / "judgebatch.toml"
    path.write_text('unknown_tenants = "quarantine"\n[tenants.acme]\n')
    pq.write_table(episodes(3, tenant_id=["acme", "acne", "acme"]), project / "episodes/a.parquet")
    table = verdicts(
        4,
        tenant_id=["acme", "acme", "acne", "acne"],
        verdict=["{}", "{}", "[1]", "{}"],
        compared_episode_id=["ep-0", "ep-2", None, None],
    )
    pq.write_table(table, project / "verdicts/a.parquet")
    ran = checked(capsys, project)
    assert ran.code == 0, ran.err
    assert "verdicts: 1 row to quarantine as itself" in ran.out
    assert "tenant acne is not in the settings" in ran.out
    inputs = json.loads(checked(capsys, project, "--json").out)["inputs"]
    assert inputs["episodes"]["quarantine_reasons"] == {"unknown_tenant": 1}
    assert inputs["verdicts"]["quarantine_reasons"] == {
        "itself": 1,
        "unknown_tenant": 1,
        "unreadable_verdict": 1,
    }


def test_check_makes_the_attached_judge(capsys, project):
    path = project / "judgebatch.toml"
    text = path.read_text()
    path.write_text(text + '\n[judge]\nname = "http"\n[judge.options]\nurl = "ftp://x"\n')
    ran = checked(capsys, project)
    assert (ran.code, ran.out) == (2, "")
    assert "is not an http or https URL" in ran.err


def test_check_hints_at_files_that_are_not_read(capsys, project):
    (project / "episodes/night.csv").write_text("episode_id\n")
    ran = checked(capsys, project)
    assert (ran.code, "such as night.csv" in ran.err) == (0, True)
    (project / "episodes/night.csv").unlink()
    told = checked(capsys, project).err
    assert "nothing matches episodes" in told
    assert "such as" not in told


def test_check_reads_only_what_no_run_has_read(capsys, tmp_path):
    out = tmp_path / "corpus"
    assert run(capsys, "synth", out, "--episodes", 200, "--tenants", 2, "--nights", 1).code == 0
    assert run(capsys, "init", out).code == 0
    before = json.loads(checked(capsys, out, "--json").out)["inputs"]["episodes"]
    as_of = ["--as-of", "2026-03-02T03:00:00Z"]
    assert run(capsys, "run", "--settings", out / "judgebatch.toml", *as_of).code == 0
    document = json.loads(checked(capsys, out, "--json").out)
    after = document["inputs"]["episodes"]
    assert (before["files"], before["new_files"], after["files"], after["new_files"]) == (
        1,
        1,
        1,
        0,
    )
    assert (after["rows"], document["runs"]) == (0, 1)


def test_check_reads_the_policies_too(capsys, project):
    path = project / "judgebatch.toml"
    path.write_text(path.read_text().replace("[defaults]", '[defaults]\npolicies = ["release"]'))
    ran = checked(capsys, project)
    assert (ran.code, ran.out) == (2, "")
    assert "policies" in ran.err


@pytest.mark.parametrize("quick", [[], ["--quick"]])
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is empty (0 bytes)"),
        (b"tenant_id,episode_id\n", "should be Parquet and is not"),
        (b"PAR1 and then nothing", "is truncated"),
        (b"PAR1" + bytes(20) + b"PAR1", "is damaged Parquet"),
    ],
)
def test_a_bad_file_is_exit_code_3(capsys, project, quick, content, expected):
    (project / "episodes/a.parquet").write_bytes(content)
    ran = checked(capsys, project, *quick)
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.count("\n") == 1
    assert expected in ran.err
    assert "a.parquet" in ran.err


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (episodes().drop_columns(["task_id"]), "has no column 'task_id'"),
        (episodes(tool_calls=["1", "2"]), "column tool_calls should be a whole number"),
        (episodes(arrived_at=times(2, "us", None)), 'assume_timezone = "UTC"'),
        (episodes(arrived_at=pa.array([1, 2], pa.timestamp("ns", "UTC"))), "whole microseconds"),
    ],
)
def test_a_bad_column_is_exit_code_3(capsys, project, table, expected):
    pq.write_table(table, project / "episodes/a.parquet")
    ran = checked(capsys, project)
    assert (ran.code, ran.out) == (3, "")
    assert expected in ran.err


def test_a_directory_in_place_of_a_file_is_exit_code_3(capsys, project):
    (project / "episodes/a.parquet").mkdir()
    ran = checked(capsys, project)
    assert (ran.code, ran.err.count("\n")) == (3, 1)
    assert "found a directory" in ran.err


def test_a_missing_input_is_exit_code_3(capsys, project):
    (project / "episodes").rmdir()
    ran = checked(capsys, project)
    assert (ran.code, ran.err.count("\n")) == (3, 1)
    assert "does not exist" in ran.err


def test_wrong_settings_are_exit_code_2(capsys, project):
    (project / "judgebatch.toml").write_text("[defaults]\nquorm = 3\n")
    ran = checked(capsys, project)
    assert (ran.code, ran.out) == (2, "")
    assert "did you mean 'quorum'?" in ran.err
    assert run(capsys, "check", "--settings", project / "nowhere.toml").code == 2


def test_the_environment_is_heard(capsys, project, monkeypatch):
    monkeypatch.setenv("JUDGEBATCH_WAREHOUSE", "other")
    document = json.loads(checked(capsys, project, "--json").out)
    assert document["warehouse"] == str(project / "other")
    assert document["warehouse_ready"] is False


def test_synth_writes_a_corpus_that_checks(capsys, tmp_path):
    out = tmp_path / "corpus"
    ran = run(capsys, "synth", out, "--episodes", 300, "--tenants", 3, "--nights", 2, "--seed", 4)
    assert ran.code == 0
    assert "Wrote 300 episodes" in ran.out
    assert "--as-of 2026-03-03T03:00:00Z" in ran.out
    assert run(capsys, "check", "--settings", out / "judgebatch.toml").code == 0
    again = run(capsys, "synth", out)
    assert (again.code, again.out) == (2, "")
    assert "not empty" in again.err


def test_synth_refuses_a_start_that_is_no_date(capsys, tmp_path):
    ran = run(capsys, "synth", tmp_path / "x", "--start", "yesterday")
    assert ran.code == 2
    assert "Write it as in 2026-03-01" in ran.err


def test_as_of_is_read_in_any_zone_and_defaults_to_whole_seconds():
    assert read_as_of("2026-03-02T03:00:00Z") == datetime(2026, 3, 2, 3, tzinfo=UTC)
    assert read_as_of("2026-03-02T04:00:00.000001+01:00").microsecond == 1
    now = datetime(2026, 3, 2, 3, 0, 0, 999, tzinfo=UTC)
    assert read_as_of(None, now) == datetime(2026, 3, 2, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["tonight", "2026-03-02T03:00:00", "2026-03-02", "0001-01-01T00:00:00+10:00"]
)
def test_an_as_of_that_is_no_moment_is_a_usage_error(text):
    with pytest.raises(UsageError, match="Write it as in --as-of"):
        read_as_of(text)
