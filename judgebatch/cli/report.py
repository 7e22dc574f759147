"""``judgebatch report``: the HTML report of a run."""

from pathlib import Path
from typing import Annotated

import typer

from judgebatch.cli import console
from judgebatch.cli.opening import WarehouseOption, chosen_warehouse
from judgebatch.cli.options import SETTINGS_FILE, SettingsOption
from judgebatch.errors import UsageError
from judgebatch.pipeline.html_report import report_of


def report(
    *,
    run: Annotated[
        int | None,
        typer.Option("--run", help="The run's number; the newest by default.", metavar="N"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Where it is written; run-N.html by default.",
            metavar="FILE",
        ),
    ] = None,
    settings: SettingsOption = SETTINGS_FILE,
    warehouse: WarehouseOption = None,
) -> None:
    """Write the report of a run: one HTML file that needs no network, to open, send or print.

    A run leaves its report in the warehouse, as report.html in its folder, and this copies it.
    For a run without one it is made of what the run published.

    For example:

        judgebatch report

        judgebatch report --run 3 -o night.html
    """
    found = chosen_warehouse(settings, warehouse)
    newest = found.runs().newest
    number = newest if run is None else run
    if not 1 <= number <= newest:
        there = f"there are runs 1 to {newest}" if newest else "there are no runs yet"
        raise UsageError(f"{found.name} has no run {number}: {there}.")
    html = report_of(found, number)
    target = output or Path(f"run-{number}.html")
    try:
        target.write_bytes(html)
    except OSError as error:
        raise UsageError(
            f"{target} cannot be written: {error.strerror}. Name another file with -o."
        ) from None
    console.say(f"Wrote {target}: run {number}, {console.counted(len(html), 'byte')}.")
