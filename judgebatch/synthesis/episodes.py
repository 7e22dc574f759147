"""Episodes of a corpus, a block of consecutive arrivals at a time, as integer arrays."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from judgebatch.synthesis.tenants import Ints, Tenants

DAY_MS = 86_400_000
_LATE_SHARE = 0.01
_RARE_SHARE = 0.02
_LATEST_MS = 20 * 3_600_000


class Block(NamedTuple):
    """Episodes in order of their arrival, as the run sees it.

    ``task`` counts over the tasks of all tenants, ``task_number`` inside the tenant. ``seen_ms``
    and ``arrived_ms`` count from the corpus's start; they differ for a late delivery, which is
    seen at the beginning of the night that delivers it. ``skill`` is what a comparison would find.
    """

    number: Ints
    tenant: Ints
    task: Ints
    task_number: Ints
    passed: npt.NDArray[np.bool_]
    seen_ms: Ints
    arrived_ms: Ints
    variant: Ints
    skill: npt.NDArray[np.float64]


def make_block(
    chance: np.random.Generator,
    tenants: Tenants,
    night: int,
    first_number: int,
    count: int,
    interval_ms: tuple[int, int],
) -> Block:
    """Draw ``count`` episodes that arrive in an interval of a night (nights count from 0).

    Late deliveries come with a night's first interval: a night's run sees them before all else.
    """
    tenant = np.searchsorted(tenants.cumulative_share, chance.random(count), side="right")
    tenant = np.minimum(tenant, len(tenants.names) - 1).astype(np.int64)
    task_number = _tasks(chance, tenants, tenant, night)
    start, end = interval_ms
    seen = start + np.sort(np.floor((end - start) * chance.random(count)).astype(np.int64))
    delay = np.floor(_LATEST_MS * chance.random(count)).astype(np.int64) + 1
    late = (chance.random(count) < _LATE_SHARE) & (night > 0) & (start == night * DAY_MS)
    seen = np.where(late, start, seen)
    variant = chance.integers(0, 2, count)
    skill = chance.random(count) * 0.9 + 0.1 * (variant == 1)
    return Block(
        number=np.arange(first_number, first_number + count, dtype=np.int64),
        tenant=tenant,
        task=tenants.first_task[tenant] + task_number,
        task_number=task_number,
        passed=chance.random(count) < 0.45 + 0.5 * skill,
        seen_ms=seen,
        arrived_ms=np.where(late, seen - delay, seen),
        variant=variant.astype(np.int64),
        skill=skill,
    )


def _tasks(chance: np.random.Generator, tenants: Tenants, tenant: Ints, night: int) -> Ints:
    """Draw a task for each episode, numbered inside its tenant."""
    first, later = tenants.tasks_at_first[tenant], tenants.tasks_per_night[tenant] * (night + 1)
    luck = chance.random(len(tenant))
    is_rare = chance.random(len(tenant)) < _RARE_SHARE
    # Squaring favours low numbers: some tasks are tried often, new ones rarely. In tournaments the
    # new ones are so rare that their groups stay small.
    often = np.where(tenants.is_tournament[tenant], first, first + later) * luck * luck
    rarely = first + later * luck
    return np.floor(np.where(is_rare, rarely, often)).astype(np.int64)
