"""From comparisons to integer counts: which items each group has and how often each pair met.

Everything here is integer work, so the result depends neither on the order of the rows nor on
how they are cut into chunks. Ids become ordinals first: groups in id order, items in id order
inside their group.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from judgebatch.strengths.codes import Codes, Ints, encode, outcome_codes

SMALL = 24
"""Largest group that is counted in dense cells and fitted in lanes."""

_ROWS_AT_ONCE = 1 << 17
_TABLE_FLOOR = 1 << 22
_LARGEST_TOTAL = 1 << 61


class Index(NamedTuple):
    """Groups and their items, both in id order."""

    group_ids: pl.Series
    """One per group."""
    item_ids: pl.Series
    """One per (group, item)."""
    starts: Ints
    """Where each group's items begin; one more than groups."""


class Pairs(NamedTuple):
    """Counts of pairs that met, sorted by (low, high); ``low < high`` are item ordinals."""

    low: Ints
    high: Ints
    low_wins: Ints
    high_wins: Ints
    ties: Ints


class Cells(NamedTuple):
    """Dense counts of all groups of one size, 2 to ``SMALL`` items."""

    groups: Ints
    """(n,) group ordinals."""
    counts: Ints
    """(3, P, n): wins of the lower item, of the higher one, ties; pairs in row-major order."""


class Counted(NamedTuple):
    """All comparisons, counted: small groups in dense cells by size, the others as pairs."""

    ids: Index
    cells: list[Cells]
    pairs: Pairs


def count_comparisons(comparisons: pl.DataFrame) -> Counted:
    """Count wins and ties of every pair.

    Parameters
    ----------
    comparisons
        ``group``, ``left``, ``right`` (String or integer), ``outcome`` (String ``left``,
        ``right``, ``tie``, or integer 1, -1, 0), optional ``count`` (integer, default 1). A row
        with count 0 only says that its items belong to the group.

    Raises
    ------
    ValueError
        A null, an item compared with itself, an outcome that is not usable, a negative count,
        or counts that add up to 2**61 or more.
    TypeError
        A column of another type.
    """
    outcome = outcome_codes(comparisons["outcome"])
    count = _counts(comparisons)
    index, group, left, right = _index(comparisons)
    same = np.flatnonzero(left == right)
    if same.size:
        row = comparisons.row(int(same[0]), named=True)
        raise ValueError(f"item {row['left']!r} of group {row['group']!r} is compared with itself")
    rows = _Rows(group, left, right, outcome, count)
    small = (np.diff(index.starts) <= SMALL)[group]
    if small.all():
        return Counted(index, _count_cells(index.starts, rows), _count_pairs(rows.where(~small)))
    cells = _count_cells(index.starts, rows.where(small))
    return Counted(index, cells, _count_pairs(rows.where(~small)))


class _Rows(NamedTuple):
    """Comparisons as ordinals of group and items, with their outcomes and counts."""

    group: Ints
    left: Ints
    right: Ints
    outcome: npt.NDArray[np.int8]
    counts: Ints | None

    def where(self, chosen: npt.NDArray[np.bool_]) -> "_Rows":
        """Return some of the rows."""
        if chosen.all():
            return self
        group, left, right, outcome, counts = self
        kept = None if counts is None else counts[chosen]
        return _Rows(group[chosen], left[chosen], right[chosen], outcome[chosen], kept)


def _counts(comparisons: pl.DataFrame) -> Ints | None:
    if "count" not in comparisons.columns:
        return None
    count = comparisons["count"]
    if not count.dtype.is_integer():
        raise TypeError(f"column count of the comparisons is {count.dtype}, not an integer")
    if count.null_count():
        raise ValueError("column count of the comparisons holds nulls")
    values = count.cast(pl.Int64).to_numpy()
    if values.size and values.min() < 0:
        raise ValueError(f"count {values.min()} of comparisons is negative")
    if values.size and float(np.cumsum(values.astype(np.float64))[-1]) >= _LARGEST_TOTAL:
        raise ValueError("counts of comparisons add up to 2**61 or more")
    return values


def _index(comparisons: pl.DataFrame) -> tuple[Index, Ints, Ints, Ints]:
    """Return the index, and for each row the ordinals of its group, left and right item."""
    groups = encode([comparisons["group"]])
    items = encode([comparisons["left"], comparisons["right"]])
    present, (group,) = _dense(groups.columns, groups.domain)
    n_groups = present.size
    left, right = items.columns
    group_ids = groups.decode(present, "group")
    if n_groups * items.domain <= max(_TABLE_FLOOR, 4 * group.size):
        keys = [group * items.domain + left, group * items.domain + right]
        present, (left, right) = _dense(keys, n_groups * items.domain)
        owner, code = np.divmod(present, max(items.domain, 1))
    else:
        owner, code, left, right = _index_wide(items, group, left, right, n_groups)
    starts = np.zeros(n_groups + 1, np.int64)
    np.cumsum(np.bincount(owner, minlength=n_groups), out=starts[1:])
    return Index(group_ids, items.decode(code, "item"), starts), group, left, right


def _dense(columns: list[Ints], domain: int) -> tuple[Ints, list[Ints]]:
    """Return the codes that occur, in order, and the columns as ordinals among them."""
    rows = sum(column.size for column in columns)
    if domain <= max(_TABLE_FLOOR, 4 * rows):
        seen = np.zeros(domain, np.bool_)
        for column in columns:
            seen[column] = True
        present = np.flatnonzero(seen)
        if present.size == domain:
            return present, columns
        rank = np.cumsum(seen, dtype=np.int64)
        rank -= 1
        return present, [rank[column] for column in columns]
    present, inverse = np.unique(np.concatenate(columns), return_inverse=True)
    ends = np.cumsum([column.size for column in columns])
    return present, np.split(inverse.astype(np.int64, copy=False), ends[:-1])


