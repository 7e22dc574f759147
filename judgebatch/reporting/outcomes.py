"""What was graded and what was not, over the last nights; whose loop never engages."""

import polars as pl

from judgebatch.contracts.grading import (
    ComparisonRequests,
    GradingCounts,
    Groups,
    OpenEpisodes,
    Ungraded,
)
from judgebatch.reporting import charts
from judgebatch.reporting.subject import Subject
from judgebatch.reporting.tables import table
from judgebatch.reporting.texts import change, count, counted, money, percent, shown
from judgebatch.settings import TenantSettings
from judgebatch.settings.values import duration_text
from judgebatch.vocabulary import ScoreKind, UngradedReason

MOST = 20
"""Tenants listed by name."""

_COLOURS = {
    ScoreKind.RELATIVE.value: 0,
    ScoreKind.TOURNAMENT.value: 1,
    UngradedReason.NO_REFERENCE.value: 2,
    UngradedReason.INSUFFICIENT_GROUP.value: 3,
    UngradedReason.NO_USABLE_COMPARISON.value: 4,
    UngradedReason.BUDGET_EXHAUSTED.value: 5,
}
_CAUSES = ("missing", "errors", "undecided", "not_applicable", "unattestable", "disconnected")
_WAITS = {
    "closing": "for their group to close",
    "comparisons": "for comparisons",
    "fit_failed": "because the fit of their group did not converge",
}


def outcomes(subject: Subject) -> str:
    """Return how the episodes of the run ended, beside those of the nights before."""
    before = subject.previous
    now = _counts(subject)
    decided = sum(now.values())
    earlier = {**before.graded, **before.ungraded} if before else None
    rows = [
        [
            outcome,
            "yes" if outcome in set(ScoreKind) else "no",
            count(number),
            percent(number, decided),
            change(None if earlier is None else number - earlier.get(outcome, 0)),
        ]
        for outcome, number in now.items()
    ]
    against = f"run {before.run}" if before else "run before"
    titles = ["score kind or reason", "graded", "episodes", "share", f"change since {against}"]
    made = table("outcomes", "Episodes decided in this run", titles, rows, texts=["graded"])
    return made + _over_time(subject)


def _counts(subject: Subject) -> dict[str, int]:
    said = subject.facts.summary
    found = {**said.get("graded", {}), **said.get("ungraded", {})}
    return {outcome: found.get(outcome, 0) for outcome in _COLOURS}


def _over_time(subject: Subject) -> str:
    nights = [night for night in subject.nights if night.decided]
    if not nights:
        return "<p>No episode was decided in the last nights.</p>"
    labels = {night.run: f"{night.as_of:%m-%d} · {night.run}" for night in nights}
    rows = [
        {"at": labels[night.run], "series": outcome, "count": number, "rank": rank}
        for night in nights
        for rank, outcome in enumerate(_COLOURS)
        if (number := {**night.graded, **night.ungraded}.get(outcome, 0))
    ]
    chart = charts.drawn(
        charts.stacked(rows, _COLOURS, "night · run", "episodes"),
        "nights",
        f"Episodes decided in the last {counted(len(nights), 'night')}",
        "One bar for each night, by score kind and by reason; the table below has the numbers.",
    )
    cells = [
        [
            f"{night.as_of:%Y-%m-%d %H:%M}",
            count(night.run),
            *(count({**night.graded, **night.ungraded}.get(one, 0)) for one in _COLOURS),
            percent(sum(night.graded.values()), night.decided),
        ]
        for night in reversed(nights)
    ]
    titles = ["as of (UTC)", "run", *_COLOURS, "graded"]
    return chart + table("night-list", "The last nights, newest first", titles, cells)


def never_engages(subject: Subject) -> str:
    """Return the tenants of which episodes were decided and none was graded, and what helps."""
    by = pl.col("outcome")
    graded = by.is_in([kind.value for kind in ScoreKind])
    tenants = (
        subject.tables.scan(GradingCounts)
        .group_by("tenant_id")
        .agg(
            pl.col("count").sum().alias("decided"),
            pl.col("count").filter(graded).sum().alias("graded"),
            *(
                pl.col("count").filter(by == reason.value).sum().alias(reason.value)
                for reason in UngradedReason
            ),
        )
        .filter((pl.col("decided") > 0) & (pl.col("graded") == 0))
        .sort(pl.col("decided"), "tenant_id", descending=[True, False])
        .collect()
    )
    if tenants.is_empty():
        return "<p>Every tenant of which something was decided had a graded episode.</p>"
    first = tenants.head(MOST)
    names = first["tenant_id"]
    causes = _causes(subject, names)
    sizes = _largest_groups(subject, names)
    rows = []
    for row in first.to_dicts():
        reasons = {one: row[one.value] for one in UngradedReason if row[one.value]}
        advice = [_advice(reason, row["tenant_id"], subject, causes, sizes) for reason in reasons]
        stated = ", ".join(f"{reason.value} {number:,}" for reason, number in reasons.items())
        rows.append([shown(row["tenant_id"]), count(row["decided"]), stated, " ".join(advice)])
    told = (
        f"<p>{counted(tenants.height, 'tenant')} had episodes decided in this run and none of "
        "them graded. That is no defect of the episodes: the reason is stated for each, and "
        "what would change it.</p>"
    )
    titles = ["tenant", "decided", "reasons", "what would change it"]
    return told + table(
        "never",
        "Tenants with nothing graded in this run",
        titles,
        rows,
        texts=titles[2:],
        total=tenants.height,
        what="tenants",
    )


