"""Which decided units a tenant's ceiling admits, and what is spent.

Units are considered in the order of their decision; admission is a prefix of it in each budget
period. All money is integer nano-dollars.
"""

from typing import NamedTuple

import polars as pl

from judgebatch.contracts.state import Refusals, Spend
from judgebatch.contracts.table import conform
from judgebatch.vocabulary import BudgetPeriod

AT_ONCE = ["task_id", "verifier_outcome", "group_epoch", "episode_id"]
"""The order of units that are decided at the same instant."""
PERIOD = ["tenant_id", "period"]
MOST = 2**63 - 1
PART = 2**40
"""More units than any part has."""


class Admitted(NamedTuple):
    """What the ceiling lets through."""

    units: pl.DataFrame
    """The units with ``period`` and ``admitted``."""
    spend: pl.DataFrame
    """Spend after the run."""
    refusals: pl.DataFrame
    """Refusals after the run."""


def period_of(time: pl.Expr, kind: pl.Expr) -> pl.Expr:
    """Return the name of the budget period in which ``time`` lies (UTC, half-open)."""
    return (
        pl.when(kind == BudgetPeriod.DAY.value)
        .then(time.dt.strftime("%Y-%m-%d"))
        .when(kind == BudgetPeriod.MONTH.value)
        .then(time.dt.strftime("%Y-%m"))
        .otherwise(pl.lit(BudgetPeriod.ALL.value))
    )


def _spent(spend: pl.DataFrame, tenants: pl.DataFrame) -> pl.DataFrame:
    """Return what earlier runs admitted in each period that the tenants' settings name."""
    return (
        spend.join(tenants.select("tenant_id", "budget_period"), on="tenant_id", how="inner")
        .with_columns(period=period_of(pl.col("day"), pl.col("budget_period")))
        .group_by(PERIOD)
        .agg(pl.col("cost_nano_usd").cast(pl.Int128).sum().alias("spent"))
    )


def admit(
    units: pl.DataFrame, tenants: pl.DataFrame, spend: pl.DataFrame, refusals: pl.DataFrame
) -> Admitted:
    """Admit decided units.

    Parameters
    ----------
    units
        ``tenant_id``, ``decided_at``, ``place`` (in the order of AT_ONCE, none first, among those
        decided at the same instant) and ``cost_nano_usd`` (Int128): the sum over the comparisons
        that count.
    tenants
        ``tenant_id, ceiling_nano_usd`` (null: none) and ``budget_period``, in force now.
    spend, refusals
        What earlier runs left.
    """
    units = (
        units.join(
            tenants.select("tenant_id", "ceiling_nano_usd", "budget_period"),
            on="tenant_id",
            how="left",
            maintain_order="left",
        )
        .with_columns(period=period_of(pl.col("decided_at"), pl.col("budget_period")))
        .sort("tenant_id", "decided_at", "place")
        .join(_spent(spend, tenants), on=PERIOD, how="left", maintain_order="left")
        .join(
            refusals.rename({"ceiling_nano_usd": "refused_under"}),
            on=PERIOD,
            how="left",
            maintain_order="left",
        )
    )
    ceiling = pl.col("ceiling_nano_usd")
    reopened = pl.col("refused_under").is_null() | (ceiling > pl.col("refused_under"))
    total = pl.col("spent").fill_null(0) + pl.col("cost_nano_usd").cum_sum().over(PERIOD)
    units = units.with_columns(
        admitted=ceiling.is_null() | ((ceiling > 0) & reopened & (total <= ceiling))
    )
    return Admitted(
        units.drop("spent", "refused_under", "budget_period", "ceiling_nano_usd"),
        _spend_after(units, spend),
        _refusals_after(units, refusals),
    )


def reckoned(units: pl.DataFrame, tenants: pl.DataFrame, part: int) -> pl.DataFrame:
    """Return what :func:`admit` needs of one part of the units of some tenants.

    Where there is no ceiling, all are admitted, and their cost of each day is enough.

    Parameters
    ----------
    units
        Units of the part, as for :func:`admit`.
    tenants
        ``tenant_id, ceiling_nano_usd``.
    part
        The part's place in the order of tasks.
    """
    units = units.select("tenant_id", "decided_at", "place", "cost_nano_usd").join(
        tenants.select("tenant_id", "ceiling_nano_usd"), on="tenant_id", how="left"
    )
    limited = pl.col("ceiling_nano_usd").is_not_null()
    columns = ["tenant_id", "decided_at", "place", "cost_nano_usd"]
    daily = (
        units.filter(~limited)
        .group_by("tenant_id", pl.col("decided_at").dt.truncate("1d"))
        .agg(pl.col("cost_nano_usd").sum())
        .with_columns(place=pl.lit(-1, dtype=pl.Int64))
    )
    return pl.concat(
        [
            units.filter(limited).select(columns).with_columns(pl.col("place") + part * PART),
            daily.select(columns),
        ]
    )


