import datetime as dt
import decimal

import orjson
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from judgebatch.contracts.rows import EpisodeRows, QuarantineRows, VerdictRows
from judgebatch.contracts.table import schema_of
from judgebatch.errors import InputError
from judgebatch.inputs import InputKind, discover, inspect_file, read_file
from judgebatch.inputs import parquet as parquet_module
from tests.inputs.made import NOON, episodes, read, spec, times, verdicts

ODD_IDS = [" ", "007", "..", "a/b", "a=b", "'\"", "a\nb", "🙂", "שלום", "x" * 10_000, "NULL", "nan"]


def messages(batch) -> list[str]:
    return batch.quarantined["message"].to_list()


def refused(tmp_path, table: pa.Table, kind: str = "episodes", **other) -> str:
    with pytest.raises(InputError) as raised:
        read(table, tmp_path, kind, **other)
    assert raised.value.exit_code == 3
    assert "\n" not in str(raised.value)
    assert str(tmp_path / "night.parquet") in str(raised.value)
    return str(raised.value)


def test_accepted_rows_follow_their_contracts(tmp_path):
    rows, quarantined = read(episodes(), tmp_path)
    assert rows.schema == schema_of(EpisodeRows)
    assert quarantined.schema == schema_of(QuarantineRows)
    assert rows["cost_nano_usd"].to_list() == [250_000_000] * 2
    assert rows["arrived_at"].to_list() == [NOON] * 2
    assert rows["source_file"].unique().to_list() == ["night.parquet"]
    assert rows["source_row"].to_list() == [0, 1]
    assert rows["variant"].to_list() == rows["extra"].to_list() == [None, None]
    rows, quarantined = read(verdicts(), tmp_path, "verdicts")
    assert rows.schema == schema_of(VerdictRows)
    assert rows["cost_nano_usd"].to_list() == [0, 0]
    assert rows["compared_episode_id"].to_list() == [None, None]


def test_a_file_without_rows_is_read_with_its_schema(tmp_path):
    pq.write_table(episodes(0), tmp_path / "a.parquet")
    (file,) = discover(spec(tmp_path))
    assert [len(batch.rows) for batch in read_file(file, spec(tmp_path))] in ([], [0])
    assert inspect_file(file, spec(tmp_path)) == (0, ())


def test_ids_are_any_text(tmp_path):
    rows, quarantined = read(episodes(len(ODD_IDS), episode_id=ODD_IDS), tmp_path)
    assert rows["episode_id"].to_list() == ODD_IDS
    assert quarantined.is_empty()


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", "b"], pa.large_string()),
        pa.array(["a", "b"]).dictionary_encode(),
        pa.array(["a", "b"], pa.large_string()).dictionary_encode(),
    ],
)
def test_other_forms_of_text_are_taken(tmp_path, column):
    rows, _ = read(episodes(task_id=column), tmp_path)
    assert rows["task_id"].to_list() == ["a", "b"]


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.uint8(), pa.uint64()])
def test_other_widths_of_whole_numbers_are_taken(tmp_path, kind):
    rows, _ = read(
        episodes(tool_calls=pa.array([7, 8], kind), latency_ms=pa.array([7, 8], kind)), tmp_path
    )
    assert rows["tool_calls"].to_list() == [7, 8]
    assert rows["latency_ms"].to_list() == [7.0, 8.0]


@pytest.mark.parametrize(
    ("column", "nano"),
    [
        (pa.array([decimal.Decimal("0.0000000015"), decimal.Decimal(3)], pa.decimal128(38, 10)), 2),
        (pa.array([decimal.Decimal("0.01"), None], pa.decimal128(5, 2)), 10_000_000),
        (pa.array([decimal.Decimal("0.01"), None], pa.decimal256(60, 2)), 10_000_000),
        (pa.array([3, None], pa.int16()), 3 * 10**9),
        (pa.array([0.5, None], pa.float32()), 500_000_000),
    ],
)
def test_money_is_taken_from_any_number(tmp_path, column, nano):
    rows, _ = read(verdicts(cost_usd=column), tmp_path, "verdicts")
    assert rows["cost_nano_usd"][0] == nano


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Paris", "+09:00"])
def test_timestamps_of_any_unit_and_zone_become_utc_microseconds(tmp_path, unit, zone):
    rows, _ = read(episodes(arrived_at=times(2, unit, zone)), tmp_path)
    assert rows["arrived_at"].to_list() == [NOON] * 2


