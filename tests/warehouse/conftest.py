from pathlib import Path

import pytest

from judgebatch.warehouse import Warehouse, init


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return init(tmp_path / "warehouse")
