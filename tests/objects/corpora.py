"""A small corpus, graded into a folder and into an object store."""

import json
from pathlib import Path
from typing import Any

from judgebatch.cli.options import read_as_of
from judgebatch.objects.bucket import Bucket
from judgebatch.objects.url import parse_url
from judgebatch.pipeline import RunReport
from judgebatch.pipeline import run as run_night
from judgebatch.settings import load_settings
from judgebatch.warehouse import Warehouse
from judgebatch.warehouse.layout import Layout
from judgebatch.warehouse.object_storage import ObjectStorage
from judgebatch.warehouse.opening import make_folders

NIGHTS = ("2026-03-02T03:00:00Z", "2026-03-03T03:00:00Z", "2026-03-04T03:00:00Z")


def in_store(
    corpus: Path, folder: Path, url: str, *, inputs: bool = False, scratch: bool = False
) -> Path:
    """Write settings whose warehouse, and inputs if asked, lie in an object store."""
    text = (corpus / "judgebatch.toml").read_text()
    text = text.replace('warehouse = "warehouse"', f'warehouse = "{url}/warehouse"')
    if scratch:
        text = f'scratch = "scratch"\n{text}'
    for kind in ("episodes", "verdicts"):
        place = str(corpus / kind)
        if inputs:
            place = f"{url}/in/{kind}"
            bucket = Bucket(parse_url(place))
            for path in sorted((corpus / kind).glob("*.parquet")):
                bucket.upload(path.name, path)
        text = text.replace(f'path = "{kind}"', f'path = "{place}"')
    settings = folder / "judgebatch.toml"
    settings.write_text(text)
    return settings


def night(settings: Path, number: int) -> RunReport:
    return run_night(load_settings(settings), read_as_of(NIGHTS[number - 1]))


def manifests(url: str) -> list[dict[str, Any]]:
    bucket = Bucket(parse_url(f"{url}/warehouse"))
    names = [one.key for one in bucket.below("runs/") if one.key.endswith("/manifest.json")]
    return [json.loads(bucket.read(name)) for name in names]


def without_token(run: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in run.items() if key != "token"}


def bucket_of(warehouse: Warehouse) -> Bucket:
    assert isinstance(warehouse.storage, ObjectStorage)
    return warehouse.storage.bucket


def again(warehouse: Warehouse) -> Warehouse:
    """The same warehouse without any copies, as another machine has it."""
    count = len(list(warehouse.path.parent.glob("again-*")))
    folder = warehouse.path.parent / f"again-{warehouse.path.name}-{count}"
    layout = Layout(folder, warehouse.layout.url)
    make_folders(layout)
    return Warehouse(
        folder, warehouse.id, warehouse.n_shards, ObjectStorage(bucket_of(warehouse), layout)
    )
