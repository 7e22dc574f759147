"""``judgebatch jury describe`` and ``judgebatch rescore``."""

import importlib.metadata
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pytest

from judgebatch.juries import (
    Cascade,
    CompositeAttempt,
    Decision,
    Judgment,
    Seat,
    Tier,
    Verdict,
    reduce_judgments,
)
from judgebatch.juries.custom import CustomStrategy
from judgebatch.pipeline import jury_files, rescoring
from tests.cli.running import run
from tests.juries.made import simple, votes

JURY = """
strategy = "majority"
error_policy = "ignore"
not_applicable_policy = "exclude"
seats = [{ name = "a", not_applicable_when = "w" }, { name = "b" }, { name = "c" }]
"""


@pytest.fixture
def jury_file(tmp_path: Path) -> Path:
    path = tmp_path / "jury.toml"
    path.write_text(JURY)
    return path


def test_a_jury_describes_itself(capsys, jury_file: Path):
    ran = run(capsys, "jury", "describe", jury_file)
    assert ran.code == 0
    document = orjson.loads(ran.out)
    assert document["descriptionVersion"] == 2
    assert [seat["key"] for seat in document["seats"]] == ["a", "b", "c"]
    assert run(capsys, "jury", "describe", jury_file).out == ran.out


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("j.toml", 'strategy = "most"\nseats = [{}]', "j.toml: unknown strategy 'most'"),
        ("j.json", "{", "j.json: the jury is not JSON"),
        ("j.toml", None, "cannot be read"),
    ],
)
def test_a_bad_jury_file_is_one_paragraph(
    capsys, tmp_path: Path, name: str, text: str | None, said: str
):
    if text is not None:
        (tmp_path / name).write_text(text)
    ran = run(capsys, "jury", "describe", tmp_path / name)
    assert ran.code == 2
    assert said in ran.err.replace("\n", " ")
    assert ran.err.startswith("error: ")


class Point:
    def __init__(self, name: str, value: Any) -> None:
        self.name, self.value, self.loaded = name, f"package:{name}", value

    def load(self) -> Any:
        if isinstance(self.loaded, Exception):
            raise self.loaded
        return self.loaded


def with_points(monkeypatch: pytest.MonkeyPatch, *points: Point) -> None:
    monkeypatch.setattr(jury_files, "entry_points", lambda **_: list(points))


def test_strategies_come_from_entry_points(monkeypatch, capsys, tmp_path: Path):
    said = CustomStrategy("best", lambda frame: frame, description="the best score")
    with_points(monkeypatch, Point("silent", lambda frame: frame), Point("best", said))
    for name, kind in (("best", "custom"), ("silent", "opaque")):
        path = tmp_path / f"{name}.toml"
        path.write_text(f'strategy = "{name}"\nseats = [{{ name = "a" }}]')
        ran = run(capsys, "jury", "describe", path)
        assert orjson.loads(ran.out)["reduction"]["strategyKind"] == kind
    with_points(monkeypatch, Point("broken", ImportError("no such module")))
    ran = run(capsys, "jury", "describe", path)
    assert ran.code == 2
    assert "broken" in ran.err
    with_points(monkeypatch, Point("number", 3))
    assert "no callable" in run(capsys, "jury", "describe", path).err


def test_the_group_of_entry_points_is_asked_for():
    assert list(importlib.metadata.entry_points(group="judgebatch.strategies")) == []
    assert jury_files.installed_strategies() == {}


def stored(**verdicts: Verdict | str) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "tenant_id": "t",
            "verdict_id": list(verdicts),
            "verdict": [v if isinstance(v, str) else v.portable() for v in verdicts.values()],
        }
    )


def tables(folder: Path) -> dict[str, pl.DataFrame]:
    return {path.stem: pl.read_parquet(path) for path in folder.glob("*.parquet")}


