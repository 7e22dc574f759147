"""Reading JSON with the place of every value, for texts that people write.

Stricter than the standard decoder where a lenient reading would hide a mistake: a key occurs
once in an object (compared after unescaping), numbers are finite doubles, NaN and Infinity are
not JSON, and neither is a byte order mark. Nothing but ``PolicyDefinitionError`` is raised for
any text: nesting is bounded, and integers are refused by length before they are converted.
"""

import math
import re
from dataclasses import dataclass

from judgebatch.policies.arguments import shown
from judgebatch.policies.errors import PolicyDefinitionError

MAX_DEPTH = 64
"""Deeper than any grammar here, and far from the interpreter's own limit."""

MAX_INTEGER_DIGITS = 309
"""A longer integer is no finite double."""

_SPACE = re.compile(r"[ \t\n\r]*")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_WORD = re.compile(r"[^\s,:\[\]{}\"]{1,20}")
_ESCAPES = {
    '"': '"',
    "\\": "\\",
    "/": "/",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
}
_LITERALS: dict[str, bool | None] = {"true": True, "false": False, "null": None}


@dataclass(frozen=True, slots=True)
class Node:
    """A JSON value and the offset at which it begins.

    Objects are dicts of member name to node, arrays lists of nodes. ``key_at`` is the offset of
    the member's name, for members of objects.
    """

    value: "dict[str, Node] | list[Node] | str | int | float | bool | None"
    at: int
    key_at: int = 0


def error_at(text: str, at: int, problem: str) -> PolicyDefinitionError:
    """Return the error that names the line and column of offset ``at``, both from 1."""
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    return PolicyDefinitionError(problem, line=line, column=column)


def read_json(text: str) -> Node:
    """Return the document that ``text`` holds.

    Raises
    ------
    PolicyDefinitionError
        ``text`` is not a text, or not exactly one JSON document as described above.
    """
    if not isinstance(text, str):
        raise PolicyDefinitionError(f"JSON is read from a text, not from {shown(text)}")
    reader = _Reader(str.__str__(text))
    if reader.peek() == "\ufeff":
        raise reader.error("the text begins with a byte order mark; save it without one")
    node = reader.value(depth=0)
    reader.skip_space()
    if reader.at < len(reader.text):
        raise reader.error(f"there is text after the document: {reader.rest()}")
    return node


class _Reader:
    """The text, and the offset up to which it has been read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def error(self, problem: str, at: int | None = None) -> PolicyDefinitionError:
        return error_at(self.text, self.at if at is None else at, problem)

    def rest(self) -> str:
        """Return what stands at the current offset, for messages."""
        if self.at >= len(self.text):
            return "the end of the text"
        word = _WORD.match(self.text, self.at)
        return shown(word.group() if word else self.text[self.at])

    def skip_space(self) -> None:
        self.at = self._end(_SPACE)

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def value(self, depth: int, key_at: int = 0) -> Node:
        """Read one value; ``depth`` counts the arrays and objects around it."""
        self.skip_space()
        at = self.at
        if depth > MAX_DEPTH:
            raise self.error(f"nested more than {MAX_DEPTH} deep")
        first = self.peek()
        if first == "{":
            return Node(self._object(depth), at, key_at)
        if first == "[":
            return Node(self._array(depth), at, key_at)
        if first == '"':
            return Node(self._string(), at, key_at)
        if first and first in "-0123456789":
            return Node(self._number(), at, key_at)
        return Node(self._literal(), at, key_at)

    def _object(self, depth: int) -> dict[str, Node]:
        members: dict[str, Node] = {}
        self.at += 1
        self.skip_space()
        if self.peek() == "}":
            self.at += 1
            return members
        while True:
            self.skip_space()
            key_at = self.at
            if self.peek() != '"':
                raise self.error(f"a member name in double quotes belongs here, not {self.rest()}")
            key = self._string()
            if key in members:
                raise self.error(f"the member {shown(key)} occurs twice in its object", key_at)
            self._expect(":")
            members[key] = self.value(depth + 1, key_at)
            if self._ends("}"):
                return members

    def _array(self, depth: int) -> list[Node]:
        items: list[Node] = []
        self.at += 1
        self.skip_space()
        if self.peek() == "]":
            self.at += 1
            return items
        while True:
            items.append(self.value(depth + 1))
            if self._ends("]"):
                return items

    def _expect(self, mark: str) -> None:
        self.skip_space()
        if self.peek() != mark:
            raise self.error(f"{mark!r} belongs here, not {self.rest()}")
        self.at += 1

    def _ends(self, close: str) -> bool:
        """Read the mark after a member or an item, and return whether it was ``close``."""
        self.skip_space()
        mark = self.peek()
        if not mark or mark not in ("," + close):
            raise self.error(f"',' or {close!r} belongs here, not {self.rest()}")
        self.at += 1
        return mark == close

    def _string(self) -> str:
        start = self.at
        self.at += 1
        parts: list[str] = []
        while True:
            begin = self.at
            self.at = self._end(_PLAIN)
            parts.append(self.text[begin : self.at])
            mark = self.peek()
            if mark == '"':
                self.at += 1
                return "".join(parts)
            if not mark:
                raise self.error("this text in quotes does not end", start)
            if mark != "\\":
                raise self.error(f"the control character {mark!r} is written as an escape")
            parts.append(self._escape())

    def _escape(self) -> str:
        mark = self.text[self.at + 1 : self.at + 2]
        if mark in _ESCAPES:
            self.at += 2
            return _ESCAPES[mark]
        unit = self._code_unit()
        if unit is None:
            raise self.error(f"{self.text[self.at : self.at + 2]!r} begins no escape of JSON")
        self.at += 6
        if 0xD800 <= unit < 0xDC00:
            low = self._code_unit()
            if low is not None and 0xDC00 <= low < 0xE000:
                self.at += 6
                return chr(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))
        return chr(unit)

    def _code_unit(self) -> int | None:
        """Return the UTF-16 unit of the escape at the current offset, if one stands there."""
        if not self.text.startswith("\\u", self.at):
            return None
        digits = _HEX.match(self.text, self.at + 2)
        return int(digits.group(), 16) if digits else None

    def _number(self) -> int | float:
        found = _NUMBER.match(self.text, self.at)
        if found is None:
            raise self.error(f"{self.rest()} is not a number of JSON")
        written = found.group()
        if found.group(1) is None and found.group(2) is None:
            if len(written.lstrip("-")) > MAX_INTEGER_DIGITS:
                raise self.error("this number is too large")
            number: int | float = int(written)
        else:
            number = float(written)
        if isinstance(number, float) and math.isinf(number):
            raise self.error("this number is too large")
        self.at = found.end()
        return number

    def _literal(self) -> bool | None:
        for word, value in _LITERALS.items():
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return value
        raise self.error(f"a JSON value belongs here, not {self.rest()}")

    def _end(self, pattern: re.Pattern[str]) -> int:
        found = pattern.match(self.text, self.at)
        return found.end() if found else self.at
