import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from judgebatch.warehouse import Warehouse, verify
from judgebatch.warehouse.failpoints import (
    EXPORT_FAILPOINTS,
    FAILPOINTS,
    GC_FAILPOINTS,
    GRADING_FAILPOINTS,
    OBJECT_FAILPOINTS,
    REBUILD_FAILPOINTS,
    VARIABLE,
)
from judgebatch.warehouse.sweeping import rubbish
from tests.faults.night import night
from tests.warehouse.nights import files_of

BEFORE, AFTER = 8, 16
"""Graded rows of one night, and of two."""
SAMPLE = ("staging.locked", "tables.group", "commit.read_only", "commit.renamed", "views.rename")
RECOVERY_ONLY = {"staging.sweep", "staging.swept"}
"""What only a run meets that finds another one's staging."""
ALWAYS_MET = [name for name in FAILPOINTS if name not in RECOVERY_ONLY]


def metrics_of(warehouse: Warehouse) -> Path:
    return warehouse.path.parent / "judgebatch.prom"


def graded(warehouse: Warehouse) -> int:
    return pl.read_parquet(warehouse.path / "runs/*/tables/graded/*.parquet").height


def die(warehouse: Warehouse, failpoint: str) -> None:
    """Run the second night until it is killed, reading what is visible all the while."""
    command = [sys.executable, "-m", "tests.faults.night"]
    arguments = [str(warehouse.path), str(metrics_of(warehouse)), "2"]
    process = subprocess.Popen(
        [*command, *arguments], env=os.environ | {VARIABLE: failpoint}, stderr=subprocess.PIPE
    )
    seen = [graded(warehouse)]
    while process.poll() is None:
        seen.append(graded(warehouse))
        time.sleep(0.01)
    assert process.stderr is not None
    told = process.stderr.read().decode()
    process.stderr.close()
    assert process.returncode == -signal.SIGKILL, (failpoint, told)
    seen.append(graded(warehouse))
    assert set(seen) <= {BEFORE, AFTER}
    assert seen == sorted(seen), "a row that was visible is gone"


def assert_recovered(warehouse: Warehouse, undisturbed: dict[str, bytes]) -> None:
    night(warehouse, metrics_of(warehouse), 2)
    assert files_of(warehouse) == undisturbed
    assert not list(warehouse.layout.staging.iterdir())
    assert rubbish(warehouse) == []
    assert verify(warehouse) == []
    names = {path.name for path in metrics_of(warehouse).parent.iterdir()}
    assert names == {"warehouse", "judgebatch.prom"}
    assert "judgebatch_last_run 2.0" in metrics_of(warehouse).read_text()


@pytest.mark.parametrize("failpoint", SAMPLE)
def test_a_kill_leaves_nothing_that_the_next_run_does_not_mend(
    fresh: Callable[[], Warehouse], undisturbed: dict[str, bytes], failpoint: str
) -> None:
    warehouse = fresh()
    die(warehouse, failpoint)
    assert_recovered(warehouse, undisturbed)


@pytest.mark.soak
@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("failpoint", ALWAYS_MET)
def test_a_kill_at_any_step(
    fresh: Callable[[], Warehouse], undisturbed: dict[str, bytes], failpoint: str, nth: int
) -> None:
    repeated = failpoint.startswith(("pieces", "tables"))
    if nth > 1 and not repeated:
        nth = 1
    warehouse = fresh()
    die(warehouse, f"{failpoint}:{nth}")
    assert_recovered(warehouse, undisturbed)


def second_kills() -> list[tuple[str, str]]:
    """Return for each failpoint one at which the recovery is killed too."""
    chosen = random.Random(7)  # noqa: S311 - any repeatable choice will do
    pairs = []
    for first in ALWAYS_MET:
        committed = FAILPOINTS.index(first) >= FAILPOINTS.index("commit.renamed")
        at = FAILPOINTS.index("views.database" if committed else "staging.folder")
        pairs.append((first, chosen.choice(FAILPOINTS[at:])))
        left_staging = FAILPOINTS.index(first) >= FAILPOINTS.index("staging.folder")
        if left_staging and not committed:
            pairs += [(first, name) for name in sorted(RECOVERY_ONLY)]
    return pairs


@pytest.mark.soak
@pytest.mark.parametrize(("first", "second"), second_kills())
def test_a_kill_during_the_recovery_from_a_kill(
    fresh: Callable[[], Warehouse], undisturbed: dict[str, bytes], first: str, second: str
) -> None:
    warehouse = fresh()
    die(warehouse, first)
    die(warehouse, second)
    assert_recovered(warehouse, undisturbed)


def test_every_failpoint_stands_in_the_code_once() -> None:
    sources = [
        path.read_text()
        for folder in ("warehouse", "pipeline", "reporting")
        for path in (Path(__file__).parents[2] / "judgebatch" / folder).rglob("*.py")
        if path.name != "failpoints.py"
    ]
    text = "\n".join(sources)
    every = (
        *FAILPOINTS,
        *GRADING_FAILPOINTS,
        *REBUILD_FAILPOINTS,
        *EXPORT_FAILPOINTS,
        *GC_FAILPOINTS,
        *OBJECT_FAILPOINTS,
    )
    # Both exports write tables.
    times = dict.fromkeys(every, 1) | {"export.table": 2}
    # Named where it is met, or handed to what meets it.
    named = Counter(re.findall(r'(?:failpoint\(|place=)"([^"]+)"', text))
    assert named == times
