"""Which warehouse a command that only looks is about."""

from pathlib import Path
from typing import Annotated

import typer

from judgebatch.objects.url import is_url, parse_url
from judgebatch.settings import load_settings
from judgebatch.warehouse import Warehouse, open_warehouse

WarehouseOption = Annotated[
    str | None,
    typer.Option(
        "--warehouse",
        help="The warehouse itself, a folder or a URL; without it, the one that the settings name.",
        metavar="FOLDER",
    ),
]


def chosen_warehouse(settings: Path, warehouse: str | None) -> Warehouse:
    """Open the warehouse that is named, or else the one of the settings.

    Raises
    ------
    UsageError
        The settings are wrong, or the folder is not a warehouse.
    """
    if warehouse is None:
        found = load_settings(settings)
        return open_warehouse(found.warehouse, found.scratch)
    return named_warehouse(warehouse)


def named_warehouse(place: str) -> Warehouse:
    """Open the warehouse in a folder or at a URL.

    Raises
    ------
    UsageError
        The place is not a warehouse.
    """
    return open_warehouse(parse_url(place) if is_url(place) else Path(place))
