"""Files that change, and places that are no files: refused by name."""

import os
import socket
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import judgebatch.inputs.parquet as parquet_module
from judgebatch.errors import InputError
from judgebatch.inputs import discover, read_file
from tests.cli.running import run
from tests.inputs.hostile import project, published, ran_once
from tests.inputs.made import episodes, spec


def _append(path: Path) -> None:
    with path.open("ab") as handle:
        handle.write(b"more")


def _truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _replace(path: Path) -> None:
    """Put another file of the same size and time of change in its place."""
    before = path.stat()
    other = path.with_suffix(".new")
    other.write_bytes(path.read_bytes().replace(b"checkout", b"checkin!"))
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)


def _overwrite(path: Path) -> None:
    before = path.stat()
    content = path.read_bytes().replace(b"checkout", b"checkin!")
    with path.open("r+b") as handle:
        handle.write(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("change", [_append, _truncate, _replace, _overwrite, Path.unlink])
@pytest.mark.parametrize("when", ["before", "between"])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch, change, when):
    monkeypatch.setattr(parquet_module, "_MOST_ROWS", 100)
    pq.write_table(episodes(1_000), tmp_path / "night.parquet", row_group_size=50)
    (file,) = discover(spec(tmp_path))
    if when == "before":
        change(tmp_path / "night.parquet")
    with pytest.raises(InputError) as raised:  # noqa: PT012
        for number, _ in enumerate(read_file(file, spec(tmp_path))):
            if number == 2 and when == "between":
                change(tmp_path / "night.parquet")
    gone = change is Path.unlink
    assert ("cannot be read: No such file" if gone else "changed while") in str(raised.value)


def test_a_run_publishes_nothing_of_a_file_that_changed(tmp_path, capsys, monkeypatch):
    settings = project(tmp_path, episodes(500))
    pieces = parquet_module._pieces

    def change_after(*given: Any) -> Any:
        yield from pieces(*given)
        _replace(tmp_path / "episodes/night.parquet")

    with monkeypatch.context() as patch:
        patch.setattr(parquet_module, "_pieces", change_after)
        ran = ran_once(capsys, settings)
    assert ran.code == 3
    assert "night.parquet changed while it was read. Nothing was published" in ran.err
    assert not list((tmp_path / "warehouse").glob("runs/*/tables"))
    assert ran_once(capsys, settings).code == 0
    assert len(published(tmp_path)) == 500


def _loop(place: Path) -> None:
    (place / "a.parquet").symlink_to(place / "b.parquet")
    (place / "b.parquet").symlink_to(place / "a.parquet")


def _socket(place: Path) -> None:
    here = Path.cwd()
    os.chdir(place)
    try:
        with socket.socket(socket.AF_UNIX) as made_one:
            made_one.bind("a.parquet")
    finally:
        os.chdir(here)


ODD_FILES = {
    "cannot be read: Too many levels of symbolic links": _loop,
    "cannot be read: No such file": lambda place: (place / "a.parquet").symlink_to(place / "no"),
    "leads out of its folder": lambda place: (place / "a.parquet").symlink_to("/dev/zero"),
    "found a pipe, socket or device": _socket,
    "a pipe": lambda place: os.mkfifo(place / "a.parquet"),
    "found a directory": lambda place: (place / "a.parquet").mkdir(),
}


@pytest.mark.parametrize("said", ODD_FILES)
@pytest.mark.parametrize("command", ["check", "run"])
def test_what_is_no_file_is_named_by_the_command(tmp_path, capsys, said, command):
    settings = project(tmp_path)
    assert run(capsys, "init", tmp_path).code == 0
    ODD_FILES[said](tmp_path / "episodes")
    ran = run(capsys, command, "--settings", settings)
    assert ran.code == 3
    assert said in " ".join(ran.err.split())


def test_links_in_a_circle_of_folders_end(tmp_path):
    (tmp_path / "again").symlink_to(tmp_path)
    pq.write_table(episodes(), tmp_path / "a.parquet")
    for path in (".", "**/*.parquet"):
        assert [file.path for file in discover(spec(tmp_path, path=path))] == ["a.parquet"]


@pytest.mark.parametrize(
    "path", ["/dev/zero", "pipe", "a\0b", "a\0b/*", "\ud800", "~nobody/x", "~no/*"]
)
def test_a_path_that_is_no_place_for_files_is_named(tmp_path, path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError) as raised:
        discover(spec(tmp_path, path=path))
    assert str(raised.value).isprintable()


def test_a_pattern_does_not_lead_out_of_its_folder(tmp_path):
    (tmp_path / "in/deep").mkdir(parents=True)
    pq.write_table(episodes(), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"leads out of its folder with '\.\.' after a wildcard"):
        discover(spec(tmp_path, path="in/*/../../*.parquet"))
    for path in ("in/..", str(tmp_path)):
        assert [file.path for file in discover(spec(tmp_path, path=path))] == ["a.parquet"]


NAMES = ["a\nb", "\x1b[2J", "\u202egnp", "é", "e\u0301", "🎉", "%41", "a b", "'\"", "x" * 240]


def test_names_of_any_text_are_read_and_shown_on_one_line(tmp_path, capsys):
    settings = project(tmp_path)
    for index, name in enumerate([*NAMES, "file:", "?*[a]"]):
        table = episodes(1, episode_id=[f"ep-{index}"])
        pq.write_table(table, tmp_path / f"episodes/{name}.parquet")
    assert ran_once(capsys, settings).code == 0
    assert len(published(tmp_path)) == len(NAMES) + 2
    for name in NAMES:
        (tmp_path / "damaged").mkdir(exist_ok=True)
        damaged = tmp_path / f"damaged/{name}.parquet"
        damaged.write_bytes(b"PAR1 and nothing")
        wanted = spec(tmp_path, path="damaged")
        (file,) = discover(wanted)
        with pytest.raises(InputError) as raised:
            list(read_file(file, wanted))
        assert str(raised.value).isprintable()
        damaged.unlink()


def test_a_folder_whose_name_is_not_utf8_is_refused(tmp_path, capsys):
    settings = project(tmp_path)
    try:
        (tmp_path / "episodes" / os.fsdecode(b"\xff")).mkdir()
    except OSError:
        return  # this file system keeps such names out itself
    (tmp_path / "episodes" / os.fsdecode(b"\xff/a.parquet")).touch()
    assert run(capsys, "init", tmp_path).code == 0
    ran = run(capsys, "check", "--settings", settings)
    assert ran.code == 3
    assert "name is not UTF-8" in " ".join(ran.err.split())
