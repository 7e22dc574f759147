"""Turning legacy abstentions that meant "not applicable" into exclusions, only when asked."""

from collections.abc import Iterator
from typing import NamedTuple

import orjson

from judgebatch.verdicts.members import Json
from judgebatch.vocabulary import Status

LABEL = "not_applicable"
"""The label by which legacy judges said that they should not have been asked."""


class Reclassified(NamedTuple):
    """One judgment that changed: where it stands, whose it is (None: an aggregate), and how."""

    path: str
    judge: str | None
    from_status: str
    to_status: str


class Recurated(NamedTuple):
    """A verdict's new text, and what was reclassified in it; nothing: the text is the old one."""

    text: str
    reclassified: tuple[Reclassified, ...]


def recurate(text: str) -> Recurated:
    """Reclassify the judgments of one stored verdict.

    A judgment that abstains with the label ``not_applicable`` becomes ``not_applicable``, wherever
    it stands: aggregates, judges, and those of composite attempts. A judge stored twice, in the
    list and under its name, changes in both places and is named once. Nothing else changes.

    Parameters
    ----------
    text
        The stored verdict, a JSON object.
    """
    verdict = orjson.loads(text)
    found = list(_reclassify(verdict))
    return Recurated(written(verdict) if found else text, tuple(found))


def _reclassify(verdict: Json) -> Iterator[Reclassified]:
    pending: list[tuple[str, Json]] = [("verdict", verdict)]
    while pending:
        path, body = pending.pop()
        if type(body) is not dict:
            continue
        yield from _reclassify_own(path, body)
        below: list[tuple[str, Json]] = []
        for at, attempt in enumerate(_list(body.get("compositeAttempts"))):
            if type(attempt) is dict:
                below.append((f"{path}.compositeAttempts[{at}].verdict", attempt.get("verdict")))
        for at, sub in enumerate(_list(body.get("subVerdicts"))):
            below.append((f"{path}.subVerdicts[{at}]", sub))
        pending += reversed(below)


def _reclassify_own(path: str, body: dict[str, Json]) -> Iterator[Reclassified]:
    """Reclassify a verdict's aggregate and judges."""
    changed = _changed(body.get("aggregated"))
    if changed:
        yield Reclassified(f"{path}.aggregated", None, *changed)
    seats = _list(body.get("seats"))
    by_name = body.get("individualByName")
    named: dict[str, Json] = by_name if type(by_name) is dict else {}
    names = list(named)
    told = set()
    for at, judgment in enumerate(_list(body.get("individual"))):
        changed = _changed(judgment)
        if changed:
            name = _name(seats, names, at)
            told.add(name)
            yield Reclassified(f"{path}.individual[{at}]", name, *changed)
    for name, judgment in named.items():
        changed = _changed(judgment)
        if changed and name not in told:
            yield Reclassified(f"{path}.individualByName[{name}]", name, *changed)


def _name(seats: list[Json], names: list[str], at: int) -> str:
    """Return the name of the judge at an index; legacy maps list the judges in their order."""
    if at < len(seats) and type(seats[at]) is dict:
        key = seats[at].get("verdictKey")
        if type(key) is str:
            return key
    return names[at] if at < len(names) else ""


def _changed(judgment: Json) -> tuple[str, str] | None:
    """Reclassify one judgment if it is such an abstention; return its statuses."""
    if type(judgment) is not dict or judgment.get("label") != LABEL:
        return None
    status = judgment.get("status")
    if status == Status.ABSTAIN.value:
        judgment["status"] = Status.NOT_APPLICABLE.value
    elif status == Status.ABSTAIN.name:
        judgment["status"] = Status.NOT_APPLICABLE.name
    else:
        return None
    return status, judgment["status"]


def _list(value: Json) -> list[Json]:
    return value if type(value) is list else []


def written(value: Json) -> str:
    """Return a JSON value as text, however deeply it is nested."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return "".join(_tokens(value))


def _tokens(value: Json) -> Iterator[str]:
    pending: list[tuple[bool, Json]] = [(False, value)]
    while pending:
        ready, item = pending.pop()
        if ready:
            yield item
        elif type(item) is dict:
            pending.append((True, "}"))
            for at, key in reversed(list(enumerate(item))):
                pending.append((False, item[key]))
                pending.append((True, f"{',' if at else ''}{orjson.dumps(key).decode()}:"))
            yield "{"
        elif type(item) is list:
            pending.append((True, "]"))
            for at, entry in reversed(list(enumerate(item))):
                pending.append((False, entry))
                if at:
                    pending.append((True, ","))
            yield "["
        else:
            yield orjson.dumps(item).decode()
