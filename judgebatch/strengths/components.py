"""Which items a group's fit covers: its largest connected component.

Most small groups are connected; that is checked for all of them at once with bit masks. Only
the others, and large groups, go through a graph search.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from judgebatch.strengths.codes import Ints
from judgebatch.strengths.counts import SMALL, Counted, Pairs
from judgebatch.strengths.graph import blocks

_GROUPS_AT_ONCE = 1 << 12


class SmallFits(NamedTuple):
    """Components of one size up to ``SMALL`` that are to be fitted, one per group."""

    groups: Ints
    """(n,) group ordinals."""
    items: Ints
    """(n, G) item ordinals, ascending."""
    counts: Ints
    """(3, P, N) counts as ``fit_lanes`` takes them."""
    lanes: Ints
    """(n,) which of the N columns they are."""


class LargeFits(NamedTuple):
    """Larger components, concatenated."""

    groups: Ints
    """(n,) group ordinals."""
    items: Ints
    """Item ordinals of all components, ascending in each."""
    starts: Ints
    """(n + 1,) where each component's items begin."""
    pairs: Pairs
    """The pairs of all components; ``low`` and ``high`` are positions in ``items``."""


class Components(NamedTuple):
    """Connected components of every group."""

    component: Ints
    """Per item: its component's ordinal in the group, in order of their smallest item."""
    fitted: npt.NDArray[np.bool_]
    """Per item: whether it is in the group's largest component of two items or more (equal
    sizes: the first)."""
    isolated: npt.NDArray[np.bool_]
    """Per item: whether it met nobody."""
    small: list[SmallFits]
    large: LargeFits
    searched: Pairs
    """The pairs of the groups that needed a graph search; ``low``, ``high`` item ordinals."""


def find_components(counted: Counted) -> Components:
    """Find the components of all groups, and what is to be fitted."""
    starts = counted.ids.starts
    sizes = np.diff(starts)
    component = np.zeros(int(starts[-1]), np.int64)
    fitted = np.ones(component.size, np.bool_)
    isolated = np.zeros(component.size, np.bool_)
    small: list[SmallFits] = []
    loose = [counted.pairs]
    searched = (sizes > SMALL) | (sizes == 1)
    for groups, counts in counted.cells:
        size = int(sizes[groups[0]])
        whole = _connected(counts, size)
        lanes = np.flatnonzero(whole)
        broken = np.flatnonzero(~whole)
        if broken.size:
            searched[groups[broken]] = True
            loose.append(_pairs_of(counts[:, :, broken], starts[groups[broken]], size))
        if lanes.size:
            items = starts[groups[lanes], None] + np.arange(size)
            small.append(SmallFits(groups[lanes], items, counts, lanes))
    pairs = Pairs(*(np.concatenate(columns) for columns in zip(*loose, strict=True)))
    nodes = np.flatnonzero(np.repeat(searched, sizes))
    group = np.repeat(np.arange(sizes.size), sizes)[nodes]
    label, label_group = _labels(nodes, group, pairs)
    label_sizes = np.bincount(label, minlength=label_group.size)
    first_label = np.searchsorted(label_group, label_group)
    component[nodes] = (np.arange(label_group.size) - first_label)[label]
    isolated[nodes] = label_sizes[label] == 1
    order = np.lexsort((np.arange(label_group.size), -label_sizes, label_group))
    chosen = order[np.diff(label_group[order], prepend=-1) != 0]
    is_chosen = np.zeros(label_group.size, np.bool_)
    chosen = chosen[label_sizes[chosen] > 1]
    is_chosen[chosen] = True
    fitted[nodes] = is_chosen[label]
    members = nodes[is_chosen[label]]
    found, large = _chosen_fits(label_group[chosen], label_sizes[chosen], members, pairs)
    return Components(component, fitted, isolated, small + found, large, pairs)


