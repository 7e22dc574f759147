"""Deep equality of JSON values, as equality of texts."""

from collections.abc import Iterator

import orjson

from judgebatch.verdicts.members import Json


def canonical(value: Json) -> str:
    """Return a text that is equal exactly for deeply equal JSON values.

    The order of keys is irrelevant; 1 and 1.0 differ, and so do 0.0 and -0.0.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except orjson.JSONEncodeError:
        # Nested too deeply for the encoder: the same text, by a stack of our own.
        return "".join(_tokens(value))


def _tokens(value: Json) -> Iterator[str]:
    pending: list[tuple[bool, Json]] = [(False, value)]
    while pending:
        ready, item = pending.pop()
        if ready:
            yield item
        elif type(item) is dict:
            pending.append((True, "}"))
            keys = sorted(item)
            for at in range(len(keys) - 1, -1, -1):
                comma = "," if at else ""
                pending.append((False, item[keys[at]]))
                pending.append((True, f"{comma}{orjson.dumps(keys[at]).decode()}:"))
            yield "{"
        elif type(item) is list:
            pending.append((True, "]"))
            for at in range(len(item) - 1, -1, -1):
                pending.append((False, item[at]))
                if at:
                    pending.append((True, ","))
            yield "["
        else:
            yield orjson.dumps(item).decode()