def admitted_in(
    units: pl.DataFrame, tenants: pl.DataFrame, decided: pl.DataFrame, part: int
) -> pl.DataFrame:
    """Return the units of one part with ``period`` and ``admitted``.

    Parameters
    ----------
    units, tenants, part
        As for :func:`reckoned`; ``tenants`` also with ``budget_period``.
    decided
        ``place, admitted`` of :func:`admit` over all parts.
    """
    return (
        units.join(
            tenants.select("tenant_id", "ceiling_nano_usd", "budget_period"),
            on="tenant_id",
            how="left",
            maintain_order="left",
        )
        .join(
            decided.select(pl.col("place") - part * PART, "admitted"),
            on="place",
            how="left",
            maintain_order="left",
        )
        .with_columns(
            period=period_of(pl.col("decided_at"), pl.col("budget_period")),
            admitted=pl.col("ceiling_nano_usd").is_null() | pl.col("admitted"),
        )
        .drop("ceiling_nano_usd", "budget_period")
    )


def _spend_after(units: pl.DataFrame, spend: pl.DataFrame) -> pl.DataFrame:
    new = units.filter("admitted").select(
        "tenant_id", pl.col("decided_at").dt.date().alias("day"), "cost_nano_usd"
    )
    both = pl.concat([spend.with_columns(pl.col("cost_nano_usd").cast(pl.Int128)), new])
    spent = both.group_by("tenant_id", "day").agg(
        # What 64 bits cannot hold is above every ceiling that they can.
        pl.col("cost_nano_usd").sum().clip(upper_bound=MOST).cast(pl.Int64)
    )
    return conform(spent, Spend).sort("tenant_id", "day")


def _refusals_after(units: pl.DataFrame, refusals: pl.DataFrame) -> pl.DataFrame:
    """Return the refusals with the highest ceiling each period met."""
    new = units.filter(~pl.col("admitted")).select(*PERIOD, "ceiling_nano_usd")
    return conform(
        pl.concat([refusals.select(new.columns), new])
        .group_by(PERIOD)
        .agg(pl.col("ceiling_nano_usd").max()),
        Refusals,
    ).sort(PERIOD)


def standing(
    tenants: pl.DataFrame,
    units: pl.DataFrame,
    spend: pl.DataFrame,
    refusals: pl.DataFrame,
    as_of: pl.Expr,
) -> pl.DataFrame:
    """Return where each tenant's present period stands, and each period that the run decided in.

    Parameters
    ----------
    tenants
        ``tenant_id, ceiling_nano_usd`` and ``budget_period``, of the tenants wanted.
    units
        Decided units, with ``tenant_id`` and ``period``.
    spend, refusals
        After the run.

    Returns
    -------
    pl.DataFrame
        ``tenant_id, period, ceiling_nano_usd, spent_nano_usd, refused``, sorted.
    """
    present = tenants.select("tenant_id", period=period_of(as_of, pl.col("budget_period")))
    spent = _spent(spend, tenants)
    return (
        pl.concat([present, units.select(PERIOD)])
        .unique()
        .join(tenants.select("tenant_id", "ceiling_nano_usd"), on="tenant_id", how="inner")
        .join(spent, on=PERIOD, how="left")
        .join(refusals.select(*PERIOD, refused=pl.lit(True)), on=PERIOD, how="left")
        .with_columns(
            pl.col("spent").fill_null(0).clip(upper_bound=MOST).cast(pl.Int64),
            pl.col("refused").fill_null(value=False),
        )
        .rename({"spent": "spent_nano_usd"})
        .sort(PERIOD)
    )


def is_refused(tenants: pl.DataFrame, refusals: pl.DataFrame, as_of: pl.Expr) -> pl.DataFrame:
    """Return ``tenant_id`` of tenants whose ceiling is 0 or whose present period is refused."""
    return (
        tenants.with_columns(period=period_of(as_of, pl.col("budget_period")))
        .join(
            refusals.rename({"ceiling_nano_usd": "refused_under"}),
            on=PERIOD,
            how="left",
        )
        .filter(
            (pl.col("ceiling_nano_usd") == 0)
            | (pl.col("ceiling_nano_usd") <= pl.col("refused_under"))
        )
        .select("tenant_id")
    )
