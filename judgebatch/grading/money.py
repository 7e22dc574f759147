"""Money: integer nano-dollars inside, Float64 USD where it is published."""

import polars as pl

NANO = 1_000_000_000


def usd(column: str = "cost_nano_usd") -> pl.Expr:
    """Return nano-dollars as Float64 USD, correctly rounded.

    The divisor is a column: by a scalar Polars multiplies with its rounded reciprocal, and
    0.3 would come out as 0.30000000000000004.
    """
    nano = pl.col(column)
    return nano.cast(pl.Float64) / (nano * 0 + NANO).cast(pl.Float64)
