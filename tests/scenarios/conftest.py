from pathlib import Path

import pytest

from tests.conformance.nights import Nights


@pytest.fixture
def nights(tmp_path: Path) -> Nights:
    return Nights(tmp_path)
