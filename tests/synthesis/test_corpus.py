import hashlib
import os
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import polars as pl
import pytest

from judgebatch.errors import UsageError
from judgebatch.inputs import InputKind, discover, read_file
from judgebatch.settings import load_settings
from judgebatch.synthesis import corpus as corpus_module
from judgebatch.synthesis import synthesize
from judgebatch.vocabulary import Mode


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("corpus") / "out"
    synthesize(out, episodes=4_000, tenants=8, nights=4, seed=5)
    return out


@pytest.fixture(scope="module")
def episodes(made) -> pl.DataFrame:
    return pl.read_parquet(made / "episodes" / "*.parquet")


@pytest.fixture(scope="module")
def verdicts(made) -> pl.DataFrame:
    return pl.read_parquet(made / "verdicts" / "*.parquet")


def digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_equal_arguments_give_equal_bytes(made, tmp_path):
    again = synthesize(tmp_path / "again", episodes=4_000, tenants=8, nights=4, seed=5)
    assert digests(tmp_path / "again") == digests(made)
    assert again.as_of[0] == datetime(2026, 3, 2, 3, tzinfo=UTC)
    other = tmp_path / "other"
    synthesize(other, episodes=4_000, tenants=8, nights=4, seed=6)
    assert digests(other) != digests(made)


def test_a_file_per_night_with_as_many_episodes_as_asked(made, episodes):
    names = [path.name for path in sorted((made / "episodes").iterdir())]
    assert names == [f"2026-03-0{day}.parquet" for day in (1, 2, 3, 4)]
    own = episodes.filter(
        pl.col("episode_id").str.starts_with("ep-") & pl.col("episode_id").is_first_distinct()
    )
    assert own.height == 4_000


def test_about_three_comparisons_an_episode(episodes, verdicts):
    compared = verdicts["compared_episode_id"].is_not_null().sum()
    assert 2.0 < compared / episodes.height < 4.0
    assert verdicts["compared_episode_id"].null_count() > 100


def test_comparisons_are_of_one_tenant_and_task_and_not_before_both_arrived(episodes, verdicts):
    known = episodes.unique("episode_id", keep="first").select(
        "tenant_id", "episode_id", "task_id", "arrived_at", "verifier_outcome"
    )
    good = verdicts.filter(
        pl.col("verdict_id").str.starts_with("v-") & pl.col("compared_episode_id").is_not_null()
    )
    left = good.join(known, on=["tenant_id", "episode_id", "task_id"], how="inner")
    both = left.join(
        known.rename({"episode_id": "compared_episode_id"}),
        on=["tenant_id", "compared_episode_id", "task_id"],
        how="inner",
        suffix="_right",
    )
    assert both.height == good.height
    arrived = pl.max_horizontal("arrived_at", "arrived_at_right")
    assert both.filter(pl.col("judged_at") <= arrived).is_empty()


def test_the_settings_name_all_tenants_but_one_in_both_modes(made, episodes):
    settings = load_settings(made / "judgebatch.toml", {})
    assert settings.warehouse == made / "warehouse"
    unknown = set(episodes["tenant_id"]) - set(settings.tenants)
    assert unknown == {"walk-in"}
    assert {tenant.mode for tenant in settings.tenants.values()} == set(Mode)
    ceilings = [tenant.ceiling_nano_usd for tenant in settings.tenants.values()]
    assert 0 in ceilings
    assert None in ceilings
    assert any(ceiling for ceiling in ceilings)


def test_tenants_are_skewed_and_tasks_are_novel_night_after_night(episodes):
    sizes = episodes.group_by("tenant_id").len().sort("len", descending=True)["len"]
    assert sizes[0] > 4 * sizes[-2]
    day = pl.col("arrived_at").dt.offset_by("-3h").dt.date()
    acme = episodes.filter(tenant_id="acme").with_columns(day.alias("day"))
    first_days = acme.group_by("task_id").agg(pl.col("day").min())["day"].n_unique()
    assert first_days >= 4


