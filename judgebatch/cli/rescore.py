"""``judgebatch rescore``: what another jury makes of stored judgments."""

from pathlib import Path
from typing import Annotated

import typer

from judgebatch.cli import console
from judgebatch.cli.options import JsonOption
from judgebatch.errors import UsageError
from judgebatch.pipeline.jury_files import load_jury
from judgebatch.pipeline.rescoring import RescoreReport
from judgebatch.pipeline.rescoring import rescore as rescore_inputs


def rescore(
    inputs: Annotated[
        list[Path],
        typer.Argument(
            metavar="INPUT...",
            help="Parquet files, or folders of them: judgments tables, or stored verdicts.",
        ),
    ],
    *,
    jury: Annotated[Path, typer.Option("--jury", metavar="FILE", help="The jury, TOML or JSON.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="A new folder.")],
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="NAME=YOURS",
            help="What a column is called in your files, such as verdict_id=run. Repeatable.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Re-score stored judgments under a jury and say what changes.

    Writes the new verdicts, the matrix of recorded and new readings, the verdicts that changed
    with why, and what had no seat or could not be reduced. Changes nothing that is there.

    For example:

        judgebatch rescore --jury jury.toml verdicts.parquet -o rescored

        judgebatch rescore --jury jury.toml --column verdict=payload runs -o rescored
    """
    report = rescore_inputs(inputs, load_jury(jury), out, read_columns(columns or []))
    for warning in report.warnings:
        console.warn(warning)
    if as_json:
        console.say_json(summary(report))
        return
    console.say_table(
        "What was recorded, what it reads, what the jury says",
        ("recorded", "reads", "re-scored", "verdicts"),
        report.matrix.rows(),
        right=("verdicts",),
    )
    console.say(
        f"{console.counted(report.verdicts, 'verdict')} re-scored, {report.changed:,} changed; "
        f"{console.counted(report.unseated, 'judgment')} without a seat, "
        f"{report.quarantined:,} in quarantine. "
        f"Written to {report.out}."
    )


def read_columns(given: list[str]) -> dict[str, str]:
    """Return what ``--column NAME=YOURS`` says.

    Raises
    ------
    UsageError
        It is not of that form, or a name is given twice.
    """
    columns: dict[str, str] = {}
    for one in given:
        name, equals, yours = one.partition("=")
        if not (name and equals and yours):
            raise UsageError(f"--column {one!r} is not NAME=YOURS, such as verdict_id=run")
        if name in columns or yours in columns.values():
            raise UsageError(f"--column {one!r}: each name is mapped once")
        columns[name] = yours
    return columns


def summary(report: RescoreReport) -> dict[str, object]:
    """Return the report for scripts."""
    return {
        "out": str(report.out),
        "verdicts": report.verdicts,
        "changed": report.changed,
        "unseated": report.unseated,
        "quarantined": report.quarantined,
        "warnings": list(report.warnings),
        "matrix": report.matrix.to_dicts(),
    }
