"""Tables of a report as HTML: made by great-tables, styled by the page."""

import re
from collections.abc import Sequence
from html import escape

import polars as pl
from great_tables import GT

_STYLE = re.compile(r"<style>.*?</style>\s*", re.DOTALL)


def table(
    name: str,
    caption: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    texts: Sequence[str] = (),
    total: int | None = None,
    what: str = "rows",
) -> str:
    """Return a table.

    Parameters
    ----------
    name
        Unique in the page.
    caption
        What it shows.
    columns
        Their titles.
    rows
        Cells as text; they are escaped here.
    texts
        Titles of columns of words; the others are aligned as numbers, the first as words.
    total
        How many rows there are, where only the first ones are shown.
    what
        What a row is, in the plural.
    """
    keys = [f"c{at}" for at in range(len(columns))]
    frame = pl.DataFrame(
        [list(row) for row in rows], schema=dict.fromkeys(keys, pl.String), orient="row"
    )
    words = [key for key, title in zip(keys, columns, strict=True) if title in texts or key == "c0"]
    numbers = [key for key in keys if key not in words]
    made = GT(frame, id=name).cols_label(
        {key: _breakable(title) for key, title in zip(keys, columns, strict=True)}
    )
    made = made.cols_align("left", columns=words)
    if numbers:
        made = made.cols_align("right", columns=numbers)
    html = _STYLE.sub("", made.as_raw_html())
    more = ""
    if total is not None and total > len(rows):
        more = f"<p class='more'>The first {len(rows):,} of {total:,} {escape(what)}.</p>"
    return f"<figure><figcaption>{escape(caption)}</figcaption>{html}</figure>{more}"


def _breakable(title: str) -> str:
    """Return a title that can be broken after an underscore, where a column is narrow."""
    return title.replace("_", "_\u200b")