def test_some_episodes_are_delivered_late(made):
    second = pl.read_parquet(made / "episodes" / "2026-03-02.parquet")
    assert second.filter(pl.col("arrived_at") < datetime(2026, 3, 2, 3, tzinfo=UTC)).height > 0


def test_a_few_rows_are_bad_in_every_way(made):
    settings = load_settings(made / "judgebatch.toml", {})
    said: set[str] = set()
    for spec in settings.inputs.values():
        for file in discover(spec):
            for batch in read_file(file, spec):
                said |= {
                    f"{spec.kind} {text.split(':')[0]}" for text in batch.quarantined["message"]
                }
    assert {
        "episodes episode_id is empty",
        "episodes task_id is null",
        "episodes cost_usd is negative",
        "episodes cost_usd is not finite",
        "episodes verifier_outcome is empty",
        "verdicts cost_usd is negative",
    } <= said


def test_verdicts_say_all_kinds_of_things(verdicts):
    statuses = verdicts["verdict"].str.extract(r'"status":"(\w+)"').value_counts()
    assert set(statuses["verdict"]) >= {"pass", "fail", "abstain", "not_applicable", "error"}
    assert verdicts["recorded_passed"].drop_nulls().n_unique() == 2
    assert verdicts["verdict"].str.len_bytes().mean() < 3_000


def test_blocks_only_bound_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_module, "_BLOCK", 150)
    done = []
    made = synthesize(
        tmp_path / "a", episodes=1_000, tenants=4, nights=2, seed=1, progress=done.append
    )
    assert made.episodes == sum(done) == 1_000
    assert max(done) <= 150
    frame = pl.read_parquet(tmp_path / "a" / "episodes" / "*.parquet")
    assert (
        frame.filter(pl.col("episode_id").str.starts_with("ep-"))["episode_id"].n_unique() == 1_000
    )


@pytest.mark.parametrize(
    "numbers",
    [
        {"episodes": 1, "tenants": 1, "nights": 1},
        {"episodes": 3, "tenants": 40, "nights": 7},
        {"episodes": 100, "tenants": 1, "nights": 1},
    ],
)
def test_small_corpora_are_whole(tmp_path, numbers):
    made = synthesize(tmp_path / "a", seed=0, start=date(2025, 12, 31), **numbers)
    assert made.episodes == numbers["episodes"]
    settings = load_settings(made.settings, {})
    assert len(discover(settings.inputs[InputKind.EPISODES])) == numbers["nights"]


@pytest.mark.parametrize(
    ("numbers", "name"),
    [
        ({"episodes": 0}, "--episodes is 0"),
        ({"tenants": 0}, "--tenants is 0"),
        ({"nights": 1_001}, "--nights is 1001"),
        ({"seed": -1}, "--seed is -1"),
    ],
)
def test_numbers_out_of_range_are_named(tmp_path, numbers, name):
    with pytest.raises(UsageError, match=name):
        synthesize(tmp_path, **({"episodes": 1, "tenants": 1, "nights": 1, "seed": 1} | numbers))


def test_a_folder_with_something_in_it_is_left_alone(tmp_path):
    (tmp_path / "mine").touch()
    with pytest.raises(UsageError, match="not empty"):
        synthesize(tmp_path, episodes=1, tenants=1, nights=1, seed=1)


def test_bytes_do_not_depend_on_the_number_of_threads(tmp_path):
    program = (
        "import sys; from pathlib import Path; from judgebatch.synthesis import synthesize;"
        "synthesize(Path(sys.argv[1]), episodes=25_000, tenants=30, nights=1, seed=3)"
    )
    for threads in ("1", "3"):
        subprocess.run(
            [sys.executable, "-c", program, tmp_path / threads],
            check=True,
            env={**os.environ, "POLARS_MAX_THREADS": threads},
        )
    assert digests(tmp_path / "1") == digests(tmp_path / "3")
