"""How ids, counts, shares and money are written in a report."""

import re
from html import escape

from judgebatch.strengths import relative_interval

NOTHING = "\u2013"
_LONGEST = 60
_UNSHOWABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
"""Characters that do not show, or that turn the text around them."""


def shown(text: str | None, longest: int = _LONGEST) -> str:
    """Return an id as it is shown: what cannot be seen written out, the middle of long ones cut.

    The result is text, not HTML.
    """
    if text is None:
        return NOTHING
    if text == "":
        return "(empty)"
    if len(text) > longest:
        head = longest * 2 // 3
        text = f"{text[:head]}…{text[head - longest + 1 :]}"
    return _UNSHOWABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def named(text: str | None) -> str:
    """Return an id as HTML inside a sentence: isolated, so that it turns nothing around."""
    return f"<bdi>{escape(shown(text))}</bdi>"


def count(number: int | None) -> str:
    """Return a count with thousands apart."""
    return NOTHING if number is None else f"{number:,}"


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """Return a count with its noun."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def change(number: int | None) -> str:
    """Return a difference with its sign."""
    return NOTHING if number is None else f"{number:+,}" if number else "±0"


def percent(part: int, whole: int) -> str:
    """Return a share in per cent; nothing over nothing."""
    return f"{100 * part / whole:.1f} %" if whole else NOTHING


def percent_with_interval(part: int, whole: int, ties: int = 0) -> str:
    """Return a share with its 95 % Wilson interval; of ``ties`` each counts half."""
    if not whole:
        return NOTHING
    share = relative_interval([part], [ties], [whole])
    middle, low, high = (100 * float(end[0]) for end in share)
    return f"{middle:.1f} % ({low:.1f} to {high:.1f})"


def money(nano_usd: int | None, places: int = 2) -> str:
    """Return nano-dollars as dollars."""
    return NOTHING if nano_usd is None else f"${nano_usd / 1_000_000_000:,.{places}f}"


def number(value: float | None, places: int = 2) -> str:
    """Return a number."""
    return NOTHING if value is None else f"{value:.{places}f}"
