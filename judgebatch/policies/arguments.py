"""Reading arguments of any type without trusting them.

Callers hand in what they decoded from elsewhere. Each function returns the plain value, or
``None`` for anything that is not one; none of them raises, whatever the argument's own methods
do.
"""

import math
from collections.abc import Mapping
from decimal import Decimal
from reprlib import Repr

_REPR = Repr()
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 80


def plain_number(value: object) -> int | float | None:
    """Return a finite ``int`` or ``float`` as exactly that type; ``bool`` is not a number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        plain = float.__pos__(value)
        return plain if math.isfinite(plain) else None
    return int.__pos__(value) if isinstance(value, int) else None


def as_double(value: float) -> float | None:
    """Return the nearest double, or ``None`` for an integer that overflows."""
    try:
        return float(value)
    except OverflowError:
        return None


def plain_text(value: object) -> str | None:
    """Return a ``str`` as exactly that type."""
    return str.__str__(value) if isinstance(value, str) else None


def plain_items(value: object) -> tuple[object, ...] | None:
    """Return the items of a list or a tuple."""
    if isinstance(value, list | tuple):
        try:
            return tuple(value)
        except Exception:  # noqa: BLE001  a subclass may iterate as it likes
            return None
    return None


def plain_keys(value: object) -> tuple[object, ...] | None:
    """Return the keys of a mapping, in its order."""
    if isinstance(value, Mapping):
        try:
            return tuple(value)
        except Exception:  # noqa: BLE001  a mapping may iterate as it likes
            return None
    return None


def entry(mapping: object, key: object) -> object | None:
    """Return what ``mapping`` holds under ``key``; ``None`` where it holds nothing."""
    if not isinstance(mapping, Mapping):
        return None
    try:
        return mapping.get(key)
    except Exception:  # noqa: BLE001  a mapping may look up as it likes
        return None


def shown(value: object) -> str:
    """Return a short text of any value, for messages."""
    try:
        return _REPR.repr(value)
    except Exception:  # noqa: BLE001  __repr__ may do anything; integers refuse thousands of digits
        return f"a value of type {type(value).__name__}"


def number_text(value: float) -> str:
    """Return a plain number as it prints: an int as digits, a float by shortest round trip."""
    if not isinstance(value, int):
        return float.__repr__(value)
    try:
        return int.__repr__(value)
    except ValueError:  # more digits than the interpreter prints at once
        return f"{Decimal(value):f}"
