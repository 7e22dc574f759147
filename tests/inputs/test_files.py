import hashlib
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from judgebatch.errors import InputError
from judgebatch.inputs import discover
from tests.inputs.made import episodes, spec


def put(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(episodes(), path)
    return path


def names(*args, **kwargs) -> list[str]:
    return [file.path for file in discover(spec(*args, **kwargs))]


def message(*args, **kwargs) -> str:
    with pytest.raises(InputError) as raised:
        discover(spec(*args, **kwargs))
    assert raised.value.exit_code == 3
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_a_directory_stands_for_its_parquet_files_at_any_depth_sorted(tmp_path):
    for name in ("b.parquet", "a/z.parquet", "a.parquet", "notes.txt"):
        put(tmp_path / "in" / name)
    assert names(tmp_path, path="in") == ["a.parquet", "a/z.parquet", "b.parquet"]


def test_unfinished_and_hidden_files_are_left_out(tmp_path):
    for name in ("a.parquet", "_tmp/b.parquet", ".c.parquet", "_d.parquet"):
        put(tmp_path / name)
    assert names(tmp_path) == ["a.parquet"]
    assert names(tmp_path, path="**/*.parquet") == ["a.parquet"]


def test_a_pattern_stands_for_what_it_matches(tmp_path):
    for name in ("x/1/ep.parquet", "x/2/ep.parquet", "x/2/v.parquet"):
        put(tmp_path / name)
    assert names(tmp_path, path="x/*/ep.parquet") == ["1/ep.parquet", "2/ep.parquet"]
    assert names(tmp_path, path="x/*/nothing.parquet") == []


def test_a_file_stands_for_itself_whatever_its_name(tmp_path):
    put(tmp_path / "in" / "episodes.pq")
    assert names(tmp_path, path="in/episodes.pq") == ["episodes.pq"]


def test_a_folder_whose_name_looks_like_a_pattern_is_a_folder(tmp_path):
    put(tmp_path / "in[1]" / "a.parquet")
    assert names(tmp_path, path="in[1]") == ["a.parquet"]


def test_paths_are_relative_to_the_folder_on_any_machine(tmp_path):
    put(tmp_path / "one" / "deep" / "a.parquet")
    put(tmp_path / "two" / "deep" / "a.parquet")
    assert names(tmp_path / "one") == names(tmp_path, path="two") == ["deep/a.parquet"]


def test_size_and_digest_are_the_files(tmp_path):
    path = put(tmp_path / "a.parquet")
    (file,) = discover(spec(tmp_path))
    assert file.size == path.stat().st_size
    assert file.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_an_empty_directory_is_nothing_to_read(tmp_path):
    assert names(tmp_path) == []


def test_a_missing_path_says_what_is_near(tmp_path):
    (tmp_path / "episodes").mkdir()
    said = message(tmp_path, path="episods")
    assert f"{tmp_path / 'episods'} does not exist (did you mean 'episodes'?)" in said
    assert "[inputs.episodes] path" in said


def test_a_directory_in_place_of_a_file_is_named(tmp_path):
    (tmp_path / "a.parquet").mkdir()
    assert f"found a directory: {tmp_path / 'a.parquet'}" in message(tmp_path)
    assert "found a directory" in message(tmp_path, path="*.parquet")


def test_a_pipe_in_place_of_a_file_is_named(tmp_path):
    os.mkfifo(tmp_path / "a.parquet")
    assert "found a pipe, socket or device" in message(tmp_path)


def test_a_link_out_of_the_folder_is_refused(tmp_path):
    outside = put(tmp_path / "outside" / "a.parquet")
    inside = tmp_path / "in"
    inside.mkdir()
    (inside / "a.parquet").symlink_to(outside)
    assert "leads out of its folder" in message(tmp_path, path="in")
    (inside / "a.parquet").unlink()
    (inside / "folder").symlink_to(outside.parent)
    assert "leads out of its folder" in message(tmp_path, path="in")


def test_a_linked_folder_does_not_lead_a_pattern_outside(tmp_path):
    outside = put(tmp_path / "outside" / "a.parquet")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "folder").symlink_to(outside.parent)
    assert "leads out of its folder" in message(tmp_path, path="in/*/a.parquet")


def test_a_path_that_no_file_system_takes_is_named(tmp_path):
    assert "cannot be read: File name too long" in message(tmp_path, path="x" * 5_000)


def test_a_link_inside_the_folder_is_read(tmp_path):
    put(tmp_path / "a.parquet")
    (tmp_path / "b.parquet").symlink_to(tmp_path / "a.parquet")
    assert names(tmp_path) == ["a.parquet", "b.parquet"]


def test_a_link_to_nothing_is_named(tmp_path):
    (tmp_path / "b.parquet").symlink_to(tmp_path / "gone.parquet")
    assert "b.parquet cannot be read: No such file" in message(tmp_path)


def test_a_folder_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", refuse)
    assert f"{tmp_path} cannot be read: Permission denied" in message(tmp_path)


def test_a_file_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    put(tmp_path / "a.parquet")
    (file,) = discover(spec(tmp_path))

    def refuse(path, mode):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match=r"a\.parquet cannot be read: Permission denied"):
        _ = file.sha256


def test_a_name_that_is_not_utf8_is_refused(tmp_path):
    try:
        (tmp_path / os.fsdecode(b"\xff.parquet")).touch()
    except OSError:
        return  # this file system keeps such names out itself
    assert "name is not UTF-8" in message(tmp_path)
