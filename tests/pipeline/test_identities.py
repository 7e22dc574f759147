"""Known identities: files in ranges, however they were put together."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgebatch.contracts.state import KnownEpisodes, KnownVerdicts
from judgebatch.contracts.table import conform, schema_of
from judgebatch.pipeline import identities as module
from judgebatch.pipeline.identities import Identities, SortedFile, Unsorted, write_identities

LEAST, MOST = -(2**63), 2**63 - 1
HALVES = st.one_of(st.integers(LEAST, MOST), st.sampled_from([LEAST, -1, 0, 1, MOST]))
IDS = st.lists(st.tuples(HALVES, HALVES), max_size=40, unique=True)


@pytest.fixture(autouse=True, scope="module")
def _short_ranges() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "RANGE_ROWS", 4)
        yield


def verdicts(ids: list[tuple[int, int]]) -> pl.DataFrame:
    """Return KnownVerdicts whose digests tell them apart."""
    high, low = ([one[half] for one in ids] for half in (0, 1))
    columns = {"id_high": high, "id_low": low, "digest_high": low, "digest_low": high}
    return pl.DataFrame(columns, schema=schema_of(KnownVerdicts))


def episodes(ids: list[tuple[int, int]]) -> pl.DataFrame:
    """Return KnownEpisodes with flags that follow no order."""
    rows = verdicts(ids).with_columns(
        task_hash=pl.col("id_low"),
        outcome_hash=pl.col("id_high"),
        group_epoch=pl.lit(-1, dtype=pl.Int64),
        arrived_us=pl.lit(0, dtype=pl.Int64),
        insufficient=pl.col("id_low") % 3 == 0,
        is_reference=pl.col("id_low") % 2 == 0,
    )
    return conform(rows, KnownEpisodes)


@given(ids=IDS, others=IDS)
def test_every_identity_is_found_and_no_other(
    tmp_path_factory: pytest.TempPathFactory,
    ids: list[tuple[int, int]],
    others: list[tuple[int, int]],
) -> None:
    folder = tmp_path_factory.mktemp("found")
    Identities(KnownVerdicts, []).with_new(Unsorted([verdicts(ids)]), folder, 1)
    known = Identities(KnownVerdicts, sorted(folder.glob("*.arrow")))
    found = known.lookup(verdicts([*ids, *others]).select("id_high", "id_low"))
    assert sorted(found.rows()) == sorted(verdicts(ids).rows())


@given(ids=IDS, data=st.data())
def test_equal_identities_give_equal_bytes_in_any_order_and_in_any_parts(
    tmp_path_factory: pytest.TempPathFactory, ids: list[tuple[int, int]], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("bytes")
    write_identities(folder / "once", KnownEpisodes, [Unsorted([episodes(ids)])])
    shuffled = data.draw(st.permutations(ids))
    cut = data.draw(st.integers(0, len(ids)))
    write_identities(folder / "old", KnownEpisodes, [Unsorted([episodes(shuffled[:cut])])])
    staged = folder / "staged.arrow"
    episodes(shuffled[cut:]).write_ipc(staged, compression="uncompressed")
    sources = [Unsorted([staged]), SortedFile(folder / "old")]
    write_identities(folder / "merged", KnownEpisodes, sources)
    assert (folder / "merged").read_bytes() == (folder / "once").read_bytes()


def test_a_small_night_leaves_large_files_alone(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    ids = [tuple(map(int, one)) for one in rng.integers(LEAST, MOST, size=(100, 2))]
    folder = tmp_path / "known"
    Identities(KnownVerdicts, []).with_new(Unsorted([verdicts(ids[:90])]), folder, 1)
    known = Identities(KnownVerdicts, [folder / "000001.arrow"])
    kept = known.with_new(Unsorted([verdicts(ids[90:])]), folder, 2)
    assert [path.name for path in kept] == ["000001.arrow"]
    both = Identities(KnownVerdicts, sorted(folder.glob("*.arrow")))
    assert both.with_new(Unsorted([]), folder, 3) == sorted(folder.glob("*.arrow"))
    found = both.lookup(verdicts(ids).select("id_high", "id_low"))
    assert found.height == len(ids)
    more = [(number, number) for number in range(30)]
    assert both.with_new(Unsorted([verdicts(more)]), folder, 4) == []
    whole = SortedFile(folder / "000004.arrow")
    assert whole.rows == 130
    highs = pl.concat(whole.between(LEAST, MOST))["id_high"]
    assert highs.is_sorted()