def _causes(subject: Subject, tenants: pl.Series) -> dict[str, dict[str, int]]:
    """Return what kept comparisons from being usable, by tenant."""
    found = (
        subject.tables.scan(Ungraded)
        .filter(pl.col("tenant_id").is_in(tenants.implode()))
        .group_by("tenant_id")
        .agg(pl.col(_CAUSES).sum())
        .collect()
    )
    return {row.pop("tenant_id"): row for row in found.to_dicts()}


def _largest_groups(subject: Subject, tenants: pl.Series) -> dict[str, int]:
    found = (
        subject.tables.scan(Groups)
        .filter(pl.col("tenant_id").is_in(tenants.implode()))
        .group_by("tenant_id")
        .agg(pl.col("group_size").max())
        .collect()
    )
    return dict(found.rows())


def _advice(
    reason: UngradedReason,
    tenant_id: str,
    subject: Subject,
    causes: dict[str, dict[str, int]],
    sizes: dict[str, int],
) -> str:
    rules = subject.rules(tenant_id) if subject.rules else None
    if reason == UngradedReason.NO_REFERENCE:
        return (
            "Each of these tasks was seen for the first time; the second episode of a task is "
            "compared with the first."
        )
    if reason == UngradedReason.BUDGET_EXHAUSTED:
        return _budget_advice(rules)
    if reason == UngradedReason.INSUFFICIENT_GROUP:
        return _group_advice(rules, sizes.get(tenant_id, 0))
    return _comparison_advice(causes.get(tenant_id, {}))


def _budget_advice(rules: TenantSettings | None) -> str:
    if rules is None or rules.ceiling_nano_usd is None:
        return "A higher grading_ceiling_usd."
    if rules.ceiling_nano_usd == 0:
        return "grading_ceiling_usd is 0, so nothing is ever compared: raise it."
    ceiling, period = money(rules.ceiling_nano_usd), rules.budget_period.value
    return f"A higher grading_ceiling_usd (now {ceiling} for the period {period})."


def _group_advice(rules: TenantSettings | None, largest: int) -> str:
    most = f"The largest group had {counted(largest, 'member')}"
    if rules is None:
        return f"{most}: a longer group_timeout lets groups grow."
    return (
        f"{most} of the {rules.min_group_size} that min_group_size wants: a longer group_timeout "
        f"(now {duration_text(rules.group_timeout_us)}) lets groups grow, at the price of waiting."
    )


def _comparison_advice(causes: dict[str, int]) -> str:
    found = {name: number for name in _CAUSES if (number := causes.get(name, 0))}
    if not found:
        return "Comparisons that can be used."
    stated = ", ".join(f"{name} {number:,}" for name, number in found.items())
    largest = max(found, key=lambda name: found[name])
    helps = {
        "missing": "judge the pairs in comparison_requests, or wait longer (judging_window)",
        "errors": "mend the instrument: its codes stand under instrument failures",
        "undecided": "a jury that decides: it abstained",
        "not_applicable": "a question that applies to these episodes",
        "unattestable": "verdicts whose parts agree: what is stored contradicts itself",
        "disconnected": "comparisons that connect the members (pair_degree)",
    }
    return f"Comparisons came out {stated}. What helps most: {helps[largest]}."


def waiting(subject: Subject) -> str:
    """Return what waits after the run, and until when."""
    open_ones = subject.tables.scan(OpenEpisodes)
    found = (
        open_ones.group_by("waits_for")
        .agg(pl.len().cast(pl.Int64).alias("episodes"), pl.col("deadline").min())
        .sort("waits_for")
        .collect()
    )
    wanted = subject.tables.scan(ComparisonRequests).select(pl.len()).collect().item()
    pairs = f"<p>{counted(wanted, 'pair')} wanted, listed in comparison_requests.</p>"
    if found.is_empty():
        return f"<p>No episode waits.</p>{pairs}"
    rows = [
        [_WAITS.get(what, what), count(number), f"{deadline:%Y-%m-%d %H:%M}"]
        for what, number, deadline in found.rows()
    ]
    titles = ["waits", "episodes", "first deadline (UTC)"]
    return table("waiting", "Episodes in Grading after this run", titles, rows) + pairs


def everything(subject: Subject) -> str:
    """Return where everything went that was read, and what was not accepted."""
    titles = ["", "read", "waited before", "quarantined", "already known", "ended", "wait after"]
    rows = [
        [
            what,
            *map(count, (law.read, law.waiting_before, law.quarantined, law.already_known)),
            ", ".join(f"{how} {number:,}" for how, number in law.ended.items() if number) or "0",
            count(law.waiting_after),
        ]
        for what, law in subject.facts.conservation.items()
    ]
    made = table("laws", "Where everything went", titles, rows, texts=["ended"]) if rows else ""
    refused = subject.facts.summary.get("quarantined") or {}
    if not refused:
        return f"{made}<p>No row was quarantined.</p>"
    reasons = [[reason, count(number)] for reason, number in refused.items()]
    return made + table("quarantine", "Rows not accepted, by reason", ["reason", "rows"], reasons)
