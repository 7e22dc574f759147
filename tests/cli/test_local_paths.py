"""A path that is a URL is refused by every command, and makes no folder of that name."""

from pathlib import Path
from typing import Any

import pytest

from judgebatch.cli.local_paths import LocalCommand
from judgebatch.cli.main import run_command
from judgebatch.cli.registry import ENTRIES, load

SECRET = "c8d1f0"
URL = f"s3://key:{SECRET}@bucket/prefix"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["init", URL], "FOLDER"),
        (["synth", URL], "OUT"),
        (["run", "--settings", URL], "--settings"),
        (["interpret", "here", URL, "--out", "there"], "INPUT"),
        (["interpret", "here", "--out", URL], "--out"),
        (["export", "--output", URL], "--output"),
        (["policy", "check", URL, "--questions", "here"], "FILE"),
        (["jury", "describe", "https://host/jury.toml"], "FILE"),
        (["import", "results", URL, "--out", "there"], "FILE"),
    ],
)
def test_a_url_for_a_path_on_this_machine_is_a_usage_error(
    arguments: list[str],
    named: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_command(arguments) == 2
    said = capsys.readouterr().err
    assert f"{named} is a URL" in " ".join(said.split())
    assert SECRET not in said
    assert list(tmp_path.iterdir()) == []


def commands(command: Any) -> list[Any]:
    below = getattr(command, "commands", {})
    return [one for inner in below.values() for one in commands(inner)] if below else [command]


def test_no_command_is_without_this() -> None:
    found = [one for entry in ENTRIES for one in commands(load(entry))]
    assert len(found) > len(ENTRIES)
    assert {type(one) for one in found} == {LocalCommand}
