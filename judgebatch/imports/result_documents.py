"""Verdicts inside result documents: ``{"items": [{"itemId", "passed", "verdict": {...}}]}``.

The text of each verdict is cut out of the document as it stands, never written anew.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from judgebatch.vocabulary import QuarantineReason

VERDICT_MEMBERS = (
    "aggregated",
    "individual",
    "individualByName",
    "weights",
    "seats",
    "decision",
    "compositeAttempts",
    "subVerdicts",
)
"""Members that only a verdict has: an object that begins with one is a bare verdict."""

_BAD = QuarantineReason.BAD_ROW
_IDS = ("itemId", "item_id", "verdict_id", "verdictId", "id")
_FLAGS = ("recorded_passed", "passed", "success")
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]|[^\s{}\[\]",:]+', re.DOTALL)


class Held(NamedTuple):
    """What a document or line holds in one place: a verdict, or what is wrong there."""

    item: int
    verdict_id: str | None
    recorded_passed: bool | None
    text: str | None
    problem: str | None = None
    reason: QuarantineReason = QuarantineReason.UNREADABLE_VERDICT


def held(text: str) -> Iterator[Held]:
    """Yield what a JSON text holds: a bare verdict, one item, or a document of items."""
    try:
        content = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        yield Held(0, None, None, text, str(error))
        return
    if type(content) is not dict or not content.keys().isdisjoint(VERDICT_MEMBERS):
        yield Held(0, None, None, text)
    elif type(content.get("items")) is list:
        begin, _ = _members(text, 0)["items"]
        for number, (item, span) in enumerate(
            zip(content["items"], _entries(text, begin), strict=True)
        ):
            yield _item(number, item, text[slice(*span)])
    elif "verdict" in content:
        yield _item(0, content, text)
    else:
        yield Held(0, None, None, text)


def _item(number: int, item: Any, text: str) -> Held:
    if type(item) is not dict:
        return Held(number, None, None, text, "the item is not an object", _BAD)
    name = next((item[key] for key in _IDS if item.get(key) is not None), None)
    flag = next((item[key] for key in _FLAGS if type(item.get(key)) is bool), None)
    verdict_id = name if name is None or type(name) is str else orjson.dumps(name).decode()
    verdict = item.get("verdict")
    if verdict is None:
        return Held(number, verdict_id, flag, text, "the item has no verdict", _BAD)
    if type(verdict) is str:
        return Held(number, verdict_id, flag, verdict)
    begin, end = _members(text, 0)["verdict"]
    return Held(number, verdict_id, flag, text[begin:end])


def _members(text: str, begin: int) -> dict[str, tuple[int, int]]:
    """Return where the value of each member of the object at ``begin`` stands; the last wins."""
    found = {}
    tokens = _TOKEN.finditer(text, begin)
    next(tokens)
    for token in tokens:
        if token.group() == "}":
            break
        value = next(tokens)
        end = _end(value, tokens)
        found[orjson.loads(token.group())] = (value.start(), end)
    return found


def _entries(text: str, begin: int) -> Iterator[tuple[int, int]]:
    """Yield where each entry of the list at ``begin`` stands."""
    tokens = _TOKEN.finditer(text, begin)
    next(tokens)
    for token in tokens:
        if token.group() == "]":
            return
        yield token.start(), _end(token, tokens)


def _end(first: "re.Match[str]", tokens: "Iterator[re.Match[str]]") -> int:
    """Return where the value that begins with a token ends; its tokens are taken."""
    depth = 1 if first.group() in "{[" else 0
    last = first
    while depth:
        last = next(tokens)
        if last.group() in "{[":
            depth += 1
        elif last.group() in "}]":
            depth -= 1
    return last.end()
