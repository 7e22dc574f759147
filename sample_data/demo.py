# ruff: noqa: INP001 - a script beside the data that it runs over
"""Grade several nights of the sample corpus into ``demo/`` and say what to open.

Each night's files are delivered before its run, as a scheduler would find them.
"""

import shutil
import stat
import sys
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

from judgebatch.cli import console
from judgebatch.cli.main import run_command

SAMPLE = Path(__file__).resolve().parent
DEMO = SAMPLE.parent / "demo"
SETTINGS = DEMO / "judgebatch.toml"
TABLES = ("episodes", "verdicts")
DUE = time(3, tzinfo=UTC)

QUESTIONS = {
    "What was graded, and what was not, with the reason": """
        SELECT tenant_id, outcome, sum(count)::BIGINT AS episodes FROM audit_grading_counts
        GROUP BY ALL HAVING episodes > 0 ORDER BY ALL
    """,
    "What comparisons came to": """
        SELECT disposition, count(*) AS comparisons FROM audit_comparisons
        GROUP BY ALL ORDER BY ALL
    """,
    "Rows that were not accepted": """
        SELECT reason, count(*) AS "rows", min(message) AS for_example FROM audit_quarantine
        GROUP BY ALL ORDER BY ALL
    """,
}


def main() -> int:
    """Run the demo and return the exit code of the first command that fails, or 0."""
    _make_room()
    nights = sorted(path.stem for path in (SAMPLE / "episodes").glob("*.parquet"))
    commands: list[list[str]] = []
    for night in nights:
        due = datetime.combine(datetime.fromisoformat(night).date(), DUE) + timedelta(days=1)
        as_of = f"{due:%Y-%m-%dT%H:%M:%SZ}"
        commands.append(["run", "--settings", str(SETTINGS), "--as-of", as_of])
    commands.append(["verify", "--settings", str(SETTINGS)])
    for command in commands:
        if command[0] == "run":
            _deliver(nights.pop(0))
        console.say(f"\n$ judgebatch {' '.join(command)}", style="bold")
        if code := run_command(command):
            return code
    for question, query in QUESTIONS.items():
        console.say(f"\n{question}:", style="bold")
        if code := run_command(["sql", "--settings", str(SETTINGS), query]):
            return code
    _point_out()
    return 0


def _make_room() -> None:
    if DEMO.exists():
        for path in DEMO.rglob("*"):
            if path.is_dir() and not path.is_symlink():
                path.chmod(path.stat().st_mode | stat.S_IWUSR)
        shutil.rmtree(DEMO)
    for table in TABLES:
        (DEMO / table).mkdir(parents=True)
    shutil.copy(SAMPLE / "judgebatch.toml", SETTINGS)


def _deliver(night: str) -> None:
    for table in TABLES:
        shutil.copy(SAMPLE / table / f"{night}.parquet", DEMO / table)


def _point_out() -> None:
    warehouse = DEMO / "warehouse"
    newest = max((warehouse / "runs").iterdir())
    console.say("\nOpen next:", style="bold")
    for path, what in (
        (newest / "report.html", "the last night's report"),
        (warehouse / "views" / "judgebatch.duckdb", "views over all nights, for DuckDB"),
        (warehouse / "runs" / "*" / "tables" / "graded" / "*.parquet", "scores, for any reader"),
        (warehouse / "runs" / "*" / "tables" / "ungraded" / "*.parquet", "reasons, without scores"),
        (SETTINGS, "the settings that these nights ran under"),
    ):
        if "*" in path.as_posix() or path.exists():
            console.say(f"  {path.relative_to(SAMPLE.parent)}: {what}")


if __name__ == "__main__":
    sys.exit(main())
