"""The page: one HTML file that needs nothing else, on a phone, in the dark and on paper."""

from collections.abc import Callable
from html import escape
from importlib.resources import files

from judgebatch.reporting import decisions, groups, judges, outcomes, readings
from judgebatch.reporting.subject import Subject
from judgebatch.reporting.texts import NOTHING, count, counted, percent, shown

_LONGEST_WARNING = 1_000

_SECTIONS: tuple[tuple[str, str, Callable[[Subject], str]], ...] = (
    ("outcomes", "Graded and not graded", outcomes.outcomes),
    ("engagement", "Whose loop never engages", outcomes.never_engages),
    ("waits", "What waits", outcomes.waiting),
    ("spend", "Budgets", groups.budgets),
    ("groups", "Groups", groups.groups),
    ("strengths", "Strengths of the biggest groups", groups.strengths),
    ("decisions", "Sequential decisions", decisions.decisions),
    ("policies", "Policies", groups.policies),
    ("readings", "Readings and support", readings.readings),
    ("restatement", "What was recorded before", readings.restatement),
    ("instruments", "Instrument failures", readings.instrument_failures),
    ("judges", "Judges", judges.judges),
    ("rows", "Rows in and out", outcomes.everything),
)


def report(subject: Subject) -> bytes:
    """Return the report of a run as HTML, UTF-8.

    The same run gives the same bytes: nothing is read but its tables, its facts and what the
    nights before it decided.
    """
    title = f"Run {subject.number}"
    links = "".join(f'<a href="#s-{name}">{escape(heading)}</a>' for name, heading, _ in _SECTIONS)
    sections = "".join(
        f'<section id="s-{name}"><h2>{escape(heading)}</h2>{told(subject)}</section>'
        for name, heading, told in _SECTIONS
    )
    style = files("judgebatch.reporting").joinpath("report.css").read_text("utf-8")
    html = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'; img-src data:\">"
        '<link rel="icon" href="data:,">'
        f"<title>judgebatch · {title}</title><style>{style}</style></head><body><main>"
        f"<header><h1>{title} · {escape(subject.kind.value)}</h1>"
        f"<p>As of {subject.as_of:%Y-%m-%d %H:%M:%S} UTC{_since(subject)}.</p></header>"
        f"{_figures(subject)}{_warnings(subject)}<nav>{links}</nav>{sections}"
        f"<footer>{_footer(subject)}</footer></main></body></html>\n"
    )
    return html.encode()


def _since(subject: Subject) -> str:
    before = subject.previous
    return f"; the run before it was run {before.run}, as of {before.as_of:%F %T}" if before else ""


def _figures(subject: Subject) -> str:
    said = subject.facts.summary
    graded = sum((said.get("graded") or {}).values())
    ungraded = sum((said.get("ungraded") or {}).values())
    figures = (
        ("graded", count(graded), f"{percent(graded, graded + ungraded)} of those decided"),
        ("not graded", count(ungraded), "each with its reason"),
        ("wait", count(sum((said.get("waiting") or {}).values())), "each with a deadline"),
        ("quarantined", count(sum((said.get("quarantined") or {}).values())), "rows set aside"),
    )
    cells = "".join(
        f"<div><dt>{name}</dt><dd><strong>{number}</strong> <span>{note}</span></dd></div>"
        for name, number, note in figures
    )
    return f'<dl class="figures">{cells}</dl>'


def _warnings(subject: Subject) -> str:
    warnings = subject.facts.summary.get("warnings") or []
    if not warnings:
        return ""
    items = "".join(
        f"<li>{escape(shown(str(warning), _LONGEST_WARNING))}</li>" for warning in warnings
    )
    return f'<aside class="warnings"><h2>Warnings</h2><ul>{items}</ul></aside>'


def _footer(subject: Subject) -> str:
    inputs = subject.facts.inputs
    rows = sum(file.rows or 0 for file in inputs)
    settings = subject.facts.settings
    under = f" Settings {settings[:12]}." if settings else ""
    return (
        f"<p>{counted(len(inputs), 'input file')} with {counted(rows, 'row')} read.{under} "
        f"{NOTHING} stands where there is nothing. Made by judgebatch; "
        "every figure can be asked for with <code>judgebatch sql</code>.</p>"
    )
