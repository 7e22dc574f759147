"""Named tuples of frames on disk: what one stage of a run leaves for another one.

Every frame is an Arrow file named like its field, every number a text; a named tuple inside is a
folder.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_type_hints

import polars as pl

Bundle = TypeVar("Bundle")


def write_bundle(folder: Path, bundle: NamedTuple) -> None:
    """Write a named tuple of frames, integers and such named tuples into a folder.

    Each frame appears whole: a stage that died may have been writing what it reads.
    """
    folder.mkdir(parents=True, exist_ok=True)
    fields: Mapping[str, Any] = bundle._asdict()
    for name, value in fields.items():
        if isinstance(value, pl.DataFrame):
            partial = folder / f"{name}.partial"
            value.write_ipc(partial, compression="uncompressed")
            partial.replace(folder / f"{name}.arrow")
        elif isinstance(value, int):
            (folder / name).write_text(str(value))
        else:
            write_bundle(folder / name, value)


def read_frame(folder: Path, name: str) -> pl.DataFrame:
    """Return one frame of what :func:`write_bundle` wrote."""
    return pl.read_ipc(folder / f"{name}.arrow")


def read_bundle(folder: Path, kind: type[Bundle]) -> Bundle:
    """Return what :func:`write_bundle` wrote."""
    fields: dict[str, Any] = {}
    for name, hint in get_type_hints(kind).items():
        if hint is pl.DataFrame:
            fields[name] = read_frame(folder, name)
        elif hint is int:
            fields[name] = int((folder / name).read_text())
        else:
            fields[name] = read_bundle(folder / name, hint)
    return kind(**fields)
