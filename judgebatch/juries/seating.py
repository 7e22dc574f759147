"""How stored judgments find their seats in a jury."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
import polars as pl

from judgebatch.juries.definition import Jury, SeatDefinition, SimpleJury, children
from judgebatch.juries.lanes import Bools, Ints, Longs
from judgebatch.juries.pool import FIRST, Pool, encode
from judgebatch.juries.text import pointer

_DENSE = 8
"""Up to how many places per judgment a mark for each place is cheaper than sorting."""
_KEYS = ["tenant_id", "verdict_id"]


def simple_stages(jury: Jury, stage: str = "") -> Iterator[tuple[str, SimpleJury]]:
    """Yield every simple jury of the tree with the pointer of its stage."""
    if isinstance(jury, SimpleJury):
        yield stage, jury
    for child in children(jury):
        yield from simple_stages(child.jury, pointer(stage, child.name))


def verdict_index(judgments: pl.DataFrame) -> tuple[pl.DataFrame, Ints]:
    """Return the sorted keys of the verdicts, and for each judgment the row of its verdict."""
    tenant, verdict = pl.col("tenant_id"), pl.col("verdict_id")
    starts = (
        judgments.select(tenant.ne_missing(tenant.shift()) | verdict.ne_missing(verdict.shift()))
        .to_series()
        .to_numpy()
        .copy()
    )
    if len(starts):
        starts[0] = True
    first = np.flatnonzero(starts)
    keys = judgments.select(pl.col(_KEYS).gather(first))
    before = keys.select(
        (tenant.shift() < tenant) | ((tenant.shift() == tenant) & (verdict.shift() < verdict))
    ).to_series()
    if bool(before.slice(1).all()):
        return keys, (np.cumsum(starts, dtype=np.int32) - 1).astype(np.int32)
    groups = (
        judgments.lazy()
        .select(_KEYS)
        .with_row_index("row")
        .group_by(_KEYS)
        .agg("row")
        .sort(_KEYS)
        .collect()
    )
    # In which order a group's rows come does not matter: each is given its group's number.
    sizes = groups["row"].list.len().to_numpy()
    index: Ints = np.empty(judgments.height, np.int32)
    index[groups["row"].explode().to_numpy()] = np.repeat(
        np.arange(groups.height, dtype=np.int32), sizes
    )
    return groups.select(_KEYS), index


@dataclass(frozen=True)
class Seating:
    """Stored judgments in the seats of a jury.

    A judgment sits by stage and name; where its verdict has no judgment at all at a stage, the
    root's judgment of that name sits there too. A positional seat takes the judgment at its stage
    and position. Names that several seats of a stage share are told apart by position.

    Parameters
    ----------
    jury
        The whole jury.
    judgments
        Accepted rows of the ``judgments`` table.
    verdict
        For each judgment the row of its verdict.
    n
        How many verdicts there are.
    """

    jury: Jury
    judgments: pl.DataFrame
    verdict: Ints
    n: int

    @cached_property
    def stages(self) -> dict[str, SimpleJury]:
        """The simple juries, by stage."""
        return dict(simple_stages(self.jury))

    @cached_property
    def offsets(self) -> dict[str, int]:
        """The number of a stage's first seat among all seats."""
        sizes = [len(jury.seats) for jury in self.stages.values()]
        starts = [0, *accumulate(sizes)]
        return dict(zip(self.stages, starts, strict=False))

    @cached_property
    def _all_at_root(self) -> bool:
        return bool((self.judgments["stage"] == "").all())

    @cached_property
    def _stage_codes(self) -> Ints:
        if list(self.stages) == [""] and self._all_at_root:
            return np.zeros(self.judgments.height, np.int32)
        return encode(self.judgments["stage"], list(self.stages))

    @cached_property
    def _names(self) -> dict[str, int]:
        seats = [seat for jury in self.stages.values() for seat in jury.seats]
        names = sorted({seat.name for seat in seats if seat.name is not None})
        return {name: code for code, name in enumerate(names)}

    @cached_property
    def _name_codes(self) -> Ints:
        return encode(self.judgments["name"], list(self._names))

    @cached_property
    def _positions(self) -> Longs:
        return self.judgments["position"].to_numpy()

    @cached_property
    def _claims(self) -> list[tuple[Ints, Longs]]:
        """Seats and the rows that claim them: each judgment's own, then those of the root."""
        own = self._own_seats()
        rows = np.flatnonzero(own >= 0)
        claims = [(own if len(rows) == len(own) else own[rows], rows)]
        if list(self.stages) != [""]:
            claims += self._claims_of_root()
        return claims

    def _own_seats(self) -> Ints:
        by_name = np.full((len(self.stages) + 1, len(self._names) + 1), -1, np.int32)
        shared: list[tuple[int, int, int, int]] = []
        positional: list[tuple[int, int, int]] = []
        for stage, (pointed, jury) in enumerate(self.stages.items()):
            named = Counter(seat.name for seat in jury.seats)
            for position, seat in enumerate(jury.seats):
                number = self.offsets[pointed] + position
                if seat.name is None:
                    positional.append((stage, position, number))
                elif named[seat.name] > 1:
                    shared.append((stage, self._names[seat.name], position, number))
                else:
                    by_name[stage, self._names[seat.name]] = number
        stages, names = self._stage_codes, self._name_codes
        # Code -1 of an unknown stage or name takes the last row or column, which has no seat.
        seats: Ints = by_name[stages, names]
        for stage, name, position, number in shared:
            here = (stages == stage) & (names == name) & (self._positions == position)
            seats[here] = number
        for stage, position, number in positional:
            seats[(stages == stage) & (self._positions == position) & (seats < 0)] = number
        return seats

    def _claims_of_root(self) -> Iterator[tuple[Ints, Longs]]:
        root = np.flatnonzero((self.judgments["stage"] == "").to_numpy())
        if not len(root):
            return
        present = np.zeros((len(self.stages) + 1, self.n), np.bool_)
        present[self._stage_codes, self.verdict] = True
        names = self._name_codes[root]
        for stage, (pointed, jury) in enumerate(self.stages.items()):
            if pointed == "":
                continue
            absent = ~present[stage, self.verdict[root]]
            for position, seat in enumerate(jury.seats):
                if seat.name is not None:
                    rows = root[absent & (names == self._names[seat.name])]
                    yield np.full(len(rows), self.offsets[pointed] + position, np.int32), rows

    @cached_property
    def matrix(self) -> Ints:
        """(seats, n) indices into the pool; 0 where no judgment is recorded."""
        matrix = np.zeros((sum(len(jury.seats) for jury in self.stages.values()), self.n), np.int32)
        for seats, rows in self._claims:
            matrix[seats, self.verdict[rows]] = rows + FIRST
        return matrix

    def seated(self) -> Bools:
        """(rows,) whether a judgment has a seat."""
        seated = np.zeros(self.judgments.height, np.bool_)
        for _, rows in self._claims:
            seated[rows] = True
        return seated

    def contested(self) -> Bools:
        """(rows,) whether another judgment has the same seat, in the jury or in the record."""
        contested = np.zeros(self.judgments.height, np.bool_)
        if np.count_nonzero(self.matrix) < sum(len(rows) for _, rows in self._claims):
            seats = np.concatenate([seats for seats, _ in self._claims]).astype(np.int64)
            rows = np.concatenate([rows for _, rows in self._claims])
            contested[rows[_repeated(seats * self.n + self.verdict[rows])]] = True
        return contested | _repeated(self._recorded_places())

    def _recorded_places(self) -> Longs:
        """(rows,) a number for verdict, stage and position as recorded."""
        stages, count = self._stage_codes, len(self.stages)
        if (stages < 0).any():
            distinct = self.judgments["stage"].unique().sort().to_list()
            stages, count = encode(self.judgments["stage"], distinct), len(distinct)
        width = int(self._positions.max(initial=0)) + 1
        places: Longs = (self.verdict.astype(np.int64) * count + stages) * width + self._positions
        return places


