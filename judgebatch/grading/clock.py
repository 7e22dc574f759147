"""The logical time of a run; no stage reads any other clock."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import polars as pl

TIME = pl.Datetime("us", "UTC")


LAST = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
"""The last moment that readers of the tables can hold."""


def later(time: str, microseconds: str) -> pl.Expr:
    """Return ``time`` plus a column of microseconds, but never after the year 9999."""
    moment = pl.col(time) + pl.duration(microseconds=microseconds)
    return (
        pl.when(moment > pl.lit(LAST, dtype=TIME)).then(pl.lit(LAST, dtype=TIME)).otherwise(moment)
    )


@dataclass(frozen=True)
class Clock:
    """When a run stands, and when the one before it stood.

    Parameters
    ----------
    run
        The run's number.
    as_of
        Its logical time, with zone.
    previous
        The logical time of the previous grading run; None for the first.
    """

    run: int
    as_of: datetime
    previous: datetime | None

    def literal(self) -> pl.Expr:
        """Return as_of as a literal."""
        return pl.lit(self.as_of, dtype=TIME)

    def as_of_us(self) -> int:
        """Return as_of in microseconds since 1970."""
        return int(pl.Series([self.as_of], dtype=TIME).dt.epoch("us")[0])

    def effective(self, time: str, tenant_was_known: pl.Expr) -> pl.Expr:
        """Return a row's effective time.

        A row of a tenant that an earlier run knew counts from after that run at the earliest:
        nothing is decided in the past of what was published.
        """
        if self.previous is None:
            return pl.col(time)
        earliest = pl.lit(self.previous + timedelta(microseconds=1), dtype=TIME)
        return pl.when(tenant_was_known).then(pl.max_horizontal(time, earliest)).otherwise(time)

    def stamp(self) -> list[pl.Expr]:
        """Return the columns ``run`` and ``as_of``."""
        return [pl.lit(self.run, dtype=pl.Int64).alias("run"), self.literal().alias("as_of")]
