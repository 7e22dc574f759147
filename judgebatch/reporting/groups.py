"""Budgets, groups and their sizes, the strengths of the biggest groups, and policies."""

from html import escape
from typing import Any

import polars as pl

from judgebatch.contracts.grading import Budgets, Graded, Groups, Strengths
from judgebatch.contracts.policies import PolicyCounts, PolicyResults
from judgebatch.reporting import charts
from judgebatch.reporting.run_tables import nano
from judgebatch.reporting.subject import Subject
from judgebatch.reporting.tables import table
from judgebatch.reporting.texts import (
    NOTHING,
    count,
    counted,
    money,
    number,
    percent,
    percent_with_interval,
    shown,
)
from judgebatch.vocabulary import CloseReason, ScoreKind

MOST = 20
_WORTH_DRAWING = 4
"""Fewer bars are as quickly read in the table."""
_GROUPS = 3
"""Groups whose strengths are drawn."""
_MEMBERS = 10
"""Members drawn of each, from both ends."""
_GROUP = ["tenant_id", "task_id", "verifier_outcome", "group_epoch"]
_BINS = ((2, 2), (3, 4), (5, 7), (8, 8), (9, 15), (16, 31), (32, 63), (64, 127), (128, 2**62))


def budgets(subject: Subject) -> str:
    """Return what grading cost against its ceilings."""
    found = (
        subject.tables.scan(Budgets)
        .with_columns(ceiling=nano("ceiling_usd"), spent=nano("spent_usd"))
        .collect()
    )
    limited = found.filter(pl.col("ceiling").is_not_null())
    without = found.height - limited.height
    told = (
        f"<p>{counted(limited.height, 'budget')} with a ceiling, {count(without)} without; "
        f"{money(int(found['spent'].sum()))} spent in their periods so far, "
        f"{counted(int(found['refused'].sum()), 'budget')} used up.</p>"
    )
    if limited.is_empty():
        return told
    share = pl.col("spent") / pl.col("ceiling")
    first = limited.sort(
        "refused", share.fill_nan(1.0), "tenant_id", "period", descending=[True, True, False, False]
    ).head(MOST)
    rows = [
        [
            shown(row["tenant_id"]),
            row["period"],
            money(row["spent"]),
            money(row["ceiling"]),
            percent(row["spent"], row["ceiling"]),
            "yes: the rest of the period waits" if row["refused"] else "no",
        ]
        for row in first.to_dicts()
    ]
    titles = ["tenant", "period", "spent", "ceiling", "used", "refused"]
    caption = "Budgets, those used most first"
    return told + table(
        "budgets",
        caption,
        titles,
        rows,
        texts=["period", "refused"],
        total=limited.height,
        what="budgets",
    )


def groups(subject: Subject) -> str:
    """Return the groups that were decided, how they closed, and how large they were."""
    found = (
        subject.tables.scan(Groups)
        .group_by("close_reason", "group_size")
        .agg(
            pl.len().cast(pl.Int64).alias("groups"),
            pl.col("ungraded_reason").count().cast(pl.Int64).alias("without_scores"),
        )
        .sort("close_reason", "group_size")
        .collect()
    )
    relative = (
        subject.tables.scan(Graded)
        .filter(pl.col("score_kind") == ScoreKind.RELATIVE.value)
        .select(pl.len())
        .collect()
        .item()
    )
    reference = (
        f"<p>{counted(relative, 'episode')} compared with a task's reference, outside groups.</p>"
    )
    if found.is_empty():
        return f"<p>No tournament group was decided.</p>{reference}"
    rows = [_closing(reason.value, found) for reason in CloseReason]
    titles = ["closed by", "groups", "without scores", "smallest", "median", "largest"]
    made = table("closings", "Tournament groups decided in this run", titles, rows)
    return made + _sizes(found) + reference


def _closing(reason: str, found: pl.DataFrame) -> list[str]:
    of = found.filter(pl.col("close_reason") == reason)
    if of.is_empty():
        return [reason, "0", "0", *[NOTHING] * 3]
    total = int(of["groups"].sum())
    # Sizes ascend, so the running total first reaches the middle at the lower median.
    middle = of.filter(pl.col("groups").cum_sum() * 2 >= total)["group_size"][0]
    ends = (of["group_size"].min(), middle, of["group_size"].max())
    return [reason, *map(count, (total, int(of["without_scores"].sum()), *ends))]


