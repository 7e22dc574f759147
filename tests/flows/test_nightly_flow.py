"""The nightly flow against a real Prefect server: same bytes as the command line."""

from datetime import UTC, datetime

import pytest
from prefect.client.orchestration import get_client
from prefect.states import State

from flows.nightly import nightly
from judgebatch.errors import InputError
from judgebatch.synthesis import synthesize
from judgebatch.warehouse import open_warehouse
from tests.conformance.nights import Nights
from tests.scenarios.rows import at, comparison, episode

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def copy_of(corpus, folder) -> Nights:
    nights = Nights(folder, 4)
    for name in ("episodes", "verdicts"):
        (folder / name).rmdir()
        (folder / name).symlink_to(corpus.settings.parent / name)
    nights.settings.write_text(corpus.settings.read_text())
    return nights


def test_flow_publishes_the_same_bytes_as_the_command_line(tmp_path):
    corpus = synthesize(tmp_path / "corpus", episodes=600, tenants=5, nights=2, seed=11)
    by_hand = copy_of(corpus, tmp_path / "by-hand")
    by_flow = copy_of(corpus, tmp_path / "by-flow")
    for moment in corpus.as_of:
        by_hand.run(moment)
        told = nightly(by_flow.settings, as_of=moment)
        assert told["published"]
    assert by_hand.published_bytes() == by_flow.published_bytes()
    digests = [
        [run.digest for run in open_warehouse(nights.folder / "warehouse").runs()]
        for nights in (by_hand, by_flow)
    ]
    assert digests[0] == digests[1]


def test_flow_repeated_for_the_same_slot_does_nothing(tmp_path):
    nights = Nights(tmp_path)
    nights.configure({"acme": {"mode": "reference"}})
    nights.deliver("n1", [episode("a", 1), episode("b", 2)], [comparison("b", "a", 3, "left")])
    assert nightly(nights.settings, as_of=at(4))["published"]
    before = nights.published_bytes()
    assert not nightly(nights.settings, as_of=at(4))["published"]
    assert nights.published_bytes() == before


def test_flow_stands_for_its_scheduled_start(tmp_path):
    nights = Nights(tmp_path)
    nights.configure({"acme": {"mode": "reference"}})
    before = datetime.now(UTC).replace(microsecond=0)
    nightly(nights.settings)
    as_of = nights.manifest().as_of
    assert before <= as_of <= datetime.now(UTC)
    assert as_of.microsecond == 0


def test_bad_input_fails_the_flow_with_its_message_and_publishes_nothing(tmp_path):
    nights = Nights(tmp_path)
    nights.configure({"acme": {"mode": "reference"}})
    (tmp_path / "episodes" / "broken.parquet").write_bytes(b"no parquet")
    state: State = nightly(nights.settings, as_of=at(4), return_state=True)
    assert state.is_failed()
    with pytest.raises(InputError, match=r"broken\.parquet"):
        state.result()
    assert len(open_warehouse(tmp_path / "warehouse").runs()) == 0


async def counted_artifacts() -> list[str]:
    async with get_client() as client:
        return [artifact.key or "" for artifact in await client.read_artifacts()]


def test_flow_leaves_a_summary_and_a_table(tmp_path):
    import asyncio  # noqa: PLC0415

    nights = Nights(tmp_path)
    nights.configure({"acme": {"mode": "reference"}})
    nights.deliver("n1", [episode("a", 1)])
    nightly(nights.settings, as_of=at(4))
    keys = asyncio.run(counted_artifacts())
    assert {"judgebatch-nightly", "judgebatch-nightly-counts"} <= set(keys)
