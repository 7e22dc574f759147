import hashlib
import shlex
import shutil
from pathlib import Path

import orjson
import polars as pl
import pyarrow.parquet as pq
import pytest

from judgebatch.contracts.registry import published
from judgebatch.errors import UsageError, WarehouseDamagedError, WarehouseWriteError
from judgebatch.warehouse import Warehouse, connect, init, open_warehouse
from judgebatch.warehouse.durable import files_below
from judgebatch.warehouse.exporting import export_latest, export_tenant
from judgebatch.warehouse.failpoints import VARIABLE
from tests.conformance.nights import Nights
from tests.scenarios.rows import at, comparison, episode

ODD = "../Ünïcode=1/\n'🙂'"
OTHERS = ["other-tenant-one", "other-tenant-two", "never-configured"]


def nothing(_: int, __: int) -> None:
    """Show no progress."""


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Two nights of three tenants and one unknown, with equal ids; not to be changed."""
    nights = Nights(tmp_path_factory.mktemp("export"), shards=2)
    reference = {"mode": "reference"}
    tournament = {"mode": "tournament", "quorum": 2, "min_group_size": 2}
    nights.configure({ODD: reference, OTHERS[0]: reference, OTHERS[1]: tournament})
    for night in (1, 2):
        everyone = [ODD, *OTHERS]
        episodes = [
            episode(f"e{night}{number}", 24 * night + number, tenant_id=tenant)
            for tenant in everyone
            for number in range(3)
        ]
        bad = [episode(f"bad{night}", 1, tenant_id=tenant, cost_usd=-1.0) for tenant in everyone]
        judged = [
            comparison(f"e{night}1", "e10", 24 * night + 5, "left", tenant_id=tenant)
            for tenant in everyone
        ]
        nights.deliver(f"n{night}", [*episodes, *bad], judged)
        nights.run(at(24 * night + 12))
    return open_warehouse(nights.folder / "warehouse")


def test_a_tenants_export_holds_its_rows_and_no_others(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    exported = export_tenant(warehouse, ODD, out, nothing)
    assert exported.run == 2
    with connect(warehouse) as database:
        for table in published().values():
            view = table.name.replace("/", "_")
            rows = pl.read_parquet(out / f"{table.name}.parquet")
            assert rows["tenant_id"].unique().to_list() in ([], [ODD])
            expected = database.view(f'"{view}"').pl().filter(pl.col("tenant_id") == ODD)
            assert rows.height == expected.height
            assert sorted(rows.columns) == sorted(expected.columns)
    assert exported.rows["graded.parquet"] > 0
    assert exported.rows["audit/quarantine.parquet"] == 2


def test_no_byte_and_no_path_of_it_names_another_tenant(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    export_tenant(warehouse, ODD, out, nothing)
    for path in files_below(out):
        assert path.relative_to(out).as_posix().isascii()
        content = path.read_bytes()
        if path.suffix == ".parquet":
            # Also what compression hides.
            content += str(pq.read_table(path).to_pydict()).encode()
            content += str(pq.read_metadata(path).to_dict()).encode()
        for other in (*OTHERS, warehouse.id, str(warehouse.path)):
            assert other.encode() not in content, path


def test_its_index_lists_every_file(warehouse: Warehouse, tmp_path: Path) -> None:
    out = tmp_path / "out"
    export_tenant(warehouse, ODD, out, nothing)
    index = orjson.loads((out / "export.json").read_bytes())
    assert (index["tenant_id"], index["run"]) == (ODD, 2)
    listed = {one["path"]: one["sha256"] for one in index["tables"]}
    found = {
        path.relative_to(out).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files_below(out)
        if path.name != "export.json"
    }
    assert listed == found
    again = tmp_path / "again"
    export_tenant(warehouse, ODD, again, nothing)
    assert (again / "export.json").read_bytes() == (out / "export.json").read_bytes()


def test_latest_has_a_plain_file_for_every_view(warehouse: Warehouse, tmp_path: Path) -> None:
    out = tmp_path / "it's\nout"
    export_latest(warehouse, out, nothing)
    with connect(warehouse) as database:
        views = database.execute(
            "SELECT view_name FROM duckdb_views() WHERE NOT internal"
        ).fetchall()
        for (view,) in views:
            expected = database.view(f'"{view}"').pl()
            assert pl.read_parquet(out / f"{view}.parquet").height == expected.height, view
    assert {path.name for path in files_below(out)} == {f"{view}.parquet" for (view,) in views}
    types = {str(kind) for path in files_below(out) for kind in pq.read_schema(path).types}
    assert types <= {
        "int64", "double", "string", "bool", "date32[day]", "timestamp[us, tz=UTC]",
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["file", "folder", "dangling"])
def test_nothing_is_written_over(warehouse: Warehouse, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out"
    if kind == "file":
        out.write_text("mine")
    elif kind == "folder":
        out.mkdir()
    else:
        out.symlink_to("nowhere")
    for run in (
        lambda: export_tenant(warehouse, ODD, out, nothing),
        lambda: export_latest(warehouse, out, nothing),
    ):
        with pytest.raises(UsageError, match="there already"):
            run()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_unknown_tenant_and_an_empty_warehouse_are_said(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="no published table has a row of tenant 'nobody'") as told:
        export_tenant(warehouse, "nobody", tmp_path / "out", nothing)
    assert "did you mean" not in str(told.value)
    assert f"{warehouse.path} has 4 tenants" in str(told.value)
    _, warehouse_option, named, query = shlex.split(str(told.value).split("`")[1])[1:]
    assert (warehouse_option, named) == ("--warehouse", str(warehouse.path))
    with connect(warehouse) as database:
        assert sorted(database.execute(query).fetchall()) == sorted(
            (one,) for one in [ODD, *OTHERS]
        )
    with pytest.raises(UsageError, match=r"\(did you mean 'never-configured'\?\)\. Nothing"):
        export_tenant(warehouse, "never-configure", tmp_path / "out", nothing)
    with pytest.raises(UsageError, match="in the warehouse itself"):
        export_latest(warehouse, warehouse.path / "out", nothing)
    with pytest.raises(UsageError, match="has no runs yet"):
        export_latest(init(tmp_path / "warehouse"), tmp_path / "out", nothing)
    assert [path.name for path in tmp_path.iterdir()] == ["warehouse"]


def test_a_failure_leaves_nothing(warehouse: Warehouse, tmp_path: Path) -> None:
    shutil.copytree(warehouse.path, tmp_path / "damaged")
    damaged = open_warehouse(tmp_path / "damaged")
    path = next(damaged.layout.run(1).glob("tables/graded/*.parquet"))
    path.unlink()
    path.write_bytes(b"PAR1 but not really PAR1")
    with pytest.raises(WarehouseDamagedError, match="verify"):
        export_tenant(damaged, ODD, tmp_path / "out", nothing)
    assert [path.name for path in tmp_path.iterdir()] == ["damaged"]


def test_an_export_that_may_not_last_is_there_and_said_so(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    monkeypatch.setenv(VARIABLE, "export.renamed=EIO")
    with pytest.raises(WarehouseWriteError) as told:
        export_tenant(warehouse, ODD, out, nothing)
    assert f"the export is complete at {out}, but {tmp_path} could not be forced" in str(told.value)
    assert "Nothing was exported" not in str(told.value)
    assert (out / "export.json").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
