import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from judgebatch.errors import InputError
from judgebatch.inputs import discover, read_file
from tests.inputs.made import episodes, spec


def whole(tmp_path: Path) -> bytes:
    path = tmp_path / "whole"
    pq.write_table(episodes(500), path, write_page_checksum=True)
    return path.read_bytes()


def refused(tmp_path: Path, content: bytes) -> str:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "night.parquet").write_bytes(content)
    (file,) = discover(spec(folder))
    with pytest.raises(InputError) as raised:
        list(read_file(file, spec(folder)))
    assert raised.value.exit_code == 3
    assert "\n" not in str(raised.value)
    assert str(folder / "night.parquet") in str(raised.value)
    return str(raised.value)


def test_an_empty_file_is_named(tmp_path):
    assert "should be Parquet and is empty (0 bytes)" in refused(tmp_path, b"")


def test_a_file_of_another_kind_is_named(tmp_path):
    said = refused(tmp_path, b"tenant_id,episode_id\nacme,1\n")
    assert "should be Parquet and is not: it starts with b'tena' instead of b'PAR1'" in said


@pytest.mark.parametrize("kept", [4, 11, 100, -1, -9])
def test_a_truncated_file_is_named(tmp_path, kept):
    assert "is truncated" in refused(tmp_path, whole(tmp_path)[:kept])


def test_a_footer_of_nonsense_is_named(tmp_path):
    assert "is damaged Parquet" in refused(tmp_path, b"PAR1" + b"\xff" * 60 + b"PAR1")


def test_a_damaged_page_is_named(tmp_path):
    content = bytearray(whole(tmp_path))
    content[200:220] = bytes(20)
    assert "is damaged Parquet" in refused(tmp_path, bytes(content))


def test_text_that_is_not_utf8_is_named(tmp_path):
    bad = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")]
    )
    folder = tmp_path / "in"
    folder.mkdir()
    pq.write_table(episodes(1, task_id=bad), folder / "night.parquet")
    (file,) = discover(spec(folder))
    with pytest.raises(InputError, match="UTF8"):
        list(read_file(file, spec(folder)))


def test_random_damage_is_read_or_named_and_never_anything_else(tmp_path):
    content = whole(tmp_path)
    chance = random.Random(7)  # noqa: S311 - damage, not a secret
    folder = tmp_path / "in"
    folder.mkdir()
    outcomes = set()
    for _ in range(300):
        damaged = bytearray(content)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(4, len(damaged) - 8)] = chance.randrange(256)
        (folder / "night.parquet").write_bytes(damaged)
        try:
            for file in discover(spec(folder)):
                list(read_file(file, spec(folder)))
            outcomes.add("read")
        except InputError:
            outcomes.add("named")
    assert outcomes <= {"read", "named"}
    assert "named" in outcomes
