"""Rates as SQL: each with its denominator, null over nothing, and with an interval."""

_Z = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""
_Z2 = _Z * _Z


def rate(part: str, whole: str) -> str:
    """Return ``part`` over ``whole`` as SQL; null over nothing."""
    return f"CAST({part} AS DOUBLE) / nullif({whole}, 0)"


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
    raters = " + ".join(values)
    squares = " + ".join(f"{one} * {one}" for one in values)
    totals = [f"sum({weight} * {one})" for one in values]
    count = f"CAST(sum({weight} * ({raters})) AS DOUBLE)"
    total_squares = " + ".join(f"CAST({one} AS DOUBLE) * {one}" for one in totals)
    observed = (
        f"sum({weight} * CAST(({raters}) * ({raters}) - ({squares}) AS DOUBLE) / ({raters} - 1))"
    )
    expected = f"({count} * {count} - ({total_squares})) / ({count} - 1)"
    return f"""
SELECT
    {by},
    CAST(sum({weight}) AS BIGINT) AS units,
    CAST(sum({weight} * ({raters})) AS BIGINT) AS answers,
    1 - {observed} / nullif({expected}, 0) AS krippendorff_alpha
FROM {units}
WHERE {raters} > 1
GROUP BY {by}
"""
