"""The JSON dialect of stored verdicts: RFC 8259 as orjson reads it."""

import math
from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import orjson

from judgebatch.verdicts.members import Json

MAX_DEPTH = 1024
"""Deepest nesting of a text that can be read."""

_UNSIGNED_MAX, _SIGNED_MIN = 2**64 - 1, -(2**63)


class UnreadableVerdictError(ValueError):
    """A mapping that is no JSON object in the dialect of stored verdicts."""


@runtime_checkable
class LiveVerdict(Protocol):
    """A verdict that was just made, and can be written as it is stored."""

    def portable(self) -> str:
        """Return the portable JSON text."""


def normalised(verdict: Mapping[str, Json] | LiveVerdict) -> dict[str, Json]:
    """Return a verdict as its JSON text would be decoded.

    Raises
    ------
    UnreadableVerdictError
        It holds what JSON does not have: NaN, infinities, lone surrogates, keys that are no
        texts, values of other types, or it is nested deeper than 1,024 levels.
    """
    if isinstance(verdict, LiveVerdict):
        return orjson.loads(verdict.portable())  # type: ignore[no-any-return]
    try:
        content = orjson.loads(orjson.dumps(verdict))
    except (orjson.JSONEncodeError, orjson.JSONDecodeError):
        return _copied(verdict)
    # The encoder writes NaN and the infinities as null: only then a value was lost.
    if type(content) is not dict or _has_unwritable(verdict):
        return _copied(verdict)
    return content


def _has_unwritable(value: Json) -> bool:
    """Return whether a value holds a number that is not finite, or what only orjson can write."""
    pending = [value]
    while pending:
        item = pending.pop()
        kind = type(item)
        if kind is dict:
            pending += item.values()
        elif kind is list:
            pending += item
        elif kind is float:
            if not math.isfinite(item):
                return True
        elif item is not None and kind is not str and kind is not int and kind is not bool:
            return True
    return False


def _copied(verdict: Mapping[str, Json]) -> dict[str, Json]:
    """Return a normalised copy, made with a stack of our own: nesting cannot exhaust it."""
    root: list[Json] = []
    pending: list[tuple[Json, list[Json] | dict[str, Json], str | None, int]] = [
        (verdict, root, None, 1)
    ]
    while pending:
        value, target, key, depth = pending.pop()
        if isinstance(value, Mapping):
            copy: Json = {_text(k): None for k in value}
            pending += [(value[k], copy, k, depth + 1) for k in value]
        elif isinstance(value, list | tuple):
            copy = []
            # Taken from the end, so that entries are appended in order.
            pending += [(entry, copy, None, depth + 1) for entry in reversed(value)]
        else:
            copy = _scalar(value)
        if depth > MAX_DEPTH and isinstance(copy, dict | list):
            raise UnreadableVerdictError(f"the verdict is nested deeper than {MAX_DEPTH} levels")
        if isinstance(target, list):
            target.append(copy)
        elif key is not None:
            target[key] = copy
    content: Json = root[0]
    if type(content) is not dict:
        raise UnreadableVerdictError(f"a {type(verdict).__name__} is not a JSON object")
    return content


def _text(key: object) -> str:
    if not isinstance(key, str):
        raise UnreadableVerdictError(f"the key {key!r} is not text")
    return _scalar(str(key))  # type: ignore[no-any-return]


def _scalar(value: Json) -> Json:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        text = str(value)
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise UnreadableVerdictError("the verdict holds a lone surrogate") from error
        return text
    if isinstance(value, int):
        if _SIGNED_MIN <= value <= _UNSIGNED_MAX:
            return int(value)
        try:
            return float(value)
        except OverflowError as error:
            raise UnreadableVerdictError("the verdict holds a number beyond doubles") from error
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        raise UnreadableVerdictError(f"the verdict holds {value}, which JSON does not have")
    raise UnreadableVerdictError(f"the verdict holds a {type(value).__name__}")
