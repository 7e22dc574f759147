import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgebatch.errors import UsageError, WarehouseDamagedError
from judgebatch.warehouse import (
    Warehouse,
    init,
    is_warehouse,
    open_or_init,
    open_warehouse,
    verify,
)
from judgebatch.warehouse.sharding import shard_number, shard_of
from tests.warehouse.nights import run_night


def test_a_new_warehouse_opens_as_it_was_made(tmp_path: Path) -> None:
    made = init(tmp_path / "deep" / "warehouse", n_shards=3)
    assert open_warehouse(made.path) == made
    assert made.n_shards == 3
    assert is_warehouse(made.path)
    assert not len(made.runs())


def test_two_warehouses_have_two_ids(tmp_path: Path) -> None:
    assert init(tmp_path / "a").id != init(tmp_path / "b").id


def test_its_identity_is_write_once(warehouse: Warehouse) -> None:
    before = warehouse.layout.identity.read_bytes()
    with pytest.raises(UsageError, match="is a warehouse already"):
        init(warehouse.path)
    assert warehouse.layout.identity.read_bytes() == before
    assert not warehouse.layout.identity.stat().st_mode & 0o222


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds files that are no warehouse's"):
        init(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_half_made_warehouse_is_made_whole(tmp_path: Path) -> None:
    for folder in ("runs", ".staging", "settings"):
        (tmp_path / "w" / folder).mkdir(parents=True)
    made = open_or_init(tmp_path / "w")
    assert open_or_init(tmp_path / "w") == made
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds files"):
        open_or_init(tmp_path / "other")


def test_of_many_that_make_it_at_once_all_open_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(10) as pool:
        made = list(pool.map(lambda _: open_or_init(tmp_path / "w"), range(10)))
    assert len(set(made)) == 1


def test_a_file_in_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is a file"):
        init(tmp_path / "file")
    with pytest.raises(UsageError, match="is not a warehouse"):
        open_warehouse(tmp_path / "file")


@pytest.mark.parametrize("inside", ["inner", "inner/deeper", "runs/inner", "../elsewhere/link"])
def test_no_warehouse_is_made_inside_another(
    warehouse: Warehouse, tmp_path: Path, inside: str
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "link").symlink_to(warehouse.path / "target")
    with pytest.raises(UsageError, match=f"lies in the warehouse {warehouse.path}, and nothing"):
        init(warehouse.path / inside)
    assert verify(warehouse) == []


def test_a_warehouse_beside_another_and_below_another_tools_file_is_made(
    warehouse: Warehouse,
) -> None:
    init(warehouse.path / ".." / "beside")
    folder = warehouse.path.parent / "other"
    (folder / "warehouse.json" / "below").mkdir(parents=True)
    init(folder / "warehouse.json" / "below" / "one")
    (folder / "sub").mkdir()
    (folder / "sub" / "warehouse.json").write_text('{"id": "depot 7"}')
    init(folder / "sub" / "two")


@pytest.mark.parametrize("n_shards", [0, -1, 4097])
def test_the_number_of_shards_has_bounds(tmp_path: Path, n_shards: int) -> None:
    with pytest.raises(UsageError, match="n_shards"):
        init(tmp_path / "w", n_shards=n_shards)


def test_a_folder_that_is_no_warehouse_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="`judgebatch init`"):
        open_warehouse(tmp_path)


@pytest.mark.parametrize(
    "text", [b"", b"{}", b"[1]", b"\xff", b'{"format": 1, "id": "x", "n_shards": 8}']
)
def test_a_damaged_identity_is_named(warehouse: Warehouse, text: bytes) -> None:
    warehouse.layout.identity.chmod(0o644)
    warehouse.layout.identity.write_bytes(text)
    with pytest.raises(WarehouseDamagedError, match=r"warehouse\.json"):
        open_warehouse(warehouse.path)


def test_a_changed_number_of_shards_is_noticed(warehouse: Warehouse) -> None:
    identity = json.loads(warehouse.layout.identity.read_bytes())
    warehouse.layout.identity.chmod(0o644)
    warehouse.layout.identity.write_text(json.dumps(identity | {"n_shards": 4}))
    with pytest.raises(WarehouseDamagedError):
        open_warehouse(warehouse.path)


def test_a_lost_identity_is_not_made_anew_over_committed_runs(warehouse: Warehouse) -> None:
    run_night(warehouse, count=0)
    warehouse.layout.identity.unlink()
    for attempt in (init, open_or_init):
        with pytest.raises(WarehouseDamagedError, match="restore that file"):
            attempt(warehouse.path)


def test_texts_are_kept_once_under_their_hash(warehouse: Warehouse) -> None:
    name = warehouse.store_text("quorum = 8\n", "toml")
    assert name == hashlib.sha256(b"quorum = 8\n").hexdigest()
    assert warehouse.store_text("quorum = 8\n", "toml") == name
    assert warehouse.read_text(name, "toml") == "quorum = 8\n"
    stored = [path.name for path in warehouse.layout.settings.iterdir()]
    assert stored == [f"{name}.toml"]


def test_a_changed_text_is_not_read(warehouse: Warehouse) -> None:
    name = warehouse.store_text("quorum = 8\n", "toml")
    path = warehouse.layout.settings / f"{name}.toml"
    path.chmod(0o644)
    path.write_text("quorum = 9\n")
    with pytest.raises(WarehouseDamagedError, match="was changed"):
        warehouse.read_text(name, "toml")


def test_a_tenants_shard_never_changes() -> None:
    known = {"": 4, "a": 0, "tenant-7": 6, "😀": 5, "x" * 10_000: 1}
    assert {tenant: shard_number(tenant, 8) for tenant in known} == known


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))), st.integers(1, 64))
def test_shards_of_a_column_are_those_of_its_values(tenants: list[str], n_shards: int) -> None:
    shards = shard_of(pl.Series(tenants, dtype=pl.String), n_shards)
    assert shards.dtype == pl.Int64
    assert shards.to_list() == [shard_number(tenant, n_shards) for tenant in tenants]
    assert all(0 <= shard < n_shards for shard in shards)
