"""Files that ask for too much: read within bounds, or refused by name."""

import numpy as np
import orjson
import pyarrow as pa
import pytest

import judgebatch.inputs.parquet as parquet_module
from judgebatch.inputs import bounds, discover, read_file
from tests.inputs.crafted import (
    I32,
    I64,
    LIST,
    STRUCT,
    varint,
    with_footer,
    write_struct,
)
from tests.inputs.hostile import checked_alone, project, refused, repeated, rows_of, written
from tests.inputs.made import episodes, read, spec


def test_a_page_that_unpacks_a_thousandfold_is_refused_unopened(tmp_path):
    big = pa.array(["x" * (260 << 20), "y"])
    settings = project(tmp_path, episodes(2, note=big), compression="zstd", use_dictionary=False)
    assert (tmp_path / "episodes/night.parquet").stat().st_size < 1 << 20
    measured = checked_alone(settings)
    assert measured.code == 3
    assert "in column 'note', and at most 256 MiB in all columns together" in measured.said
    assert measured.mib < 600


def test_millions_of_rows_in_a_few_kilobytes_are_read(tmp_path):
    settings = project(tmp_path, repeated(1_000_000), compression="zstd")
    assert (tmp_path / "episodes/night.parquet").stat().st_size < 100_000
    measured = checked_alone(settings)
    assert rows_of(measured) == 1_000_000
    assert measured.mib < 1_000


@pytest.mark.soak
def test_fifty_million_rows_in_a_few_kilobytes_are_read(tmp_path):
    whole = pa.concat_tables([repeated(5_000_000)] * 10)
    measured = checked_alone(project(tmp_path, whole, compression="zstd", row_group_size=1 << 26))
    assert rows_of(measured) == 50_000_000
    assert measured.mib < 1_200


@pytest.mark.soak
def test_a_long_text_that_a_million_rows_share_is_refused_by_its_size(tmp_path):
    note = pa.DictionaryArray.from_arrays(np.zeros(1_000_000, np.int32), ["x" * 1_000_000])
    measured = checked_alone(
        project(tmp_path, repeated(1_000_000, note=note), compression="zstd", store_schema=False)
    )
    assert measured.code == 3
    assert "unpacks to more than 1,000 times its size" in measured.said
    assert measured.mib < 2_000


@pytest.mark.parametrize("encoding", ["RLE_DICTIONARY", "DELTA_BYTE_ARRAY"])
def test_long_texts_that_take_nothing_come_in_small_batches(tmp_path, monkeypatch, encoding):
    monkeypatch.setattr(parquet_module, "_MOST_UNPACKED", 1 << 26)
    monkeypatch.setattr(bounds, "BATCH_BYTES", 1 << 24)
    sizes = []
    validate = parquet_module._without_views
    monkeypatch.setattr(
        parquet_module,
        "_without_views",
        lambda batch: sizes.append(batch.nbytes) or validate(batch),
    )
    count = 600
    note = pa.array(["x" * 200_000] * count)
    how = {"use_dictionary": ["note"] if encoding == "RLE_DICTIONARY" else False}
    if not how["use_dictionary"]:
        how["column_encoding"] = {"note": encoding}
    content = written(episodes(count, note=note), compression="zstd", store_schema=False, **how)
    assert "unpacks to more than 1,000 times its size" in refused(tmp_path, content)
    assert 1 << 20 < max(sizes) < 1 << 24


def test_a_list_with_millions_of_elements_is_refused_unopened(tmp_path, monkeypatch):
    monkeypatch.setattr(bounds, "LIST_BYTES", 1 << 26)
    count = 8_000_000
    bits = pa.Array.from_buffers(pa.bool_(), count, [None, pa.py_buffer(bytes(count // 8))])
    lists = pa.ListArray.from_arrays(pa.array([0, 1, count], pa.int32()), bits)
    content = written(episodes(2, x=lists), compression="zstd")
    assert "lists whose elements may take" in refused(tmp_path, content)


def test_lists_of_lists_are_read_as_they_are(tmp_path):
    lists = pa.array([[1, 2], None, [], [3]] * 5_000, pa.list_(pa.int64()))
    batch = read(episodes(20_000, x=lists), tmp_path / "in")
    assert batch.rows["extra"][:4].to_list() == [
        '{"x":[1,2]}',
        '{"x":null}',
        '{"x":[]}',
        '{"x":[3]}',
    ]


def _flat_footer(columns: int) -> bytes:
    """Return a footer of columns that share one name, and no rows."""
    root = write_struct({4: [8, b"schema"], 5: [I32, columns]})
    leaf = write_struct({1: [I32, 1], 3: [I32, 0], 4: [8, b"c"]})
    schema = bytes([0xF0 | STRUCT]) + varint(columns + 1) + root + leaf * columns
    start = bytes([1 << 4 | I32]) + varint(2) + bytes([1 << 4 | LIST]) + schema
    return start + bytes([1 << 4 | I64, 0, 1 << 4 | LIST, STRUCT, 0])


@pytest.mark.parametrize("columns", [10_001, 1_000_000])
def test_a_million_columns_are_refused(tmp_path, columns):
    settings = project(tmp_path, with_footer(b"PAR1", _flat_footer(columns)))
    measured = checked_alone(settings)
    assert measured.code == 3
    assert "night.parquet" in measured.said
    assert measured.mib < 1_500
    if columns < 1_000_000:
        assert "10,001 columns, and at most 10,000 are read" in measured.said


def test_ten_thousand_columns_are_read(tmp_path):
    more = {f"c{index}": pa.nulls(3, pa.int8()) for index in range(2_000)}
    batch = read(episodes(3, **more), tmp_path / "in")
    assert len(orjson.loads(batch.rows["extra"][2])) == 2_000


def test_a_column_name_without_end_is_refused(tmp_path):
    content = written(episodes(2, **{"x" * 100_000: [1, 2]}))
    assert "column name of 100,000 characters, and at most 4,096 are" in refused(tmp_path, content)


@pytest.mark.parametrize("of", ["list", "struct"])
def test_five_hundred_levels_of_nesting_are_refused(tmp_path, of):
    array = pa.array([1, 1])
    for _ in range(500):
        array = (
            pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), array)
            if of == "list"
            else pa.StructArray.from_arrays([array], names=["a"])
        )
    assert "nested" in refused(tmp_path, written(episodes(2, x=array), store_schema=False))


def test_one_row_a_row_group_is_read_as_any_other(tmp_path):
    project(tmp_path, episodes(2_000), row_group_size=1)
    (file,) = discover(spec(tmp_path, path="episodes"))
    (batch,) = read_file(file, spec(tmp_path, path="episodes"))
    assert batch.rows["source_row"].to_list() == list(range(2_000))
    assert batch.rows["episode_id"][1_999] == "ep-1999"
