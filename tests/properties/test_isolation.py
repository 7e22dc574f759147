"""A tenant alone has the rows that it has among others: in every table, in every run.

The other tenant has the same ids of episodes, verdicts and tasks, the same times, its own budget
troubles and rows of every bad kind, in the same files and in the same shard.
"""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from judgebatch.contracts.registry import published
from tests.conformance.nights import Nights
from tests.scenarios.rows import at, comparison, episode

Rows = list[dict[str, Any]]

OWN, OTHER = "Ünïcode/.. '\"\n", "Ünïcode/.. '\"\n "
IDS = ["a", "A", "a ", "ä", "a\u0308", "🙂", "..", "x=1/y", "\u202eb", "0"]
TASKS = ["task", "task "]
OUTCOMES = ["left", "right", "tie", "undecided", "not_applicable", "error", "unattestable"]
TOURNAMENT = {"mode": "tournament", "quorum": 4, "min_group_size": 2, "group_timeout": "30h"}
REFERENCE = {"mode": "reference", "grading_ceiling_usd": 0.03, "budget_period": "day"}
NIGHTS = 3

names = st.integers(0, len(IDS) - 1)
episodes_drawn = st.lists(
    st.tuples(names, st.integers(0, 1), st.integers(0, 80), st.sampled_from([0.25, -1.0, 0.5])),
    min_size=4,
    max_size=16,
)
judged_drawn = st.lists(
    st.tuples(names, names, st.integers(0, 1), st.integers(0, 90), st.sampled_from(OUTCOMES)),
    max_size=24,
)
world = st.tuples(episodes_drawn, judged_drawn)


def rows_of(tenant: str, drawn: Any) -> tuple[Rows, Rows]:
    """Return a tenant's rows; ids come up again with other content."""
    episodes = [
        episode(
            IDS[name], hours, tenant_id=tenant, task_id=TASKS[task], cost_usd=cost,
            variant="new" if name % 2 else "old",
        )
        for name, task, hours, cost in drawn[0]
    ]  # fmt: skip
    judged = [
        comparison(
            IDS[left], IDS[right], hours, outcome, tenant_id=tenant, task_id=TASKS[task],
            verdict_id=f"{IDS[left]}{IDS[right]}{task}",
        )
        for left, right, task, hours, outcome in drawn[1]
    ]  # fmt: skip
    return episodes, judged


def graded(folder: Path, tenants: Mapping[str, Any], worlds: Mapping[str, Any]) -> Nights:
    """Run the nights; each night's files hold the rows of every tenant, one after the other."""
    nights = Nights(folder, shards=1)
    nights.configure(dict(tenants), {"unknown_episode_window": "20h"})
    text = nights.settings.read_text()
    nights.settings.write_text(text + '[promotion]\nvariant = "new"\nbaseline = "old"\n')
    rows = [rows_of(tenant, drawn) for tenant, drawn in worlds.items()]
    for night in range(NIGHTS):
        # Rows that are of a later night come early, and some of an earlier one late.
        episodes = [row for own, _ in rows for row in own[night::NIGHTS]]
        judged = [row for _, own in rows for row in own[night::NIGHTS]]
        nights.deliver(f"n{night}", episodes, judged)
        nights.run(at(30 * (night + 1)))
    return nights


def rows_of_tenant(nights: Nights, tenant: str) -> dict[str, pl.DataFrame]:
    """Return a tenant's rows of every table; where a row stood in its file is no matter."""
    found = {}
    for table in published().values():
        rows = nights.table(table).filter(pl.col("tenant_id") == tenant)
        rows = rows.drop("source_row", strict=False)
        found[table.name] = rows.sort(rows.columns, nulls_last=False)
    return found


@settings(max_examples=5)
@given(own=world, other=world, tournament=st.booleans())
def test_no_row_of_a_tenant_depends_on_another_tenant(
    own: Any, other: Any, *, tournament: bool
) -> None:
    modes = [TOURNAMENT, REFERENCE]
    tenants = {OWN: modes[not tournament], OTHER: modes[tournament]}
    with TemporaryDirectory() as folder:
        alone = graded(Path(folder, "alone"), tenants, {OWN: own})
        among = graded(Path(folder, "among"), tenants, {OTHER: other, OWN: own})
        expected, found = rows_of_tenant(alone, OWN), rows_of_tenant(among, OWN)
    assert sum(rows.height for rows in expected.values()) > 0
    for table, rows in expected.items():
        assert found[table].equals(rows, null_equal=True), table
