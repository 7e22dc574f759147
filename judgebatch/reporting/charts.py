"""Charts as SVG that takes its colours from the page: light, dark and printed alike.

Vega-Lite draws with placeholder colours, and each is replaced by a variable of the page's style.
Text is measured in a font that vl-convert brings along, so that the bytes do not depend on the
machine's fonts.
"""

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import altair as alt
import vl_convert

WIDTH = 340
"""Of the plot area, in units that are a pixel on a phone and more on a wider screen."""
_INK, _FAINT, _GRID = "#010101", "#020202", "#030303"
SERIES = tuple(f"#0102{at:02x}" for at in range(8))
"""Placeholders of the page's series colours."""
_VARIABLES = {_INK: "--ink", _FAINT: "--faint", _GRID: "--grid"} | {
    colour: f"--series-{at}" for at, colour in enumerate(SERIES)
}
_COLOUR = re.compile(r'(fill|stroke)="(#[0-9a-f]{6})"')
_SIZE = re.compile(r'^<svg [^>]*?width="(\d+)" height="(\d+)"[^>]*>')

_CONFIG: dict[str, Any] = {
    "aria": False,
    "background": None,
    "font": "Liberation Sans",
    "view": {"stroke": None},
    "axis": {
        "labelColor": _INK,
        "titleColor": _INK,
        "domainColor": _FAINT,
        "tickColor": _FAINT,
        "gridColor": _GRID,
        "titleFontWeight": "normal",
        "labelLimit": 110,
    },
    "legend": {
        "labelColor": _INK,
        "titleColor": _INK,
        "orient": "bottom",
        "title": None,
        "columns": 2,
        "labelLimit": 160,
        "symbolType": "square",
    },
}


class Interval(NamedTuple):
    """A point with its interval, of a group of such."""

    group: str
    name: str
    low: float
    middle: float
    high: float


def drawn(chart: Any, name: str, title: str, description: str) -> str:
    """Return a chart as inline SVG with a title and a description.

    Parameters
    ----------
    chart
        An Altair chart.
    name
        Unique in the page.
    title, description
        What a reader who does not see it is told.
    """
    spec = chart.to_dict(validate=False)
    spec["config"] = _CONFIG
    svg = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
    size = _SIZE.match(svg)
    if size is None:
        raise ValueError("vl-convert made no SVG with a size")
    width, height = size.groups()
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} {height}" '
        f'aria-labelledby="{name}-title {name}-about">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-about">{escape(description)}</desc>'
    )
    body = _COLOUR.sub(_by_variable, svg[size.end() :])
    return f'<div class="chart">{head}{body}</div>'


def _by_variable(found: re.Match[str]) -> str:
    variable = _VARIABLES.get(found[2])
    return found[0] if variable is None else f'{found[1]}="var({variable})"'


def _data(rows: Sequence[Mapping[str, Any]]) -> Any:
    return alt.InlineData(values=list(rows))


def stacked(
    rows: Sequence[Mapping[str, Any]], colours: Mapping[str, int], x_title: str, y_title: str
) -> Any:
    """Return bars of ``count`` at ``at``, stacked by ``series``.

    Parameters
    ----------
    rows
        ``at``, ``series`` and ``count``.
    colours
        The number of each series' colour, in the order in which they are stacked.
    """
    places = max(len({row["at"] for row in rows}), 1)
    scale = alt.Scale(domain=list(colours), range=[SERIES[at] for at in colours.values()])
    return (
        alt.Chart(_data(rows))
        .mark_bar(size=min(36, 0.8 * WIDTH / places))
        .encode(
            x=alt.X("at:O", sort=None, axis=alt.Axis(title=x_title, labelAngle=-60)),
            y=alt.Y("count:Q", axis=alt.Axis(title=y_title, tickMinStep=1, format=",d")),
            color=alt.Color("series:N", scale=scale),
            order=alt.Order("rank:Q"),
        )
        .properties(width=WIDTH, height=170)
    )


def intervals(rows: Sequence[Interval], x_title: str, axis_format: str = ".2f") -> Any:
    """Return points with their intervals, one below the other, coloured by group.

    The names of all rows differ.
    """
    groups = list(dict.fromkeys(row.group for row in rows))
    base = alt.Chart(_data([row._asdict() for row in rows])).encode(
        y=alt.Y("name:N", sort=None, axis=alt.Axis(title=None, grid=False)),
        color=alt.Color(
            "group:N",
            scale=alt.Scale(domain=groups, range=list(SERIES[: len(groups)])),
            legend=alt.Legend(columns=1, labelLimit=WIDTH),
        ),
    )
    axis = alt.Axis(title=x_title, format=axis_format, tickCount=5)
    rule = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", axis=axis), x2="high:Q")
    point = base.mark_circle(size=36, opacity=1).encode(x="middle:Q")
    return alt.layer(rule, point).properties(width=WIDTH - 60, height=14 * len(rows))


def paths(
    rows: Sequence[Mapping[str, Any]], names: Sequence[str], accept_at: float, reject_at: float
) -> Any:
    """Return lines of ``llr`` over ``at``, one for each ``test``, between the two boundaries."""
    scale = alt.Scale(domain=list(names), range=list(SERIES[: len(names)]))
    line = (
        alt.Chart(_data(rows))
        .mark_line(point=alt.OverlayMarkDef(size=24))
        .encode(
            x=alt.X("at:O", sort=None, axis=alt.Axis(title="night", labelAngle=-60)),
            y=alt.Y("llr:Q", axis=alt.Axis(title="log likelihood ratio")),
            color=alt.Color("test:N", scale=scale),
        )
    )
    bounds = [{"bound": accept_at}, {"bound": reject_at}]
    rule = alt.Chart(_data(bounds)).mark_rule(color=_FAINT, strokeDash=[4, 3]).encode(y="bound:Q")
    return alt.layer(line, rule).properties(width=WIDTH, height=180)