def _index_wide(
    items: Codes, group: Ints, left: Ints, right: Ints, n_groups: int
) -> tuple[Ints, Ints, Ints, Ints]:
    """Index items where a table over all (group, code) would be too large."""
    present, (left, right) = _dense([left, right], items.domain)
    owner_of = np.empty(present.size, np.int64)
    owner_of[left] = group
    owner_of[right] = group
    if (owner_of[left] == group).all() and (owner_of[right] == group).all():
        # Ids are unique over groups: each item has one owner, and only items need sorting.
        order = np.argsort(owner_of, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        return owner_of[order], present[order], rank[left], rank[right]
    width = present.size
    keys = [group * width + left, group * width + right]
    pairs, (left, right) = _dense(keys, n_groups * width)
    owner, code = np.divmod(pairs, width)
    return owner, present[code], left, right


def _count_cells(starts: Ints, rows: _Rows) -> list[Cells]:
    """Count the rows of small groups in cells, group beside group.

    Rows of a group fall into neighbouring columns of the same few rows of cells, which stay in
    cache where the comparisons of a group stand together.
    """
    group, left, right, outcome, count = rows
    sizes = np.diff(starts)
    table = np.zeros((SMALL + 1, SMALL * SMALL * 3), np.int64)
    origin = np.zeros(sizes.size, np.int64)
    members, total = {}, 0
    for size in range(2, SMALL + 1):
        groups = np.flatnonzero(sizes == size)
        if groups.size:
            members[size] = (groups, total)
            table[size] = _slots(size) * groups.size
            origin[groups] = total + np.arange(groups.size)
            total += 3 * size * (size - 1) // 2 * groups.size
    places = table.ravel()
    row = np.where(sizes <= SMALL, sizes, 0) * (SMALL * SMALL * 3) + 1
    row -= starts[:-1] * (SMALL * 3) + starts[:-1] * 3
    cell = np.empty(group.size, np.int64)
    for begin in range(0, group.size, _ROWS_AT_ONCE):
        part = slice(begin, begin + _ROWS_AT_ONCE)
        of = group[part]
        where = left[part] * (SMALL * 3)
        where += right[part] * 3
        where += row[of]
        where += outcome[part]
        np.add(places[where], origin[of], out=cell[part])
    if count is None:
        counts = np.bincount(cell, minlength=total)
    else:
        counts = np.zeros(total, np.int64)
        np.add.at(counts, cell, count)
    found = []
    for size, (groups, begin) in members.items():
        n_pairs = size * (size - 1) // 2
        mine = counts[begin : begin + 3 * n_pairs * groups.size]
        found.append(Cells(groups, mine.reshape(3, n_pairs, groups.size)))
    return found


def _slots(size: int) -> Ints:
    """Return the row of cells of a comparison in a group, by (left, right, outcome + 1)."""
    left, right = np.meshgrid(np.arange(SMALL), np.arange(SMALL), indexing="ij")
    low, high = np.minimum(left, right), np.maximum(left, right)
    pair = low * (2 * size - low - 1) // 2 + high - low - 1
    turned = left > right
    n_pairs = size * (size - 1) // 2
    slots = np.empty((SMALL, SMALL, 3), np.int64)
    slots[..., 0] = pair + np.where(turned, 0, n_pairs)
    slots[..., 1] = pair + 2 * n_pairs
    slots[..., 2] = pair + np.where(turned, n_pairs, 0)
    return slots.ravel()


def _count_pairs(rows: _Rows) -> Pairs:
    """Count rows by pair of item ordinals; pairs whose counts are all 0 are left out."""
    if rows.counts is not None:
        rows = rows.where(rows.counts > 0)
    _, left, right, outcome, count = rows
    bits = int(max(left.max(initial=1), right.max(initial=1))).bit_length()
    cell = np.empty(left.size, np.int64)
    for begin in range(0, left.size, _ROWS_AT_ONCE):
        part = slice(begin, begin + _ROWS_AT_ONCE)
        one, other = left[part], right[part]
        code = np.where((outcome[part] > 0) == (one < other), 0, 1)
        code[outcome[part] == 0] = 2
        code |= np.maximum(one, other) << 2
        np.bitwise_or(np.minimum(one, other) << (bits + 2), code, out=cell[part])
    if count is None:
        cell.sort()
        first = _firsts(cell)
        sums = np.diff(first, append=cell.size)
    else:
        order = np.argsort(cell, kind="stable")
        cell = cell[order]
        first = _firsts(cell)
        sums = np.add.reduceat(count[order], first) if first.size else count
    cell = cell[first]
    pair = cell >> 2
    first = _firsts(pair)
    row = np.zeros(pair.size, np.int64)
    row[first[1:]] = 1
    np.cumsum(row, out=row)
    totals = np.zeros((3, first.size), np.int64)
    totals[cell & 3, row] = sums
    pair = pair[first]
    return Pairs(pair >> bits, pair & ((1 << bits) - 1), totals[0], totals[1], totals[2])


def _firsts(ordered: Ints) -> Ints:
    """Return where a new value begins in a sorted array."""
    if not ordered.size:
        return np.empty(0, np.int64)
    return np.concatenate([np.zeros(1, np.int64), np.flatnonzero(ordered[1:] != ordered[:-1]) + 1])
