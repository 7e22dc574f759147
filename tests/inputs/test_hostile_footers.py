"""Footers and page headers that lie: refused by name, or without effect."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from judgebatch.errors import InputError
from judgebatch.inputs import discover, inspect_file, read_file
from tests.inputs.crafted import (
    STRUCT,
    Struct,
    chunk_of,
    lied,
    lied_in_a_page,
    with_footer,
)
from tests.inputs.hostile import project, refused, written
from tests.inputs.made import episodes, spec


def _set(*path: int) -> Callable[[int], Callable[[Struct], object]]:
    def to(value: int) -> Callable[[Struct], object]:
        def lie(footer: Struct) -> None:
            where = chunk_of(footer) if len(path) == 2 else footer
            where[path[-1]][1] = value

        return lie

    return to


def rows_unless_refused(folder: Path, content: bytes) -> pl.DataFrame | None:
    project(folder, content)
    wanted = spec(folder, path="episodes")
    (file,) = discover(wanted)
    try:
        return pl.concat([batch.rows for batch in read_file(file, wanted)])
    except InputError:
        return None


LIES = {
    "rows": (_set(3), [-1, 0, 3, 2**31, 2**40, 2**62]),
    "values of a column": (_set(0, 5), [-1, 0, 1, 3, 2**31, 2**62]),
    "packed bytes": (_set(0, 7), [-1, 0, 1, 2**31, 2**62]),
    "unpacked bytes": (_set(0, 6), [-1, 2**62]),
    "place of the data": (_set(0, 9), [-1, 0, 3, 2**31, 2**62]),
    "codec": (_set(0, 4), [-1, 2, 3, 6, 99]),
    "type": (_set(0, 1), [-1, 0, 2, 7, 99]),
}


@pytest.mark.parametrize(
    ("lie", "value"),
    [
        pytest.param(lie(value), value, id=f"{name} {value}")
        for name, (lie, values) in LIES.items()
        for value in values
    ],
)
def test_a_footer_that_lies_is_refused_or_makes_no_difference(tmp_path, lie, value):
    content = lied(written(episodes(2), use_dictionary=False), lie)
    rows = rows_unless_refused(tmp_path, content)
    if rows is None:
        return
    assert rows["episode_id"].to_list() == ["ep-0", "ep-1"]
    assert rows["tenant_id"].to_list() == ["acme"] * 2


def test_rows_that_the_row_groups_do_not_have_are_refused(tmp_path):
    content = lied(written(episodes(2)), _set(3)(2**40))
    assert "rows" in refused(tmp_path, content)

    def every(footer: Struct) -> None:
        footer[3][1] = footer[4][1][1][0][3][1] = 2**29
        for column in range(len(episodes(1).schema)):
            chunk_of(footer, column)[5][1] = 2**29

    assert "night.parquet" in refused(tmp_path, lied(written(episodes(2)), every))


def _size_statistics(footer: Struct) -> Struct:
    found: Struct = chunk_of(footer)[16][1]
    return found


def _longer_histogram(footer: Struct) -> None:
    levels = _size_statistics(footer)[3]
    levels[1][1] = [*levels[1][1], 1]


def _texts_of_numbers(footer: Struct) -> None:
    of_text = _size_statistics(footer)
    chunk_of(footer, 5)[16] = [STRUCT, of_text]


def _one_column_less(footer: Struct) -> None:
    del footer[4][1][1][0][1][1][1][-1]


def _one_column_more(footer: Struct) -> None:
    columns = footer[4][1][1][0][1][1][1]
    columns.append(columns[0])


def _without_columns(footer: Struct) -> None:
    del footer[4][1][1][0][1]


def _without_a_size(footer: Struct) -> None:
    del chunk_of(footer)[7]


@pytest.mark.parametrize(
    "lie",
    [
        _longer_histogram,
        _texts_of_numbers,
        _one_column_less,
        _one_column_more,
        _without_columns,
        _without_a_size,
    ],
)
def test_row_groups_that_contradict_the_schema_are_refused(tmp_path, lie):
    """Arrow ends the process where it is asked for the columns of some of these."""
    content = lied(written(episodes(2)), lie)
    project(tmp_path, content)
    wanted = spec(tmp_path, path="episodes")
    (file,) = discover(wanted)
    with pytest.raises(InputError, match="is damaged Parquet"):
        list(read_file(file, wanted))


@pytest.mark.parametrize("groups", [100, 2_000])
def test_row_groups_that_share_the_same_bytes_are_read_once(tmp_path, groups):
    def again(footer: Struct) -> None:
        footer[4][1][1] = footer[4][1][1] * groups
        footer[3][1] = 2 * groups

    assert "more bytes than" in refused(tmp_path, lied(written(episodes(2)), again))


@pytest.mark.parametrize(
    "claim", [b"\x15\x04\x19\xfc\xff\xff\xff\xff\x07", b"\x15\x04\x19\xfc\xff\xff\xff\xff\x0f"]
)
def test_a_footer_that_claims_millions_of_columns_and_has_none_is_refused(tmp_path, claim):
    assert "damaged" in refused(tmp_path, with_footer(b"PAR1" + bytes(100), claim + bytes(50)))


@pytest.mark.parametrize("length", [0, 1, 2**31 - 1, 2**32 - 1])
def test_a_footer_length_that_lies_is_refused(tmp_path, length):
    content = written(episodes(2))[:-8] + length.to_bytes(4, "little") + b"PAR1"
    assert "damaged" in refused(tmp_path, content)


def test_a_footer_of_gigabytes_is_refused_unread(tmp_path):
    project(tmp_path, b"PAR1")
    with (tmp_path / "episodes/night.parquet").open("r+b") as handle:
        handle.truncate(2 << 30)
        handle.seek(0, 2)
        handle.write((1 << 30).to_bytes(4, "little") + b"PAR1")
    wanted = spec(tmp_path, path="episodes")
    (file,) = discover(wanted)
    with pytest.raises(InputError, match="a footer of 1,024 MiB, and at most 64 MiB are read"):
        inspect_file(file, wanted)


@pytest.mark.parametrize("value", [-1, 0, 1, 2**20, 2**31 - 1])
@pytest.mark.parametrize("field", [2, 3])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd", "gzip"])
def test_a_page_that_lies_of_its_size_is_refused(tmp_path, field, value, compression):
    def lie(header: Struct) -> None:
        header[field][1] = value

    content = written(episodes(2), use_dictionary=False, compression=compression)
    assert refused(tmp_path, lied_in_a_page(content, lie))


@pytest.mark.parametrize("values", [-1, 0, 1, 3, 2**20, 2**31 - 1])
@pytest.mark.parametrize("dictionary", [True, False])
def test_a_page_that_lies_of_its_values_is_refused_or_makes_no_difference(
    tmp_path, dictionary, values
):
    def lie(header: Struct) -> None:
        header[7 if dictionary else 5][1][1][1] = values

    content = lied_in_a_page(written(episodes(2), use_dictionary=dictionary), lie)
    rows = rows_unless_refused(tmp_path, content)
    if rows is None:
        return
    assert rows["tenant_id"].to_list() == ["acme"] * 2