def test_stored_verdicts_are_set_beside_what_the_jury_says(capsys, tmp_path: Path, jury_file: Path):
    def said(*statuses: str) -> pl.DataFrame:
        return reduce_judgments(votes(*statuses), simple("a", "b", "c")).portable()

    frame = pl.concat(
        [
            said("pass", "pass", "pass").with_columns(verdict_id=pl.lit("same")),
            said("pass", "pass", "fail").with_columns(verdict_id=pl.lit("changed")),
            said("error", "pass", "pass").with_columns(verdict_id=pl.lit("charged")),
        ]
    ).with_columns(recorded_passed=pl.Series([True, False, False]))
    frame.write_parquet(tmp_path / "verdicts.parquet")
    ran = run(
        capsys, "rescore", "--jury", jury_file, tmp_path / "verdicts.parquet", "-o", tmp_path / "o",
        "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    summary = orjson.loads(ran.out)
    assert (summary["verdicts"], summary["changed"], summary["quarantined"]) == (3, 2, 0)
    assert [tuple(row.values()) for row in summary["matrix"]] == [
        ("not_passed", "NOT_ASSESSED", "ACCEPTED", 1),
        ("not_passed", "UNDECIDED", "ACCEPTED", 1),
        ("passed", "ACCEPTED", "ACCEPTED", 1),
    ]
    written = tables(tmp_path / "o")
    changed = written["changed_verdicts"].select("verdict_id", "reads", "rescored", "why").rows()
    assert changed == [
        (
            "changed", "UNDECIDED", "ACCEPTED",
            "majority of 3 eligible out of 3 judgments: 2 passed, 1 failed; recorded by consensus",
        ),
        (
            "charged", "NOT_ASSESSED", "ACCEPTED",
            "majority of 2 eligible out of 3 judgments: 2 passed, 0 failed; recorded by consensus",
        ),
    ]  # fmt: skip
    for text in written["rescored_verdicts"]["verdict"]:
        Verdict.of_document(orjson.loads(text))
    assert orjson.loads((tmp_path / "o" / "jury.json").read_bytes())["descriptionVersion"] == 2
    table = run(
        capsys, "rescore", "--jury", jury_file, tmp_path / "verdicts.parquet", "-o", tmp_path / "p"
    )
    assert "3 verdicts re-scored, 2 changed" in table.out
    for name in written:
        path = f"{name}.parquet"
        assert (tmp_path / "o" / path).read_bytes() == (tmp_path / "p" / path).read_bytes()


def test_no_verdict_is_lost(capsys, tmp_path: Path, jury_file: Path):
    frame = stored(
        unreadable="{",
        a_list="[]",
        nobody='{"aggregated": {"status": "pass"}}',
        unknown='{"individualByName": {"a": {"status": "maybe"}}}',
        legacy='{"individualByName": {"a": {"status": "pass"}, "b": {"status": "pass"}}}',
    )
    frame.write_parquet(tmp_path / "v.parquet")
    ran = run(capsys, "rescore", "--jury", jury_file, tmp_path / "v.parquet", "-o", tmp_path / "o")
    assert ran.code == 0, ran.err
    written = tables(tmp_path / "o")
    assert written["jury_verdicts"]["verdict_id"].to_list() == ["legacy"]
    reasons = written["judgment_quarantine"].select("source_row", "verdict_id", "reason").rows()
    assert reasons == [
        (0, "unreadable", "unreadable_verdict"),
        (1, "a_list", "unreadable_verdict"),
        (2, "nobody", "no_judgments"),
        (3, "unknown", "unknown_status"),
    ]


def test_a_verdict_of_tiers_gives_back_its_tiers_weights_and_causes(
    capsys, tmp_path: Path, jury_file: Path
):
    first = simple("a", "b", strategy="weightedAverage")
    cascade = Cascade(
        (Tier("x/y", "REJECT_ON_ANY_FAIL", first), Tier("z", "FINAL_TIER", simple("c")))
    )
    judgments = pl.concat(
        [
            votes("pass", "fail", stage="/x~1y", weight=3.0),
            votes("pass", verdict_id="w", stage="/z").with_columns(name=pl.lit("c")),
            votes(
                "error",
                verdict_id="w",
                stage="/x~1y",
                reason_code="errors_propagated",
                error_code_counts='{"judge_failed":2}',
                checks='[{"name":"c","passed":true,"message":"m"}]',
            ),
        ]
    )
    before = reduce_judgments(judgments, cascade).portable()
    before.write_parquet(tmp_path / "v.parquet")
    cascade_file = tmp_path / "cascade.toml"
    cascade_file.write_text(
        """
        [[tiers]]
        name = "x/y"
        policy = "REJECT_ON_ANY_FAIL"
        jury = { strategy = "weightedAverage", seats = [{ name = "a" }, { name = "b" }] }
        [[tiers]]
        name = "z"
        policy = "FINAL_TIER"
        jury = { strategy = "consensus", seats = [{ name = "c" }] }
        """
    )
    ran = run(
        capsys, "rescore", "--jury", cascade_file, tmp_path / "v.parquet", "-o", tmp_path / "o",
        "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    written = tables(tmp_path / "o")
    assert written["rescored_verdicts"].rows() == before.rows()
    summary = orjson.loads(ran.out)
    assert (summary["changed"], summary["unseated"], summary["quarantined"]) == (0, 0, 0)
    assert written["jury_attempts"]["path"].to_list() == ["/x~1y", "/x~1y", "/z"]


def test_legacy_stages_without_a_name_are_unseated_never_mixed_up(
    capsys, tmp_path: Path, jury_file: Path
):
    inner = '{"individual": [{"status": "fail"}]}'
    frame = stored(
        v=f'{{"individualByName": {{"a": {{"status": "pass"}}}}, "subVerdicts": [{inner}]}}'
    )
    frame.write_parquet(tmp_path / "v.parquet")
    run(capsys, "rescore", "--jury", jury_file, tmp_path / "v.parquet", "-o", tmp_path / "o")
    written = tables(tmp_path / "o")
    assert written["jury_verdicts"]["status"].to_list() == ["pass"]
    assert written["unseated_judgments"].select("stage", "status").rows() == [("/ 1", "fail")]


def test_a_judgments_table_is_reduced_as_it_is(capsys, tmp_path: Path, jury_file: Path):
    folder = tmp_path / "in"
    folder.mkdir()
    votes("pass", "pass", "fail").write_parquet(folder / "1.parquet")
    twice = pl.concat([votes("pass", verdict_id="w"), votes("fail", verdict_id="w")])
    twice.drop("label", "checks").write_parquet(folder / "2.parquet")
    ran = run(capsys, "rescore", "--jury", jury_file, folder, "-o", tmp_path / "o", "--json")
    assert ran.code == 0, ran.err
    assert orjson.loads(ran.out)["matrix"] == [
        {"recorded": "nothing", "reads": "nothing", "rescored": "ACCEPTED", "verdicts": 1}
    ]
    quarantine = tables(tmp_path / "o")["judgment_quarantine"]
    assert quarantine.select("source_row", "reason").rows() == [
        (3, "two_judgments"),
        (4, "two_judgments"),
    ]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"x": [1]}, "neither a judgments table"),
        ({"verdict": ["{}"], "status": ["pass"]}, "neither"),
        ({"verdict": ["{}"], "tenant_id": ["t"]}, "no column verdict_id"),
        ({"status": ["pass"], "tenant_id": ["t"], "verdict_id": ["v"]}, "no column stage"),
    ],
)
def test_inputs_that_are_neither_are_refused(
    capsys, tmp_path: Path, jury_file: Path, columns: dict[str, list[Any]], said: str
):
    pl.DataFrame(columns).write_parquet(tmp_path / "x.parquet")
    ran = run(capsys, "rescore", "--jury", jury_file, tmp_path / "x.parquet", "-o", tmp_path / "o")
    assert (ran.code, said in ran.err.replace("\n", " ")) == (3, True)
    assert not (tmp_path / "o").exists()