def test_a_column_without_any_value_has_no_type_and_is_taken(tmp_path):
    rows, _ = read(episodes(variant=pa.nulls(2)), tmp_path)
    assert rows["variant"].to_list() == [None, None]
    batch = read(episodes(task_id=pa.nulls(2)), tmp_path)
    assert messages(batch) == ["task_id is null"] * 2


def test_the_settings_map_the_files_names(tmp_path):
    table = episodes().rename_columns({"episode_id": "run_id", "arrived_at": "ended"})
    rows, _ = read(table, tmp_path, columns={"episode_id": "run_id", "arrived_at": "ended"})
    assert rows["episode_id"].to_list() == ["ep-0", "ep-1"]
    assert rows["extra"].to_list() == [None, None]


def test_a_column_that_the_mapping_passes_over_is_extra(tmp_path):
    table = episodes(run_id=["r0", "r1"])
    rows, _ = read(table, tmp_path, columns={"episode_id": "run_id"})
    assert rows["episode_id"].to_list() == ["r0", "r1"]
    assert rows["extra"].to_list() == ['{"episode_id":"ep-0"}', '{"episode_id":"ep-1"}']


def test_extra_columns_are_json_whatever_the_order_of_columns(tmp_path):
    one = episodes(zone=["a", None], **{"*": [[1], None], "^b$": [float("nan"), 1.5]})
    two = one.select(list(reversed(one.column_names)))
    first, second = read(one, tmp_path)[0], read(two, tmp_path)[0]
    assert first["extra"].to_list() == [
        '{"*":[1],"^b$":"NaN","zone":"a"}',
        '{"*":null,"^b$":1.5,"zone":null}',
    ]
    assert first.equals(second)


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("tenant_id", None, "tenant_id is null"),
        ("episode_id", None, "episode_id is null"),
        ("task_id", None, "task_id is null"),
        ("verifier_outcome", None, "verifier_outcome is null"),
        ("tenant_id", "", "tenant_id is empty"),
        ("episode_id", "", "episode_id is empty"),
        ("task_id", "", "task_id is empty"),
        ("verifier_outcome", "", "verifier_outcome is empty"),
        ("arrived_at", None, "arrived_at is null"),
        ("cost_usd", None, "cost_usd is null"),
        ("cost_usd", -0.5, "cost_usd is negative: -0.5"),
        ("cost_usd", -1e-12, "cost_usd is negative: -1e-12"),
        ("cost_usd", float("nan"), "cost_usd is not finite: NaN"),
        ("cost_usd", float("inf"), "cost_usd is not finite: inf"),
        ("cost_usd", 1e10, "cost_usd is too large: 10000000000.0"),
        ("latency_ms", None, "latency_ms is null"),
        ("latency_ms", -1.0, "latency_ms is negative: -1.0"),
        ("latency_ms", float("-inf"), "latency_ms is not finite: -inf"),
        ("tool_calls", None, "tool_calls is null"),
        ("tool_calls", -1, "tool_calls is negative: -1"),
        ("tool_errors", 5, "tool_errors 5 exceeds tool_calls 4"),
    ],
)
def test_a_bad_episode_is_quarantined_and_the_others_go_on(tmp_path, column, value, expected):
    table = episodes(2)
    good = table[column][0].as_py()
    values = pa.array([value, good], table.schema.field(column).type)
    batch = read(table.set_column(table.column_names.index(column), column, values), tmp_path)
    assert messages(batch) == [expected]
    assert batch.quarantined["reason"].to_list() == ["bad_row"]
    assert batch.quarantined["source_row"].to_list() == [0]
    assert batch.rows["source_row"].to_list() == [1]
    content = orjson.loads(batch.quarantined["content"][0])
    assert list(content) == table.column_names
    assert content["latency_ms" if column != "latency_ms" else "cost_usd"] is not None


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("verdict_id", "", "verdict_id is empty"),
        ("verdict", None, "verdict is null"),
        ("judged_at", None, "judged_at is null"),
        ("compared_episode_id", "", "compared_episode_id is empty"),
        ("judge_id", "", "judge_id is empty"),
        ("cost_usd", -1.0, "cost_usd is negative: -1.0"),
    ],
)
def test_a_bad_verdict_is_quarantined(tmp_path, column, value, expected):
    table = verdicts(
        2,
        compared_episode_id=["ep-7", "ep-8"],
        judge_id=["j", None],
        cost_usd=[0.1, None],
        recorded_passed=[None, True],
    )
    good = table[column][1].as_py()
    values = pa.array([value, good], table.schema.field(column).type)
    batch = read(
        table.set_column(table.column_names.index(column), column, values), tmp_path, "verdicts"
    )
    assert messages(batch) == [expected]
    assert batch.rows["verdict_id"].to_list() == ["v-1"]


