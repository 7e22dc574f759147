"""The slower path of fits that damped Newton steps leave unfinished.

First Newton directions with a line search: the objective is strictly concave, so its slope
along a line falls, and the best length lies between one where it is positive and one where it
is negative. Then, for lanes where even that stalls, bisection on the coordinate with the
largest gradient (coordinates.py has that for large groups). Neither needs the objective itself,
whose logarithms would add nothing.

Both only bring parameters near the maximum; ordinary steps follow, and decide whether a fit has
converged. Lanes (or groups of a pool) do not influence each other: each has its own lengths,
and all work through the same number of trials as if alone.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from judgebatch.strengths.codes import Ints
from judgebatch.strengths.elementary import Floats

_NEAR = 1e-6
_MOST_CLIMBS = 200
_MOST_TRIALS = 60
_FLAT = 0.1
_LONGEST = 600.0
_WIDEST = 60.0
_MOST_BISECTIONS = 60
ROUNDS_OF_BISECTION = 4
"""Times the number of parameters: so often is one of them bisected."""


class Climber(Protocol):
    """What the line search needs of a model: L fits with their parameters side by side."""

    parameters: Floats

    def evaluate(self) -> None:
        """Compute gradient and Hessian at the parameters."""

    def direct(self) -> None:
        """Compute the Newton direction from the last evaluation."""

    def reach(self) -> Floats:
        """Return the size of each fit's step."""

    def rise(self) -> Floats:
        """Return the slope of each fit's objective along its step, at the last evaluation."""

    def place(self, base: Floats, length: Floats) -> None:
        """Put each fit ``length`` steps from ``base``; a length of 0 changes no bit."""


def climb(model: Climber) -> None:
    """Take Newton directions with a line search until every fit's step is small.

    A length is accepted where the slope has fallen to a tenth, either way; the longest leads
    no further than differences that still have a logistic function.
    """
    near: npt.NDArray[np.bool_] | None = None
    for _ in range(_MOST_CLIMBS):
        model.evaluate()
        model.direct()
        reach = model.reach()
        near = reach < _NEAR if near is None else near | (reach < _NEAR)
        if near.all():
            return
        start = model.rise()
        base = model.parameters.copy()
        longest = _LONGEST / np.maximum(reach, 1.0)
        low, high = np.zeros_like(reach), np.full_like(reach, np.inf)
        length = np.where(near, 0.0, np.minimum(1.0, longest))
        searching = ~near
        for _ in range(_MOST_TRIALS):
            model.place(base, length)
            model.evaluate()
            slope = model.rise()
            searching &= np.abs(slope) > _FLAT * np.abs(start)
            searching &= (slope < 0.0) | (length < longest)
            if not searching.any():
                break
            uphill = slope > 0.0
            low = np.where(searching & uphill, length, low)
            high = np.where(searching & ~uphill, length, high)
            bounded = np.isfinite(high)
            middle = 0.5 * (low + np.where(bounded, high, 0.0))
            trial = np.where(bounded, middle, np.minimum(2.0 * length, longest))
            length = np.where(searching, trial, length)
        model.place(base, length)


class Bisected(Protocol):
    """A model in lanes: parameters and gradient (n, L)."""

    parameters: Floats
    gradient: Floats

    def evaluate(self) -> None:
        """Compute the gradient at the parameters."""


def bisect(model: Bisected) -> None:
    """Put, again and again, the parameter with the largest gradient where its gradient is zero.

    The gradient of a parameter falls as it rises, whatever the others are.
    """
    lanes = np.arange(model.parameters.shape[1])
    for _ in range(ROUNDS_OF_BISECTION * model.parameters.shape[0]):
        model.evaluate()
        worst = np.abs(model.gradient).argmax(axis=0)

        def gradient(values: Floats, worst: Ints = worst) -> Floats:
            model.parameters[worst, lanes] = values
            model.evaluate()
            return model.gradient[worst, lanes]

        root_of_falling(gradient, model.parameters[worst, lanes])


def root_of_falling(gradient: Callable[[Floats], Floats], near: Floats) -> Floats:
    """Return where falling functions are zero, by bisection around ``near``."""
    low = near - _WIDEST
    high = near + _WIDEST
    for _ in range(_MOST_BISECTIONS):
        middle = 0.5 * (low + high)
        rising = gradient(middle) > 0.0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return middle
