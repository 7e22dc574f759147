"""Files made to hurt: each is read as what it holds, or refused by name within bounds."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import judgebatch.inputs.parquet as parquet_module
from judgebatch.errors import InputError
from judgebatch.inputs import bounds, discover, inspect_file, read_file
from tests.cli.running import Ran, run
from tests.inputs import made
from tests.inputs.crafted import (
    I32,
    I64,
    LIST,
    STRUCT,
    Struct,
    chunk_of,
    lied,
    lied_in_a_page,
    varint,
    with_footer,
    write_struct,
)
from tests.inputs.made import episodes, read, spec

_CHILD = """
import sys
from pathlib import Path
from judgebatch.cli.main import run_command
code = run_command(sys.argv[1:])
peak = [line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line]
print(peak[0].split()[1], file=sys.stderr)
sys.exit(code)
"""


class Measured(NamedTuple):
    code: int
    said: str
    out: dict[str, Any]
    mib: int


def project(folder: Path, table: pa.Table | bytes | None = None, **how: Any) -> Path:
    """Return settings beside one file of episodes."""
    (folder / "episodes").mkdir(parents=True, exist_ok=True)
    (folder / "verdicts").mkdir(exist_ok=True)
    path = folder / "episodes" / "night.parquet"
    if isinstance(table, bytes):
        path.write_bytes(table)
    elif table is not None:
        pq.write_table(table, path, **how)
    settings = folder / "judgebatch.toml"
    settings.write_text(
        'warehouse = "warehouse"\n'
        '[inputs.episodes]\npath = "episodes"\n[inputs.verdicts]\npath = "verdicts"\n'
        "[tenants.acme]\n"
    )
    return settings


def checked_alone(settings: Path) -> Measured:
    """Run ``judgebatch check`` in a process of its own, and measure it."""
    command = [sys.executable, "-c", _CHILD, "check", "--json", "--settings", str(settings)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    *said, peak = done.stderr.strip().splitlines()
    out = orjson.loads(done.stdout) if done.stdout else {}
    return Measured(done.returncode, " ".join(said), out, int(peak) >> 10)


def rows_of(measured: Measured) -> int:
    assert measured.code == 0, measured.said
    return int(measured.out["inputs"]["episodes"]["rows"])


def repeated(count: int, **other: Any) -> pa.Table:
    """Return ``count`` times one episode, stored as one run of each column."""
    one = episodes(1)
    index = pa.array(np.zeros(count, np.int32))
    same = {
        name: pa.DictionaryArray.from_arrays(index, one[name].combine_chunks())
        for name in one.schema.names
    }
    return pa.table(same | other)


def refused(folder: Path, content: bytes) -> str:
    """Return how a file is refused, by name, as a run would."""
    project(folder, content)
    wanted = spec(folder, path="episodes")
    (file,) = discover(wanted)
    with pytest.raises(InputError) as raised:
        list(read_file(file, wanted))
    said = str(raised.value)
    assert "\n" not in said
    assert "night.parquet" in said
    return said


def written(table: pa.Table, **how: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **how)
    return bytes(sink.getvalue())


# Bombs


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


# Footers and page headers that lie


def _set(*path: int) -> Callable[[int], Callable[[Struct], object]]:
    def to(value: int) -> Callable[[Struct], object]:
        def lie(footer: Struct) -> None:
            where = chunk_of(footer) if len(path) == 2 else footer
            where[path[-1]][1] = value

        return lie

    return to


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
    project(tmp_path, content)
    wanted = spec(tmp_path, path="episodes")
    (file,) = discover(wanted)
    try:
        rows = pl.concat([batch.rows for batch in read_file(file, wanted)])
    except InputError:
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
    project(tmp_path, content)
    wanted = spec(tmp_path, path="episodes")
    (file,) = discover(wanted)
    try:
        rows = pl.concat([batch.rows for batch in read_file(file, wanted)])
    except InputError:
        return
    assert rows["tenant_id"].to_list() == ["acme"] * 2


# Values


def read_kind(folder: Path, kind: str, **columns: Any) -> tuple[pl.DataFrame, pl.DataFrame]:
    batch = read(getattr(made, kind)(2, **columns), folder, kind)
    return batch.rows, batch.quarantined


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("width", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    ("kind", "column"),
    [("episodes", "cost_usd"), ("episodes", "latency_ms"), ("verdicts", "cost_usd")],
)
def test_numbers_that_are_none_set_their_row_aside(tmp_path, kind, column, width, value):
    given = pa.array(np.array([value, 1.0]), pa.float64()).cast(pa.type_for_alias(width))
    rows, bad = read_kind(tmp_path / "in", kind, **{column: given})
    assert len(rows) == 1
    assert bad["message"][0].startswith(f"{column} is not finite")


@pytest.mark.parametrize("column", ["tool_calls", "tool_errors"])
def test_whole_numbers_that_are_stored_as_floats_are_refused(tmp_path, column):
    with pytest.raises(InputError, match=f"column {column} should be a whole number"):
        read(episodes(2, **{column: [1.0, float("nan")]}), tmp_path / "in")


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
@pytest.mark.parametrize(
    ("kind", "column"),
    [("episodes", "arrived_at"), ("verdicts", "judged_at"), ("answers", "answered_at")],
)
def test_the_calendar_ends_with_the_years_1_and_9999(tmp_path, kind, column, unit):
    per = {"s": 1, "ms": 1_000, "us": 1_000_000}[unit]
    most = 2**53 if unit == "s" else 2**63 - 1
    ends = [-62_135_596_800 * per, 253_402_300_800 * per - 1]
    good = pa.array(ends, pa.int64()).cast(pa.timestamp(unit, "UTC"))
    rows, bad = read_kind(tmp_path / "good", kind, **{column: good})
    assert bad.is_empty()
    held = [end * 1_000_000 // per for end in ends]
    assert rows[column].dt.timestamp("us").to_list() == held
    for name, far in (("near", [ends[0] - 1, ends[1] + 1]), ("far", [-most, most])):
        beyond = pa.array(far, pa.int64()).cast(pa.timestamp(unit, "UTC"))
        rows, bad = read_kind(tmp_path / name, kind, **{column: beyond})
        assert rows.is_empty()
        assert bad["message"].to_list() == [f"{column} lies outside the years 1 to 9999"] * 2


def test_decimals_of_any_width_are_exact_or_set_aside(tmp_path):
    for kind, large in ((pa.decimal128(38, 9), "1" * 29), (pa.decimal256(76, 38), "9" * 38)):
        given = pa.array([Decimal("0.000000001"), Decimal(large)], kind)
        rows, bad = read_kind(tmp_path / str(kind.bit_width), "episodes", cost_usd=given)
        assert rows["cost_nano_usd"].to_list() == [1]
        assert bad["message"][0].startswith(f"cost_usd is too large: {large}")


def test_unsigned_numbers_are_exact_or_set_aside(tmp_path):
    given = pa.array([2**64 - 1, 2**63 - 1], pa.uint64())
    rows, bad = read_kind(tmp_path / "calls", "episodes", tool_calls=given, x=given)
    assert rows["tool_calls"].to_list() == [2**63 - 1]
    assert bad["message"][0] == f"tool_calls is too large: {2**64 - 1}"
    assert orjson.loads(bad["content"][0])["x"] == 2**64 - 1


ODD = {
    "list": pa.array([["a"], []]),
    "struct": pa.array([{"a": 1}, None]),
    "map": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64())),
    "binary": pa.array([b"\xff", b""]),
    "time": pa.array([1, 2], pa.time64("ns")),
    "duration": pa.array([1, 2], pa.duration("us")),
    "date": pa.array([-(2**31), 2**31 - 1], pa.int32()).cast(pa.date32()),
    "dictionary of decimals": pa.array([Decimal("1.5"), None]).dictionary_encode(),
}
CONTRACT = [
    (kind, name)
    for kind in ("episodes", "verdicts")
    for name in getattr(made, kind)(1).schema.names
]


@pytest.mark.parametrize(("kind", "column"), CONTRACT)
def test_a_nested_or_foreign_type_in_a_contract_column_is_refused_by_name(tmp_path, kind, column):
    for name, odd in ODD.items():
        if name == "dictionary of decimals" and column == "cost_usd":
            continue
        with pytest.raises(InputError, match=rf"column {column} should be .* and is "):
            read_kind(tmp_path / name, kind, **{column: odd})


def test_any_type_is_carried_along_also_beside_a_bad_row(tmp_path):
    texts = pa.array(["a", "b"])
    views = {
        "view": texts.cast(pa.string_view()),
        "views": pa.array([["a"], ["b"]], pa.list_(pa.string_view())),
        "bytes": pa.array([b"\0", b"\1"], pa.binary_view()),
    }
    rows, bad = read_kind(tmp_path / "in", "episodes", tool_calls=[4, -1], **ODD, **views)
    first, second = orjson.loads(rows["extra"][0]), orjson.loads(bad["content"][0])
    assert first["view"] == "a"
    assert first["views"] == ["a"]
    assert first["bytes"] == "00"
    assert first["time"] == "00:00:00.000000001"
    assert first["dictionary of decimals"] == "1.5"
    assert second["views"] == ["b"]
    assert second["date"] == "2147483647 days since 1970"


def test_texts_that_are_stored_as_views_are_ids_like_any(tmp_path):
    ids = pa.array(["ep-0", "ep-1"]).cast(pa.string_view())
    rows, _ = read_kind(tmp_path / "in", "episodes", episode_id=ids, tool_calls=[4, 4])
    assert rows["episode_id"].to_list() == ["ep-0", "ep-1"]


def test_files_of_one_input_may_differ_in_order_and_types(tmp_path, capsys):
    settings = project(tmp_path, episodes(2))
    other = episodes(2, episode_id=["x", "y"], tool_calls=pa.array([4, 4], pa.uint8()), more=[1, 2])
    pq.write_table(other.select(other.column_names[::-1]), tmp_path / "episodes/other.parquet")
    ran = ran_once(capsys, settings)
    assert ran.code == 0, ran.err
    assert published(tmp_path) == {"ep-0", "ep-1", "x", "y"}
    pq.write_table(episodes(2, tool_calls=["4", "4"]), tmp_path / "episodes/third.parquet")
    ran = ran_once(capsys, settings)
    assert ran.code == 3
    assert "third.parquet: column tool_calls should be a whole number and is string" in ran.err
    assert published(tmp_path) == {"ep-0", "ep-1", "x", "y"}


def ran_once(capsys, settings: Path) -> Ran:
    if not (settings.parent / "warehouse").exists():
        assert run(capsys, "init", settings.parent).code == 0
    return run(capsys, "run", "--settings", settings)


def published(folder: Path) -> set[str]:
    found = sorted((folder / "warehouse").glob("runs/*/tables/ungraded/*.parquet"))
    return set(
        pl.concat([pl.read_parquet(one, columns=["episode_id"]) for one in found])["episode_id"]
    )


# Files


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
