"""What lies in the folder of somebody who follows a page: a warehouse, and files to try."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from judgebatch.cli.main import run_command
from tests.juries.made import votes
from tests.verdicts.documents import accepted, errored

QUESTIONS = {
    "safe": {"type": "noul", "instructions": "Is the change safe to release?"},
    "tone": {"type": "choice", "criteria": {"polite": "Friendly.", "rude": "Anything else."}},
    "depth": {"type": "score", "criteria": ["nothing", "a start", "good", "complete"]},
}
POLICY = {"rules": [{"question": "safe", "pass": {"noul": {"min": 0.9}}}]}
LEVELS = pl.lit(None, pl.List(pl.Struct({"level": pl.Int64, "probability": pl.Float64})))
JURY = 'strategy = "majority"\n[[seats]]\nname = "rubric"\n[[seats]]\nname = "style"\n'


def warehouse(folder: Path) -> None:
    """Make a corpus, two nights of it, and files beside it."""
    _judgebatch("synth", folder, "--episodes", "400", "--tenants", "3", "--nights", "2")
    settings = folder / "judgebatch.toml"
    for day in (2, 3):
        _judgebatch("run", "--settings", settings, "--as-of", f"2026-03-0{day}T03:00:00Z")
    (folder / "policies").mkdir(exist_ok=True)
    _json(folder / "policies/questions.json", QUESTIONS)
    _json(folder / "policies/release.json", POLICY)
    _json(folder / "policies/strict.json", POLICY)
    _json(folder / "policies/manners.json", POLICY)
    _json(folder / "stricter.json", {"rules": [{**POLICY["rules"][0]}]})
    answers().write_parquet(folder / "answers.parquet")
    (folder / "jury.toml").write_text(JURY)
    one = next((folder / "verdicts").glob("*.parquet"))
    pl.read_parquet(one).head(50).write_parquet(folder / "verdicts.parquet")
    (folder / "old-results").mkdir()
    items = [{"itemId": f"i{n}", "passed": False, "verdict": errored()} for n in range(3)]
    _json(folder / "old-results/june.json", {"items": items})
    (folder / "results").mkdir()
    _json(folder / "results/june.json", {"items": items})
    pl.DataFrame(
        {"model_a": ["a", "b"], "model_b": ["b", "c"], "winner": ["tie", "model_a"]}
    ).with_columns(tstamp=pl.lit(1.7e9)).write_parquet(folder / "battles.parquet")


def moved(folder: Path) -> None:
    """Make the views of a copied warehouse name its new place."""
    settings = folder / "judgebatch.toml"
    _judgebatch("run", "--settings", settings, "--as-of", "2026-03-03T03:00:00Z")


def inspect_logs(folder: Path) -> None:
    """Add logs that Inspect writes."""
    subprocess.run(
        [sys.executable, "-m", "tests.imports.made_logs", str(folder / "logs")],
        check=True,
        capture_output=True,
        cwd=Path(__file__).parents[2],
    )


def answers() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "tenant_id": "acme",
            "episode_id": ["e1", "e1", "e1", "e2"],
            "question": ["safe", "tone", "depth", "safe"],
            "answered_at": pl.Series(["2026-03-01T12:00:00Z"] * 4).str.to_datetime(time_zone="UTC"),
            "answer_type": ["noul", "choice", "score", "noul"],
            "probability": [0.93, None, None, 0.99],
            "choice": [None, "polite", None, None],
            "confidence": [None, 0.8, 0.9, None],
            "score": [None, None, 2.0, None],
            "probabilities": [None, None, '{"2": 1.0}', None],
        },
        schema_overrides={"choice": pl.String, "probabilities": pl.String},
    )


def names_of(page: str) -> dict[str, Any]:
    """Return what a page's Python takes for granted."""
    if page == "verdicts.md":
        documents = [accepted(), errored()]
        column = pl.Series([orjson.dumps(one).decode() for one in documents])
        return {"document": accepted(), "documents": documents, "column": column}
    if page == "juries.md":
        return {"text": JURY, "judgments": votes("pass", "pass")}
    if page == "policies.md":
        return {
            "questions_text": orjson.dumps(QUESTIONS).decode(),
            "policy_text": orjson.dumps(POLICY).decode(),
            "answers": answers().with_columns(probabilities=LEVELS),
        }
    return {}


def _json(path: Path, content: object) -> None:
    path.write_bytes(orjson.dumps(content))


def _judgebatch(*arguments: object) -> None:
    code = run_command([str(one) for one in arguments])
    if code:
        raise RuntimeError(f"{arguments} ended with {code}")
