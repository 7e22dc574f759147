import gzip
import json
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pytest

from judgebatch.errors import InputError, UsageError
from judgebatch.pipeline import verdict_files
from judgebatch.pipeline.corpus import ALL, interpret_files
from judgebatch.pipeline.mapping import in_processes
from judgebatch.verdicts import instrument_sentence
from tests.cli.running import run
from tests.verdicts.documents import accepted, errored, known_cases, legacy, rejected, text

DOCUMENTS = [case["verdict"] for case in known_cases()[:300]]


def lines(path: Path, *texts: str | bytes) -> Path:
    content = [one.encode() if isinstance(one, str) else one for one in texts]
    path.write_bytes(b"\n".join(content) + b"\n")
    return path


def tables(folder: Path) -> dict[str, pl.DataFrame]:
    return {path.stem: pl.read_parquet(path) for path in folder.glob("*.parquet")}


def test_parquet_and_lines_of_the_same_verdicts_read_the_same(tmp_path: Path) -> None:
    texts = [text(document) for document in DOCUMENTS]
    pl.DataFrame({"verdict": texts}).write_parquet(tmp_path / "v.parquet", row_group_size=70)
    lines(tmp_path / "v.jsonl", *texts)
    for name in ("v.parquet", "v.jsonl"):
        interpret_files([tmp_path / name], tmp_path / f"out-{name}")
    one, other = tables(tmp_path / "out-v.parquet"), tables(tmp_path / "out-v.jsonl")
    assert one.keys() == other.keys() == {table.name.removeprefix("read/") for table in ALL}
    for name, frame in one.items():
        assert frame.drop("source_file").equals(other[name].drop("source_file")), name
    assert one["verdicts"]["verdict"].to_list() == texts
    assert one["verdicts"]["source_row"].to_list() == list(range(300))


def test_the_tables_do_not_depend_on_parts_batches_or_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [text(document) for document in DOCUMENTS]
    source = lines(tmp_path / "v.jsonl", *texts[:50], "", "broken", *texts[50:])
    interpret_files([source], tmp_path / "one")
    monkeypatch.setattr(verdict_files, "PART_BYTES", 100_000)
    monkeypatch.setattr(verdict_files, "BATCH_ROWS", 7)
    interpret_files([source], tmp_path / "many")
    with in_processes(2) as mapper:
        interpret_files([source], tmp_path / "processes", mapper=mapper)
    expected = {path.name: path.read_bytes() for path in (tmp_path / "one").iterdir()}
    for other in ("many", "processes"):
        assert {p.name: p.read_bytes() for p in (tmp_path / other).iterdir()} == expected


@pytest.mark.parametrize("indent", [None, 2])
def test_result_documents_keep_each_verdicts_text_unchanged(
    tmp_path: Path, indent: int | None
) -> None:
    first = '{"aggregated": {"status":"PASS", "score" : 1.50e-1, "x":{"]":"\\"}"}}}'
    document = {
        "items": [
            {"itemId": "a", "passed": True, "verdict": "FIRST"},
            {"itemId": 7, "success": False, "verdict": legacy("ABSTAIN")},
            {"itemId": "none", "passed": True},
            3,
        ]
    }
    content = json.dumps(document, indent=indent).replace('"FIRST"', first)
    (tmp_path / "results.json").write_text(content)
    interpret_files([tmp_path / "results.json"], tmp_path / "out")
    found = tables(tmp_path / "out")
    assert found["verdicts"]["verdict"][0] == first
    assert orjson.loads(found["verdicts"]["verdict"][1]) == legacy("ABSTAIN")
    assert found["verdicts"].select("item", "verdict_id", "recorded_passed").rows() == [
        (0, "a", True),
        (1, "7", False),
    ]
    assert found["restatements"]["cause"].to_list() == ["abstention_charged"]
    assert found["quarantine"].select("item", "reason", "message").rows() == [
        (2, "bad_row", "the item has no verdict"),
        (3, "bad_row", "the item is not an object"),
    ]


