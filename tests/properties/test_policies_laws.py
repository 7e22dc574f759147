"""Laws of policies over nights."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from judgebatch.policies.assignment import PolicyChoice
from tests.policies.nights import POLICIES, Warehouse, answer, episode, hour

TENANTS = ("t", "u")
LAST = 240
CHOICE = PolicyChoice(
    ["safety"], {"u": ["both", "manners"]}, {("t", "free"): [], ("u", "k2"): ["safety", "both"]}
)


def of_task(tenant: str, task: str) -> Sequence[str]:
    own = CHOICE.by_tenant.get(tenant, CHOICE.default)
    return CHOICE.by_task.get((tenant, task), own)


times = st.integers(0, LAST)
tenants = st.sampled_from(TENANTS)
names = st.sampled_from(["a", "b", "c"])


@st.composite
def corpora(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    keys = draw(st.lists(st.tuples(tenants, names), unique=True, max_size=5))
    tasks = st.sampled_from(["k", "k2", "free"])
    episodes = [
        episode(name, draw(st.integers(0, 60)), tenant=tenant, task=draw(tasks))
        for tenant, name in keys
    ]
    answers = []
    for row in range(draw(st.integers(0, 12))):
        question = draw(st.sampled_from(["safe", "kind", "tone", "other"]))
        fields = {"tenant": draw(tenants), "row": row}
        if question == "tone":
            label = draw(st.sampled_from(["polite", "rude", "off", None]))
            fields |= {"answer_type": "choice", "choice": label, "confidence": 0.5}
        value = draw(st.sampled_from([0.9, 0.9, 0.1, None]))
        answers.append(answer(draw(names), question, draw(times), value, **fields))
    return episodes, answers


nights = st.lists(times, unique=True, max_size=6).map(lambda found: [*sorted(found), 400])


def on_time(
    house: Warehouse, runs: list[int], episodes: list[Any], answers: list[Any]
) -> Warehouse:
    """Deliver every row to the first run that sees it."""
    before: datetime | None = None
    for at in runs:
        now = hour(at)

        def fresh(time: datetime, before: datetime | None = before, now: datetime = now) -> bool:
            return time <= now and (before is None or time > before)

        house.run(
            at,
            episodes=[one for one in episodes if fresh(one["arrived_at"])],
            answers=[one for one in answers if fresh(one["answered_at"])],
        )
        before = now
    return house


def published(house: Warehouse, tenant: str | None = None) -> dict[str, Any]:
    def own(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [row for row in rows if tenant in (None, row["tenant_id"])]

    return {
        "results": sorted(own(house.results), key=repr),
        "reports": sorted(own(house.reports), key=repr),
        "quarantined": sorted(own(house.quarantined), key=repr),
        "ended": ended(house, tenant),
    }


def ended(house: Warehouse, tenant: str | None) -> dict[tuple[str, str], int]:
    """Late and not needed together: of an episode of an earlier run, the task is not known."""
    counts: dict[tuple[str, str], int] = {}
    for (owner, disposition), count in house.ended.items():
        if count and tenant in (None, owner):
            unused = disposition in ("late", "not_needed")
            key = (owner, "unused" if unused else disposition)
            counts[key] = counts.get(key, 0) + count
    return counts


@settings(max_examples=20, deadline=None)
@given(corpora(), nights)
def test_night_by_night_is_one_run(corpus: tuple[list[Any], list[Any]], runs: list[int]):
    episodes, answers = corpus
    many = on_time(Warehouse(CHOICE, tenants=TENANTS), runs, episodes, answers)
    once = on_time(Warehouse(CHOICE, tenants=TENANTS), [400], episodes, answers)
    assert published(many) == published(once)
    assert many.state.awaiting.equals(once.state.awaiting)


@settings(max_examples=12, deadline=None)
@given(corpora(), nights, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(
    corpus: tuple[list[Any], list[Any]], runs: list[int], random: Any
):
    episodes, answers = corpus
    straight = on_time(Warehouse(CHOICE, tenants=TENANTS), runs, episodes, answers)
    random.shuffle(episodes)
    random.shuffle(answers)
    shuffled = on_time(Warehouse(CHOICE, tenants=TENANTS), runs, episodes, answers)
    assert published(straight) == published(shuffled)
    assert straight.ended == shuffled.ended
    assert straight.state.held.equals(shuffled.state.held)


@settings(max_examples=12, deadline=None)
@given(corpora(), nights)
def test_a_tenant_alone_has_the_same_results(corpus: tuple[list[Any], list[Any]], runs: list[int]):
    episodes, answers = corpus
    among = on_time(Warehouse(CHOICE, tenants=TENANTS), runs, episodes, answers)
    for tenant in TENANTS:
        alone = on_time(
            Warehouse(CHOICE, tenants=TENANTS),
            runs,
            [one for one in episodes if one["tenant_id"] == tenant],
            [one for one in answers if one["tenant_id"] == tenant],
        )
        assert published(among, tenant) == published(alone, tenant)


@settings(max_examples=20, deadline=None)
@given(corpora(), nights, st.data())
def test_each_policy_of_an_episode_is_decided_once(
    corpus: tuple[list[Any], list[Any]], runs: list[int], data: st.DataObject
):
    """Whenever rows are delivered, also long after their time, and twice."""
    episodes, answers = corpus
    house = Warehouse(CHOICE, tenants=TENANTS)
    deliveries = [data.draw(st.integers(0, len(runs) - 1)) for _ in answers]
    for place, at in enumerate(runs):
        house.run(
            at,
            episodes=episodes if place == 0 else [],
            answers=[one for one, when in zip(answers, deliveries, strict=True) if when <= place],
        )
    tasks = {(one["tenant_id"], one["episode_id"], one["task_id"]) for one in episodes}
    keys = [(one["tenant_id"], one["episode_id"], one["policy"]) for one in house.results]
    assert len(keys) == len(set(keys))
    for one in house.results:
        assert (one["policy_passed"] is None) == (one["error"] is not None)
        rules = len(POLICIES[one["policy"]].policy.rules)
        of_it = [
            row
            for row in house.reports
            if (row["tenant_id"], row["episode_id"], row["policy"])
            == (one["tenant_id"], one["episode_id"], one["policy"])
        ]
        assert [row["rule"] for row in of_it] == list(range(rules))
        names = [rule.name for rule in POLICIES[one["policy"]].policy.rules]
        assert [row["question"] for row in of_it] == names
        passes = [row["passed"] for row in of_it]
        assert one["policy_passed"] == (None if None in passes else all(passes))
        assert {row["task_id"] for row in of_it} == {one["task_id"]}
        assert (one["tenant_id"], one["episode_id"], one["task_id"]) in tasks
        assert one["policy"] in of_task(one["tenant_id"], one["task_id"])
