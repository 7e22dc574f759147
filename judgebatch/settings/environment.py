"""Environment variables that override single settings.

``JUDGEBATCH_WAREHOUSE`` is ``warehouse``; two underscores step into a table, as in
``JUDGEBATCH_DEFAULTS__QUORUM``. A value is written as in the file; a text needs no quotes.
"""

import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from judgebatch.errors import SettingsError, did_you_mean

PREFIX = "JUDGEBATCH_"
_STEP = "__"


class Overlay(NamedTuple):
    """Settings with the environment laid over them, and which variable gave which key."""

    document: dict[str, Any]
    origins: dict[tuple[str, ...], str]


def overlay(
    document: Mapping[str, Any], environ: Mapping[str, str], known: Iterable[str]
) -> Overlay:
    """Lay the variables of ``environ`` over the settings ``document``.

    Variables that start with the prefix and name no top-level key in ``known`` are left alone
    (others use the prefix too), unless they look like a misspelt one.

    Raises
    ------
    SettingsError
        A variable looks like a misspelt setting, or steps into something that is no table.
    """
    top = list(known)
    merged = _copy(document)
    origins: dict[tuple[str, ...], str] = {}
    for name in sorted(environ):
        if not name.startswith(PREFIX):
            continue
        steps = name.removeprefix(PREFIX).split(_STEP)
        if steps[0].lower() not in top:
            if get_close_matches(steps[0].lower(), top, n=1, cutoff=0.85):
                hint = did_you_mean(steps[0].lower(), top)
                raise SettingsError(
                    f"The environment variable {name} names no setting{hint}. "
                    "Correct its name or unset it."
                )
            continue
        path = _path(steps, merged)
        _put(merged, path, _read(environ[name]), name)
        origins[path] = name
    return Overlay(merged, origins)


def _path(steps: list[str], document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys that ``steps`` mean: ids as the file spells them, other keys lower case."""
    path: list[str] = []
    here: Any = document
    for step in steps:
        is_id = path[-1:] in (["tenants"], ["tasks"], ["wide"])
        spelt = step if is_id else step.lower()
        if is_id and isinstance(here, dict) and step not in here:
            same = [key for key in here if key.lower() == step.lower()]
            spelt = same[0] if len(same) == 1 else step
        path.append(spelt)
        here = here.get(spelt) if isinstance(here, dict) else None
    return tuple(path)


def _put(document: dict[str, Any], path: tuple[str, ...], value: Any, name: str) -> None:
    here = document
    for step in path[:-1]:
        inner = here.setdefault(step, {})
        if not isinstance(inner, dict):
            raise SettingsError(
                f"The environment variable {name} steps into {step}, which is no table. "
                "Correct its name or unset it."
            )
        here = inner
    here[path[-1]] = value


def _read(text: str) -> Any:
    try:
        read = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    value = read["value"]
    is_setting = isinstance(value, bool | int | float | str | list | dict)
    return value if is_setting and set(read) == {"value"} else text


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copy(inner) for key, inner in value.items()}
    return value
