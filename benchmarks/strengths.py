"""Fits beside evalica, choix and SciPy's L-BFGS; prints one table, ratios from this very run.

    python benchmarks/strengths.py            # everything, a few minutes
    python benchmarks/strengths.py 3 8 50     # some sizes only

Processor time of one process counts, so that other work on the machine matters little; the best
of several rounds, with the competitors taking turns inside each round. evalica and choix fit
group by group and give no intervals; choix gets no ties, as its models know none; L-BFGS gets
the counts ready made, so its column compares with our time less that of counting.
"""

import os

os.environ.setdefault("POLARS_MAX_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable

import choix
import evalica
import numpy as np
import polars as pl
from scipy.optimize import minimize
from scipy.special import expit as scipy_expit

from judgebatch.strengths import fit_groups
from judgebatch.strengths.counts import count_comparisons

SEED = 20260301
# size: comparisons per group, groups, groups of which the peers get so many
CASES = {
    3: (15, 100_000, 1_000),
    8: (40, 100_000, 1_000),
    20: (200, 10_000, 300),
    50: (1_000, 400, 100),
    2_000: (1_000_000, 1, 1),
    20_000: (5_000_000, 1, 0),
}
# size: the peer, and how many times longer it must take for the same groups
GOALS = {3: ("evalica", 50), 8: ("evalica", 25), 2_000: ("evalica", 1), 20_000: ("L-BFGS", 1 / 0.6)}
MOST_MEMORY = {20_000: 1.2}
WINNERS = {1: evalica.Winner.X, -1: evalica.Winner.Y, 0: evalica.Winner.Draw}


def comparisons(size: int, per_group: int, groups: int) -> pl.DataFrame:
    """Return random comparisons of groups of one size, with 10 % ties and integer codes."""
    rng = np.random.default_rng(SEED + size)
    n = per_group * groups
    group = np.repeat(np.arange(groups, dtype=np.int32), per_group)
    left = rng.integers(0, size, n, dtype=np.int32)
    right = (left + rng.integers(1, size, n, dtype=np.int32)) % size
    strength = rng.normal(0.0, 1.0, (groups, size))
    chance = scipy_expit(strength[group, left] - strength[group, right])
    outcome = np.where(rng.random(n) < 0.1, 0, np.where(rng.random(n) < chance, 1, -1))
    return pl.DataFrame(
        {"group": group, "left": left, "right": right, "outcome": outcome.astype(np.int8)}
    )


def with_evalica(frame: pl.DataFrame, groups: int) -> Callable[[], None]:
    """Return a call that fits some groups one by one from lists made beforehand."""
    made = []
    for part in frame.filter(pl.col("group") < groups).partition_by("group", maintain_order=True):
        winners = [WINNERS[outcome] for outcome in part["outcome"]]
        made.append((part["left"].to_list(), part["right"].to_list(), winners))

    def fit() -> None:
        for left, right, winners in made:
            evalica.bradley_terry(left, right, winners)

    return fit


def with_choix(frame: pl.DataFrame, groups: int, size: int) -> Callable[[], None]:
    """Return a call that fits some groups one by one, regularised so that a fit exists."""
    decisive = frame.filter((pl.col("group") < groups) & (pl.col("outcome") != 0))
    won = pl.col("outcome") == 1
    ordered = decisive.select(
        "group",
        winner=pl.when(won).then("left").otherwise("right"),
        loser=pl.when(won).then("right").otherwise("left"),
    )
    made = [
        list(zip(part["winner"], part["loser"], strict=True))
        for part in ordered.partition_by("group", maintain_order=True)
    ]

    def fit() -> None:
        for pairs in made:
            choix.ilsr_pairwise(size, pairs, alpha=0.01)

    return fit


def with_lbfgs(frame: pl.DataFrame, groups: int, size: int) -> Callable[[], None]:
    """Return a call that maximises our objective over the counts of each pair."""
    made = []
    for part in frame.filter(pl.col("group") < groups).partition_by("group", maintain_order=True):
        left, right = part["left"].to_numpy(), part["right"].to_numpy()
        low, high = np.minimum(left, right).astype(np.int64), np.maximum(left, right)
        pairs, where = np.unique(low * size + high, return_inverse=True)
        outcome = part["outcome"].to_numpy()
        points = np.where(outcome == 0, 0.5, (outcome == 1) == (left < right))
        wins, met = np.bincount(where, points), np.bincount(where).astype(np.float64)
        pseudo = 0.5 * (size - 1) / part.height
        low, high = np.divmod(pairs, size)
        made.append((low, high, wins + 0.5 * pseudo * met, met - wins + 0.5 * pseudo * met))

    def fit() -> None:
        for low, high, low_wins, high_wins in made:

            def loss(x, low=low, high=high, a=low_wins, b=high_wins):
                lead = x[low] - x[high]
                value = (a * np.logaddexp(0, -lead) + b * np.logaddexp(0, lead)).sum()
                flow = a * scipy_expit(-lead) - b * scipy_expit(lead)
                slope = np.bincount(high, flow, size) - np.bincount(low, flow, size)
                return value + 0.5e-4 * (x @ x), slope + 1e-4 * x

            minimize(loss, np.zeros(size), jac=True, method="L-BFGS-B")

    return fit


def best_times(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return each call's best processor time; the calls take turns."""
    found = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            begin = time.process_time()
            call()
            found[name] = min(found[name], time.process_time() - begin)
    return found


def measure(size: int) -> None:
    """Print one size's row."""
    per_group, groups, for_peers = CASES[size]
    frame = comparisons(size, per_group, groups)
    # A process without other work in it is what the memory goal means: measure ours first.
    fit_groups(frame)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    calls: dict[str, Callable[[], object]] = {
        "judgebatch": lambda: fit_groups(frame),
        "counting": lambda: count_comparisons(frame),
    }
    shares = {"judgebatch": groups, "counting": groups}
    peers = max(for_peers, 1)
    if for_peers:
        calls["evalica"] = with_evalica(frame, peers)
    if size <= 50:
        calls["choix"] = with_choix(frame, peers, size)
    calls["L-BFGS"] = with_lbfgs(frame, peers, size)
    times = best_times(calls, rounds=3)
    per_fit = {name: t / shares.get(name, peers) for name, t in times.items()}
    ours = per_fit["judgebatch"]
    times_ours = {
        name: per_fit[name] / (ours - per_fit["counting"] if name == "L-BFGS" else ours)
        for name in ("evalica", "choix", "L-BFGS")
        if name in per_fit
    }
    cells = [f"{size:>6}", f"{groups:>7}", f"{1.0 / ours:>12,.1f}"]
    cells += [
        f"{times_ours[name]:>8.1f} x" if name in times_ours else f"{'-':>10}"
        for name in ("evalica", "choix", "L-BFGS")
    ]
    print(" | ".join([*cells, f"{memory:>5.2f}", goal(size, times_ours, memory)]), flush=True)


def goal(size: int, times_ours: dict[str, float], memory: float) -> str:
    """Return what is asked of this size, and whether it is reached."""
    if size not in GOALS:
        return ""
    peer, least = GOALS[size]
    asked, met = f"{peer} >= {least:.3g} x", times_ours[peer] >= least
    if size in MOST_MEMORY:
        asked += f", <= {MOST_MEMORY[size]} GB"
        met &= memory <= MOST_MEMORY[size]
    return f"{asked}: {'met' if met else 'missed'}"


def main() -> None:
    """Print the table, each size in a process of its own so that memory is its own."""
    sizes = [int(text) for text in sys.argv[1:]] or list(CASES)
    if len(sizes) == 1:
        warnings.simplefilter("ignore")
        measure(sizes[0])
        return
    print("   G  |  groups |   ours fit/s | evalica    | choix      | L-BFGS     |   GB | goal")
    for size in sizes:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        subprocess.run([sys.executable, __file__, str(size)], env=environment, check=True)
    print("x: how many times longer they take for the same groups, intervals included in ours")


if __name__ == "__main__":
    main()
