"""The backfill flow: the same nights as the command, with progress."""

from datetime import timedelta
from pathlib import Path

import pytest
from prefect.client.orchestration import get_client
from pydantic import ValidationError

from flows.backfill import backfill_nights
from flows.parameters import Nights as Asked
from judgebatch.warehouse import open_warehouse
from tests.conformance.nights import Nights
from tests.scenarios.rows import at, comparison, episode

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def corpus(folder: Path) -> Nights:
    nights = Nights(folder, 1)
    nights.configure({"acme": {"mode": "reference"}})
    nights.deliver(
        "all",
        [episode(name, hours) for name, hours in (("a", 1), ("b", 26), ("c", 50))],
        [comparison("b", "a", 27, "left"), comparison("c", "a", 51, "right")],
    )
    return nights


def test_the_flow_replays_nights_goes_on_and_shows_its_progress(tmp_path: Path) -> None:
    nights = corpus(tmp_path / "flow")
    asked = Asked(settings=nights.settings, first=at(3), last=at(3) + timedelta(days=2))
    planned = backfill_nights(asked.model_copy(update={"dry_run": True}))
    assert planned == {"nights": 3, "skipped": 0, "runs": None}
    assert len(open_warehouse(nights.folder / "warehouse").runs()) == 0
    told = backfill_nights(asked)
    assert (told["nights"], told["runs"]) == (3, (1, 3))
    assert backfill_nights(asked)["skipped"] == 3
    by_hand = corpus(tmp_path / "by-hand")
    for day in range(3):
        by_hand.run(at(3) + timedelta(days=day))
    assert nights.published_bytes() == by_hand.published_bytes()
    with get_client(sync_client=True) as client:
        found = {str(one.key): one.data for one in client.read_artifacts()}
    assert found["judgebatch-backfill-progress"] == 100.0
    texts = [str(one) for key, one in found.items() if key == "judgebatch-backfill"]
    assert texts


def test_parameters_that_cannot_work_are_refused() -> None:
    for wrong in (
        {"first": at(3), "last": at(2)},
        {"first": at(3), "last": at(4), "every": "daily"},
        {"first": at(3), "last": at(4), "timezone": "Mars/Olympus"},
        {"first": at(3).replace(tzinfo=None), "last": at(4)},
        {"first": at(3), "last": at(4), "evry": "1d"},
    ):
        with pytest.raises(ValidationError):
            Asked.model_validate(wrong)