def test_missing_and_damaged_inputs_are_refused(capsys, tmp_path: Path, jury_file: Path):
    command = ("rescore", "--jury", jury_file)
    assert run(capsys, *command, tmp_path / "none", "-o", tmp_path / "o").code == 3
    (tmp_path / "empty").mkdir()
    assert run(capsys, *command, tmp_path / "empty", "-o", tmp_path / "o").code == 3
    (tmp_path / "bad.parquet").write_bytes(b"PAR1")
    ran = run(capsys, *command, tmp_path / "bad.parquet", "-o", tmp_path / "o")
    assert (ran.code, "cannot be read as Parquet" in ran.err) == (3, True)


def test_results_are_never_written_over(capsys, tmp_path: Path, jury_file: Path):
    votes("pass").write_parquet(tmp_path / "x.parquet")
    command = ("rescore", "--jury", jury_file, tmp_path / "x.parquet", "-o", tmp_path / "o")
    assert run(capsys, *command).code == 0
    ran = run(capsys, *command)
    assert (ran.code, "not empty" in ran.err) == (2, True)


def test_results_appear_whole_or_not_at_all(capsys, monkeypatch, tmp_path: Path, jury_file: Path):
    votes("pass").write_parquet(tmp_path / "x.parquet")
    command = ("rescore", "--jury", jury_file, tmp_path / "x.parquet", "-o", tmp_path / "o")
    written = []

    def full(path: Path, *_: Any) -> None:
        path.write_bytes(b"")
        written.append(path)
        if len(written) == 3:
            raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(rescoring, "write_table", full)
        assert run(capsys, *command).code == 1
    assert not (tmp_path / "o").exists()
    (tmp_path / "o").mkdir()
    assert run(capsys, *command).code == 0
    assert len(tables(tmp_path / "o")) == 7
    assert not list(tmp_path.glob(".*"))


