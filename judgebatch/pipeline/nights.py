"""Which nights a backfill replays: as-of times in order, on a grid."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo

from judgebatch.errors import UsageError

DAY = timedelta(days=1)
MOST = 100_000
"""More nights than this are a mistake."""


def nights_between(
    first: datetime, last: datetime, every: timedelta, zone: tzinfo = UTC
) -> list[datetime]:
    """Return the as-of times from ``first`` up to ``last``, in UTC.

    Parameters
    ----------
    first, last
        With zone. ``last`` is itself a night only where it lies on the grid.
    every
        The time between two nights. Whole days are days of the calendar in ``zone``: three
        o'clock stays three o'clock when the clocks change.
    zone
        Whose calendar.

    Raises
    ------
    UsageError
        The times are the wrong way round, or there would be too many nights.
    """
    if last < first:
        raise UsageError(
            f"the last night, {last:%Y-%m-%dT%H:%M:%S%z}, lies before the first, "
            f"{first:%Y-%m-%dT%H:%M:%S%z}. Exchange --from and --to."
        )
    if every <= timedelta(0):
        raise UsageError("the time between two nights must be longer than zero.")
    if (last - first) / every > MOST:
        raise UsageError(
            f"that is more than {MOST:,} nights. Choose a longer time between two, such as 1d."
        )
    return list(_grid(first, last, every, zone))


def _grid(first: datetime, last: datetime, every: timedelta, zone: tzinfo) -> Iterator[datetime]:
    calendar = every % DAY == timedelta(0)
    local = first.astimezone(zone).replace(tzinfo=None)
    step = 0
    while True:
        moment = first + step * every
        if calendar:
            moment = (local + step * every).replace(tzinfo=zone, fold=first.astimezone(zone).fold)
        moment = moment.astimezone(UTC)
        if moment > last:
            return
        yield moment
        step += 1
