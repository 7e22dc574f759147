"""How ``verify`` and ``doctor`` say what they found."""

from collections.abc import Sequence
from dataclasses import asdict

import typer

from judgebatch.cli import console
from judgebatch.errors import WarehouseDamagedError
from judgebatch.warehouse import Finding, Warehouse


def tell(
    warehouse: Warehouse, findings: Sequence[Finding], all_well: str, *, as_json: bool
) -> None:
    """Print findings and leave with the exit code that says whether there were any."""
    if as_json:
        console.say_json(
            {
                "warehouse": warehouse.name,
                "runs": len(warehouse.committed()),
                "findings": [asdict(finding) for finding in findings],
            }
        )
    else:
        for finding in findings:
            console.say(str(finding))
        console.say(f"{len(findings):,} found in {warehouse.name}" if findings else all_well)
    if findings:
        raise typer.Exit(WarehouseDamagedError.exit_code)
