from pathlib import Path

import polars as pl
import pytest

from judgebatch.synthesis import synthesize

SAMPLE = Path(__file__).parents[2] / "sample_data"


@pytest.mark.parametrize("table", ["episodes", "verdicts"])
def test_the_sample_is_what_its_command_writes(tmp_path, table):
    synthesize(tmp_path / "made", episodes=1_000, tenants=6, nights=4, seed=1)
    names = [path.name for path in sorted((SAMPLE / table).iterdir())]
    assert names == [path.name for path in sorted((tmp_path / "made" / table).iterdir())]
    for name in names:
        made = pl.read_parquet(tmp_path / "made" / table / name)
        assert pl.read_parquet(SAMPLE / table / name).equals(made)
    text = (tmp_path / "made" / "judgebatch.toml").read_text(encoding="utf-8")
    assert (SAMPLE / "judgebatch.toml").read_text(encoding="utf-8") == text


def test_the_sample_is_small():
    assert sum(path.stat().st_size for path in SAMPLE.rglob("*.parquet")) < 400_000
