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


class Counted(NamedTuple):
    """All comparisons, counted: small groups in dense cells, the others as pairs.

    A group of G items, ``2 <= G <= SMALL``, owns ``3 G (G - 1) / 2`` consecutive ``cells`` from
    ``bases[group]``: for each pair in row-major order wins of the lower item, wins of the higher
    one, ties. Other groups own none.
    """

    ids: Index
    cells: Ints
    bases: Ints
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
    sizes = np.diff(index.starts)
    small = sizes <= SMALL
    bases = np.zeros(sizes.size + 1, np.int64)
    np.cumsum(np.where(small, 3 * sizes * (sizes - 1) // 2, 0), out=bases[1:])
    if small.all():
        cells = _count_cells(index.starts, bases, group, (left, right, outcome), count)
        nothing = np.empty(0, np.int64)
        return Counted(index, cells, bases, Pairs(nothing, nothing, nothing, nothing, nothing))
    rows = small[group]
    cells = _count_cells(
        index.starts,
        bases,
        group[rows],
        (left[rows], right[rows], outcome[rows]),
        None if count is None else count[rows],
    )
    rows = ~rows
    pairs = count_pairs(
        left[rows], right[rows], outcome[rows], None if count is None else count[rows]
    )
    return Counted(index, cells, bases, pairs)


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


def _count_cells(
    starts: Ints,
    bases: Ints,
    group: Ints,
    comparison: tuple[Ints, Ints, npt.NDArray[np.int8]],
    count: Ints | None,
) -> Ints:
    """Count rows (left, right, outcome) of small groups in their cells."""
    left, right, outcome = comparison
    sizes = np.diff(starts)
    # The cell of (left, right, outcome) inside its group, looked up by group size.
    table = _cell_table()
    origin = bases[:-1]
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
        np.add(table[where], origin[of], out=cell[part])
    if count is None:
        return np.bincount(cell, minlength=int(bases[-1]))
    cells = np.zeros(int(bases[-1]), np.int64)
    np.add.at(cells, cell, count)
    return cells


def _cell_table() -> Ints:
    """Return the cell of a comparison, indexed by (group size, left, right, outcome + 1)."""
    size, left, right = np.meshgrid(
        np.arange(SMALL + 1), np.arange(SMALL), np.arange(SMALL), indexing="ij"
    )
    low, high = np.minimum(left, right), np.maximum(left, right)
    pair = low * (2 * size - low - 1) // 2 + high - low - 1
    turned = left > right
    cells = np.empty((*size.shape, 3), np.int64)
    cells[..., 0] = 3 * pair + np.where(turned, 0, 1)
    cells[..., 1] = 3 * pair + 2
    cells[..., 2] = 3 * pair + np.where(turned, 1, 0)
    return cells.ravel()


def count_pairs(
    left: Ints, right: Ints, outcome: npt.NDArray[np.int8], count: Ints | None
) -> Pairs:
    """Count rows by pair of item ordinals; pairs whose counts are all 0 are left out."""
    if count is not None:
        rows = count > 0
        left, right, outcome, count = left[rows], right[rows], outcome[rows], count[rows]
    low, high = np.minimum(left, right), np.maximum(left, right)
    code = np.where(outcome == 0, 2, np.where((outcome > 0) == (left < right), 0, 1))
    bits = int(high.max(initial=1)).bit_length()
    cell = (low << (bits + 2)) | (high << 2) | code
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
