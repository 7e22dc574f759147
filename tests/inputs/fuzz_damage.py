"""Ways to damage a file, as Hypothesis draws them: anywhere, or where its format is understood.

Bytes are damaged in the footer, in page headers and in pages. What knows the format takes a
Thrift struct apart, changes a field or a list in it, and puts it together again, so that the file
is well-formed and lies.
"""

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from hypothesis import strategies as st

from tests.inputs.crafted import (
    BINARY,
    I32,
    I64,
    LIST,
    STRUCT,
    Struct,
    footer_of,
    lied_in_a_page,
    read_struct,
    with_footer,
    write_struct,
)
from tests.inputs.fuzz_seeds import Seed

_EDGES = [0, 1, 2, 3, 7, 8, 15, 127, 128, 255, 2**15, 2**16, 2**20, 2**24, 2**28, 2**30]
_EDGES += [2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**62, 2**63 - 1]
_NUMBERS = st.one_of(
    st.sampled_from([*_EDGES, *(-one for one in _EDGES), -(2**63)]),
    st.integers(-20, 20),
    st.integers(-(2**63), 2**63 - 1),
)
_SHIFTS = st.integers(-3, 3) | st.sampled_from([-100, 100, 1000, 2**20, 2**32])
_TEXTS = st.binary(max_size=12) | st.sampled_from([b"tenant_id", b"x" * 5000, b"\xff\xfe", b"\0"])
_KINDS = {1: None, 2: None, 3: 1, I32: 1, I64: 1, BINARY: b"x", LIST: [I32, [1]], STRUCT: {}}
_LOST = (AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""How it shows that a file is damaged too much to find its structure: its bytes are left."""
_SCHEMA_KEY = b"ARROW:schema"


@st.composite
def damaged(draw: st.DrawFn, seeds: Mapping[str, Seed]) -> tuple[str, Seed]:
    """Draw a damaged file: the name of the whole one, and what became of it."""
    name = draw(st.sampled_from(sorted(seeds)))
    kind, content = seeds[name]
    ways = [_bytes]
    if content.startswith(b"PAR1"):
        ways = [_bytes, _in_a_page, _footer_bytes, _footer, _footer, _page, _page, _arrow_schema]
    for _ in range(draw(st.integers(1, 3))):
        way = draw(st.sampled_from(ways))
        try:
            content = way(draw, content)
        except _LOST:
            content = _bytes(draw, content)
    return name, Seed(kind, content)


def _bytes(draw: st.DrawFn, content: bytes) -> bytes:
    return _hit(draw, content, 0, len(content))


def _footer_bytes(draw: st.DrawFn, content: bytes) -> bytes:
    return _hit(draw, content, footer_of(content)[1], len(content) - 8)


def _in_a_page(draw: st.DrawFn, content: bytes) -> bytes:
    start, data, end = draw(st.sampled_from(list(_pages(content))))
    if draw(st.booleans()):
        return _hit(draw, content, start, data, keep=True)
    return _hit(draw, content, data, end, keep=True)


def _pages(content: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield of every page where its header, its data and what follows start."""
    footer, last = footer_of(content)
    for group in footer[4][1][1]:
        for column in group[1][1][1]:
            chunk = column[3][1]
            at = min(chunk.get(number, chunk[9])[1] for number in (9, 11))
            end = min(at + chunk[7][1], last)
            while at < end:
                header, data = read_struct(content, at)
                yield at, data, data + header[3][1]
                at = data + header[3][1]


def _hit(draw: st.DrawFn, content: bytes, start: int, end: int, *, keep: bool = False) -> bytes:
    """Damage bytes in a range; with ``keep`` all others stay where they are."""
    out = bytearray(content)
    how = draw(st.sampled_from(["set", "set", "flip", "fill"] + ([] if keep else _MOVING)))
    at = draw(st.integers(start, max(start, end - 1)))
    length = draw(st.integers(1, 8) | st.integers(1, 200))
    upto = min(at + length, end)
    if how == "flip":
        out[at:upto] = (
            bytes(one ^ 1 << draw(st.integers(0, 7)) for one in out[at : min(upto, at + 8)])
            + out[at + 8 : upto]
        )
    elif how == "set":
        new = draw(st.binary(min_size=1, max_size=8))[: max(0, end - at)]
        out[at : at + len(new)] = new
    elif how == "fill":
        out[at:upto] = bytes([draw(st.sampled_from([0, 0xFF, 0x80, 0x7F, 1]))]) * max(0, upto - at)
    elif how == "truncate":
        del out[at:]
    elif how == "delete":
        del out[at:upto]
    elif how == "insert":
        out[at:at] = draw(st.binary(min_size=1, max_size=16))
    elif how == "repeat":
        out[at:at] = out[at:upto] * draw(st.integers(1, 50))
    else:
        other = draw(st.integers(start, max(start, end - 1)))
        one, two = bytes(out[at:upto]), bytes(out[other : other + upto - at])
        out[at:upto], out[other : other + len(two)] = two, one
    return bytes(out)


_MOVING = ["truncate", "delete", "insert", "repeat", "swap"]


def _footer(draw: st.DrawFn, content: bytes) -> bytes:
    """Change what the footer says, and write it anew."""
    footer, start = footer_of(content)
    _lie(draw, footer)
    return with_footer(content[:start], write_struct(footer))


def _page(draw: st.DrawFn, content: bytes) -> bytes:
    """Change what the header of a column's first page says, and give the page its place."""
    column = draw(st.integers(0, len(footer_of(content)[0][4][1][1][0][1][1][1]) - 1))
    return lied_in_a_page(content, lambda header: _lie(draw, header), column)


def _arrow_schema(draw: st.DrawFn, content: bytes) -> bytes:
    """Damage the schema that Arrow keeps beside that of Parquet."""
    footer, start = footer_of(content)
    (pair,) = (one for one in footer[5][1][1] if one[1][1] == _SCHEMA_KEY)
    schema = base64.b64decode(pair[2][1])
    pair[2][1] = base64.b64encode(_hit(draw, schema, 0, len(schema)))
    return with_footer(content[:start], write_struct(footer))


def _lie(draw: st.DrawFn, struct: Struct) -> None:
    """Change one field, or one item of a list, of a struct or of what is in it."""
    spots = list(_spots(struct))
    holder, key = spots[draw(st.integers(0, len(spots) - 1))]
    if isinstance(holder, dict):
        _lie_in_a_field(draw, holder, key)
    else:
        _lie_in_a_list(draw, holder[1], key)


def _lie_in_a_field(draw: st.DrawFn, fields: Struct, number: int) -> None:
    kind, value = fields[number]
    how = draw(st.sampled_from(["value", "value", "value", "value", "kind", "drop", "renumber"]))
    if how == "drop":
        del fields[number]
    elif how == "renumber":
        fields[draw(st.integers(1, 15))] = fields.pop(number)
    elif how == "kind":
        new = draw(st.sampled_from(sorted(_KINDS)))
        fields[number] = [new, _KINDS[new]]
    elif kind in (1, 2):
        fields[number] = [3 - kind, None]
    elif kind == 3:
        fields[number] = [kind, draw(st.integers(0, 255))]
    elif kind in (4, I32, I64):
        shifted = _SHIFTS.map(lambda by: max(-(2**63), min(2**63 - 1, value + by)))
        fields[number] = [kind, draw(shifted | _NUMBERS)]
    elif kind == BINARY:
        fields[number] = [kind, draw(_TEXTS)]


def _lie_in_a_list(draw: st.DrawFn, items: list[Any], index: int) -> None:
    how = draw(st.sampled_from(["drop", "repeat", "many", "swap", "value"]))
    item = items[index]
    if how == "drop":
        del items[index]
    elif how == "swap":
        other = draw(st.integers(0, len(items) - 1))
        items[index], items[other] = items[other], items[index]
    elif how == "value" and isinstance(item, int):
        items[index] = draw(_NUMBERS)
    elif how == "value" and isinstance(item, bytes):
        items[index] = draw(_TEXTS)
    else:
        items[index:index] = [item] * (draw(st.integers(1, 200)) if how == "many" else 1)


def _spots(fields: Struct) -> Iterator[tuple[Any, int]]:
    for number, (kind, value) in fields.items():
        yield fields, number
        if kind == STRUCT:
            yield from _spots(value)
        elif kind == LIST:
            for index, item in enumerate(value[1]):
                yield value, index
                if value[0] == STRUCT:
                    yield from _spots(item)
