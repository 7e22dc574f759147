"""Judges by name: those that ship, and those that installed packages register."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import polars as pl

from judgebatch.errors import SettingsError, did_you_mean
from judgebatch.judging.http import HttpJudge
from judgebatch.judging.local import CallableJudge, ReplayJudge
from judgebatch.judging.protocol import Judge

ENTRY_POINTS = "judgebatch.judges"
"""Group of the entry points that name factories of judges."""

_NOT_OPTIONS = frozenset({"loads", "closes", "calls", "asked", "requests", "sleep"})
"""Members of the judges that ship which count what they did, or are for tests."""

Factory = Callable[[Mapping[str, Any]], Judge]
"""Takes a judge's options and makes it."""


def make_judge(name: str, options: Mapping[str, Any]) -> Judge:
    """Return the judge that settings name.

    Parameters
    ----------
    name
        ``replay``, ``callable``, ``http``, or what an entry point of ``judgebatch.judges`` names.
    options
        The judge's own options; ``name`` among them is who the answers are remembered under, the
        kind of judge by default.

    Raises
    ------
    SettingsError
        There is no such judge, or it cannot be made of these options.
    """
    factories = {**_installed(), "replay": _replay, "callable": _callable, "http": _http}
    if name not in factories:
        raise SettingsError(
            f"there is no judge {name!r}{did_you_mean(name, factories)}; there are"
            f" {', '.join(sorted(factories))}, and what an entry point of {ENTRY_POINTS} names"
        )
    try:
        judge = factories[name]({"name": name, **options})
    except SettingsError:
        raise
    except Exception as error:
        raise SettingsError(f"judge {name} cannot be made of its options: {error}") from error
    _check(name, judge)
    return judge


def _check(name: str, judge: object) -> None:
    if not isinstance(judge, Judge):
        raise SettingsError(
            f"judge {name} lacks name, cost_usd, may_exclude, batch_size or judge(pairs)"
        )
    if not judge.name.strip() or not 0 <= judge.cost_usd < float("inf"):
        raise SettingsError(f"judge {name} needs a name and a cost that is not negative")


def _installed() -> dict[str, Factory]:
    found: dict[str, Factory] = {}
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        try:
            found[point.name] = point.load()
        except Exception as error:
            raise SettingsError(
                f"the judge {point.name} ({point.value}) cannot be loaded: {error}; repair or"
                " remove the package that registers it"
            ) from error
    return found


def _given(
    options: Mapping[str, Any], kind: type[CallableJudge | HttpJudge | ReplayJudge], **instead: str
) -> dict[str, Any]:
    """Return the options of a judge that ships, once they are checked.

    Parameters
    ----------
    options
        What the settings say, with the judge's name.
    kind
        The class whose members that can be written in settings are its options.
    instead
        Member to the option that it is made of.
    """
    label = f"judge {kind.__name__.removesuffix('Judge').lower()}"
    members = [one for one in fields(kind) if one.name not in _NOT_OPTIONS]
    known = {instead.get(one.name, one.name): _written_as(one.type) for one in members}
    needed = [
        instead.get(one.name, one.name)
        for one in members
        if one.default is MISSING and one.name != "name"
    ]
    told = f"It knows {', '.join(known)}, and needs {', '.join(needed)}."
    for option, value in options.items():
        if option not in known:
            raise SettingsError(
                f"{label} has no option {option!r}{did_you_mean(option, known)}. {told}"
            )
        wanted, types = known[option]
        if isinstance(value, bool) or not isinstance(value, types):
            raise SettingsError(f"{label}: {option} is {wanted}, and {value!r} is not.")
    for option in needed:
        if option not in options:
            raise SettingsError(
                f"{label} lacks the option {option!r}: write it in [judge.options]. {told}"
            )
    return dict(options)


def _written_as(kind: object) -> tuple[str, tuple[type, ...]]:
    """Return how a member of a type is written in settings, in words and as types."""
    if kind is int:
        return "a whole number", (int,)
    return ("a number", (int, float)) if kind is float else ("text", (str,))


def _replay(options: Mapping[str, Any]) -> Judge:
    given = _given(options, ReplayJudge, answers="path")
    path = Path(given.pop("path"))
    try:
        answers = pl.read_parquet(path, hive_partitioning=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise SettingsError(f"judge replay: {path} cannot be read: {error}") from None
    return ReplayJudge(answers=answers, **given)


def _callable(options: Mapping[str, Any]) -> Judge:
    given = _given(options, CallableJudge)
    place = str(given.pop("function"))
    module, _, name = place.partition(":")
    if not module or not name:
        raise SettingsError(
            f"judge callable: function {place!r} is not package.module:function. Write where the "
            "function is, such as judges.house:compare."
        )
    function = getattr(import_module(module), name)
    return CallableJudge(function=function, **given)


def _http(options: Mapping[str, Any]) -> Judge:
    return HttpJudge(**_given(options, HttpJudge))