def test_lines_may_hold_items_and_documents_beside_bare_verdicts(tmp_path: Path) -> None:
    source = lines(
        tmp_path / "mixed.jsonl",
        text(accepted()),
        text({"itemId": "i", "passed": False, "verdict": errored()}),
        text({"items": [{"itemId": "x", "verdict": rejected()}, {"verdict": accepted()}]}),
        text({"itemId": "t", "passed": True, "verdict": text(rejected())}),
    )
    interpret_files([source], tmp_path / "out")
    found = tables(tmp_path / "out")["interpretations"]
    assert found.select("source_row", "item", "verdict_id", "reading").rows() == [
        (0, 0, None, "ACCEPTED"),
        (1, 0, "i", "NOT_ASSESSED"),
        (2, 0, "x", "REJECTED"),
        (2, 1, None, "ACCEPTED"),
        (3, 0, "t", "REJECTED"),
    ]


def test_what_is_no_verdict_is_in_quarantine_with_row_and_position(tmp_path: Path) -> None:
    source = lines(
        tmp_path / "v.jsonl", text(accepted()), '{"aggregated": nope}', "", "[1]", b'{"a":"\xff"}'
    )
    interpret_files([source], tmp_path / "out")
    rows = tables(tmp_path / "out")["quarantine"].rows(named=True)
    assert [(row["source_row"], row["reason"]) for row in rows] == [
        (1, "unreadable_verdict"),
        (3, "unreadable_verdict"),
        (4, "unreadable_verdict"),
    ]
    assert "line 1 column" in rows[0]["message"]
    assert rows[0]["content"] == '{"aggregated": nope}'
    assert rows[1]["message"] == "a list instead of a JSON object"
    assert "byte 6" in rows[2]["message"]
    assert {row["source_file"] for row in rows} == {str(source)}


def test_a_null_in_parquet_is_a_bad_row(tmp_path: Path) -> None:
    frame = pl.DataFrame({"verdict": [None, text(accepted())], "verdict_id": ["a", "b"]})
    frame.write_parquet(tmp_path / "v.parquet")
    interpret_files([tmp_path / "v.parquet"], tmp_path / "out")
    found = tables(tmp_path / "out")
    assert found["quarantine"]["reason"].to_list() == ["bad_row"]
    assert found["interpretations"]["verdict_id"].to_list() == ["b"]