def test_verdict_text_is_not_read_here(tmp_path):
    rows, quarantined = read(verdicts(verdict=["not json", ""]), tmp_path, "verdicts")
    assert rows["verdict"].to_list() == ["not json", ""]
    assert quarantined.is_empty()


def test_the_first_problem_is_the_first_columns(tmp_path):
    batch = read(episodes(1, episode_id=[""], cost_usd=[-1.0], tool_errors=[9]), tmp_path)
    assert messages(batch) == ["episode_id is empty"]


def test_a_quarantined_row_keeps_its_identity_and_content(tmp_path):
    table = episodes(1, latency_ms=[float("nan")], note=[b"\xff"])
    row = read(table, tmp_path).quarantined.row(0, named=True)
    assert (row["input"], row["tenant_id"], row["id"]) == ("episodes", "acme", "ep-0")
    content = orjson.loads(row["content"])
    assert content["latency_ms"] == "NaN"
    assert content["note"] == "ff"
    assert content["arrived_at"] == "2026-03-01T12:00:00+00:00"


def test_moments_outside_the_calendar_are_bad_rows(tmp_path):
    far = pa.array([2**62, -(2**62)], pa.timestamp("us", "UTC"))
    batch = read(episodes(arrived_at=far), tmp_path)
    assert messages(batch) == ["arrived_at lies outside the years 1 to 9999"] * 2
    coarse = far.cast(pa.int64()).cast(pa.timestamp("ms", "UTC"))
    assert len(messages(read(episodes(arrived_at=coarse), tmp_path))) == 2


def test_a_zone_may_be_assumed(tmp_path):
    local = pa.array(["2026-03-01 12:00", "2026-07-01 12:00"]).cast(pa.timestamp("us"))
    rows, _ = read(episodes(arrived_at=local), tmp_path, assume_timezone="Europe/Paris")
    assert [moment.hour for moment in rows["arrived_at"]] == [11, 10]


def test_a_local_time_that_does_not_exist_once_is_a_bad_row(tmp_path):
    local = pa.array(["2026-03-29 02:30", "2026-10-25 02:30"]).cast(pa.timestamp("us"))
    batch = read(episodes(arrived_at=local), tmp_path, assume_timezone="Europe/Paris")
    expected = "arrived_at is a local time that Europe/Paris has twice or not at all"
    assert messages(batch) == [expected] * 2


