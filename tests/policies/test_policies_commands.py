import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from judgebatch.cli import policy as commands
from judgebatch.cli.policy_files import load_answers
from judgebatch.errors import InputError, JudgebatchError, SettingsError, UsageError
from judgebatch.policies.columns import DISTRIBUTION

QUESTIONS = {
    "safe": {"type": "noul"},
    "tone": {"type": "choice", "criteria": {"polite": "", "rude": ""}},
    "depth": {"type": "score", "criteria": ["none", "some", "all"]},
}
RULES = [
    {"question": "safe", "pass": {"noul": {"min": 0.9}}},
    {"question": "tone", "pass": {"choice": "polite", "confidence": {"min": 0.5}}},
    {"question": "depth", "pass": {"score": {"level": 1}}},
]
CSV = """\
tenant_id,episode_id,question,answer_type,probability,choice,confidence,score,probabilities
t,e1,safe,noul,0.93,,,,
t,e1,tone,choice,,polite,0.5,,
t,e1,depth,score,,,0.8,1.2,"{""1"": 0.8, ""2"": 0.2}"
t,e2,safe,noul,0.00001,,,,
t,e2,tone,choice,,rude,0.9,,
t,e2,depth,score,,,0.8,0.5,"{""1"": 0.5, ""0"": 0.5}"
t,e3,safe,noul,0.93,,,,
t,e3,safe,noul,0.94,,,,
t,e3,tone,choice,,kind,0.9,,
"""
TEXT = """\
t / e1: passed
  safe: noul 0.93 >= 0.9 -> pass
  tone: choice 'polite' == 'polite' and confidence 0.5 >= 0.5 -> pass
  depth: score level 1 == 1 -> pass
t / e2: unmet
  safe: noul 1e-05 >= 0.9 -> fail
  tone: choice 'rude' == 'polite' and confidence 0.9 >= 0.5 -> fail
  depth: score level 0 == 1 -> fail
t / e3: not evaluated
  safe: not evaluated: conflicting answer
  tone: not evaluated: malformed answer
  depth: not evaluated: missing answer
3 episodes: 1 passed, 1 unmet, 1 not evaluated
"""


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    content = {
        "questions.json": json.dumps(QUESTIONS),
        "release.json": json.dumps({"rules": RULES}),
        "strict.json": json.dumps({"rules": RULES}).replace("0.9", "0.95"),
        "broken.json": json.dumps({"rules": RULES}, indent=1).replace("noul", "nuol"),
        "answers.csv": CSV,
    }
    for name, text in content.items():
        (tmp_path / name).write_text(text)
    frame = load_answers(tmp_path / "answers.csv")
    raw = pl.read_csv(tmp_path / "answers.csv", infer_schema=False)
    columns = ["tenant_id", "episode_id", "question", "answer_type", "choice"]
    numbers = pl.col("probability", "confidence", "score").cast(pl.Float64)
    levels = frame.select("source_row", "probabilities").cast({"source_row": pl.UInt32})
    parquet = raw.with_row_index("source_row").select("source_row", *columns, numbers)
    parquet = parquet.join(levels, on="source_row", how="left", maintain_order="left")
    parquet.drop("source_row").write_parquet(tmp_path / "answers.parquet")
    lines = [
        {key: value for key, value in row.items() if value is not None}
        for row in raw.with_columns(numbers).to_dicts()
    ]
    for line in lines:
        if "probabilities" in line:
            line["probabilities"] = json.loads(line["probabilities"])
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "answers.ndjson").write_text(text)
    raw.with_columns(numbers).write_ndjson(tmp_path / "answers.texts.ndjson")
    pl.read_parquet(tmp_path / "answers.parquet").write_ndjson(tmp_path / "answers.lists.ndjson")
    return {path.name: path for path in tmp_path.iterdir()}


