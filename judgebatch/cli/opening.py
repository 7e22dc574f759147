"""Which warehouse a command that only looks is about."""

from pathlib import Path
from typing import Annotated

import typer

from judgebatch.settings import load_settings
from judgebatch.warehouse import Warehouse, open_warehouse

WarehouseOption = Annotated[
    Path | None,
    typer.Option(
        "--warehouse",
        help="The warehouse itself; without it, the one that the settings name.",
        metavar="FOLDER",
    ),
]


def chosen_warehouse(settings: Path, warehouse: Path | None) -> Warehouse:
    """Open the warehouse that is named, or else the one of the settings.

    Raises
    ------
    UsageError
        The settings are wrong, or the folder is not a warehouse.
    """
    return open_warehouse(load_settings(settings).warehouse if warehouse is None else warehouse)