def test_a_missing_column_says_what_the_mapping_could_say(tmp_path):
    said = refused(tmp_path, episodes().rename_columns({"episode_id": "episodeid"}))
    assert "has no column 'episode_id' (text); it has 'tenant_id', 'episodeid'" in said
    assert "(did you mean 'episodeid'?)" in said
    assert '[inputs.episodes.columns] episode_id = "episodeid"' in said
    said = refused(tmp_path, episodes(run=["a", "b"]).drop_columns(["episode_id"]))
    assert "episode_id = \"…\" (of that type there: 'run')." in said
    said = refused(tmp_path, episodes().drop_columns(["cost_usd"]))
    assert "has no column 'cost_usd' (an amount: a number or a decimal)" in said


def test_a_mapped_column_that_is_missing_is_named(tmp_path):
    said = refused(tmp_path, episodes(), columns={"variant": "versoin"})
    assert "no column 'versoin', which the settings name for variant" in said


@pytest.mark.parametrize(
    ("column", "values", "expected"),
    [
        ("episode_id", [1, 2], "column episode_id should be text and is int64"),
        ("episode_id", [b"a", b"b"], "column episode_id should be text and is binary"),
        ("tool_calls", [1.0, 2.0], "column tool_calls should be a whole number and is double"),
        ("tool_calls", ["1", "2"], "column tool_calls should be a whole number and is string"),
        ("cost_usd", ["1", "2"], "column cost_usd should be an amount"),
        ("latency_ms", [True, False], "column latency_ms should be a number"),
        ("arrived_at", ["2026-03-01", "x"], "column arrived_at should be a timestamp with a time"),
        ("arrived_at", [1, 2], "column arrived_at should be a timestamp with a time zone and is"),
        ("arrived_at", [dt.date(2026, 1, 1)] * 2, "and is date32[day]"),
    ],
)
def test_a_wrong_type_says_what_was_expected_and_found(tmp_path, column, values, expected):
    table = episodes()
    at = table.column_names.index(column)
    assert expected in refused(tmp_path, table.set_column(at, column, pa.array(values)))


def test_a_wrong_type_names_columns_that_would_do(tmp_path):
    table = (
        episodes(run=["r0", "r1"])
        .drop_columns(["episode_id"])
        .append_column("episode_id", pa.array([1, 2]))
    )
    assert "here: 'tenant_id', 'task_id', 'verifier_outcome', 'run')" in refused(tmp_path, table)


def test_a_timestamp_without_zone_names_the_setting(tmp_path):
    said = refused(tmp_path, episodes(arrived_at=times(2, "us", None)))
    assert "timestamp[us], without one" in said
    assert '[inputs.episodes] assume_timezone = "UTC"' in said


def test_nanoseconds_with_a_remainder_are_refused(tmp_path):
    odd = pa.array([1_000, 1_001], pa.timestamp("ns", "UTC"))
    assert "whole microseconds" in refused(tmp_path, episodes(arrived_at=odd))


def test_two_columns_of_one_name_are_refused(tmp_path):
    table = episodes()
    twice = pa.table(
        [*table.columns, table["note" if "note" in table.column_names else "task_id"]],
        names=[*table.column_names, "task_id"],
    )
    assert "two columns called 'task_id'" in refused(tmp_path, twice)


def test_row_numbers_count_over_row_groups_and_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_module, "_MOST_ROWS", 7)
    pq.write_table(episodes(30), tmp_path / "a.parquet", row_group_size=11)
    (file,) = discover(spec(tmp_path))
    read_batches = list(read_file(file, spec(tmp_path)))
    assert len(read_batches) > 4
    rows = pl.concat([batch.rows for batch in read_batches])
    assert rows["source_row"].to_list() == list(range(30))
    assert rows["episode_id"].to_list() == [f"ep-{index}" for index in range(30)]


def test_wide_rows_come_in_small_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_module, "_BATCH_BYTES", 1 << 20)
    texts = [f"{index}" + "x" * 100_000 for index in range(40)]
    pq.write_table(
        verdicts(40, verdict=texts), tmp_path / "a.parquet", use_dictionary=False, compression=None
    )
    (file,) = discover(spec(tmp_path))
    batches = list(read_file(file, spec(tmp_path, InputKind.VERDICTS)))
    assert max(len(batch.rows) for batch in batches) <= 11