def test_check_lists_the_rules(files: dict[str, Path], capsys: Any):
    commands.check(files["release.json"], files["questions.json"])
    assert capsys.readouterr().out.splitlines()[1:] == [
        "  safe: noul >= 0.9",
        "  tone: choice == 'polite' and confidence >= 0.5",
        "  depth: score level == 1",
    ]
    commands.check(files["release.json"], files["questions.json"], as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert (document["valid"], len(document["rules"])) == (True, 3)


def test_check_names_file_line_and_column(files: dict[str, Path], capsys: Any):
    with pytest.raises(SettingsError, match=r"broken\.json, line 6, column 5: pass has no 'nuol'"):
        commands.check(files["broken.json"], files["questions.json"], as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert (document["valid"], "line 6, column 5" in document["error"]) == (False, True)
    assert SettingsError.exit_code == 2


@pytest.mark.parametrize("kind", ["csv", "parquet", "ndjson", "texts.ndjson", "lists.ndjson"])
def test_test_prints_the_report_of_every_episode(files: dict[str, Path], kind: str, capsys: Any):
    arguments = (files["release.json"], files["questions.json"], files[f"answers.{kind}"])
    commands.try_policy(*arguments)
    assert capsys.readouterr().out == TEXT
    commands.try_policy(*arguments, only=commands.Outcome.UNMET, limit=5, as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert document["counts"] == {"passed": 1, "unmet": 1, "not_evaluated": 1}
    assert [one["episode_id"] for one in document["episodes"]] == ["e2"]
    assert document["episodes"][0]["rules"][0] == {
        "question": "safe",
        "passed": False,
        "detail": "noul 1e-05 >= 0.9 -> fail",
        "error": None,
    }


def test_diff_shows_which_episodes_change(files: dict[str, Path], capsys: Any):
    arguments = (
        files["release.json"],
        files["strict.json"],
        files["questions.json"],
        files["answers.parquet"],
    )
    commands.diff(*arguments)
    assert capsys.readouterr().out == (
        "t / e1: passed -> unmet\n"
        "  - safe: noul 0.93 >= 0.9 -> pass\n"
        "  + safe: noul 0.93 >= 0.95 -> fail\n"
        "1 of 3 episodes change.\n"
        "  passed -> unmet: 1\n"
    )
    commands.diff(*arguments, as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert document["changes"] == [{"before": "passed", "after": "unmet", "episodes": 1}]
    assert [one["episode_id"] for one in document["changed_episodes"]] == ["e1"]


def test_answers_may_come_without_a_tenant(tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_text("episode_id,question,answer_type,probability\ne,safe,noul,1\n")
    frame = load_answers(path)
    assert frame.select("tenant_id", "probability", "conflicting").rows() == [("", 1.0, False)]
    assert frame.schema["probabilities"] == DISTRIBUTION


@pytest.mark.parametrize("at", [0.2, 0.5, 0.9])
def test_damaged_answers_are_refused_by_name(files: dict[str, Path], at: float, capfd):
    path = files["answers.parquet"]
    content = path.read_bytes()
    path.write_bytes(content[: int(at * len(content))] + content[int(at * len(content)) + 9 :])
    with pytest.raises(InputError, match="is damaged Parquet"):
        load_answers(path)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("name", "text", "error", "said"),
    [
        ("a.txt", "", UsageError, "not known how to read it"),
        ("missing.csv", None, UsageError, "There is no file"),
        ("a.parquet", "not Parquet", InputError, "should be Parquet and is not"),
        ("a.ndjson", "{]\n", InputError, "cannot be read as ndjson"),
        ("a.csv", "episode,question\ne,q\n", InputError, "did you mean 'episode'"),
        ("a.csv", "episode_id,question,answer_type\n,q,noul\n", InputError, "row 0: episode_id"),
        (
            "a.csv",
            "episode_id,question,answer_type,score\ne,q,score,high\n",
            InputError,
            "row 0: score is 'high'",
        ),
        (
            "a.csv",
            "episode_id,question,answer_type,probabilities\ne,q,score,high\n",
            InputError,
            "row 0: probabilities is not a JSON object",
        ),
    ],
)
def test_wrong_answers_are_named(
    tmp_path: Path, name: str, text: str | None, error: type[JudgebatchError], said: str
):
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(error, match=said):
        load_answers(path)
    assert error.exit_code in (2, 3)


def test_a_policy_that_is_no_text_is_named(tmp_path: Path, files: dict[str, Path]):
    (tmp_path / "bad.json").write_bytes(b"\xff{}")
    with pytest.raises(SettingsError, match="not UTF-8"):
        commands.check(tmp_path / "bad.json", files["questions.json"])
    with pytest.raises(SettingsError, match="cannot be read"):
        commands.check(tmp_path / "none.json", files["questions.json"])
