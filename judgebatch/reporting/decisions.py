"""Sequential decisions about variants: those that fell, those that are pending, and their path."""

import polars as pl

from judgebatch.contracts.promotions import PromotionSteps
from judgebatch.reporting import charts
from judgebatch.reporting.subject import Subject
from judgebatch.reporting.tables import table
from judgebatch.reporting.texts import NOTHING, count, counted, number, shown
from judgebatch.vocabulary import SequentialDecision

MOST = 20
_LINES = 6
_KEYS = ["tenant_id", "task_id", "variant", "baseline"]
_PENDING = SequentialDecision.CONTINUE.value


def decisions(subject: Subject) -> str:
    """Return the tests that this run brought comparisons, those that were decided first."""
    seen = pl.sum_horizontal("wins", "losses")
    steps = (
        subject.tables.scan(PromotionSteps)
        .with_columns(pending=pl.col("decision") == _PENDING, decisive=seen)
        .sort("pending", "decisive", *_KEYS, descending=[False, True, *[False] * 4])
        .collect()
    )
    if steps.is_empty():
        return "<p>No sequential test got a comparison in this run.</p>"
    pending = int(steps["pending"].sum())
    first = steps.head(MOST)
    rows = [
        [
            _name(row),
            "pending" if row["pending"] else row["decision"],
            f"{row['wins']} / {row['losses']} / {row['ties']}",
            number(row["llr"]),
            f"{row['reject_at']:.2f} to {row['accept_at']:.2f}",
            NOTHING if row["decided_after"] is None else count(row["decided_after"]),
        ]
        for row in first.to_dicts()
    ]
    titles = [
        "test",
        "decision",
        "won / lost / tied",
        "log likelihood ratio",
        "undecided between",
        "decided after",
    ]
    told = (
        f"<p>{counted(steps.height, 'test')} got comparisons in this run: "
        f"{counted(steps.height - pending, 'is', 'are')} decided, {count(pending)} pending.</p>"
    )
    made = table(
        "tests",
        "Sequential tests, decided ones first",
        titles,
        rows,
        texts=["decision"],
        total=steps.height,
        what="tests",
    )
    return told + _paths(subject, steps.head(_LINES)) + made


def _name(row: dict[str, object]) -> str:
    task = "all tasks" if row["task_id"] is None else shown(str(row["task_id"]), 24)
    names = (shown(str(row[key]), 24) for key in ("variant", "baseline"))
    return f"{shown(str(row['tenant_id']), 24)} · {task}: {' against '.join(names)}"


def _paths(subject: Subject, tests: pl.DataFrame) -> str:
    """Return how the likelihood ratios of the first tests moved, night by night."""
    wanted = tests.select(*_KEYS, pl.int_range(pl.len()).alias("place"))
    names = {place: f"{place + 1}. {_name(row)}" for place, row in enumerate(tests.to_dicts())}
    sources = [(night.run, night.as_of, night.tables) for night in subject.nights]
    moves = []
    for run, as_of, tables in sources:
        found = (
            tables.scan(PromotionSteps)
            .join(wanted.lazy(), on=_KEYS, how="inner", nulls_equal=True)
            .select("place", "llr")
            .sort("place")
            .collect()
        )
        moves += [(f"{as_of:%m-%d} · {run}", names[place], llr) for place, llr in found.rows()]
    points = [{"at": at, "test": test, "llr": llr} for at, test, llr in moves]
    chart = charts.paths(
        points, list(names.values()), float(tests["accept_at"][0]), float(tests["reject_at"][0])
    )
    drawn = charts.drawn(
        chart,
        "paths",
        "Paths of the sequential tests",
        "The log likelihood ratio after each of the last nights; dashed: where a test decides.",
    )
    rows = [[test, at, number(llr)] for at, test, llr in moves]
    titles = ["test", "night · run", "log likelihood ratio"]
    return drawn + table(
        "steps",
        "The paths of the first tests, over the last nights",
        titles,
        rows,
        texts=["night · run"],
    )
