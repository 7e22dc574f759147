"""The made-up tenants of a corpus: their size, mode, tasks and budget."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

UNKNOWN = "walk-in"
"""A tenant that is in the data and not in the settings."""
UNKNOWN_SHARE = 0.005
COMPARISON_USD = 0.003
QUORUM = 8
TIMEOUT_HOURS = 24
COMPARISONS_PER_PAIR = 3
_NAMES = (
    "acme",
    "globex",
    "initech",
    "Müller & Söhne",
    "hooli",
    "umbrella/eu",
    "stark",
    "日本ツール",
    "wayne",
    "tyrell",
)
_EPISODES_PER_NOVEL_TASK = 25
_EPISODES_PER_NIGHTLY_GROUP = 60
_MOST_TASKS = 400
_RARE_TASKS_PER_NIGHT = 2


class Budget(NamedTuple):
    """A tenant's ceiling in USD and the period it holds for."""

    ceiling_usd: float
    period: str


@dataclass(frozen=True)
class Tenants:
    """All tenants of a corpus; the last one is not in the settings.

    ``tasks_at_first`` tasks are there before the first night and ``tasks_per_night`` more come with
    each; a tenant's tasks are numbered from ``first_task`` among those of all tenants.
    """

    names: list[str]
    cumulative_share: npt.NDArray[np.float64]
    is_tournament: npt.NDArray[np.bool_]
    tasks_at_first: Ints
    tasks_per_night: Ints
    tasks_in_all: Ints
    first_task: Ints
    budgets: list[Budget | None]

    @property
    def tasks(self) -> int:
        """How many tasks there are in all."""
        return int(self.first_task[-1] + self.tasks_in_all[-1])


def make_tenants(count: int, episodes: int, nights: int) -> Tenants:
    """Return ``count`` tenants of skewed size that share ``episodes``, and the unknown one."""
    share = 1.0 / (np.arange(count) + 1.0)
    share = np.append(share / share.sum() * (1 - UNKNOWN_SHARE), UNKNOWN_SHARE)
    expected = share * episodes
    tournament = np.append(np.arange(count) % 2 == 1, False)
    per_task = np.where(
        tournament, _EPISODES_PER_NIGHTLY_GROUP * max(1, nights), _EPISODES_PER_NOVEL_TASK
    )
    at_first = np.clip(expected // per_task, 1, _MOST_TASKS).astype(np.int64)
    per_night = np.where(tournament, _RARE_TASKS_PER_NIGHT, np.maximum(1, at_first // 8))
    total = at_first + per_night * nights
    first = np.concatenate([[0], np.cumsum(total)[:-1]])
    names = [_NAMES[i] if i < len(_NAMES) else f"tenant-{i:04d}" for i in range(count)]
    return Tenants(
        names=[*names, UNKNOWN],
        cumulative_share=np.cumsum(share),
        is_tournament=tournament,
        tasks_at_first=at_first,
        tasks_per_night=per_night,
        tasks_in_all=total.astype(np.int64),
        first_task=first.astype(np.int64),
        budgets=[_budget(i, expected[i] / nights, nights) for i in range(count)],
    )


def _budget(tenant: int, per_night: float, nights: int) -> Budget | None:
    """Give every fifth tenant a ceiling below what it would spend, and one of them none at all."""
    if tenant % 5 != 2:
        return None
    if tenant % 10 == 7:
        return Budget(0.0, "month")
    nightly = per_night * COMPARISONS_PER_PAIR * COMPARISON_USD
    period = "day" if tenant % 20 == 12 else "month"
    spend = nightly if period == "day" else nightly * nights
    return Budget(round(max(0.01, spend * 0.6), 2), period)
