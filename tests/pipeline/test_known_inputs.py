"""What is remembered of the inputs is derived: its damage is named, and stops no run."""

from collections.abc import Callable

import pytest

from judgebatch.errors import WarehouseWriteError
from judgebatch.warehouse import Warehouse, doctor, open_warehouse, verify
from tests.conformance.nights import Nights
from tests.scenarios.rows import at, episode

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda content: content[:-7],
    "not UTF-8": lambda content: b"\xff" + content,
    "other types": lambda _: b'{"files": 3, "consumed": [], "run": "x", "manifest": 1}',
    "another name": lambda content: content.replace(b"n1.parquet", b"n9.parquet"),
}


@pytest.fixture
def nights(tmp_path):
    nights = Nights(tmp_path)
    nights.configure({"acme": {"mode": "reference", "judging_window": "24h"}})
    nights.deliver("n1", [episode("first", 1)])
    nights.run(at(3))
    return nights


def warehouse_of(nights: Nights) -> Warehouse:
    return open_warehouse(nights.folder / "warehouse")


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
def test_damage_is_named_and_made_good_by_the_same_as_of(nights, damage):
    warehouse = warehouse_of(nights)
    path = warehouse.layout.views / "inputs.json"
    before = path.read_bytes()
    path.write_bytes(damage(before))
    assert path.read_bytes() != before
    for look in (verify, doctor):
        (finding,) = look(warehouse)
        assert finding.where == "views/inputs.json"
        assert finding.what == "is not what was written"
        assert "Run the newest as-of again" in finding.meaning
    assert not nights.run(at(3)).published
    assert path.read_bytes() == before
    assert verify(warehouse) == doctor(warehouse) == []


@pytest.mark.parametrize("damage", ["truncated", "other types", "another name"])
def test_the_next_night_reads_what_is_new_and_nothing_twice(nights, damage):
    path = warehouse_of(nights).layout.views / "inputs.json"
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    nights.deliver("n2", [episode("second", 3)])
    nights.run(at(4))
    (_, second) = warehouse_of(nights).runs()
    assert [file.path for file in second.inputs] == ["episodes/n2.parquet"]
    assert verify(warehouse_of(nights)) == []


def test_without_the_file_all_is_well(nights):
    (warehouse_of(nights).layout.views / "inputs.json").unlink()
    assert verify(warehouse_of(nights)) == []
    nights.run(at(4))
    assert warehouse_of(nights).runs().last.inputs == ()


def test_a_folder_in_its_place_is_to_be_moved_out(nights):
    warehouse = warehouse_of(nights)
    path = warehouse.layout.views / "inputs.json"
    path.unlink()
    path.mkdir()
    for look in (verify, doctor):
        (finding,) = look(warehouse)
        assert (finding.where, finding.meaning[:11]) == ("views/inputs.json", "Move it out")
    with pytest.raises(WarehouseWriteError) as told:
        nights.run(at(4))
    assert f"at {path}: a folder is in its place" in str(told.value)
    assert len(warehouse.runs()) == 2
    path.rmdir()
    nights.run(at(4))
    assert verify(warehouse) == []
