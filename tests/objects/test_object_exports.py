"""Exports of a warehouse in an object store against those of the same one in a folder."""

from collections.abc import Callable
from pathlib import Path

from judgebatch.objects.url import parse_url
from judgebatch.warehouse import open_warehouse
from judgebatch.warehouse.durable import files_below
from judgebatch.warehouse.exporting import export_latest, export_tenant
from tests.objects.corpora import NIGHTS, in_store, night


def _nothing(_: int, __: int) -> None:
    """Show no progress."""


def _bytes_below(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files_below(folder)}


def test_exports_are_those_of_a_folder_to_the_byte(
    corpus: Path, local_corpus: Path, buckets: Callable[[], str], tmp_path: Path
) -> None:
    url = buckets()
    settings = in_store(corpus, tmp_path, url, inputs=True)
    for number in range(1, len(NIGHTS) + 1):
        assert night(settings, number).published
    places = {
        "folder": open_warehouse(local_corpus / "warehouse"),
        "store": open_warehouse(parse_url(url) / "warehouse"),
    }
    for name, warehouse in places.items():
        export_latest(warehouse, tmp_path / name / "latest", _nothing)
        export_tenant(warehouse, "acme", tmp_path / name / "acme", _nothing)
    folder, store = (_bytes_below(tmp_path / name) for name in places)
    assert folder.keys() == store.keys()
    assert [name for name in folder if folder[name] != store[name]] == []
