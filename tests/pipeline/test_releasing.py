"""Rows of the quarantine are released once, recorded, and taken in by the next night."""

from pathlib import Path

import pytest

from judgebatch.contracts import grading as g
from judgebatch.contracts.releases import Releases
from judgebatch.errors import UsageError
from judgebatch.pipeline.rebuilding import rebuild_state
from judgebatch.pipeline.releasing import Release, release_rows
from judgebatch.vocabulary import RunKind
from judgebatch.warehouse import open_warehouse, verify
from judgebatch.warehouse.durable import files_below
from tests.conformance.nights import Nights
from tests.scenarios.rows import at, comparison, episode

REFERENCE = {"mode": "reference", "judging_window": "24h"}
SHORT = {"unknown_episode_window": "2h"}
ODD = 'Ωmega\'s "tenant"\n🙂'


@pytest.fixture
def nights(tmp_path: Path) -> Nights:
    nights = Nights(tmp_path)
    nights.configure({"acme": REFERENCE}, SHORT)
    return nights


def release(nights: Nights, where: str = "true", hours: float = 30, **more: bool) -> Release:
    return release_rows(
        open_warehouse(nights.folder / "warehouse"),
        where,
        at(hours),
        who="me",
        why="late",
        dry_run=more.get("dry_run", False),
    )


def assert_sound(nights: Nights) -> None:
    assert verify(open_warehouse(nights.folder / "warehouse")) == []


def test_a_tenant_configured_a_day_late_is_graded_like_any_other(nights: Nights) -> None:
    first = episode("first", 1, tenant_id=ODD, cost_usd=0.1, latency_ms=1 / 3, variant=None)
    second = episode('"7\\', 2, tenant_id=ODD, cost_usd=1e-9)
    judged = comparison('"7\\', "first", 3, "left", tenant_id=ODD)
    nights.deliver("n1", [first, second], [judged])
    nights.run(at(24))
    assert set(nights.table(g.Quarantine)["reason"]) == {"unknown_tenant"}
    done = release(nights, "reason = 'unknown_tenant'")
    assert (done.run, done.released.height) == (2, 3)
    assert nights.manifest().kind == RunKind.RELEASE
    nights.configure({"acme": REFERENCE, ODD: REFERENCE}, SHORT)
    nights.run(at(48))
    graded = nights.table(g.Graded)
    assert graded.select("tenant_id", "episode_id", "score", "cost_usd").rows() == [
        (ODD, '"7\\', 1.0, 1e-9)
    ]
    assert nights.manifest().summary["released"] == {"episodes": 2, "verdicts": 1}
    assert nights.table(g.Quarantine, 3).is_empty()
    assert_sound(nights)


def test_a_release_gives_what_a_late_delivery_of_the_rows_would_have_given(
    nights: Nights, tmp_path: Path
) -> None:
    rows = [episode(f"e{number}", number, tenant_id="late", cost_usd=0.1) for number in range(4)]
    judged = [
        comparison(f"e{number}", "e0", 5, outcome, tenant_id="late")
        for number, outcome in enumerate(("left", "right", "tie", "error"))
    ]
    nights.deliver("n1", rows, judged)
    nights.run(at(24))
    release(nights)
    other = Nights(tmp_path / "other")
    other.configure({"acme": REFERENCE}, SHORT)
    other.run(at(24))
    other.deliver("n1", rows, judged)
    for own in (nights, other):
        own.configure({"acme": REFERENCE, "late": REFERENCE}, SHORT)
        own.run(at(48))
    for table in (g.Graded, g.Ungraded, g.Comparisons, g.References, g.AuditVerdicts):
        ours, theirs = nights.table(table), other.table(table)
        assert ours.drop("run").equals(theirs.drop("run")), table


def test_released_rows_of_a_tenant_still_unknown_are_set_aside_again(nights: Nights) -> None:
    nights.deliver("n1", [episode("first", 1, tenant_id="stranger")])
    nights.run(at(24))
    release(nights)
    nights.run(at(48))
    assert nights.table(g.Quarantine).select("run", "reason", "released_in").rows() == [
        (1, "unknown_tenant", None),
        (3, "unknown_tenant", 2),
    ]
    assert_sound(nights)
    again = release(nights, hours=50)
    assert again.already == 1
    assert again.released["quarantined_in"].to_list() == [3]


