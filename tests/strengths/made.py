"""Comparisons and exact fits for the tests of strengths."""

from collections.abc import Iterable
from typing import Any

import mpmath
import numpy as np
import polars as pl

RIDGE = mpmath.mpf("1e-4")


def simulated(
    sizes: list[int],
    comparisons: int,
    *,
    ties: float = 0.1,
    spread: float = 1.0,
    seed: int = 0,
    strings: bool = False,
) -> pl.DataFrame:
    """Return groups 0, 1, … of the given sizes, each with so many comparisons."""
    rng = np.random.default_rng(seed)
    parts = []
    for group, size in enumerate(sizes):
        strength = rng.normal(0.0, spread, size)
        left = rng.integers(0, size, comparisons)
        right = (left + rng.integers(1, size, comparisons)) % size
        won = rng.random(comparisons) < 1.0 / (1.0 + np.exp(strength[right] - strength[left]))
        tied = rng.random(comparisons) < ties
        outcome = np.where(tied, 0, np.where(won, 1, -1))
        parts.append(np.stack([np.full(comparisons, group), left, right, outcome]))
    group, left, right, outcome = np.concatenate(parts, axis=1)
    frame = pl.DataFrame(
        {"group": group, "left": left, "right": right, "outcome": outcome.astype(np.int8)}
    )
    if not strings:
        return frame
    names = {1: "left", -1: "right", 0: "tie"}
    return frame.with_columns(
        pl.format("g{}", pl.col("group").cast(pl.String).str.zfill(6)).alias("group"),
        pl.format("e{}", pl.col("left").cast(pl.String).str.zfill(6)).alias("left"),
        pl.format("e{}", pl.col("right").cast(pl.String).str.zfill(6)).alias("right"),
        pl.col("outcome").replace_strict(names, return_dtype=pl.String),
    )


def counted(rows: list[tuple[Any, ...]], group: str = "g") -> pl.DataFrame:
    """Return (left, right, outcome, count) rows of one group as comparisons."""
    schema = {"left": pl.String, "right": pl.String, "outcome": pl.String, "count": pl.Int64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return frame.select(pl.lit(group).alias("group"), pl.all())


def pair_counts(frame: pl.DataFrame, size: int) -> dict[tuple[int, int], list[int]]:
    """Return {(i, j): [wins of i, wins of j, ties]}, i < j, of one group with integer items."""
    found: dict[tuple[int, int], list[int]] = {}
    count = frame["count"] if "count" in frame.columns else [1] * frame.height
    for left, right, outcome, n in zip(
        frame["left"], frame["right"], frame["outcome"], count, strict=True
    ):
        assert 0 <= min(left, right) < max(left, right) < size
        cell = found.setdefault((min(left, right), max(left, right)), [0, 0, 0])
        slot = 2 if outcome == 0 else int((outcome == 1) != (left < right))
        cell[slot] += n
    return found


def exact_half_win(
    pairs: dict[tuple[int, int], list[int]],
    size: int,
    start: Iterable[float] | None = None,
    digits: int = 60,
) -> tuple[list[Any], list[Any]]:
    """Return strengths and standard errors by Newton's method with so many digits.

    The maximum is unique, so a good ``start`` changes nothing but the time.
    """
    with mpmath.workdps(digits):
        met = sum(sum(cell) for cell in pairs.values())
        pseudo = mpmath.mpf("0.5") * (size - 1) / met
        wins = {
            pair: (a + mpmath.mpf(t) / 2 + pseudo * (a + b + t) / 2,
                   b + mpmath.mpf(t) / 2 + pseudo * (a + b + t) / 2)
            for pair, (a, b, t) in pairs.items()
        }  # fmt: skip
        theta = mpmath.matrix(list(start) if start is not None else [0] * size)
        while True:
            gradient, hessian = -RIDGE * theta, RIDGE * mpmath.eye(size)
            for (i, j), (a, b) in wins.items():
                p = 1 / (1 + mpmath.exp(theta[j] - theta[i]))
                flow, h = a * (1 - p) - b * p, (a + b) * p * (1 - p)
                gradient[i] += flow
                gradient[j] -= flow
                for k, m, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
                    hessian[k, m] += sign * h
            step = mpmath.lu_solve(hessian, gradient)
            reach = max(step) - min(step)
            theta += step if reach <= 1 else step * 2 / (1 + reach)
            if reach < mpmath.mpf(10) ** (20 - digits):
                break
        centring = mpmath.eye(size) - mpmath.ones(size) / size
        covariance = centring * hessian**-1 * centring
        mean = sum(theta) / size
        return (
            [theta[i] - mean for i in range(size)],
            [mpmath.sqrt(covariance[i, i]) for i in range(size)],
        )
