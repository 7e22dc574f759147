import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from judgebatch.warehouse import Warehouse, failpoints, init, open_warehouse
from tests.faults.night import night
from tests.warehouse.nights import files_of


@pytest.fixture(autouse=True)
def no_failpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(failpoints.VARIABLE, raising=False)
    failpoints._hits.clear()
    yield
    failpoints._hits.clear()


@pytest.fixture(scope="session")
def one_night(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A warehouse with its first night; not to be changed."""
    folder = tmp_path_factory.mktemp("one_night")
    warehouse = init(folder / "warehouse")
    night(warehouse, folder / "judgebatch.prom", 1)
    return warehouse


@pytest.fixture(scope="session")
def undisturbed(one_night: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What is under ``runs/`` after two nights in which nothing happened."""
    folder = tmp_path_factory.mktemp("undisturbed")
    shutil.copytree(one_night.path, folder / "warehouse")
    warehouse = open_warehouse(folder / "warehouse")
    night(warehouse, folder / "judgebatch.prom", 2)
    return files_of(warehouse)


@pytest.fixture
def fresh(one_night: Warehouse, tmp_path: Path) -> Callable[[], Warehouse]:
    """Return copies of the warehouse with one night."""
    copies = iter(range(1000))

    def copy() -> Warehouse:
        path = tmp_path / f"copy-{next(copies)}" / "warehouse"
        shutil.copytree(one_night.path, path)
        return open_warehouse(path)

    return copy