def test_a_comparison_past_its_window_counts_once_its_episode_is_there(nights: Nights) -> None:
    nights.configure({"acme": {**REFERENCE, "judging_window": "72h"}}, SHORT)
    nights.deliver(
        "n1", [episode("first", 1)], [comparison("second", "first", 3, "left", verdict_id="v")]
    )
    nights.run(at(24))
    assert nights.table(g.Quarantine)["reason"].to_list() == ["unknown_episode"]
    nights.deliver("n2", [episode("second", 23)])
    nights.run(at(26))
    release(nights)
    nights.run(at(48))
    assert nights.table(g.Graded).select("episode_id", "score").rows() == [("second", 1.0)]
    assert nights.table(g.Comparisons)["disposition"].to_list() == ["used"]
    # It is known like any other: the same row again is no news, and no release either.
    nights.deliver("n3", None, [comparison("second", "first", 3, "left", verdict_id="v")])
    nights.run(at(72))
    assert nights.manifest().conservation["verdicts"].already_known == 1
    assert release(nights, hours=73).already == 1
    assert_sound(nights)


def test_a_comparison_whose_episode_is_still_not_there_is_set_aside_again(nights: Nights) -> None:
    nights.deliver("n1", [episode("first", 1)], [comparison("never", "first", 3, "left")])
    nights.run(at(24))
    for night in (2, 3):
        release(nights, hours=24 * night - 1)
        nights.run(at(24 * night))
    assert nights.table(g.Quarantine).select("run", "reason", "released_in").rows() == [
        (1, "unknown_episode", None),
        (3, "unknown_episode", 2),
        (5, "unknown_episode", 4),
    ]
    assert_sound(nights)


def test_the_checkpoint_after_a_release_can_be_made_again(nights: Nights) -> None:
    nights.deliver(
        "n1", [episode("first", 1)], [comparison("second", "first", 3, "left", verdict_id="v")]
    )
    nights.run(at(24))
    release(nights)
    nights.deliver("n2", [episode("second", 23)], [comparison("never", "first", 23, "left")])
    nights.run(at(48))
    warehouse = open_warehouse(nights.folder / "warehouse")
    before = {path: path.read_bytes() for path in files_below(warehouse.layout.runs)}
    for path in before:
        if "state" in path.parts:
            path.unlink()
    assert not rebuild_state(warehouse).lost
    assert {path: path.read_bytes() for path in files_below(warehouse.layout.runs)} == before


def test_a_second_time_nothing_is_done(nights: Nights) -> None:
    nights.deliver("n1", [episode("first", 1, tenant_id="late")])
    nights.run(at(24))
    assert release(nights, dry_run=True).run is None
    assert release(nights).run == 2
    again = release(nights)
    assert (again.run, again.released.height, again.already) == (None, 0, 1)
    recorded = nights.table(Releases).drop("as_of").rows(named=True)
    assert recorded == [
        {
            "run": 2,
            "quarantined_in": 1,
            "input": "episodes",
            "tenant_id": "late",
            "id": "first",
            "source_file": "n1.parquet",
            "source_row": 0,
            "reason": "unknown_tenant",
            "who": "me",
            "why": "late",
        }
    ]
    assert_sound(nights)


def test_what_cannot_be_released_is_refused_with_why(nights: Nights) -> None:
    nights.deliver(
        "n1",
        [episode("bad", 1, cost_usd=-1.0), episode("twice", 1), episode("twice", 2)],
        [comparison("twice", "twice", 3, "left"), comparison("twice", "bad", 3, "unreadable")],
    )
    nights.run(at(24))
    with pytest.raises(UsageError) as caught:
        release(nights)
    for reason in ("bad_row", "conflicting_duplicate", "itself", "unreadable_verdict"):
        assert f"1 row ({reason})" in str(caught.value)
    with pytest.raises(UsageError, match="not an SQL condition over audit/quarantine"):
        release(nights, "no such column")
    assert release(nights, "false").selected == 0


def test_releases_do_not_make_this_nights_files_fail_when_strict(nights: Nights) -> None:
    nights.deliver("n1", [episode("first", 1, tenant_id="stranger")])
    nights.run(at(24))
    release(nights)
    nights.deliver("n2", [episode("second", 25)])
    nights.run(at(48), strict=True)
    assert nights.table(g.Quarantine, 3)["released_in"].to_list() == [2]
