import orjson
import polars as pl
import pytest

from judgebatch.synthesis.documents import Kind, documents
from judgebatch.verdicts.batch import interpret_texts
from judgebatch.vocabulary import TERMINAL_CODES

READS = {
    Kind.LEFT: ("ACCEPTED", "SUPPORTED"),
    Kind.RIGHT: ("REJECTED", "SUPPORTED"),
    Kind.TIE: ("REJECTED", "SUPPORTED"),
    Kind.UNDECIDED: ("UNDECIDED", "SUPPORTED"),
    Kind.NOT_APPLICABLE: ("NOT_APPLICABLE", "SUPPORTED"),
    Kind.ERROR: ("NOT_ASSESSED", "SUPPORTED"),
    Kind.UNATTESTABLE: ("REJECTED", "CONTRADICTED"),
    Kind.LEGACY_LEFT: ("ACCEPTED", "SUPPORTED"),
    Kind.LEGACY_RIGHT: ("REJECTED", "SUPPORTED"),
    Kind.LEGACY_ERROR: ("NOT_ASSESSED", "UNDETERMINED"),
}


@pytest.fixture(scope="module")
def readings() -> pl.DataFrame:
    pool = documents()
    texts = [f"{one.before}ep-1{one.between}ep-2{one.after}" for one in pool]
    kinds = pl.Series("kind", [one.kind.value for one in pool])
    return interpret_texts(pl.Series(texts)).interpretations.with_columns(kinds)


@pytest.mark.parametrize("kind", list(Kind))
def test_every_document_reads_as_its_kind(readings, kind):
    of_kind = readings.filter(kind=kind.value)
    assert of_kind.height > 0
    assert set(of_kind.select("reading", "reading_support").rows()) == {READS[kind]}


def test_ties_have_the_label_tie_and_nothing_else_has(readings):
    assert set(readings.filter(label="tie")["kind"]) == {Kind.TIE.value}
    assert readings.filter(kind=Kind.TIE.value)["label"].null_count() == 0


def test_current_documents_are_current_and_legacy_ones_are_not(readings):
    legacy = pl.col("kind").str.starts_with("legacy")
    assert readings.filter(legacy)["source_version"].unique().to_list() == [0]
    assert readings.filter(~legacy)["source_version"].unique().to_list() == [1]


def test_every_terminal_code_occurs():
    text = "".join(one.before + one.between + one.after for one in documents())
    assert [code for code in TERMINAL_CODES if f'"{code}"' not in text] == []


def test_documents_are_whole_json_of_plausible_size():
    sizes = []
    for one in documents():
        text = f"{one.before}ep-1{one.between}ep-2{one.after}"
        assert orjson.loads(text)["aggregated"]["status"]
        sizes.append(len(text))
    assert min(sizes) > 300
    assert max(sizes) < 20_000


def test_the_pool_is_always_the_same():
    assert documents() == documents()