def _connected(counts: Ints, size: int) -> npt.NDArray[np.bool_]:
    """Return which groups are connected, by growing the set that item 0 reaches."""
    connected = np.empty(counts.shape[2], np.bool_)
    everybody = np.uint32((1 << size) - 1)
    for begin in range(0, connected.size, _GROUPS_AT_ONCE):
        part = counts[:, :, begin : begin + _GROUPS_AT_ONCE]
        met = ((part[0] | part[1] | part[2]) != 0).astype(np.uint32)
        n = met.shape[1]
        neighbours = [np.zeros(n, np.uint32) for _ in range(size)]
        for i, rows in enumerate(blocks(size)[:-1]):
            for j, row in enumerate(met[rows], start=i + 1):
                neighbours[i] |= row << np.uint32(j)
                neighbours[j] |= row << np.uint32(i)
        reached = np.ones(n, np.uint32)
        while True:
            before = reached.copy()
            for i in range(size):
                reached |= neighbours[i] * ((reached >> np.uint32(i)) & np.uint32(1))
            if ((reached == everybody) | (reached == before)).all():
                break
        connected[begin : begin + _GROUPS_AT_ONCE] = reached == everybody
    return connected


def _pairs_of(counts: Ints, starts: Ints, size: int) -> Pairs:
    """Return the pairs that met in (3, P, n) counts of groups whose items begin at ``starts``."""
    pair, group = np.nonzero(counts.any(axis=0))
    low, high = np.triu_indices(size, 1)
    low_wins, high_wins, ties = counts[:, pair, group]
    return Pairs(starts[group] + low[pair], starts[group] + high[pair], low_wins, high_wins, ties)


def _labels(nodes: Ints, group: Ints, pairs: Pairs) -> tuple[Ints, Ints]:
    """Return each node's component, numbered by smallest node, and each component's group."""
    place = np.empty(int(nodes[-1]) + 1 if nodes.size else 0, np.int32)
    place[nodes] = np.arange(nodes.size, dtype=np.int32)
    ends = (place[pairs.low], place[pairs.high])
    links = coo_array((np.ones(ends[0].size, np.int8), ends), shape=(nodes.size, nodes.size))
    found = connected_components(links, directed=False)[1]
    _, first, label = np.unique(found, return_index=True, return_inverse=True)
    rank = np.empty(first.size, np.int64)
    order = np.argsort(first)
    rank[order] = np.arange(first.size)
    return rank[label], group[first[order]]


def _chosen_fits(
    groups: Ints, sizes: Ints, members: Ints, pairs: Pairs
) -> tuple[list[SmallFits], LargeFits]:
    """Gather the chosen components: ``members`` are their items, group after group."""
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    owner = np.repeat(np.arange(sizes.size), sizes)
    place = np.full(max(int(pairs.high.max(initial=-1)), int(members.max(initial=-1))) + 1, -1)
    place[members] = np.arange(members.size)
    low, high = place[pairs.low], place[pairs.high]
    pairs = _where(low >= 0, pairs._replace(low=low, high=high))
    low, high = pairs.low, pairs.high
    pair_owner = owner[low]
    small = []
    for size in range(2, SMALL + 1):
        of_size = np.flatnonzero(sizes == size)
        if not of_size.size:
            continue
        row = np.full(sizes.size, -1)
        row[of_size] = np.arange(of_size.size)
        mine = np.flatnonzero(row[pair_owner] >= 0)
        i, j = (side[mine] - starts[pair_owner[mine]] for side in (low, high))
        counts = np.zeros((3, size * (size - 1) // 2, of_size.size), np.int64)
        at = (i * (2 * size - i - 1) // 2 + j - i - 1, row[pair_owner[mine]])
        for slot, column in enumerate((pairs.low_wins, pairs.high_wins, pairs.ties)):
            counts[(slot, *at)] = column[mine]
        items = members[starts[of_size, None] + np.arange(size)]
        small.append(SmallFits(groups[of_size], items, counts, np.arange(of_size.size)))
    is_large = sizes > SMALL
    in_large = is_large[owner]
    shift = np.cumsum(in_large) - 1
    large_starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[is_large])])
    kept = _where(is_large[pair_owner], pairs._replace(low=shift[low], high=shift[high]))
    return small, LargeFits(groups[is_large], members[in_large], large_starts, kept)


def _where(chosen: npt.NDArray[np.bool_], pairs: Pairs) -> Pairs:
    if chosen.all():
        return pairs
    return Pairs(*(column[chosen] for column in pairs))
