"""Rates as SQL: each with its denominator, null over nothing, and with an interval.

DuckDB adds up in whatever order its threads read: amounts are summed as integers, and what cannot
be is added in a named order, so that equal rows give equal rates.
"""

_NANO = 1_000_000_000
_NANOSECONDS = 1_000_000
"""Of a millisecond."""
_LONGEST_MS = "1e24"
"""A latency beyond it counts as this: sums of 10^8 episodes stay in 128 bits."""

_Z = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""
_Z2 = _Z * _Z


def rate(part: str, whole: str) -> str:
    """Return ``part`` over ``whole`` as SQL; null over nothing."""
    return f"CAST({part} AS DOUBLE) / nullif({whole}, 0)"


def total_usd(column: str) -> str:
    """Return the sum of a column of USD as SQL: in nano-dollars, and divided once."""
    return f"CAST(sum(CAST(round({column} * {_NANO}) AS HUGEINT)) AS DOUBLE) / {_NANO}"


def mean_usd(column: str) -> str:
    """Return the mean of a column of USD as SQL; null over nothing."""
    return _mean(f"{column} * {_NANO}", column, _NANO)


def mean_ms(column: str) -> str:
    """Return the mean of a column of milliseconds as SQL, of each to the nanosecond."""
    return _mean(f"least({column}, {_LONGEST_MS}) * {_NANOSECONDS}", column, _NANOSECONDS)


def _mean(scaled: str, column: str, scale: int) -> str:
    total = f"CAST(sum(CAST(round({scaled}) AS HUGEINT)) AS DOUBLE)"
    return f"{total} / nullif(count({column}) * {scale}, 0)"


def score(wins: str, ties: str, losses: str, name: str) -> str:
    """Return ``name``, ``name_low`` and ``name_high`` as SQL: a share in which a tie is half.

    The ends are those of the tie-corrected Wilson interval at 95 %, as for relative scores; all
    three are null over nothing.
    """
    won, tied, lost = (f"CAST({one} AS DOUBLE)" for one in (wins, ties, losses))
    count = f"nullif({won} + {tied} + {lost}, 0)"
    root = (
        f"{_Z} * sqrt((4 * {won} * {lost} + {tied} * ({won} + {lost})) / (4 * {count}) + {_Z2 / 4})"
    )
    shrunk = f"{_Z2} * {tied} / (4 * ({count} + {_Z2}))"

    def below(points: str) -> str:
        return f"({points} * {points} / {count} + {shrunk}) / ({points} + {_Z2 / 2} + {root})"

    points, lost_points = f"({won} + {tied} / 2)", f"({lost} + {tied} / 2)"
    return (
        f"{points} / {count} AS {name},\n    {below(points)} AS {name}_low,\n"
        f"    1 - {below(lost_points)} AS {name}_high"
    )


def share(part: str, whole: str, name: str) -> str:
    """Return ``name``, ``name_low`` and ``name_high`` as SQL: a share with its Wilson interval."""
    return score(part, "0", f"({whole} - {part})", name)


def alpha(units: str, values: tuple[str, ...], weight: str, by: str) -> str:
    """Return Krippendorff's alpha for nominal answers as a query.

    Parameters
    ----------
    units
        A relation: for each unit (or kind of unit) how many raters gave each value.
    values
        Its columns of counts.
    weight
        Its column with how often the unit occurs.
    by
        The columns that alpha is reported by.

    Notes
    -----
    ``1 - D_o / D_e`` with ``D_o = sum_u (m_u^2 - sum_c n_uc^2) / (m_u - 1)`` and
    ``D_e = (n^2 - sum_c n_c^2) / (n - 1)`` (Krippendorff 2011); null where every answer is the
    same, for then nothing could disagree.
    """
    raters = f"({' + '.join(values)})"
    squares = " + ".join(f"{one} * {one}" for one in values)
    totals = {f"of_{one}": one for one in values}
    sums = ",\n        ".join(f"sum({weight} * {one}) AS {name}" for name, one in totals.items())
    count = "CAST(sum(of_all) AS DOUBLE)"
    total_squares = " + ".join(f"CAST(sum({name}) AS DOUBLE) * sum({name})" for name in totals)
    # Whole numbers until here, and for each number of raters one fraction.
    observed = "list_sum(list(CAST(disagreed AS DOUBLE) / (raters - 1) ORDER BY raters))"
    expected = f"({count} * {count} - ({total_squares})) / ({count} - 1)"
    return f"""
SELECT
    {by},
    CAST(sum(unit_count) AS BIGINT) AS units,
    CAST(sum(of_all) AS BIGINT) AS answers,
    1 - {observed} / nullif({expected}, 0) AS krippendorff_alpha
FROM (
    SELECT
        {by},
        {raters} AS raters,
        sum({weight}) AS unit_count,
        sum({weight} * {raters}) AS of_all,
        {sums},
        sum({weight} * ({raters} * {raters} - ({squares}))) AS disagreed
    FROM {units}
    WHERE {raters} > 1
    GROUP BY {by}, {raters}
)
GROUP BY {by}
"""
