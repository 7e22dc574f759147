"""Deep equality of JSON values: key order is irrelevant, 1 and 1.0 differ, 0.0 and -0.0 too.

Python's own equality is no help: it takes 1, 1.0 and true for the same.
"""

import struct

import orjson

from judgebatch.verdicts.members import Json


def same(one: Json, other: Json) -> bool:
    """Return whether two JSON values are deeply equal."""
    try:
        if orjson.dumps(one) == orjson.dumps(other):
            return True
        sort = orjson.OPT_SORT_KEYS
        return orjson.dumps(one, option=sort) == orjson.dumps(other, option=sort)
    except orjson.JSONEncodeError:
        # Nested too deeply for the encoder: compared with a stack of our own.
        return _same(one, other)


def _same(one: Json, other: Json) -> bool:
    pending = [(one, other)]
    while pending:
        left, right = pending.pop()
        if type(left) is not type(right):
            return False
        if type(left) is dict:
            if left.keys() != right.keys():
                return False
            pending += [(value, right[key]) for key, value in left.items()]
        elif type(left) is list:
            if len(left) != len(right):
                return False
            pending += zip(left, right, strict=True)
        elif type(left) is float:
            if struct.pack("d", left) != struct.pack("d", right):
                return False
        elif left != right:
            return False
    return True
