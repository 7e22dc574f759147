import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from judgebatch.cli.main import run_command
from judgebatch.errors import WarehouseWriteError
from judgebatch.warehouse import Warehouse, failpoints, init, open_warehouse, verify
from judgebatch.warehouse.failpoints import FAILPOINTS
from judgebatch.warehouse.sweeping import rubbish
from tests.faults.night import night
from tests.warehouse.nights import files_of

WRITES = [
    name
    for name in FAILPOINTS
    # Steps at which something is written; the others stand between steps.
    if name
    in {
        "pieces.write",
        "tables.write",
        "tables.group",
        "settings.write",
        "commit.hash",
        "commit.manifest",
        "commit.read_only",
        "commit.fsync",
        "commit.rename",
        "views.database",
        "views.rename",
        "metrics.write",
    }
]


# One error at every step, and every error at some: the steps share how they are handled.
FAILURES = [(failpoint, "ENOSPC") for failpoint in WRITES] + [
    (failpoint, error)
    for failpoint in ("pieces.write", "commit.manifest", "views.rename")
    for error in ("EDQUOT", "EACCES", "EROFS", "EIO")
]


@pytest.mark.parametrize(("failpoint", "error"), FAILURES)
def test_a_failing_write_is_named_and_the_next_run_finishes(
    fresh: Callable[[], Warehouse],
    undisturbed: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    failpoint: str,
    error: str,
) -> None:
    warehouse = fresh()
    metrics = warehouse.path.parent / "judgebatch.prom"
    before = files_of(warehouse)
    monkeypatch.setenv(failpoints.VARIABLE, f"{failpoint}={error}")
    with pytest.raises(WarehouseWriteError, match="cannot write") as told:
        night(warehouse, metrics, 2)
    assert told.value.exit_code == 1
    published = FAILPOINTS.index(failpoint) > FAILPOINTS.index("commit.rename")
    assert (files_of(warehouse) == before) is not published
    assert ("Nothing was published" in str(told.value)) is not published
    assert not list(warehouse.layout.staging.iterdir())
    monkeypatch.delenv(failpoints.VARIABLE)
    night(warehouse, metrics, 2)
    assert files_of(warehouse) == undisturbed
    assert verify(warehouse) == []
    assert rubbish(warehouse) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Return a function that makes a file system of so many KiB, or gives it that size."""
    mounted = tmp_path / "disk"
    mounted.mkdir()

    def size(kib: int) -> Path:
        option = f"size={kib}k" + (",remount" if os.path.ismount(mounted) else "")
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", option, "none", str(mounted)],
            check=False,
            capture_output=True,
        )
        if done.returncode:
            pytest.skip("needs the right to mount a small file system")
        return mounted

    yield size
    if os.path.ismount(mounted):
        subprocess.run(["umount", str(mounted)], check=True)


def test_a_full_disk_stops_a_run_and_room_lets_it_finish(
    small_disk: Callable[[int], Path], undisturbed: dict[str, bytes]
) -> None:
    room = 480
    warehouse = init(small_disk(room) / "warehouse")
    metrics = warehouse.path.parent / "judgebatch.prom"
    told = []
    done = 0
    while done < 2:
        try:
            night(warehouse, metrics, done + 1)
            done += 1
        except WarehouseWriteError as error:
            told.append(str(error))
        assert not list(warehouse.layout.staging.iterdir())
        room += 60
        small_disk(room)
    assert len(told) >= 3
    assert all("there is no room left" in text for text in told)
    assert files_of(warehouse) == undisturbed
    assert verify(warehouse) == []


def test_a_warehouse_that_may_not_be_written_is_named(fresh: Callable[[], Warehouse]) -> None:
    warehouse = fresh()
    before, found = files_of(warehouse), verify(warehouse)
    command = [sys.executable, "-m", "tests.faults.night", str(warehouse.path)]
    command += [str(warehouse.path.parent / "judgebatch.prom"), "2"]
    if os.geteuid() == 0:
        # Root may write everywhere, unless it goes without the capability to.
        without = "-dac_override,-dac_read_search"
        command = ["setpriv", "--bounding-set", without, "--inh-caps", without, *command]
    folders = [warehouse.path, warehouse.layout.staging, warehouse.layout.lock]
    for path in folders:
        path.chmod(0o555)
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert done.returncode == WarehouseWriteError.exit_code, done.stderr
        assert "may not write there" in done.stderr
        assert files_of(warehouse) == before
        assert verify(warehouse) == found
    finally:
        for path in folders:
            path.chmod(0o755)


def test_a_read_only_file_system_is_named_and_can_be_read(
    small_disk: Callable[[int], Path],
) -> None:
    disk = small_disk(10_000)
    warehouse = init(disk / "warehouse")
    metrics = disk.parent / "judgebatch.prom"
    night(warehouse, metrics, 1)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    with pytest.raises(WarehouseWriteError, match="may not write there"):
        night(warehouse, metrics, 2)
    assert verify(warehouse) == []
    assert rubbish(warehouse) == []
    query = "SELECT count(*) AS rows FROM graded"
    done = subprocess.run(
        [sys.executable, "-m", "judgebatch", "sql", query, "--csv", "--warehouse", warehouse.path],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "rows\n8\n", done.stderr
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    night(warehouse, metrics, 2)


def test_a_full_disk_stops_the_whole_run_at_any_place_with_one_paragraph(
    small_disk: Callable[[int], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    room = 1200
    corpus = small_disk(room) / "corpus"
    size = ["--episodes", "150", "--tenants", "4", "--nights", "1", "--seed", "3"]
    assert run_command(["synth", str(corpus), *size]) == 0
    command = ["run", "--settings", str(corpus / "judgebatch.toml")]
    command += ["--as-of", "2026-03-02T03:00:00Z"]
    stopped = 0
    while True:
        capsys.readouterr()
        code = run_command(command)
        if code == 0:
            break
        told = capsys.readouterr().err
        assert code == 1
        assert "there is no room left" in told
        assert told.strip().splitlines()[-1].endswith("Make room and run again.")
        stopped += 1
        room += 400
        small_disk(room)
    assert stopped >= 2
    warehouse = open_warehouse(corpus / "warehouse")
    assert len(warehouse.runs()) == 1
    assert verify(warehouse) == []
    assert not list(warehouse.layout.staging.iterdir())
