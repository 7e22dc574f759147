"""A group's bits depend on its own counts: not on company, order, batch, threads or the CPU."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from judgebatch.strengths import fit_groups
from judgebatch.strengths import lanes as lanes_module
from judgebatch.strengths import large as large_module
from judgebatch.vocabulary import TieModel
from tests.strengths.independence import comparisons, digest, fits, others
from tests.strengths.made import simulated

ROOT = Path(__file__).parents[2]
SIMD = "AVX2 FMA3 X86_V3 AVX512F AVX512_SKX AVX512_ICL X86_V4"


@pytest.fixture(scope="module")
def everything():
    frame = comparisons()
    return frame, fits(frame)


def same_bits(one, other):
    return digest(one) == digest(other)


def known_features():
    """Return which names of CPU features this NumPy can be told to leave alone."""
    known = []
    for name in SIMD.split():
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", "import numpy"],
            env={**os.environ, "NPY_DISABLE_CPU_FEATURES": name},
            capture_output=True,
            check=False,
        )
        if done.returncode == 0:
            known.append(name)
    return " ".join(known)


def test_any_processor_gives_the_same_bits(everything):
    """SIMD levels of NumPy and of the C library, kernels of BLAS, and threads."""
    plain = "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F,-AVX,-ERMS"
    settings = [
        {"OPENBLAS_CORETYPE": "Haswell", "POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        {"OPENBLAS_CORETYPE": "Nehalem", "POLARS_MAX_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"},
        {"NPY_DISABLE_CPU_FEATURES": known_features(), "GLIBC_TUNABLES": plain},
    ]
    found = [
        subprocess.run(
            [sys.executable, "-m", "tests.strengths.independence"],
            env={**os.environ, **setting},
            cwd=ROOT,
            capture_output=True,
            check=True,
            text=True,
        ).stdout.strip()
        for setting in settings
    ]
    assert set(found) == {digest(everything[1]) + others()}


@pytest.mark.parametrize("seed", [1, 2])
def test_row_order_does_not_matter(everything, seed):
    frame, expected = everything
    assert same_bits(fits(frame.sample(fraction=1.0, shuffle=True, seed=seed)), expected)


def test_who_is_left_does_not_matter(everything):
    frame, expected = everything
    turned = {"left": "right", "right": "left", "tie": "tie"}
    mirrored = frame.select(
        "group",
        pl.col("right").alias("left"),
        pl.col("left").alias("right"),
        pl.col("outcome").replace_strict(turned),
    )
    mixed = pl.concat([frame.gather_every(2), mirrored.gather_every(2, offset=1)])
    assert same_bits(fits(mixed), expected)


def test_alone_and_in_any_batch(everything):
    frame, expected = everything
    groups = frame["group"].unique().sort().to_list()
    for chosen in [[name] for name in groups[::3]] + [groups[::2], groups[5:11]]:
        inside = pl.col("group").is_in(chosen)
        assert same_bits(fits(frame.filter(inside)), expected.filter(inside)), chosen


def test_counts_are_their_rows(everything):
    frame, expected = everything
    counted = frame.group_by("group", "left", "right", "outcome").len("count")
    assert same_bits(fits(counted), expected)


def test_integer_ids_are_fitted_like_strings():
    """Ids that sort alike give the same numbers, dense or far apart."""
    frame = simulated([8, 5, 40], 300)
    texts = fit_groups(simulated([8, 5, 40], 300, strings=True)).strengths
    numbers = ("strength", "strength_se", "wins")
    for ids in (
        frame,
        frame.with_columns((pl.col("left", "right") + 100 * pl.col("group")) * 10**12 - 5),
        frame.with_columns(pl.col("group") * 10**15, pl.col("left", "right") - 2**40),
        frame.with_columns(pl.col("left", "right") * 2**57 - 2**62),
    ):
        assert fit_groups(ids).strengths.select(numbers).equals(texts.select(numbers))


@pytest.mark.parametrize("lanes", [1, 3, 64])
def test_the_size_of_batches_does_not_matter(everything, monkeypatch, lanes):
    frame, expected = everything
    monkeypatch.setattr(lanes_module, "_MOST_LANES", lanes)
    monkeypatch.setattr(lanes_module, "_FEWEST_LANES", 1)
    monkeypatch.setattr(large_module, "_PAIRS_IN_POOL", 500 * lanes)
    assert same_bits(fits(frame), expected)


def test_ten_thousand_groups_and_a_few_of_them():
    frame = simulated([3, 8] * 2500, 20, seed=9)
    expected = fit_groups(frame).strengths
    some = pl.col("group").is_in(np.random.default_rng(1).integers(0, 5000, 40).tolist())
    assert same_bits(fit_groups(frame.filter(some)).strengths, expected.filter(some))


@pytest.mark.parametrize("model", TieModel)
def test_stubborn_groups_are_alone_too(model):
    """The safeguarded path, like the ordinary one."""
    ladders = [
        pl.DataFrame(
            {
                "group": f"{size}-{n}",
                "left": [f"{i:02}" for i in range(size)],
                "right": [f"{i + 1:02}" for i in range(size)],
                "outcome": "left",
                "count": pl.Series([n] * size, dtype=pl.Int64),
            }
        )
        for size, n in ((12, 10**9), (12, 10**12), (15, 10**10), (30, 10**8), (33, 10**7))
    ]
    together = fit_groups(pl.concat(ladders), tie_model=model)
    assert set(together.groups["fit_status"]) == {"converged"}
    for ladder in ladders:
        mine = pl.col("group") == ladder["group"][0]
        alone = fit_groups(ladder, tie_model=model)
        assert same_bits(alone.strengths, together.strengths.filter(mine))
        assert same_bits(alone.groups, together.groups.filter(mine))
