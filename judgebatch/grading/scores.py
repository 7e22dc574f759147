"""Scores of decided units: fitted strengths in tournaments, the win rate against a reference.

Every decided and admitted unit gets one of two answers for each of its episodes: a score, or
``no_usable_comparison``. Nothing here knows a neutral number.
"""

from typing import NamedTuple

import numpy as np
import polars as pl

from judgebatch.grading.counts import MEMBER, usable_only
from judgebatch.strengths import expit, fit_groups, relative_interval
from judgebatch.vocabulary import FitStatus, TieModel

LEVEL = 0.95

SCORE_SCHEMA = {
    "unit": pl.Int64,
    "member": pl.Int64,
    "score": pl.Float64,
    "score_low": pl.Float64,
    "score_high": pl.Float64,
}


NONE_FAILED = pl.DataFrame(schema={"unit": pl.Int64})


class Fitted(NamedTuple):
    """Tournament units after the fit."""

    units: pl.DataFrame
    """``unit, comparable_size, fit_status, iterations, gradient_norm, tie_parameter``.

    The fit's columns are null where the largest component was too small to be fitted.
    """
    strengths: pl.DataFrame
    """``unit, member`` and the strengths' columns, of fitted members only."""
    failed: pl.DataFrame
    """``unit`` of groups whose fit did not converge."""


def fit(units: pl.DataFrame, counted: pl.DataFrame, tie_model: TieModel) -> Fitted:
    """Fit the decided tournament units.

    Parameters
    ----------
    units
        ``unit, min_group_size`` of decided tournament units.
    counted
        Comparisons that count in them: ``unit, left_member, right_member, outcome``.
    tie_model
        How ties enter.
    """
    comparisons = usable_only(counted).join(units.select("unit"), on="unit", how="semi")
    fitted = fit_groups(
        comparisons.select(
            pl.col("unit").alias("group"),
            pl.col("left_member").alias("left"),
            pl.col("right_member").alias("right"),
            "outcome",
        ),
        tie_model=tie_model.value,
        level=LEVEL,
    )
    groups = fitted.groups.select(
        pl.col("group").alias("unit"),
        "comparable_size",
        "fit_status",
        "iterations",
        "gradient_norm",
        "tie_parameter",
    )
    units = units.join(groups, on="unit", how="left", maintain_order="left").with_columns(
        # Without a usable comparison each member is a component of its own.
        pl.col("comparable_size").fill_null(1)
    )
    comparable = pl.col("comparable_size") >= pl.col("min_group_size")
    converged = pl.col("fit_status") == FitStatus.CONVERGED.value
    failed = units.filter(comparable & ~converged).select("unit")
    units = units.with_columns(
        pl.when(comparable).then(name).alias(name)
        for name in ("fit_status", "iterations", "gradient_norm", "tie_parameter")
    )
    strengths = (
        fitted.strengths.filter(pl.col("in_component"))
        .rename({"group": "unit", "item": "member"})
        .join(units.filter(comparable & converged).select("unit"), on="unit", how="semi")
    )
    return Fitted(units.drop("min_group_size"), strengths, failed)


def tournament_scores(strengths: pl.DataFrame) -> pl.DataFrame:
    """Return each fitted member's chance to beat an average member, with its interval."""
    return strengths.select(
        *MEMBER,
        *(
            pl.Series(score, expit(strengths[name].to_numpy()), dtype=pl.Float64)
            for score, name in (
                ("score", "strength"),
                ("score_low", "strength_low"),
                ("score_high", "strength_high"),
            )
        ),
    )


def relative_scores(tallies: pl.DataFrame) -> pl.DataFrame:
    """Return (wins + ties/2) / usable against the reference, with its tie-corrected interval.

    Parameters
    ----------
    tallies
        Counts of episodes in reference mode; those without a usable comparison are left out.
    """
    tallies = tallies.filter(pl.col("wins") + pl.col("losses") + pl.col("ties") > 0)
    if tallies.is_empty():
        return pl.DataFrame(schema=SCORE_SCHEMA)
    wins, losses, ties = (
        tallies[name].to_numpy().astype(np.int64) for name in ("wins", "losses", "ties")
    )
    score, low, high = relative_interval(wins, ties, wins + losses + ties, level=LEVEL)
    return tallies.select(
        *MEMBER,
        pl.Series("score", score, dtype=pl.Float64),
        pl.Series("score_low", low, dtype=pl.Float64),
        pl.Series("score_high", high, dtype=pl.Float64),
    )
