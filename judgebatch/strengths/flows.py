"""What listed pairs add to gradient and Hessian, by the lead of one item over the other.

The formulas are those of half_win.py and davidson.py, which explain them. With a lead there is no
overflow whatever the strengths are: only the exponential of minus its size is needed.
"""

from typing import NamedTuple

import numpy as np

from judgebatch.strengths.elementary import Floats, exp_into


class DavidsonFlow(NamedTuple):
    """Per pair, under Davidson's model."""

    flow: Floats
    """The part of the leading item's gradient; the other has its negative."""
    tie_gradient: Floats
    """The part of the gradient of ``ln nu``."""
    stiffness: Floats
    """The weight of the pair in the strengths' Hessian."""
    slope: Floats
    """How ``ln nu`` goes with the lead, in units of the stiffness."""
    curvature: Floats
    """What remains for ``ln nu`` alone."""


def half_win_flow(lead: Floats, wins: Floats, losses: Floats) -> tuple[Floats, Floats]:
    """Return each pair's part of the leading item's gradient, and its weight in the Hessian.

    Parameters
    ----------
    lead
        The strength of an item less that of another.
    wins, losses
        What the one and the other won, ties and pseudo-counts included.
    """
    small, _ = _falling(lead)
    strong = 1.0 / (1.0 + small)
    weak = small * strong
    ahead = lead >= 0.0
    beats, loses = np.where(ahead, strong, weak), np.where(ahead, weak, strong)
    return wins * loses - losses * beats, (wins + losses) * (strong * weak)


def davidson_flow(
    lead: Floats, nu: Floats, wins: Floats, losses: Floats, tied: Floats
) -> DavidsonFlow:
    """Return what each pair adds under Davidson's model; ``tied`` are its ties."""
    small, root = _falling(lead)
    even = nu * root
    scale = 1.0 / ((1.0 + small) + even)
    strong, weak, ties = scale, small * scale, even * scale
    sign = np.where(lead >= 0.0, 1.0, -1.0)
    beats = np.where(lead >= 0.0, strong, weak)
    loses = np.where(lead >= 0.0, weak, strong)
    total = (wins + losses) + tied
    decisive, ahead, both = strong + weak, sign * (strong - weak), strong * weak
    shape = 0.25 * decisive * ties + both
    won = wins * (loses + 0.5 * ties) - losses * (beats + 0.5 * ties)
    return DavidsonFlow(
        won - 0.5 * tied * ahead,
        tied * decisive - (wins + losses) * ties,
        total * shape,
        -0.5 * ties * ahead / shape,
        total * ties * (both / shape),
    )


def _falling(lead: Floats) -> tuple[Floats, Floats]:
    """Return ``exp(-|lead|)`` and its square root."""
    root = np.abs(lead)
    np.minimum(root, 1400.0, out=root)
    np.multiply(root, -0.5, out=root)
    exp_into(root, root, np.empty_like(root), np.empty_like(root))
    return root * root, root
