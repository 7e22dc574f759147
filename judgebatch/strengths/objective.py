"""The numbers of the Bradley-Terry objective that every solver shares."""

PSEUDO_COUNT = 0.5
"""lambda: a fitted component of G items gets ``lambda (G - 1)`` pseudo-comparisons."""

RIDGE = 1e-4
"""rho: the precision of the normal prior on each strength; it only conditions."""

TOLERANCE = 1e-10
"""A fit has converged when the range of its Newton step is below this."""

MOST_STEPS = 50
"""Damped Newton steps before a fit goes to the safeguarded path."""

SETTLED = 1e-13
"""A step below this leaves the Hessian what it was, to the accuracy of the results."""

CAREFUL_ABOVE = 1 << 10
"""Counts of a cell above this have the gradient summed with compensation."""
