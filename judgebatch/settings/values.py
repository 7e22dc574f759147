"""The kinds of value a setting can have, each with what is allowed and what was meant.

Every reader takes what TOML gives and returns the value held inside: durations as integer
microseconds, money as integer nano-dollars. On anything else it raises an error whose text
says what is allowed and, where it can be guessed, what was probably meant.
"""

import re
from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator

from judgebatch.errors import UsageError, did_you_mean
from judgebatch.objects.url import ObjectUrl, is_url, parse_url
from judgebatch.vocabulary import Token, UnknownTokenError

NONE = "none"
"""What a setting says to have no window or no ceiling, where its default has one."""

MAX_INT64 = 2**63 - 1
NANO_PER_USD = 10**9

_UNITS_US: Mapping[str, int] = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
    "w": 604_800_000_000,
}
_UNIT_WORDS: Mapping[str, str] = {"min": "m", "sec": "s", "hr": "h"}
_DURATION = re.compile(r"(\d{1,15})([a-z]+)", re.ASCII)
_LOOSE_DURATION = re.compile(r"\s*(\d{1,15})\s*([a-z]+)\s*", re.ASCII | re.IGNORECASE)
_LONGEST_US = 36_525 * 86_400_000_000
# A sum of an instant and two windows must stay inside Datetime(us): a century is far below.

_DURATION_HELP = 'a duration: a whole number and a unit (s, m, h, d, w), such as "36h"'
_MONEY = Context(prec=400, rounding=ROUND_HALF_EVEN)


class NotAllowedError(ValueError):
    """A setting has a value that it cannot have."""


def duration_us(value: object) -> int:
    """Return a duration such as ``"36h"`` in microseconds; at most a hundred years."""
    if isinstance(value, int) and not isinstance(value, bool):
        guess = f'"{value}h"'
        raise NotAllowedError(f"expected {_DURATION_HELP}{_meant(guess)}")
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[2] not in _UNITS_US:
        raise NotAllowedError(f"expected {_DURATION_HELP}{_meant(_guess_duration(value))}")
    microseconds = int(match[1]) * _UNITS_US[match[2]]
    if microseconds > _LONGEST_US:
        raise NotAllowedError(f"expected {_DURATION_HELP}, at most a hundred years")
    return microseconds


def positive_duration_us(value: object) -> int:
    """Return a duration above zero in microseconds."""
    microseconds = duration_us(value)
    if microseconds == 0:
        raise NotAllowedError(f"expected {_DURATION_HELP}, longer than zero")
    return microseconds


def window_us(value: object) -> int | None:
    """Return a duration in microseconds, or None for ``"none"``."""
    if value == NONE:
        return None
    try:
        return duration_us(value)
    except ValueError as error:
        hint = did_you_mean(value, [NONE]) if isinstance(value, str) else ""
        raise NotAllowedError(f'{error}, or "none" to wait for nothing{hint}') from None


def duration_text(microseconds: int) -> str:
    """Return the shortest text that :func:`duration_us` reads as ``microseconds``."""
    if microseconds == 0:
        return "0s"
    unit = next(
        unit for unit in ("d", "h", "m", "s", "ms", "us") if not microseconds % _UNITS_US[unit]
    )
    return f"{microseconds // _UNITS_US[unit]}{unit}"


def ceiling_nano_usd(value: object) -> int | None:
    """Return an amount in USD as integer nano-dollars (half-even), or None for ``"none"``.

    A number is taken as the double that it is; a text such as ``"12.50"`` as the decimal it says.
    """
    if value == NONE:
        return None
    expected = 'expected an amount in USD of 0 or more, such as 12.5, or "none"'
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise NotAllowedError(expected)
    try:
        amount = Decimal(value)
    except InvalidOperation:
        raise NotAllowedError(expected) from None
    if not amount.is_finite() or amount < 0:
        raise NotAllowedError(expected)
    if amount > MAX_INT64 // NANO_PER_USD:
        raise NotAllowedError(f"{expected}, at most {MAX_INT64 // NANO_PER_USD}")
    return int(amount.scaleb(9, _MONEY).quantize(Decimal(1), context=_MONEY))