def test_a_missing_column_names_those_there_are(tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    pl.DataFrame({"id": [1], "verdicts": ["{}"]}).write_parquet(path)
    with pytest.raises(InputError, match=r"no column 'verdict'.*'verdicts'.*id, verdicts"):
        interpret_files([path], tmp_path / "out")
    with pytest.raises(InputError, match="holds int64, not JSON text"):
        interpret_files([path], tmp_path / "out", column="id")
    assert not (tmp_path / "out").exists()
    assert sorted(tmp_path.iterdir()) == [path]


def test_inputs_that_are_not_there_and_folders_in_use_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        interpret_files([tmp_path / "nothing"], tmp_path / "out")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no files"):
        interpret_files([tmp_path / "empty"], tmp_path / "out")
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "x").touch()
    with pytest.raises(UsageError, match="exists already"):
        interpret_files([tmp_path / "empty"], tmp_path / "used")
    (tmp_path / "torn.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match="not readable Parquet"):
        interpret_files([tmp_path / "torn.parquet"], tmp_path / "out")


@pytest.mark.parametrize("indent", [None, 2])
def test_a_byte_order_mark_is_no_part_of_what_it_stands_before(
    tmp_path: Path, indent: int | None
) -> None:
    content = json.dumps({"items": [{"itemId": "a", "verdict": accepted()}]}, indent=indent)
    (tmp_path / "marked.json").write_text(content, encoding="utf-8-sig")
    lines(tmp_path / "marked.jsonl", b"\xef\xbb\xbf" + text(accepted()).encode(), text(rejected()))
    interpret_files([tmp_path / "marked.json", tmp_path / "marked.jsonl"], tmp_path / "out")
    found = tables(tmp_path / "out")
    assert found["interpretations"]["reading"].to_list() == ["ACCEPTED", "ACCEPTED", "REJECTED"]
    assert found["verdicts"]["verdict"][1] == text(accepted())
    assert found["quarantine"].is_empty()


@pytest.mark.parametrize("first", ["{broken", '{"aggregated": "cut off', "{", "not JSON"])
def test_a_broken_first_line_costs_no_other_line(tmp_path: Path, first: str) -> None:
    source = lines(tmp_path / "v.jsonl", first, text(accepted()), text(rejected()))
    interpret_files([source], tmp_path / "out")
    found = tables(tmp_path / "out")
    assert found["quarantine"]["source_row"].to_list() == [0]
    assert found["interpretations"]["reading"].to_list() == ["ACCEPTED", "REJECTED"]


def test_a_compressed_file_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "v.jsonl.gz"
    path.write_bytes(gzip.compress(text(accepted()).encode()))
    with pytest.raises(InputError, match=r"v.jsonl.gz is compressed \(gzip\). Unpack it first"):
        interpret_files([path], tmp_path / "out")


def items(path: Path, runs: list[tuple[Any, bool]]) -> Path:
    found = [{"itemId": str(i), "passed": p, "verdict": v} for i, (v, p) in enumerate(runs)]
    path.write_bytes(orjson.dumps({"items": found}))
    return path


def test_each_input_is_a_corpus_with_its_own_sentence(tmp_path: Path) -> None:
    broken = [(errored(), False)] * 8 + [(legacy("ABSTAIN"), False)] * 12
    sound = [(accepted(), True)] * 11 + [(rejected(), False)] * 8
    one = items(tmp_path / "one.json", broken + sound)
    other = items(tmp_path / "other.json", sound)
    counts = interpret_files([one, other], tmp_path / "out")
    sentences = [instrument_sentence(read.recorded) for read in counts.values()]
    assert sentences == [
        "20 of 39 runs had a jury that errored or abstained; all 20 were recorded as not passed.",
        "0 of 19 runs had a jury that errored or abstained.",
    ]


def test_the_command_says_what_it_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = [(errored(), False)] * 20 + [(legacy("PASS"), True)] * 19
    source = items(tmp_path / "results.json", broken)
    ran = run(capsys, "interpret", source, "-o", tmp_path / "out", "-p", 1)
    assert ran.code == 0, ran.err
    said = " ".join(ran.out.split())
    assert "39 verdicts read" in said
    assert "20 of 39 runs had a jury that errored or abstained; all 20 were recorded" in said
    assert "Pass rate recorded: 48.7% (19 of 39)." in said
    assert "Pass rate restated: 100.0% (19 of 19)." in said
    assert "Commonest defects" in said
    assert "20 to restate: instrument_failure_charged." in said


def test_the_command_prints_json_for_scripts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = lines(tmp_path / "v.jsonl", text(accepted()), "x")
    ran = run(capsys, "interpret", source, "-o", tmp_path / "out", "-p", 1, "--json")
    said = json.loads(ran.out)["inputs"][str(source)]
    assert (said["verdicts"], said["quarantined"]) == (1, 1)
    assert said["readings"] == [{"reading": "ACCEPTED", "reading_support": "SUPPORTED", "count": 1}]


@pytest.mark.parametrize(
    "arguments", [[], ["x"], ["-o", "out"], ["x", "--warehouse", "w"], ["--warehouse", "nothing"]]
)
def test_a_call_that_cannot_work_says_how_it_would(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    ran = run(capsys, "interpret", *arguments)
    assert ran.code == 2
    assert "Traceback" not in ran.err
    assert len(ran.err.strip().splitlines()) == 1