def _sizes(found: pl.DataFrame) -> str:
    counts = {
        (at, reason.value): int(
            found.filter(
                (pl.col("close_reason") == reason.value)
                & pl.col("group_size").is_between(low, high)
            )["groups"].sum()
        )
        for at, (low, high) in enumerate(((1, 1), *_BINS))
        for reason in CloseReason
    }
    labels = ["1", *(_bin_name(low, high) for low, high in _BINS)]
    rows = [
        {"at": labels[at], "series": reason, "count": number, "rank": rank}
        for at in range(len(labels))
        for rank, reason in enumerate(reason.value for reason in CloseReason)
        if (number := counts[at, reason]) or any(counts[at, one.value] for one in CloseReason)
    ]
    cells = [
        [labels[at], *(count(counts[at, reason.value]) for reason in CloseReason)]
        for at in range(len(labels))
        if any(counts[at, reason.value] for reason in CloseReason)
    ]
    titles = ["members", *(f"by {reason.value}" for reason in CloseReason)]
    listed = table("size-list", "Groups by size", titles, cells)
    if len(cells) < _WORTH_DRAWING:
        return listed
    colours = {CloseReason.QUORUM.value: 1, CloseReason.TIMEOUT.value: 3}
    chart = charts.drawn(
        charts.stacked(rows, colours, "members", "groups"),
        "sizes",
        "Sizes of the groups",
        "Groups by how many members they had and by what closed them; numbers in the table.",
    )
    return chart + listed


def _bin_name(low: int, high: int) -> str:
    if low == high:
        return f"{low}"
    return f"{low} or more" if high >= 2**60 else f"{low} to {high}"


def strengths(subject: Subject) -> str:
    """Return the strengths of the biggest groups, with their intervals."""
    biggest = (
        subject.tables.scan(Groups)
        .filter(pl.col("fit_status").is_not_null())
        .sort(
            "comparable_size", *_GROUP, descending=[True, *[False] * len(_GROUP)], nulls_last=True
        )
        .head(_GROUPS)
        .select(*_GROUP, "comparable_size", pl.int_range(pl.len()).alias("place"))
        .collect()
    )
    if biggest.is_empty():
        return "<p>No group was fitted.</p>"
    members = (
        subject.tables.scan(Strengths)
        .join(biggest.lazy(), on=_GROUP, how="inner")
        .sort("place", "strength", "episode_id", descending=[False, True, False])
        .collect()
    )
    rank = pl.int_range(pl.len()).over("place")
    ends = (rank < _MEMBERS // 2) | (rank >= pl.col("comparable_size") - _MEMBERS // 2)
    first = members.with_columns(rank=rank + 1).filter(ends)
    names = {row["place"]: _group_name(row) for row in biggest.to_dicts()}
    points = [
        charts.Interval(
            names[row["place"]],
            f"{_letter(row)}{row['rank']} {shown(row['episode_id'], 18)}",
            row["strength_low"],
            row["strength"],
            row["strength_high"],
        )
        for row in first.to_dicts()
    ]
    chart = charts.drawn(
        charts.intervals(points, "strength (log-odds), 95 % interval"),
        "strengths",
        "Strengths of the biggest groups",
        "Members from the strongest and the weakest end, each with its 95 % interval.",
    )
    rows = [
        [
            _letter(row),
            count(row["rank"]),
            shown(row["episode_id"]),
            number(row["strength"]),
            f"{row['strength_low']:.2f} to {row['strength_high']:.2f}",
            f"{row['wins']} / {row['losses']} / {row['ties']}",
        ]
        for row in first.to_dicts()
    ]
    titles = ["group", "place", "episode", "strength", "95 % interval", "won / lost / tied"]
    caption = f"Members of the {counted(len(names), 'biggest group')}, from both ends"
    listed = "".join(f"<li>{escape(name)}</li>" for name in names.values())
    return f"{chart}<ul>{listed}</ul>" + table(
        "members",
        caption,
        titles,
        rows,
        texts=["episode"],
        total=members.height,
        what="members of these groups",
    )


def _group_name(row: dict[str, Any]) -> str:
    parts = (shown(str(row[name]), 24) for name in _GROUP[:3])
    size = f"{row['comparable_size']} members"
    return f"{_letter(row)}: {' · '.join(parts)} · epoch {row['group_epoch']} ({size})"


def _letter(row: dict[str, Any]) -> str:
    return "ABCDEFGH"[row["place"]]


def policies(subject: Subject) -> str:
    """Return how many episodes met each policy, did not, and were not evaluated."""
    found = (
        subject.tables.scan(PolicyCounts)
        .group_by("policy")
        .agg(pl.col("met", "unmet", "not_evaluated").sum())
        .sort("policy")
        .collect()
    )
    if found.is_empty():
        return "<p>No episode was held against a policy in this run.</p>"
    rows = [
        [
            shown(name),
            *map(count, (met, unmet, lacking)),
            percent_with_interval(met, met + unmet),
        ]
        for name, met, unmet, lacking in found.head(MOST).rows()
    ]
    titles = ["policy", "passed", "unmet", "not evaluated", "passed of evaluated (95 % interval)"]
    made = table(
        "policies",
        "Episodes held against policies",
        titles,
        rows,
        total=found.height,
        what="policies",
    )
    return made + _why_not_evaluated(subject)


def _why_not_evaluated(subject: Subject) -> str:
    found = (
        subject.tables.scan(PolicyResults)
        .filter(pl.col("error").is_not_null())
        .group_by("error")
        .agg(pl.len().cast(pl.Int64).alias("results"))
        .sort("error")
        .collect()
    )
    if found.is_empty():
        return ""
    rows = [[error, count(results)] for error, results in found.rows()]
    return table("unevaluated", "Why policies were not evaluated", ["reason", "results"], rows)