def test_a_rejection_by_an_individual_is_read_as_one(capsys, tmp_path: Path, jury_file: Path):
    """The aggregate is an error; the decision says rejected, and so does the matrix."""
    failed = Judgment(status="fail")
    broken = Judgment(status="error", reason_code="aggregation_failed", reasoning="r")
    individuals = {"individual": (failed,), "individual_by_name": {"a": failed}}
    child = Verdict(
        aggregated=broken, seats=(Seat(0, "a"),), decision=Decision("undecided"), **individuals
    )
    attempt = CompositeAttempt(
        name="t",
        relation="cascade_tier",
        policy="REJECT_ON_ANY_FAIL",
        disposition="stage_failed",
        disposition_reason="child_undecided",
        verdict=child,
    )
    verdict = Verdict(
        aggregated=broken,
        seats=(Seat(0, "a"),),
        decision=Decision("tier", "t", "individual_rejection"),
        composite_attempts=(attempt,),
        **individuals,
    )
    stored(v=verdict).write_parquet(tmp_path / "v.parquet")
    ran = run(
        capsys, "rescore", "--jury", jury_file, tmp_path / "v.parquet", "-o", tmp_path / "o",
        "--json",
    )  # fmt: skip
    assert orjson.loads(ran.out)["matrix"][0]["reads"] == "REJECTED"


def test_columns_of_other_names_are_mapped(capsys, tmp_path: Path, jury_file: Path):
    frame = stored(
        legacy='{"individualByName": {"a": {"status": "pass"}, "b": {"status": "pass"}}}'
    )
    theirs = frame.rename({"verdict_id": "run", "verdict": "payload", "tenant_id": "org"})
    theirs.with_columns(verdict=pl.lit("not the one")).write_parquet(tmp_path / "v.parquet")
    mapped = ("--column", "verdict_id=run", "--column", "verdict=payload", "--column",
              "tenant_id=org")  # fmt: skip
    command = ("rescore", "--jury", jury_file, tmp_path / "v.parquet", "-o", tmp_path / "o")
    ran = run(capsys, *command, *mapped)
    assert ran.code == 0, ran.err
    assert tables(tmp_path / "o")["jury_verdicts"]["verdict_id"].to_list() == ["legacy"]


@pytest.mark.parametrize(
    ("columns", "code", "said"),
    [
        (["verdict_id"], 2, "is not NAME=YOURS"),
        (["verdict_id=a", "verdict_id=b"], 2, "mapped once"),
        (["verdict_ids=run"], 2, "did you mean 'verdict_id'"),
        (["verdict_id=runs"], 3, "did you mean 'run'"),
        ([], 3, "--column verdict_id=NAME"),
    ],
)
def test_a_mapping_that_fits_nothing_is_refused(
    capsys, tmp_path: Path, jury_file: Path, columns: list[str], code: int, said: str
):
    stored(v="{}").rename({"verdict_id": "run"}).write_parquet(tmp_path / "v.parquet")
    mapped = [part for one in columns for part in ("--column", one)]
    ran = run(
        capsys,
        "rescore",
        "--jury",
        jury_file,
        tmp_path / "v.parquet",
        "-o",
        tmp_path / "o",
        *mapped,
    )
    assert ran.code == code
    assert said in " ".join(ran.err.split())
    assert not (tmp_path / "o").exists()


def test_judgments_without_a_seat_are_warned_about_by_name(capsys, tmp_path: Path, jury_file: Path):
    judgments = votes("pass", "pass", "pass", "fail", "fail")
    judgments.write_parquet(tmp_path / "judgments.parquet")
    ran = run(
        capsys, "rescore", "--jury", jury_file, tmp_path / "judgments.parquet", "-o", tmp_path / "o"
    )
    assert ran.code == 0
    said = " ".join(ran.err.split())
    assert "no seat in the jury for judge 'd' (1), judge 'e' (1)" in said
    assert "The jury's seats: judge 'a', judge 'b', judge 'c'" in said
