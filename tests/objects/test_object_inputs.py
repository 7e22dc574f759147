import io
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from judgebatch.errors import InputError, StoreRefusedError
from judgebatch.inputs import InputKind, InputSpec, discover, inspect_file, read_file, rows_with
from judgebatch.objects import bucket as bucket_module
from judgebatch.objects.bucket import Bucket
from judgebatch.objects.url import parse_url
from tests.inputs.made import episodes
from tests.objects.proxy import Faults


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_module, "_FIRST_PAUSE", 0.01)


def spec(url: str, **other) -> InputSpec:
    return InputSpec(InputKind.EPISODES, Path("/"), url, **other)


def put(url: str, *names: str, rows: int = 2) -> Bucket:
    bucket = Bucket(parse_url(url))
    for name in names:
        sink = io.BytesIO()
        pq.write_table(episodes(rows), sink)
        bucket.create(name, sink.getvalue())
    return bucket


def test_a_prefix_stands_for_its_parquet_files_at_any_depth(buckets: Callable[[], str]) -> None:
    url = f"{buckets()}/in put/ü"
    put(url, "b.parquet", "a/z.parquet", "a.parquet", "notes.txt", "_tmp/b.parquet", ".c.parquet")
    assert [file.path for file in discover(spec(url))] == ["a.parquet", "a/z.parquet", "b.parquet"]
    assert discover(spec(f"{url}/nothing")) == []


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("x/*/ep.parquet", ["1/ep.parquet", "2/ep.parquet"]),
        ("x/**/*.parquet", ["1/ep.parquet", "2/deep/v.parquet", "2/ep.parquet", "2/v.parquet"]),
        ("x/2/[uv].parquet", ["v.parquet"]),
        ("x/2/*.parquet", ["ep.parquet", "v.parquet"]),
        ("x/2/v.parquet", ["v.parquet"]),
        ("x/*/nothing.parquet", []),
    ],
)
def test_a_pattern_stands_for_what_it_matches(
    buckets: Callable[[], str], tmp_path: Path, pattern: str, wanted: list[str]
) -> None:
    url = buckets()
    names = ("x/1/ep.parquet", "x/2/ep.parquet", "x/2/v.parquet", "x/2/deep/v.parquet", "y.parquet")
    put(url, *names)
    assert [file.path for file in discover(spec(f"{url}/{pattern}"))] == wanted
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(episodes(), tmp_path / name)
    local = InputSpec(InputKind.EPISODES, tmp_path, pattern)
    assert [file.path for file in discover(local)] == wanted, "as in a folder"


def test_rows_and_digest_are_those_of_the_same_file_on_disk(
    buckets: Callable[[], str], tmp_path: Path
) -> None:
    url = buckets()
    bucket = put(url, "night.parquet", rows=5000)
    (tmp_path / "night.parquet").write_bytes(bucket.read("night.parquet"))
    (there,), (here,) = discover(spec(url)), discover(InputSpec(InputKind.EPISODES, tmp_path, "."))
    assert there.sha256 == here.sha256
    assert (there.path, there.size) == (here.path, here.size)
    assert inspect_file(there, spec(url)).rows == 5000
    (batch,) = read_file(there, spec(url))
    (same,) = read_file(here, InputSpec(InputKind.EPISODES, tmp_path, "."))
    assert batch.rows.equals(same.rows)
    assert rows_with(there, spec(url), {"episode_id": "ep-4711"}) == [4711]


@pytest.mark.parametrize("fault", ["slow_down", "drop_before", "cut", "hang", "too_many"])
def test_reading_has_patience(buckets: Callable[[], str], faults: Faults, fault: str) -> None:
    url = buckets()
    put(url, "night.parquet", rows=20_000)
    rule = faults.add(fault, "GET", times=3)
    (file,) = discover(spec(url))
    assert sum(len(batch.rows) for batch in read_file(file, spec(url))) == 20_000
    assert rule.hits == 3


def test_a_file_that_changes_while_it_is_read_is_noticed(buckets: Callable[[], str]) -> None:
    url = buckets()
    bucket = put(url, "night.parquet", rows=5000)
    (file,) = discover(spec(url))
    sink = io.BytesIO()
    pq.write_table(episodes(5001), sink)
    bucket.replace("night.parquet", sink.getvalue())
    for read in (lambda: list(read_file(file, spec(url))), lambda: file.sha256):
        with pytest.raises(InputError, match="changed while it was read"):
            read()


def test_what_cannot_be_read_is_named(buckets: Callable[[], str], faults: Faults) -> None:
    url = buckets()
    put(url, "night.parquet").create("other.parquet", b"not Parquet at all")
    other, night = sorted(discover(spec(url)), key=lambda file: file.path, reverse=True)
    with pytest.raises(InputError, match=r"s3://.*/other\.parquet should be Parquet and is not"):
        list(read_file(other, spec(url)))
    faults.add("denied", times=100)
    with pytest.raises(StoreRefusedError, match=r"night\.parquet: .* refuses it"):
        list(read_file(night, spec(url)))
    with pytest.raises(StoreRefusedError, match="refuses it"):
        discover(spec(url))
