"""Reading a settings file, and saying exactly what is wrong with one."""

import os
import re
import tomllib
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from judgebatch.errors import SettingsError, did_you_mean
from judgebatch.objects.url import without_credentials
from judgebatch.settings.environment import overlay
from judgebatch.settings.model import Settings, resolve_settings
from judgebatch.settings.tables import GradingTable, SettingsFile

Location = tuple[str | int, ...]

_CREDENTIAL = re.compile(
    r"access_?key|secret|password|credential|account_?key|sas_?token|session_?token|bearer",
    re.IGNORECASE,
)
"""What keys are called that hold what an object store asks for."""


def load_settings(path: Path, environ: Mapping[str, str] | None = None) -> Settings:
    """Read a settings file and the environment's overrides.

    Parameters
    ----------
    path
        The TOML file. Relative paths in it start at its folder.
    environ
        The environment; the process's own by default.

    Raises
    ------
    SettingsError
        The file cannot be read or a value is wrong: names file, table, key, what is allowed.
    """
    source = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links
    document = _parse(source)
    laid = overlay(
        document, os.environ if environ is None else environ, list(SettingsFile.model_fields)
    )
    try:
        file = SettingsFile.model_validate(_inherit(laid.document))
    except ValidationError as error:
        raise SettingsError(_message(error, source, laid.origins)) from None
    return resolve_settings(file, source)


def stored_settings(text: str) -> Settings:
    """Return the settings that a warehouse keeps; they have no paths of any machine.

    Raises
    ------
    SettingsError
        The text is not what :meth:`Settings.effective_text` gives.
    """
    source = Path("the stored settings")
    try:
        file = SettingsFile.model_validate(_inherit(tomllib.loads(text)))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"The stored settings are not TOML: {error}.") from None
    except ValidationError as error:
        raise SettingsError(_message(error, source, {})) from None
    return resolve_settings(file, source)


def _parse(source: Path) -> dict[str, Any]:
    try:
        text = source.read_bytes().decode()
        return tomllib.loads(text)
    except FileNotFoundError:
        raise SettingsError(
            f"There is no settings file {source}. Name one with --settings, or make one with "
            "`judgebatch init`."
        ) from None
    except IsADirectoryError:
        raise SettingsError(
            f"{source} is a directory; the settings are one TOML file, judgebatch.toml by default."
        ) from None
    except OSError as error:
        raise SettingsError(
            f"The settings file {source} cannot be read: {error.strerror}. Check its permissions."
        ) from None
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"The settings file {source} is not UTF-8 text (byte {error.start}). Save it as UTF-8."
        ) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"The settings file {source} is not TOML: {error}.") from None


def _inherit(document: dict[str, Any]) -> dict[str, Any]:
    """Give every tenant what ``[defaults]`` says and it does not."""
    defaults, tenants = document.get("defaults", {}), document.get("tenants", {})
    if not isinstance(defaults, dict) or not isinstance(tenants, dict):
        return document
    known = {key: value for key, value in defaults.items() if key in GradingTable.model_fields}
    merged = {
        name: {**known, **tenant} if isinstance(tenant, dict) else tenant
        for name, tenant in tenants.items()
    }
    return {**document, "tenants": merged}


def _message(error: ValidationError, source: Path, origins: Mapping[tuple[str, ...], str]) -> str:
    problems = _once(error.errors(include_url=False))
    first = problems[0]
    location: Location = tuple(part for part in first["loc"] if part != "[key]")
    variable = next(
        (name for path, name in origins.items() if tuple(map(str, location))[: len(path)] == path),
        None,
    )
    where = f"The environment variable {variable}" if variable else f"The settings file {source}"
    more = len(problems) - 1
    also = (
        f" ({more} more {'problem' if more == 1 else 'problems'} after this one.)" if more else ""
    )
    return f"{where}: {_explain(first, location)}.{also}"


def _explain(problem: Mapping[str, Any], location: Location) -> str:
    table, key = location[:-1], str(location[-1]) if location else ""
    kind, shown = problem["type"], _shown(problem["input"])
    if kind == "extra_forbidden":
        known = _known_keys(table)
        if not table and key in GradingTable.model_fields:
            return f'{key} stands outside a table; it belongs in [defaults] or [tenants."id"]'
        return f"{_table(table)} has {_unknown(key, known)}"
    if kind == "missing":
        return f"{_table(table)} needs the key {key!r}"
    if kind in {"model_type", "dict_type", "model_attributes_type"}:
        return f"{_table(location)} must be a table, not {shown}"
    text = str(problem["msg"]).removeprefix("Value error, ")
    if isinstance(problem["input"], dict) and not text.startswith("expected"):
        return f"{_table(location)}: {text}"
    return f"{_table(table) + ' ' if table else ''}{key} = {shown}: {text}"


def _unknown(key: str, known: Sequence[str]) -> str:
    if _CREDENTIAL.search(key):
        return (
            f"the key {key!r}: credentials never stand in the settings. Set them in the "
            "environment, for example AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
    return f"an unknown key {key!r}{did_you_mean(key, known)}; allowed: {', '.join(known)}"


def _once(problems: Sequence[Any]) -> list[Any]:
    """Leave out what a tenant only inherits: it is named where it stands."""
    inherited = {problem["loc"][1:] for problem in problems if problem["loc"][0] == "defaults"}
    return [
        problem
        for problem in problems
        if not (problem["loc"][0] == "tenants" and problem["loc"][2:] in inherited)
    ]


def _table(location: Sequence[str | int]) -> str:
    if not location:
        return "the top level"
    names = [str(part) for part in location]
    return f"[{'.'.join(name if _is_bare(name) else _quoted(name) for name in names)}]"


def _is_bare(name: str) -> bool:
    return name.isascii() and name.replace("_", "a").replace("-", "a").isalnum()


def _quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _shown(value: object) -> str:
    text = f'"{without_credentials(value)}"' if isinstance(value, str) else str(value)
    if isinstance(value, bool):
        text = text.lower()
    return text if len(text) <= 80 else text[:77] + "…"


def _known_keys(location: Location) -> list[str]:
    """Return the keys of the table at ``location``."""
    model: Any = SettingsFile
    for part in location:
        if isinstance(model, type) and issubclass(model, BaseModel):
            field = model.model_fields.get(str(part))
            model = _inner(field.annotation) if field else None
        elif isinstance(model, list):  # a table of tables: any key leads to the same
            model = model[0]
    is_table = isinstance(model, type) and issubclass(model, BaseModel)
    return list(model.model_fields) if is_table else []


def _inner(annotation: Any) -> Any:
    """Return the model inside an annotation; in a list where it is one of many, by key."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = next((inner for part in typing.get_args(annotation) if (inner := _inner(part))), None)
    return [found] if found and typing.get_origin(annotation) is dict else found
