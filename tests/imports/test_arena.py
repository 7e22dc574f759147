"""Preferences as arenas publish them become comparisons of one fit."""

import csv
import json
import random
from pathlib import Path
from typing import Any

import polars as pl

from judgebatch.verdicts import interpret_texts
from tests.imports.commands import imported, judgebatch, published, run_on

HEAD = ("question_id", "model_a", "model_b", "winner", "judge", "turn", "tstamp", "conversation_a")


def battles(count: int, models: int = 6) -> list[dict[str, Any]]:
    chance = random.Random(1)  # noqa: S311 - examples, not secrets
    rows = []
    for number in range(count):
        a, b = chance.sample(range(models), 2)
        winner = chance.choices(
            ["model_a" if a > b else "model_b", "tie", "tie (bothbad)"], [8, 1, 1]
        )[0]
        values = (f"q{number}", f"m-{a}", f"m-{b}", winner, "someone", 1, 1.7e9 + number, "x,\ny")
        rows.append(dict(zip(HEAD, values, strict=True)))
    return rows


def write_csv(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_every_preference_counts_in_one_fit(tmp_path: Path) -> None:
    rows = battles(400)
    counts = imported("arena", write_csv(tmp_path / "b.csv", rows), tmp_path / "o")
    assert (counts["episodes"], counts["verdicts"], counts["quarantine"]) == (6, 400, 0)
    run_on(tmp_path / "o")
    graded = published(tmp_path / "o", "graded").sort("score", descending=True)
    assert graded["episode_id"].to_list() == [f"m-{i}" for i in range(5, -1, -1)]
    used = published(tmp_path / "o", "audit/comparisons")
    assert used["disposition"].to_list() == ["used"] * 400
    ties = sum(row["winner"].startswith("tie") for row in rows)
    assert used.filter(pl.col("outcome") == "tie").height == ties


def test_both_kinds_of_tie_and_what_is_no_preference(tmp_path: Path) -> None:
    rows = battles(5)
    for row, winner in zip(rows, ["tie", "tie (bothbad)", "?", "model_a", "MODEL_B"], strict=True):
        row["winner"] = winner
    rows[3]["model_b"] = ""
    counts = imported("arena", write_csv(tmp_path / "b.csv", rows), tmp_path / "o")
    assert (counts["verdicts"], counts["quarantine"]) == (3, 2)
    verdicts = pl.read_parquet(tmp_path / "o/verdicts/*.parquet").sort("verdict_id")
    read = interpret_texts(verdicts["verdict"])
    assert read.defects.height == 0
    assert read.interpretations["reading_support"].unique().to_list() == ["SUPPORTED"]
    texts = [json.loads(text)["aggregated"] for text in verdicts["verdict"]]
    assert [(one.get("label"), one["reasoning"]) for one in texts] == [
        ("tie", "both were called good"),
        ("tie", "both were called bad"),
        (None, "model_b was preferred"),
    ]
    aside = pl.read_parquet(tmp_path / "o/quarantine/*.parquet").sort("place")
    assert aside["message"].to_list() == [
        "the winner is none of the known ones",
        "model_b is empty",
    ]


def test_other_names_other_times_tasks_and_one_hot_winners(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "left": ["a", "b", "c"],
            "model_b": ["b", "c", "a"],
            "winner_model_a": [1, 0, 0],
            "winner_model_b": [0, 0, 1],
            "winner_tie": [0, 1, 0],
            "category": ["code", "code", "prosa"],
            "conversation": [["x"], ["y"], ["z"]],
        }
    )
    frame.write_parquet(tmp_path / "b.parquet")
    source = tmp_path / "b.parquet"
    bare = judgebatch("import", "arena", source, "-o", tmp_path / "o")
    assert bare.code == 3
    assert "no column 'model_a'" in bare.err
    named = ("--column", "model_a=left")
    timeless = judgebatch("import", "arena", source, "-o", tmp_path / "o", *named)
    assert timeless.code == 2
    assert "--judged-at" in timeless.err
    counts = imported(
        "arena",
        tmp_path / "b.parquet",
        tmp_path / "o",
        *named,
        "--task-column",
        "category",
        "--judged-at",
        "2026-03-02T03:00:00Z",
    )
    assert (counts["episodes"], counts["verdicts"]) == (5, 3)
    verdicts = pl.read_parquet(tmp_path / "o/verdicts/*.parquet")
    assert verdicts["verdict_id"].n_unique() == 3
    assert not any((tmp_path / "o").rglob("*.part"))


def test_times_of_every_kind(tmp_path: Path) -> None:
    for number, stamp in enumerate(
        [1.7e9, 1_700_000_000_000, "2023-11-14T22:13:20Z", 1_700_000_000_000_000]
    ):
        frame = pl.DataFrame(
            {"model_a": ["a"], "model_b": ["b"], "winner": ["tie"], "tstamp": [stamp]}
        )
        frame.write_parquet(tmp_path / f"{number}.parquet")
        imported("arena", tmp_path / f"{number}.parquet", tmp_path / str(number))
        read = pl.read_parquet(tmp_path / str(number) / "verdicts/*.parquet")
        assert read["judged_at"].dt.epoch("s").to_list() == [1_700_000_000], stamp


def test_no_rows_and_the_same_again(tmp_path: Path) -> None:
    rows = battles(3)
    path = write_csv(tmp_path / "b.csv", rows)
    imported("arena", path, tmp_path / "o")
    assert imported("arena", path, tmp_path / "o")["known"] == 1
    (tmp_path / "none.csv").write_text(",".join(HEAD) + "\n")
    assert imported("arena", tmp_path / "none.csv", tmp_path / "p")["episodes"] == 0
    run_on(tmp_path / "p")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    done = judgebatch("import", "arena", tmp_path / "broken.parquet", "-o", tmp_path / "q")
    assert done.code == 3
    assert "Traceback" not in done.err
