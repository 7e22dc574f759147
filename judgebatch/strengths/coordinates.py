"""Bisection on the worst coordinate for groups too large for lanes.

What :func:`~judgebatch.strengths.safeguard.bisect` does in lanes, with the work of a trial bounded
by the pairs of the one item that it moves. Groups of a pool follow one another, so that none
influences the others.
"""

from typing import NamedTuple

import numpy as np

from judgebatch.strengths.codes import Ints
from judgebatch.strengths.davidson import LOG_HALF
from judgebatch.strengths.elementary import Floats, exp
from judgebatch.strengths.flows import davidson_flow, half_win_flow
from judgebatch.strengths.objective import RIDGE
from judgebatch.strengths.pool import Pool
from judgebatch.strengths.safeguard import ROUNDS_OF_BISECTION, root_of_falling


def bisect_pool(pool: Pool) -> None:
    """Bring every group of ``pool`` nearer its maximum, one parameter at a time."""
    pool.evaluate()
    for at in range(pool.items.sizes.size):
        group = _Group(pool, at)
        for _ in range(ROUNDS_OF_BISECTION * (group.strengths.size + int(pool.davidson))):
            group.improve()


class _Pairs(NamedTuple):
    """Pairs from the side of one item of each."""

    others: Ints
    wins: Floats
    losses: Floats
    ties: Floats


class _Group:
    """One group of a pool: its parameters, changed in place, and their gradient."""

    def __init__(self, pool: Pool, at: int) -> None:
        items = slice(pool.items.starts[at], pool.items.starts[at + 1])
        pairs = slice(pool.pairs.starts[at], pool.pairs.starts[at + 1])
        self.davidson = pool.davidson
        self.strengths = pool.parameters[items]
        self.log_nu = pool.parameters[pool.n_items + at : pool.n_items + at + 1]
        self.gradient = pool.gradient[items].copy()
        self.tie_gradient = pool.gradient[pool.n_items + at : pool.n_items + at + 1].copy()
        self._low = pool.low[pairs].astype(np.int64) - items.start
        self._high = pool.high[pairs].astype(np.int64) - items.start
        low_wins, high_wins = pool.low_wins[pairs], pool.high_wins[pairs]
        ties = pool.ties[pairs] if pool.davidson else np.zeros(low_wins.size)
        # Each pair twice, by the item whose side it shows.
        mine = np.concatenate([self._low, self._high])
        order = np.argsort(mine, kind="stable")
        self._begins = np.searchsorted(mine[order], np.arange(self.strengths.size + 1))
        self._sides = _Pairs(
            np.concatenate([self._high, self._low])[order],
            np.concatenate([low_wins, high_wins])[order],
            np.concatenate([high_wins, low_wins])[order],
            np.concatenate([ties, ties])[order],
        )

    def improve(self) -> None:
        """Put the parameter with the largest gradient where its gradient is zero."""
        worst = int(np.abs(self.gradient).argmax())
        if self.davidson and abs(self.tie_gradient[0]) > abs(self.gradient[worst]):
            self._move_log_nu()
        else:
            self._move_strength(worst)

    def _move_strength(self, item: int) -> None:
        side = slice(self._begins[item], self._begins[item + 1])
        others, wins, losses, ties = self._sides
        pairs = _Pairs(others[side], wins[side], losses[side], ties[side])
        theirs = self.strengths[pairs.others]

        def gradient(value: Floats) -> Floats:
            flow, _ = self._flow(value - theirs, pairs)
            return _total(flow) - RIDGE * value

        place = self.strengths[item : item + 1]
        flow_before, tied_before = self._flow(place - theirs, pairs)
        place[...] = root_of_falling(gradient, place)
        flow, tied = self._flow(place - theirs, pairs)
        self.gradient[item : item + 1] = _total(flow) - RIDGE * place
        self.gradient[pairs.others] -= flow - flow_before
        self.tie_gradient += _total(tied - tied_before)

    def _move_log_nu(self) -> None:
        def flows(log_nu: Floats) -> tuple[Floats, Floats]:
            lead = self.strengths[owner] - self.strengths[self._sides.others]
            found = davidson_flow(lead, exp(log_nu), *self._sides[1:])
            # Every pair shows its two sides.
            return found.flow, (LOG_HALF - log_nu) + 0.5 * _total(found.tie_gradient)

        owner = np.repeat(np.arange(self.strengths.size), np.diff(self._begins))
        self.log_nu[...] = root_of_falling(lambda value: flows(value)[1], self.log_nu)
        flow, self.tie_gradient = flows(self.log_nu)
        self.gradient = np.add.reduceat(flow, self._begins[:-1]) - RIDGE * self.strengths

    def _flow(self, lead: Floats, pairs: _Pairs) -> tuple[Floats, Floats]:
        """Return what each pair gives its item, and ``ln nu``."""
        if not self.davidson:
            return half_win_flow(lead, pairs.wins, pairs.losses)[0], np.zeros(1)
        found = davidson_flow(lead, exp(self.log_nu), *pairs[1:])
        return found.flow, found.tie_gradient


def _total(values: Floats) -> Floats:
    """Return the sum, first to last, as an array of one."""
    return np.cumsum(values)[-1:]
