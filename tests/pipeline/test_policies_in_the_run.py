"""Policies in the nightly run: answers on disk, results beside the grades."""

import json
from pathlib import Path

import polars as pl
import pytest

from judgebatch.contracts import grading as g
from judgebatch.contracts.policies import PolicyReports, PolicyResults
from judgebatch.errors import SettingsError
from judgebatch.warehouse import open_warehouse
from judgebatch.warehouse.verify import verify
from tests.conformance.nights import Nights
from tests.scenarios.rows import answer, at, episode

QUESTIONS = {
    "safe": {"type": "noul"},
    "tone": {"type": "choice", "criteria": {"kind": "", "rude": ""}},
}
POLICY = {
    "rules": [
        {"question": "safe", "pass": {"noul": {"min": 0.5}}},
        {"question": "tone", "pass": {"choice": "kind"}},
    ]
}
ANSWERS = '[inputs.answers]\npath = "answers"\n'
TENANT = {"mode": "reference", "judging_window": "12h", "policies": ["release"]}


@pytest.fixture
def nights(tmp_path):
    nights = Nights(tmp_path)
    (tmp_path / "answers").mkdir()
    (tmp_path / "policies").mkdir()
    write(tmp_path, "questions", QUESTIONS)
    write(tmp_path, "release", POLICY)
    nights.configure({"acme": TENANT}, extra=ANSWERS)
    return nights


def write(folder: Path, name: str, document: object) -> None:
    (folder / "policies" / f"{name}.json").write_text(json.dumps(document))


def give(nights: Nights, name: str, rows: list[dict]) -> None:
    schema = {"probability": pl.Float64, "choice": pl.String, "confidence": pl.Float64}
    frame = pl.DataFrame(rows, schema_overrides=schema)
    frame.write_parquet(nights.folder / "answers" / f"{name}.parquet")


def results(nights: Nights) -> dict[str, tuple[bool | None, str | None]]:
    rows = nights.table(PolicyResults).select("episode_id", "policy_passed", "error").rows()
    return {name: (passed, error) for name, passed, error in rows}


def kind(name: str, hours: float) -> dict:
    return answer(name, "tone", hours, answer_type="choice", choice="kind", confidence=0.9)


def test_passed_unmet_and_not_evaluated_are_three_things(nights):
    nights.deliver("n1", [episode(name, 1) for name in ("good", "bad", "mute", "torn")])
    rows = [
        answer("good", "safe", 2, probability=0.5),
        kind("good", 2),
        answer("bad", "safe", 2, probability=0.4),
        kind("bad", 2),
        kind("mute", 2),
        answer("torn", "safe", 2, probability=0.9),
        answer("torn", "safe", 3, probability=0.1),
        kind("torn", 3),
    ]
    give(nights, "n1", rows)
    nights.run(at(4))
    decided = results(nights)
    assert (decided["good"], decided["bad"]) == ((True, None), (False, None))
    assert "mute" not in decided
    nights.run(at(20))
    assert results(nights)["mute"] == (None, "missing_answer")
    assert results(nights)["torn"] == (None, "conflicting_answer")
    assert nights.table(g.Quarantine)["reason"].to_list() == ["conflicting_answer"]
    details = nights.table(PolicyReports).filter(pl.col("episode_id") == "bad")
    assert details["detail"][0] == "noul 0.4 >= 0.5 -> fail"
    assert verify(open_warehouse(nights.folder / "warehouse")) == []


def test_grades_and_policies_stand_side_by_side_in_the_view(nights):
    import duckdb  # noqa: PLC0415

    nights.deliver("n1", [episode("good", 1)])
    give(nights, "n1", [answer("good", "safe", 2, probability=0.7), kind("good", 2)])
    nights.run(at(4))
    path = nights.folder / "warehouse" / "views" / "judgebatch.duckdb"
    with duckdb.connect(str(path), read_only=True) as views:
        columns = views.sql("select * from episodes").pl()
    assert columns["episode_id"].to_list() == ["good"]
    assert any("polic" in name for name in columns.columns)


def test_results_do_not_depend_on_how_the_nights_fell(nights, tmp_path):
    rows = [answer("good", "safe", 2, probability=0.7), kind("good", 5)]
    nights.deliver("n1", [episode("good", 1)])
    give(nights, "n1", rows[:1])
    nights.run(at(3))
    give(nights, "n2", rows[1:])
    nights.run(at(6))
    once = Nights(tmp_path / "once")
    for name in ("answers", "policies"):
        (once.folder / name).symlink_to(nights.folder / name)
    once.configure({"acme": TENANT}, extra=ANSWERS)
    once.deliver("n1", [episode("good", 1)])
    once.run(at(6))
    columns = ["episode_id", "policy_passed", "decided_at"]
    assert (
        nights.table(PolicyResults)
        .select(columns)
        .equals(once.table(PolicyResults).select(columns))
    )


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"rules": []}, "release.json"),
        ({"rules": [{"question": "nobody", "pass": {"noul": {"min": 0.5}}}]}, "nobody"),
    ],
)
def test_policy_that_is_wrong_stops_the_run_before_it_reads(nights, document, said):
    (nights.folder / "episodes" / "broken.parquet").write_bytes(b"never read")
    write(nights.folder, "release", document)
    with pytest.raises(SettingsError, match=said):
        nights.run(at(4))


def test_missing_policy_file_is_named(nights):
    (nights.folder / "policies" / "release.json").unlink()
    with pytest.raises(SettingsError, match=r"release\.json"):
        nights.run(at(4))
