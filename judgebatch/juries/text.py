"""What counts as a blank text and as a well-formed name."""

import unicodedata

WHITE_SPACE = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u2009\u200a"
    "\u2028\u2029\u205f\u3000"
)
"""White space as stored verdicts know it: a no-break space is not among it."""

LONGEST_NAME = 64
_FORBIDDEN = {
    "Cc": "a control character",
    "Cf": "a format character",
    "Zl": "a line separator",
    "Zp": "a paragraph separator",
    "Cs": "a lone surrogate",
}


def is_blank(text: str) -> bool:
    """Return whether ``text`` is empty or white space only."""
    return not text.strip(WHITE_SPACE)


def fault_of_stage_name(name: object) -> str | None:
    """Return what is wrong with the name of a tier or member, or None.

    A name is 1 to 64 code points in Unicode normal form C, without control, format, line- or
    paragraph-separator characters and lone surrogates, and without white space at either end.
    """
    if not isinstance(name, str) or not name:
        return "is not a text of at least one code point"
    fault = None
    forbidden = next((c for c in name if unicodedata.category(c) in _FORBIDDEN), None)
    if len(name) > LONGEST_NAME:
        fault = f"has {len(name)} code points; {LONGEST_NAME} are allowed"
    elif forbidden is not None:
        what = _FORBIDDEN[unicodedata.category(forbidden)]
        fault = f"contains {what}, U+{ord(forbidden):04X}"
    elif name[0].isspace() or name[-1].isspace():
        fault = "has white space at an end"
    elif not unicodedata.is_normalized("NFC", name):
        fault = "is not in Unicode normal form C"
    return fault


def pointer(stage: str, name: str) -> str:
    """Return the RFC 6901 pointer of the tier or member ``name`` of the jury at ``stage``."""
    return f"{stage}/{name.replace('~', '~0').replace('/', '~1')}"
