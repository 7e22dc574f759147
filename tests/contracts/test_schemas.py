import re
from pathlib import Path

import dataframely as dy
import orjson
import polars as pl
import pytest

from judgebatch.contracts import registry
from judgebatch.contracts.grading import Graded
from judgebatch.contracts.registry import (
    SCHEMAS,
    changed_without_version,
    contracts,
    documentation,
    published,
    schema_path,
    schema_text,
)
from judgebatch.contracts.table import Table, identity_of, json_schema, schema_of

AGAIN = "run `python -m judgebatch.contracts.registry`, after raising the version if it asks for it"
DOCS = Path(__file__).parents[2] / "docs" / "tables.md"
BI_SAFE = {
    pl.Int64(),
    pl.Float64(),
    pl.String(),
    pl.Boolean(),
    pl.Date(),
    pl.Datetime("us", "UTC"),
}


@pytest.mark.parametrize("name", sorted(contracts()))
def test_a_contract_is_checked_in_as_it_is(name: str) -> None:
    table = contracts()[name]
    assert schema_path(table).exists(), AGAIN
    assert not changed_without_version(table), f"{name} changed without a new version"
    assert schema_path(table).read_bytes() == schema_text(table), AGAIN


def test_no_schema_is_left_of_a_contract_that_is_gone() -> None:
    wanted = {schema_path(table) for table in contracts().values()}
    assert set(SCHEMAS.glob("*.json")) == wanted, AGAIN


def test_the_documentation_is_what_the_contracts_say() -> None:
    assert DOCS.read_text() == documentation(), AGAIN


@pytest.mark.parametrize("name", sorted(contracts()))
def test_a_contract_is_fit_to_be_published(name: str) -> None:
    table = contracts()[name]
    columns = table.columns()
    assert name == name.lower()
    assert set(table.order) <= columns.keys()
    assert set(identity_of(table)) <= columns.keys()
    assert table.__doc__
    for column_name, column in columns.items():
        assert (column.metadata or {}).get("doc"), f"{name}.{column_name} has no documentation"


@pytest.mark.parametrize("name", sorted(published()))
def test_a_published_table_has_the_types_that_every_reader_knows(name: str) -> None:
    table = published()[name]
    assert set(schema_of(table).values()) <= BI_SAFE
    assert {"run", "as_of"} <= set(schema_of(table).names())
    assert re.fullmatch(r"(audit/)?[a-z_]+", name)
    if table.kind == "event":
        assert identity_of(table), f"{name} does not say what names a row"


def test_a_column_name_means_the_same_type_everywhere() -> None:
    types: dict[str, dict[str, list[str]]] = {}
    for name, table in published().items():
        for column, kind in table.columns().items():
            types.setdefault(column, {}).setdefault(type(kind).__name__, []).append(name)
    assert not {column: where for column, where in types.items() if len(where) > 1}


def test_no_table_but_graded_and_strengths_has_a_score_or_strength() -> None:
    scored = {
        name
        for name, table in published().items()
        if {"score", "strength"} & table.columns().keys()
    }
    assert scored - {"audit/interpretation_judges"} == {"graded", "strengths"}


def grown(version: int) -> type[Table]:
    """Return the contract of graded with one column more."""

    class Grown(Graded):
        """One row per graded episode."""

        extra_column = dy.Int64(nullable=True, metadata={"doc": "New."})

    Grown.version = version
    return Grown


def test_a_change_without_a_new_version_is_noticed() -> None:
    assert not changed_without_version(Graded)
    assert changed_without_version(grown(Graded.version))
    assert not changed_without_version(grown(Graded.version + 1))


def test_better_words_are_no_change(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(registry, "SCHEMAS", tmp_path)
    schema = json_schema(Graded)
    for column in schema["columns"]:
        column["doc"] = "Other words."
    schema_path(Graded).write_bytes(orjson.dumps(schema))
    assert not changed_without_version(Graded)


def test_writing_the_schemas_refuses_a_change_without_a_new_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(registry, "SCHEMAS", tmp_path / "schemas")
    monkeypatch.chdir(tmp_path)
    assert registry.main() == 0
    assert (tmp_path / "docs" / "tables.md").read_text() == documentation()
    tables = contracts() | {"graded": grown(Graded.version)}
    monkeypatch.setattr(registry, "contracts", lambda: tables)
    assert registry.main() == 1
    assert "changed without a new version: graded" in capsys.readouterr().err
    tables = contracts() | {"graded": grown(Graded.version + 1)}
    monkeypatch.setattr(registry, "contracts", lambda: tables)
    assert registry.main() == 0
    written = orjson.loads(schema_path(Graded).read_bytes())
    assert written["columns"][-1]["name"] == "extra_column"


def test_two_contracts_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(Table):
        """Another table of that name."""

        name = "graded"

    found = registry._tables
    monkeypatch.setattr(registry, "_tables", lambda module: [*found(module), Other])
    with pytest.raises(TypeError, match="two contracts are called"):
        registry.contracts.__wrapped__()