def _repeated(numbers: Longs) -> Bools:
    """Return which numbers occur more than once."""
    once = np.zeros(len(numbers), np.bool_)
    if (numbers[1:] > numbers[:-1]).all():
        return once
    size = int(numbers.max()) + 1
    if size <= _DENSE * len(numbers):
        taken = np.zeros(size, np.bool_)
        taken[numbers] = True
        if np.count_nonzero(taken) == len(numbers):
            return once
    _, inverse, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    repeated: Bools = counts[inverse] > 1
    return repeated


class Stored:
    """Stored judgments as the source of an evaluation."""

    def __init__(self, seating: Seating) -> None:
        self.seating = seating
        self.pool = Pool(seating.judgments)

    def seat(self, stage: str, position: int, seat: SeatDefinition, rows: Longs) -> Ints:
        """Return the pool's indices of a seat's judgments; ``seat`` itself says nothing more."""
        del seat
        lane: Ints = self.seating.matrix[self.seating.offsets[stage] + position]
        if len(rows) == len(lane):
            return lane
        chosen: Ints = lane[rows]
        return chosen

    def batch(self, rows: Longs) -> pl.DataFrame:
        """Return all judgments of some verdicts, in the order of the verdicts."""
        order, bounds = self._by_verdict
        chosen = [order[bounds[row] : bounds[row + 1]] for row in rows]
        rows_of_batch = np.concatenate([*chosen, np.empty(0, np.int64)])
        return self.seating.judgments[rows_of_batch].cast({"status": pl.String})

    @cached_property
    def _by_verdict(self) -> tuple[Longs, Longs]:
        order = np.argsort(self.seating.verdict, kind="stable")
        return order, np.searchsorted(self.seating.verdict[order], np.arange(self.seating.n + 1))
