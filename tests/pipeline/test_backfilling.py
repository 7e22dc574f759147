"""A backfill: order, going on after an end in the middle, one reading of the inputs."""

import os
import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from judgebatch.errors import InputError, UsageError, WarehouseConflictError
from judgebatch.pipeline import run
from judgebatch.pipeline.backfilling import Pace, backfill, plan_backfill
from judgebatch.pipeline.mapping import in_processes
from judgebatch.pipeline.nights import nights_between
from judgebatch.settings import load_settings
from judgebatch.synthesis import synthesize
from judgebatch.warehouse import doctor, open_warehouse, verify
from judgebatch.warehouse.failpoints import VARIABLE
from tests.conformance.nights import Nights
from tests.scenarios.rows import at, comparison, episode

DAY = timedelta(days=1)
FIRST = datetime(2026, 3, 2, 3, tzinfo=UTC)
NIGHTS = [FIRST + number * DAY for number in range(5)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of several nights, not to be changed."""
    folder = tmp_path_factory.mktemp("backfilling") / "corpus"
    synthesize(folder, episodes=240, tenants=4, nights=4, seed=7)
    return folder


@pytest.fixture
def copy(corpus: Path, tmp_path: Path) -> Path:
    shutil.copytree(corpus, tmp_path / "corpus")
    return tmp_path / "corpus"


def settings_of(folder: Path):
    return load_settings(folder / "judgebatch.toml", environ={})


def files(folder: Path) -> dict[str, bytes]:
    root = folder / "warehouse" / "runs"
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != "manifest.json"
    }


@pytest.fixture(scope="module")
def undisturbed(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("undisturbed") / "corpus"
    shutil.copytree(corpus, folder)
    report = backfill(settings_of(folder), NIGHTS)
    assert (report.nights, report.skipped, report.runs) == (5, 0, (1, 5))
    assert verify(open_warehouse(folder / "warehouse")) == []
    return files(folder)


@pytest.mark.parametrize(
    "place",
    [
        "commit.rename:3",
        pytest.param("commit.renamed:1", marks=pytest.mark.soak),
        pytest.param("pieces.write:40", marks=pytest.mark.soak),
    ],
)
def test_killed_in_the_middle_it_goes_on_and_gives_the_same_bytes(
    place: str, copy: Path, undisturbed: dict[str, bytes]
) -> None:
    killed(copy, place, NIGHTS[-1])
    before = len(open_warehouse(copy / "warehouse").runs())
    assert before < len(NIGHTS)
    report = backfill(settings_of(copy), NIGHTS)
    assert (report.nights, report.skipped) == (len(NIGHTS) - before, before)
    assert files(copy) == undisturbed
    assert verify(open_warehouse(copy / "warehouse")) == []


def killed(copy: Path, place: str, last: datetime) -> None:
    command = [sys.executable, "-m", "judgebatch", "backfill", "--settings", "judgebatch.toml"]
    command += ["--from", NIGHTS[0].isoformat(), "--to", last.isoformat()]
    done = subprocess.run(
        command, cwd=copy, env=os.environ | {VARIABLE: place}, check=False, capture_output=True
    )
    assert done.returncode == -signal.SIGKILL


def with_metrics(copy: Path) -> Path:
    settings = copy / "judgebatch.toml"
    settings.write_text(f'{settings.read_text()}\n[metrics]\ntextfile = "judgebatch.prom"\n')
    return copy / "judgebatch.prom"


def test_killed_after_its_last_commit_it_is_published_by_the_same_again(copy: Path) -> None:
    def night_again() -> None:
        assert "superseded" in run(settings_of(copy), NIGHTS[0]).message

    metrics = with_metrics(copy)
    killed(copy, "commit.renamed:2", NIGHTS[1])
    warehouse = open_warehouse(copy / "warehouse")
    assert len(warehouse.runs()) == 2
    assert doctor(warehouse) != []
    report = backfill(settings_of(copy), NIGHTS[:2])
    assert (report.nights, report.skipped, report.runs) == (0, 2, None)
    assert verify(warehouse) == []
    assert doctor(warehouse) == []
    assert "judgebatch_last_run 2.0" in metrics.read_text()
    # Nights before the last are superseded: they publish too, but nothing succeeded by them.
    views = warehouse.layout.views / "views.sql"
    for superseded in (lambda: backfill(settings_of(copy), NIGHTS[:1]), night_again):
        metrics.unlink(missing_ok=True)
        views.unlink()
        superseded()
        assert doctor(warehouse) == []
        assert not metrics.exists()


def test_nights_before_one_that_fails_are_published_whoever_did_them(copy: Path) -> None:
    killed(copy, "commit.renamed:1", NIGHTS[1])
    (copy / "episodes" / "late.parquet").write_bytes(b"no Parquet")
    with pytest.raises(InputError, match=r"late\.parquet"):
        backfill(settings_of(copy), NIGHTS[:2])
    warehouse = open_warehouse(copy / "warehouse")
    assert len(warehouse.runs()) == 1
    assert verify(warehouse) == []


def test_processes_do_not_change_a_byte(copy: Path, undisturbed: dict[str, bytes]) -> None:
    with in_processes(2) as mapper:
        backfill(settings_of(copy), NIGHTS, mapper=mapper)
    assert files(copy) == undisturbed


def test_inputs_are_read_once_in_the_first_night(copy: Path, undisturbed: dict[str, bytes]) -> None:
    def without_inputs(pace: Pace) -> None:
        if pace.done == 1:
            shutil.rmtree(copy / "episodes")
            shutil.rmtree(copy / "verdicts")

    backfill(settings_of(copy), NIGHTS, paced=without_inputs)
    assert files(copy) == undisturbed


def test_nights_are_told_with_an_estimate(copy: Path) -> None:
    told: list[Pace] = []
    backfill(settings_of(copy), NIGHTS[:3], paced=told.append)
    assert [(pace.done, pace.total) for pace in told] == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert [pace.seconds_left is None for pace in told] == [True, True, False, False]
    assert told[-1].seconds_left == 0


def test_nobody_else_writes_between_two_nights(copy: Path) -> None:
    refused = []

    def intrude(pace: Pace) -> None:
        if pace.done == 1:
            try:
                run(settings_of(copy), NIGHTS[-1])
            except WarehouseConflictError as error:
                refused.append(str(error))

    backfill(settings_of(copy), NIGHTS[:2], paced=intrude)
    assert "is being written by" in refused[0]
    assert len(open_warehouse(copy / "warehouse").runs()) == 2


def test_a_night_that_fails_leaves_the_nights_before_it_visible(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(pace: Pace) -> None:
        if pace.done == 2:
            raise InputError("enough")

    with pytest.raises(InputError, match="enough"):
        backfill(settings_of(copy), NIGHTS, paced=fail)
    warehouse = open_warehouse(copy / "warehouse")
    assert len(warehouse.runs()) == 2
    assert verify(warehouse) == []


def test_a_night_after_a_backfill_is_an_ordinary_one(copy: Path) -> None:
    backfill(settings_of(copy), NIGHTS[:2])
    report = run(settings_of(copy), NIGHTS[2])
    assert (report.published, report.run) == (True, 3)
    assert backfill(settings_of(copy), NIGHTS[:3]).skipped == 3


def test_going_on_with_other_settings_or_late_files_is_said(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    nights.configure({"acme": {"mode": "reference"}})
    nights.deliver("one", [episode("a", 1)])
    backfill(load_settings(nights.settings, environ={}), [at(2)])
    nights.configure({"acme": {"mode": "reference", "judging_window": "2h"}})
    nights.deliver("two", [episode("b", 1.5)], [comparison("b", "a", 1.7, "left")])
    report = backfill(load_settings(nights.settings, environ={}), [at(2), at(26)])
    assert "the settings are not those of run 1" in report.warnings[0]
    assert "2 input files that no run has read are read now" in report.warnings[1]
    assert report.graded == {"relative": 1}


def test_a_plan_reads_footers_and_writes_nothing(copy: Path) -> None:
    plan = plan_backfill(settings_of(copy), NIGHTS)
    assert plan.reads["episodes"].files == 4
    assert plan.reads["episodes"].rows >= 240
    assert (plan.first_run, plan.nights, plan.skipped) == (1, tuple(NIGHTS), 0)
    assert len(open_warehouse(copy / "warehouse").runs()) == 0
    backfill(settings_of(copy), NIGHTS[:2])
    plan = plan_backfill(settings_of(copy), NIGHTS)
    assert (plan.first_run, plan.skipped, plan.reads) == (3, 2, {})
    assert plan.waiting["episodes"] > 0


def test_nights_must_ascend(copy: Path) -> None:
    with pytest.raises(UsageError, match="follow one another"):
        backfill(settings_of(copy), [FIRST, FIRST])


def test_nights_lie_on_a_grid() -> None:
    nights = nights_between(FIRST, FIRST + timedelta(hours=30), timedelta(hours=12))
    assert nights == [FIRST + timedelta(hours=hours) for hours in (0, 12, 24)]
    assert nights_between(FIRST, FIRST, DAY) == [FIRST]


def test_days_are_those_of_the_calendar_where_the_clocks_change() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    first = datetime(2026, 3, 28, 3, tzinfo=berlin)
    nights = nights_between(first, first + timedelta(days=3), DAY, berlin)
    assert [night.astimezone(berlin).hour for night in nights] == [3, 3, 3, 3]
    assert [night.hour for night in nights] == [2, 1, 1, 1]
    lost = datetime(2026, 3, 28, 2, 30, tzinfo=berlin)
    assert sorted(set(nights_between(lost, lost + 3 * DAY, DAY, berlin))) == nights_between(
        lost, lost + 3 * DAY, DAY, berlin
    )


def test_impossible_nights_are_refused() -> None:
    with pytest.raises(UsageError, match="lies before the first"):
        nights_between(FIRST, FIRST - DAY, DAY)
    with pytest.raises(UsageError, match="longer than zero"):
        nights_between(FIRST, FIRST, timedelta(0))
    with pytest.raises(UsageError, match="more than 100,000 nights"):
        nights_between(FIRST, FIRST + 4000 * DAY, timedelta(minutes=1))
