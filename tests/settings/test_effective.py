import tomllib
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgebatch.settings import load_settings
from judgebatch.settings.effective import toml_text
from judgebatch.settings.values import ceiling_nano_usd, duration_text, duration_us, usd_text

FULL = """
warehouse = "wh"
unknown_tenants = "defaults"
[inputs.episodes]
path = "data/*.parquet"
columns = {episode_id = "run_id"}
[inputs.answers]
path = "answers"
[inputs.answers.wide."is it right?"]
type = "noul"
probability = "p"
[defaults]
grading_ceiling_usd = 0.3
[tenants."odd \\u007f\\n\\"id\\" 日本"]
mode = "tournament"
judging_window = "none"
[tenants."odd \\u007f\\n\\"id\\" 日本".tasks."t.1"]
policies = ["a"]
[promotion]
variant = "v2"
baseline = "v1"
[judge]
name = "remote"
options = {api_key = "s3cret", url = "https://example.org", nested = [{token = "x"}]}
"""


def effective(folder: Path, text: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "judgebatch.toml"
    path.write_text(text, encoding="utf-8")
    return load_settings(path, {}).effective_text()


def test_the_text_reads_back_as_the_same_settings(tmp_path):
    text = effective(tmp_path / "a", FULL)
    assert effective(tmp_path / "b", text) == text


def test_no_path_and_no_secret_is_in_the_text(tmp_path):
    text = effective(tmp_path / "a", FULL)
    assert str(tmp_path) not in text
    assert "s3cret" not in text
    assert "data/" not in text
    assert text.count("(withheld)") == 2


def test_the_same_settings_give_the_same_text_however_they_are_written(tmp_path):
    one = effective(tmp_path / "a", 'warehouse = "/x"\n[defaults]\nquorum = 8\ngroup_timeout="24h"')
    two = effective(tmp_path / "b", '[defaults]\ngroup_timeout = "1d"\n[inputs.episodes]\npath="e"')
    assert one == two


def test_another_setting_gives_another_text(tmp_path):
    assert effective(tmp_path / "a", "") != effective(tmp_path / "b", "[defaults]\nquorum = 9")


@given(st.integers(0, 10**15))
def test_a_duration_reads_back(microseconds):
    assert duration_us(duration_text(microseconds)) == microseconds


@given(st.integers(0, 2**63 - 1 - 10**9))
def test_an_amount_reads_back(nano):
    assert ceiling_nano_usd(usd_text(nano)) == nano


@given(st.text(min_size=1), st.text())
def test_any_text_reads_back(key, value):
    document = {key: value, "table": {key: [value]}}
    if key != "table":
        assert tomllib.loads(toml_text(document)) == document


def test_tenant_frame_has_one_row_per_id(tmp_path):
    path = tmp_path / "judgebatch.toml"
    path.write_text("[tenants.b]\nquorum = 4\n[tenants.z]", encoding="utf-8")
    frame = load_settings(path, {}).tenant_frame(pl.Series(["b", "a", None, "b"]))
    assert frame["tenant_id"].to_list() == ["a", "b"]
    assert frame["known"].to_list() == [False, True]
    assert frame["quorum"].to_list() == [8, 4]
    assert frame["ceiling_nano_usd"].to_list() == [None, None]
    assert frame.schema["judging_window_us"] == pl.Int64()


@pytest.mark.parametrize("ids", [[], [None]])
def test_tenant_frame_of_nobody_has_its_columns(tmp_path, ids):
    path = tmp_path / "judgebatch.toml"
    path.write_text("")
    frame = load_settings(path, {}).tenant_frame(pl.Series(ids, dtype=pl.String))
    assert frame.is_empty()
    assert frame.columns[:3] == ["tenant_id", "known", "mode"]
