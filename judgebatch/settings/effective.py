"""The settings as one canonical text, for content-addressed storage.

The text is TOML that can be read back as a settings file. It holds what can change a result and
nothing of the machine: no paths, no secrets.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from judgebatch.settings.values import NONE, duration_text, usd_text

if TYPE_CHECKING:
    from judgebatch.inputs.spec import InputSpec
    from judgebatch.settings.model import Settings, TenantSettings

_SECRET = re.compile(r"key|token|secret|password|passwd|credential|authorization", re.IGNORECASE)
WITHHELD = "(withheld)"

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def effective_text(settings: "Settings") -> str:
    """Return ``settings`` as canonical TOML: tables and keys sorted, defaults written out."""
    document: dict[str, Any] = {
        "unknown_tenants": settings.unknown_tenants.value,
        "inputs": {str(kind): _input(spec) for kind, spec in settings.inputs.items()},
        "defaults": _tenant(settings.defaults),
        "tenants": {name: _tenant(tenant) for name, tenant in settings.tenants.items()},
        "fit": settings.fit.model_dump(mode="json"),
    }
    if settings.promotion is not None:
        document["promotion"] = settings.promotion.model_dump(mode="json")
    if settings.judge is not None:
        document["judge"] = _without_secrets(settings.judge.model_dump(exclude_none=True))
    return toml_text(document)


def toml_text(document: Mapping[str, Any]) -> str:
    """Return a document as TOML, tables and keys sorted."""
    return "\n".join(_lines(document, ())) + "\n"


def _input(spec: "InputSpec") -> dict[str, Any]:
    table: dict[str, Any] = {"columns": dict(spec.columns)}
    if spec.assume_timezone is not None:
        table["assume_timezone"] = spec.assume_timezone
    if spec.wide:
        table["wide"] = {
            one.question: {"type": one.answer_type, **one.columns} for one in spec.wide
        }
    return table


def _tenant(tenant: "TenantSettings") -> dict[str, Any]:
    table: dict[str, Any] = {
        "mode": tenant.mode.value,
        "quorum": tenant.quorum,
        "min_group_size": tenant.min_group_size,
        "group_timeout": duration_text(tenant.group_timeout_us),
        "judging_window": _or_none(tenant.judging_window_us, duration_text),
        "unknown_episode_window": duration_text(tenant.unknown_episode_window_us),
        "pair_degree": tenant.pair_degree,
        "comparisons_per_pair": tenant.comparisons_per_pair,
        "grading_ceiling_usd": _or_none(tenant.ceiling_nano_usd, usd_text),
        "budget_period": tenant.budget_period.value,
        "policies": list(tenant.policies),
    }
    if tenant.task_policies:
        table["tasks"] = {
            task: {"policies": list(names)} for task, names in tenant.task_policies.items()
        }
    return table


def _or_none(value: int | None, text: Any) -> str:
    return NONE if value is None else text(value)


def _without_secrets(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key: WITHHELD if _SECRET.search(str(key)) else _without_secrets(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_without_secrets(inner) for inner in value]
    return value


def _lines(table: Mapping[str, Any], path: Sequence[str]) -> list[str]:
    lines = [
        f"{_key(key)} = {_value(value)}"
        for key, value in sorted(table.items())
        if not isinstance(value, Mapping)
    ]
    inner = [(key, value) for key, value in sorted(table.items()) if isinstance(value, Mapping)]
    for key, value in inner:
        name = (*path, key)
        lines += ["", f"[{'.'.join(_key(part) for part in name)}]", *_lines(value, name)]
    return lines


def _key(text: str) -> str:
    return text if _BARE_KEY.fullmatch(text) else _value(text)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {_value(one)}" for key, one in sorted(value.items()))
        return f"{{{inner}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(one) for one in value)}]"
    if isinstance(value, str):
        # A JSON string is a TOML basic string but for DEL, which TOML wants escaped.
        return orjson.dumps(value).decode().replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, int | float) else str(value)
