"""Simulated properties of fits and decisions: coverage, ties, error rates. Prints four tables.

python benchmarks/strengths_simulated.py [groups per row, default 4000]
"""

import sys
from itertools import product

import numpy as np
import numpy.typing as npt
import polars as pl

from judgebatch.strengths import SequentialTest, decide, fit_groups, relative_interval

SEED = 20260302


def simulate(
    rng: np.random.Generator, strength: npt.NDArray[np.float64], comparisons: int, nu: float
) -> pl.DataFrame:
    """Return comparisons of groups (rows of ``strength``) under Davidson's model."""
    groups, size = strength.shape
    group = np.repeat(np.arange(groups), comparisons)
    left = rng.integers(0, size, group.size)
    right = (left + rng.integers(1, size, group.size)) % size
    half = 0.5 * (strength[group, left] - strength[group, right])
    win, loss = np.exp(half), np.exp(-half)
    u = rng.random(group.size) * (win + loss + nu)
    outcome = np.where(u < win, 1, np.where(u < win + loss, -1, 0)).astype(np.int8)

    return pl.DataFrame({"group": group, "left": left, "right": right, "outcome": outcome})


def coverage(groups: int) -> None:
    """Print how often intervals of the ordinary fit hold the truth, for strengths ever wider."""
    print("coverage of the 95 % interval (goal 0.94 to 0.99), no ties; errors in standard errors")
    print("strengths ~    |  G | comparisons | all items | the truly best | root mean square error")
    rng = np.random.default_rng(SEED)
    for width, size, comparisons in product((0.5, 1.0, 1.5, 2.0, 3.0), (3, 5, 8), (10, 40, 160)):
        strength = rng.normal(0.0, width, (groups, size))
        fitted = fit_groups(simulate(rng, strength, comparisons, 0.0)).strengths
        fitted = fitted.filter((pl.col("in_component").all() & (pl.len() == size)).over("group"))
        truth = strength[fitted["group"].unique().sort().to_numpy()]
        truth = truth - truth.mean(axis=1, keepdims=True)
        low, high, got, error = (
            fitted[name].to_numpy().reshape(-1, size)
            for name in ("strength_low", "strength_high", "strength", "strength_se")
        )
        inside = (low <= truth) & (truth <= high)
        best = inside[np.arange(truth.shape[0]), truth.argmax(axis=1)]
        scaled = np.sqrt((((got - truth) / error) ** 2).mean())
        print(
            f"Normal(0, {width:.1f}²) | {size:>2} | {comparisons:>11} | {inside.mean():>9.3f} "
            f"| {best.mean():>14.3f} | {scaled:.2f}"
        )


def ties(groups: int) -> None:
    """Print what each tie model makes of data with ever more ties."""
    print("\ntie models, G = 6, 60 comparisons, strengths ~ Normal(0, 1), Davidson's model true")
    print("ties | model    | slope on truth | covers truth | order right | best's interval above 0")
    rng = np.random.default_rng(SEED + 1)
    for nu in (0.0, 0.3, 1.0, 3.0):
        strength = rng.normal(0.0, 1.0, (groups, 6))
        strength -= strength.mean(axis=1, keepdims=True)
        rows = simulate(rng, strength, 60, nu)
        share = (rows["outcome"] == 0).mean()
        for model in ("half_win", "davidson"):
            fitted = fit_groups(rows, tie_model=model).strengths
            whole = fitted.filter((pl.col("in_component").all() & (pl.len() == 6)).over("group"))
            truth = strength[whole["group"].unique().sort().to_numpy()]
            got, low, high = (
                whole[name].to_numpy().reshape(-1, 6)
                for name in ("strength", "strength_low", "strength_high")
            )
            slope = (got * truth).sum() / (truth * truth).sum()
            held = ((low <= truth) & (truth <= high)).mean()
            i, j = np.triu_indices(6, 1)
            agree = ((got[:, i] > got[:, j]) == (truth[:, i] > truth[:, j])).mean()
            best = low[np.arange(truth.shape[0]), truth.argmax(axis=1)] > 0.0
            print(
                f"{share:>4.0%} | {model:<8} | {slope:>14.2f} | {held:>12.3f} | {agree:>11.3f} "
                f"| {best.mean():>8.3f}"
            )


def relative(groups: int) -> None:
    """Print coverage of the relative score's interval."""
    print("\ncoverage of the relative score's 95 % interval, true scores spread over (0.1, 0.9)")
    print("   n | no ties | 30 % ties | 60 % ties")
    rng = np.random.default_rng(SEED + 2)
    for n in (1, 2, 5, 10, 20, 40):
        cells = []
        for tied in (0.0, 0.3, 0.6):
            share = rng.uniform(0.1, 0.9, groups * 5)
            chances = np.stack([share * (1 - tied), np.full(share.size, tied)], axis=1)
            chances = np.column_stack([chances, 1.0 - chances.sum(axis=1)])
            counts = rng.multinomial(n, chances)
            _, low, high = relative_interval(counts[:, 0], counts[:, 1], np.full(share.size, n))
            truth = chances[:, 0] + tied / 2
            cells.append(((low <= truth) & (truth <= high)).mean())
        print(f"{n:>4} | {cells[0]:>7.3f} | {cells[1]:>9.3f} | {cells[2]:>9.3f}")


def error_rates(tests: int) -> None:
    """Print how often sequential tests err, and how long they take."""
    print("\nsequential test, p0 = 0.5, p1 = 0.6, alpha = beta = 0.05, 20 % ties")
    print("true p | accepted | rejected | undecided | comparisons (median) | e-value >= 20 ever")
    rng = np.random.default_rng(SEED + 3)
    length = 1500
    for truth in (0.5, 0.55, 0.6):
        tied = rng.random((tests, length)) < 0.2
        won = rng.random((tests, length)) < truth
        outcome = np.where(tied, 2, np.where(won, 0, 1)).ravel()
        rows = pl.DataFrame(
            {
                "variant": np.repeat(np.arange(tests), length),
                "outcome": pl.Series(["left", "right", "tie"]).gather(outcome),
                "verdict_id": np.tile(np.arange(length), tests),
            }
        ).with_columns(
            pl.col("variant").cast(pl.String),
            pl.col("verdict_id").cast(pl.String).str.zfill(5),
            tenant_id=pl.lit("t"),
            task_id=pl.lit(None, pl.String),
            baseline=pl.lit("old"),
            judged_at=pl.datetime(2026, 1, 1, time_zone="UTC"),
        )
        sums = decide(rows, SequentialTest()).sums
        shares = [(sums["decision"] == name).mean() for name in ("accept", "reject", "continue")]
        crossed = sums["e_value_crossed_after"].is_not_null().mean()
        print(
            f"{truth:>6} | {shares[0]:>8.3f} | {shares[1]:>8.3f} | {shares[2]:>9.3f} "
            f"| {sums['decided_after'].median():>20.0f} | {crossed:>8.3f}"
        )


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    coverage(size)
    ties(size)
    relative(size)
    error_rates(min(size, 2000))