def usd_text(nano: int) -> str:
    """Return integer nano-dollars as the decimal text of the amount in USD."""
    return f"{nano // NANO_PER_USD}.{nano % NANO_PER_USD:09d}"


def flag(value: object) -> bool:
    """Return ``value`` as a Boolean: true or false, also as a text of the environment."""
    if isinstance(value, str) and value in {"true", "false"}:
        return value == "true"
    if not isinstance(value, bool):
        raise NotAllowedError("expected true or false")
    return value


def whole(value: object, *, minimum: int, even: bool = False) -> int:
    """Return a whole number of at least ``minimum``."""
    expected = f"expected {'an even' if even else 'a whole'} number, {minimum} or more"
    if isinstance(value, str) and re.fullmatch(r"\s*\d{1,9}\s*", value, re.ASCII):
        raise NotAllowedError(f"{expected}{_meant(int(value))}")
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum or value > 10**9:
        raise NotAllowedError(expected)
    if even and value % 2:
        raise NotAllowedError(f"{expected}{_meant(value + 1)}")
    return value


def fraction(value: object) -> float:
    """Return a number strictly between 0 and 1."""
    expected = "expected a number above 0 and below 1"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NotAllowedError(expected)
    if not 0 < value < 1:
        hint = _meant(value / 100) if 1 < value < 100 else ""
        raise NotAllowedError(f"{expected}{hint}")
    return float(value)


def text(value: object) -> str:
    """Return a non-empty text that can be written as UTF-8."""
    if not isinstance(value, str) or not value or not _is_utf8(value):
        hint = _meant(f'"{value}"') if isinstance(value, int | float) else ""
        raise NotAllowedError(f"expected a text, not empty{hint}")
    return value


def path_text(value: object) -> str:
    """Return a path or pattern: a text without the zero character."""
    path = text(value)
    if "\0" in path:
        raise NotAllowedError("expected a path; this one holds a zero character")
    if is_url(path):
        raise NotAllowedError("expected a path on this machine, not a URL")
    return path


def place_text(value: object) -> str:
    """Return a path or pattern, or the URL of one in an object store."""
    place = text(value)
    if not is_url(place):
        return path_text(place)
    try:
        parse_url(place)
    except UsageError as error:
        raise NotAllowedError(str(error).removesuffix(".")) from None
    return place


def token(kind: type[Token], value: object) -> Any:
    """Return the member of the closed set ``kind`` that ``value`` names."""
    try:
        return kind.parse(value)
    except UnknownTokenError:
        allowed = ", ".join(f'"{member.value}"' for member in kind)
        hint = did_you_mean(value.lower(), list(kind)) if isinstance(value, str) else ""
        raise NotAllowedError(f"expected one of {allowed}{hint}") from None


def resolve(root: Path, path: str) -> Path:
    """Return ``path`` as an absolute path; a relative one starts at ``root``."""
    return root / Path(path).expanduser()


def resolve_place(root: Path, place: str) -> Path | ObjectUrl:
    """Return an absolute path, or a place in an object store."""
    return parse_url(place) if is_url(place) else resolve(root, place)


Duration = Annotated[int, BeforeValidator(duration_us)]
PositiveDuration = Annotated[int, BeforeValidator(positive_duration_us)]
Window = Annotated[int | None, BeforeValidator(window_us)]
Ceiling = Annotated[int | None, BeforeValidator(ceiling_nano_usd)]
Fraction = Annotated[float, BeforeValidator(fraction)]
Text = Annotated[str, BeforeValidator(text)]
PathText = Annotated[str, BeforeValidator(path_text)]
PlaceText = Annotated[str, BeforeValidator(place_text)]


def _is_utf8(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _meant(guess: object) -> str:
    return "" if guess is None else f" (did you mean {guess}?)"


def _guess_duration(value: object) -> str | None:
    match = _LOOSE_DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    word = match[2].lower()
    unit = next((short for long, short in _UNIT_WORDS.items() if word.startswith(long)), word[0])
    return f'"{match[1]}{unit}"' if unit in _UNITS_US else None
