"""Packs of random scenarios, by seed: many tenants over a few nights, each with its own story."""

from collections.abc import Sequence
from random import Random

from tests.grading.judged import Judged
from tests.grading.recorded import Recorded
from tests.grading.stories import START, Plan, drawn_settings
from tests.grading.terms import HOUR

TENANTS = ["t", "T", "ß", "日", "NULL", " "]


def pack(seed: int, lengths: Sequence[int], tenants: int = 30) -> list[Plan]:
    """Return the nights of a pack, one of ``lengths`` many; equal seeds give equal packs."""
    draw = Random(seed)  # noqa: S311 - reproducible, not secret
    nights = _nights(draw, draw.choice(lengths))
    for number in range(tenants):
        own = Random(f"{seed}-{number}")  # noqa: S311 - reproducible, not secret
        name = f"{draw.choice(TENANTS)}{number}"
        story = Recorded if number % 4 == 0 else Judged
        story(own, nights, name).tell()
    return nights


def _nights(draw: Random, length: int) -> list[Plan]:
    nights: list[Plan] = []
    at = START
    hours = [1, 3, 6, 12, 24, 24, 36]
    for number in range(length):
        step = draw.choice([HOUR * h for h in hours] + [1, HOUR // 2])
        at = max(at + step + draw.choice([0, 0, 0, 1, -1]), at + 1)
        again = number and draw.random() < 0.5
        defaults = nights[-1].defaults if again else drawn_settings(draw, tournament=False)
        # The least size depends on the quorum, which a tenant may set.
        defaults.pop("min_group_size", None)
        nights.append(Plan(at, defaults, draw.choice(["quarantine", "defaults"])))
    return nights
