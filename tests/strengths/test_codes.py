"""Ids as codes: order, decoding, and hashes that decide nothing."""

import numpy as np
import polars as pl
import pytest

from judgebatch.strengths import codes
from judgebatch.strengths.codes import encode
from judgebatch.strengths.hashes import same_hash

IDS = ["b", "", "a", "b", "é", "\U0001f600", "\uffff", "a\x00", "ab", "episode-0000000001", "b"]


def assert_encoded(columns: list[pl.Series]) -> None:
    found = encode(columns)
    texts = sorted({text for column in columns for text in column.to_list()})
    assert found.domain == len(texts)
    for column, got in zip(columns, found.columns, strict=True):
        assert got.tolist() == [texts.index(text) for text in column.to_list()]
        assert found.decode(got, "id").to_list() == column.to_list()


@pytest.mark.parametrize("rows", [[], ["a"], IDS, IDS * 300], ids=["none", "one", "few", "many"])
def test_codes_sort_as_the_strings_do(rows: list[str]):
    column = pl.Series("left", rows, dtype=pl.String)
    assert_encoded([column])
    assert_encoded([column, column.reverse().alias("right")])
    assert_encoded([pl.concat([column, column], rechunk=False), pl.Series("right", ["z"])])


def test_two_texts_with_one_hash_stay_apart(monkeypatch: pytest.MonkeyPatch):
    real, seeds = codes._hashes, []

    def hashes(texts: pl.Series, seed: int) -> np.ndarray:
        seeds.append(seed)
        return real(texts, seed) % np.uint64(3) if seed < 2 else real(texts, seed)

    monkeypatch.setattr(codes, "_hashes", hashes)
    assert_encoded([pl.Series("left", IDS)])
    assert seeds == [0, 1, 2]


@pytest.mark.parametrize(
    "hashes",
    [
        np.array([0, 1 << 63, 0, 1, (1 << 64) - 1, 1 << 63, 1 << 32], np.uint64),
        np.zeros(1000, np.uint64),
        np.random.default_rng(3).integers(0, 400, 3000).astype(np.uint64) << np.uint64(40),
        np.arange(3000, dtype=np.uint64),
    ],
    ids=["edges", "alike", "high bits", "rising"],
)
def test_equal_hashes_share_one_position(hashes: np.ndarray):
    same = same_hash(hashes)
    assert (hashes[same] == hashes).all()
    assert (same[same] == same).all()
    assert np.unique(same).size == np.unique(hashes).size
