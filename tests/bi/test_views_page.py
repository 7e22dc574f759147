"""The page of the views names every view and every column, and nothing else."""

import re
from pathlib import Path

import pytest

from judgebatch.contracts.grading import Graded, Ungraded
from judgebatch.contracts.interpretations import Interpretations
from judgebatch.contracts.registry import published
from judgebatch.warehouse import Warehouse, connect, init
from judgebatch.warehouse.derived_views import DERIVED
from judgebatch.warehouse.view_sql import quoted

PAGE = (Path(__file__).parents[2] / "docs" / "views.md").read_text(encoding="utf-8")
TYPES = {"BIGINT", "DOUBLE", "VARCHAR", "BOOLEAN", "DATE", "TIMESTAMP WITH TIME ZONE"}
BASES = {
    "`graded` and `ungraded`": [*Graded.column_names(), *Ungraded.column_names()],
    "`audit/interpretations`": Interpretations.column_names(),
}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return init(tmp_path_factory.mktemp("views") / "warehouse")


def sections() -> dict[str, str]:
    parts = re.split(r"^### (\w+)$", PAGE, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def documented(section: str) -> set[str]:
    text = re.search(r"^Columns: (.*?)\.$", section, re.MULTILINE | re.DOTALL)
    assert text, section
    said = " ".join(text[1].split())
    names: set[str] = set()
    for base, columns in BASES.items():
        if base in said:
            said = said.replace(base, "")
            names |= set(columns)
    return names | set(re.findall(r"`(\w+)`", said))


def test_every_view_has_its_section() -> None:
    assert set(sections()) == set(DERIVED)


@pytest.mark.parametrize("name", sorted(DERIVED))
def test_a_section_names_the_columns_of_its_view(name: str, warehouse: Warehouse) -> None:
    with connect(warehouse) as connection:
        described = connection.execute(f"DESCRIBE {quoted(name)}").fetchall()
    assert documented(sections()[name]) == {column for column, *_ in described}
    assert {kind for _, kind, *_ in described} <= TYPES


def test_every_column_is_explained(warehouse: Warehouse) -> None:
    explained = set(re.findall(r"`(\w+)`", PAGE.split("## Columns that only views have")[1]))
    of_tables = {name for table in published().values() for name in table.column_names()}
    with connect(warehouse) as connection:
        for name in DERIVED:
            described = connection.execute(f"DESCRIBE {quoted(name)}").fetchall()
            columns = {column for column, *_ in described}
            assert columns <= explained | of_tables, name
