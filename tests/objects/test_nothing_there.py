"""What is not there: the bucket, an object, what a prefix or a pattern stands for."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from judgebatch.cli.main import run_command
from judgebatch.objects.bucket import Bucket
from judgebatch.objects.url import parse_url
from tests.objects.corpora import NIGHTS, in_store

RUN = ("run", "--as-of", NIGHTS[0], "--json")


@pytest.fixture
def settings(corpus: Path, tmp_path: Path, buckets: Callable[[], str]) -> Path:
    return in_store(corpus, tmp_path, buckets())


def with_episodes(settings: Path, corpus: Path, place: str) -> list[str]:
    text = settings.read_text().replace(f'path = "{corpus / "episodes"}"', f'path = "{place}"')
    settings.write_text(text)
    return ["--settings", str(settings)]


def url_in(settings: Path) -> str:
    """Return the URL of the bucket that the settings name."""
    return "s3://" + settings.read_text().split("s3://")[1].split("/")[0]


def said(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("command", ["check", "run"])
def test_a_bucket_that_is_not_there_is_said_by_check_as_by_the_run(
    settings: Path, command: str, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = settings.read_text().splitlines()
    lines = [
        'warehouse = "s3://no-such-bucket/w"' if one.startswith("warehouse =") else one
        for one in lines
    ]
    settings.write_text("\n".join(lines))
    assert run_command([command, "--settings", str(settings)]) == 2
    assert "its bucket is not there (NoSuchBucket); make it first" in said(capfd.readouterr().err)


@pytest.mark.parametrize("command", ["check", "run"])
def test_a_place_that_holds_something_else_is_said_by_check_as_by_the_run(
    corpus: Path, tmp_path: Path, command: str, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = tmp_path / "judgebatch.toml"
    text = (corpus / "judgebatch.toml").read_text()
    for kind in ("episodes", "verdicts"):
        text = text.replace(f'path = "{kind}"', f'path = "{corpus / kind}"')
    settings.write_text(text)
    (tmp_path / "warehouse").mkdir()
    (tmp_path / "warehouse" / "notes.txt").write_text("mine")
    assert run_command([command, "--settings", str(settings)]) == 2
    assert "holds files that are no warehouse" in said(capfd.readouterr().err)


@pytest.mark.parametrize("command", [("check",), RUN])
def test_an_object_that_is_named_and_not_there_is_refused(
    settings: Path, corpus: Path, command: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    url = url_in(settings)
    chosen = with_episodes(settings, corpus, f"{url}/c/nosuch.parquet")
    assert run_command([*command, *chosen]) == 3
    assert "nosuch.parquet does not exist" in said(capfd.readouterr().err)


@pytest.mark.parametrize("place", ["{url}/episdoes", "{url}/e/*.parquet", "nothing"])
def test_an_input_without_files_is_warned_of(
    settings: Path,
    corpus: Path,
    tmp_path: Path,
    place: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "nothing").mkdir()
    url = url_in(settings)
    chosen = with_episodes(settings, corpus, place.format(url=url))
    for command in (("check", "--json"), RUN):
        assert run_command([*command, *chosen]) == 0
        told = capfd.readouterr()
        warning = f"inputs.episodes: nothing matches {place.format(url=url)}"
        assert warning in said(told.err)
        assert "mind the spelling" in said(told.err)
        assert any(one.startswith(warning) for one in json.loads(told.out)["warnings"])


def test_a_prefix_with_wildcards_in_its_name_is_taken_by_its_name(
    settings: Path, corpus: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    url = url_in(settings)
    chosen = with_episodes(settings, corpus, f"{url}/star[1]")
    assert run_command(["check", "--json", *chosen]) == 0
    told = capfd.readouterr()
    assert "were read as a pattern" in said(told.err)
    file = min((corpus / "episodes").glob("*.parquet"))
    Bucket(parse_url(f"{url}/star[1]")).upload(file.name, file)
    assert run_command(["check", "--json", *chosen]) == 0
    told = capfd.readouterr()
    found = json.loads(told.out)
    assert found["inputs"]["episodes"]["files"] == 1
    assert found["warnings"] == []
    Bucket(parse_url(url)).upload("one[2].parquet", file)
    settings.write_text(settings.read_text().replace("star[1]", "one[2].parquet"))
    assert run_command(["check", "--json", *chosen]) == 0
    assert json.loads(capfd.readouterr().out)["inputs"]["episodes"]["files"] == 1
