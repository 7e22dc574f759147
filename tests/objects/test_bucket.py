import hashlib
import os
import pickle
import resource
import threading
from collections import Counter
from pathlib import Path

import pytest

from judgebatch.objects import bucket as bucket_module
from judgebatch.objects.bucket import MULTIPART_BYTES, Bucket
from judgebatch.objects.faults import CHANGED
from judgebatch.objects.reading import ObjectReader
from tests.objects.proxy import Faults
from tests.objects.servers import SECRET

BUSY = ("slow_down", "unavailable", "too_many", "internal", "conflict")
BROKEN = ("drop_before", "drop_after", "internal_after", "slow", "hang")


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_module, "_FIRST_PAUSE", 0.01)


def test_objects_are_created_once_read_listed_and_removed(bucket: Bucket) -> None:
    bucket.create("x/one", b"1")
    bucket.create("x/ü two", b"22")
    bucket.create("y", b"")
    with pytest.raises(FileExistsError):
        bucket.create("x/one", b"other")
    assert bucket.read("x/one") == b"1"
    assert [(one.key, one.size) for one in bucket.below()] == [
        ("x/one", 1),
        ("x/ü two", 2),
        ("y", 0),
    ]
    assert bucket.folders("") == ["x"]
    bucket.replace("x/one", b"other")
    assert bucket.read("x/one") == b"other"
    bucket.delete(["x/one", "x/one", "never"])
    assert bucket.find("x/one") is None
    with pytest.raises(FileNotFoundError):
        bucket.read("x/one")


def test_a_bucket_can_be_sent_to_another_process(bucket: Bucket) -> None:
    bucket.create("x", b"1")
    assert pickle.loads(pickle.dumps(bucket)).read("x") == b"1"  # noqa: S301 - our own


@pytest.mark.parametrize("fault", [*BUSY, *BROKEN])
def test_what_a_busy_store_turns_away_is_tried_again(
    bucket: Bucket, faults: Faults, tmp_path: Path, fault: str
) -> None:
    content = os.urandom(300_000)
    (tmp_path / "file").write_bytes(content)
    rule = faults.add(fault, "PUT")
    bucket.upload("sent", tmp_path / "file")
    assert rule.hits == 1
    rule = faults.add(fault, "PUT")
    bucket.replace("derived", b"d")
    assert rule.hits == 1
    rule = faults.add(fault, "GET")
    assert bucket.sha256("sent") == hashlib.sha256(content).hexdigest()
    assert rule.hits == 1
    rule = faults.add(fault, "GET")
    assert bucket.read_range("sent", 10, 200_000) == content[10:200_000]
    rule = faults.add(fault, "GET", "prefix=")
    assert [one.key for one in bucket.below()] == ["derived", "sent"]
    assert rule.hits == 1


def test_a_download_that_breaks_off_goes_on_where_it_was(
    bucket: Bucket, faults: Faults, tmp_path: Path
) -> None:
    content = os.urandom(9_000_000)
    (tmp_path / "file").write_bytes(content)
    bucket.upload("sent", tmp_path / "file")
    faults.add("cut", "GET", times=3)
    digest = bucket.download("sent", tmp_path / "copy")
    assert digest == hashlib.sha256(content).hexdigest()
    assert (tmp_path / "copy").read_bytes() == content


@pytest.mark.parametrize("fault", ["slow_down", "drop_after", "conflict", "cut"])
@pytest.mark.parametrize(("method", "path"), [("PUT", "partNumber"), ("POST", "uploadId")])
def test_a_large_file_is_sent_in_parts(
    bucket: Bucket, faults: Faults, tmp_path: Path, fault: str, method: str, path: str
) -> None:
    content = os.urandom(MULTIPART_BYTES + 1_000_000)
    (tmp_path / "file").write_bytes(content)
    rule = faults.add(fault, method, path)
    bucket.upload("large", tmp_path / "file")
    assert rule.hits == 1
    assert bucket.sha256("large") == hashlib.sha256(content).hexdigest()
    faults.seen.clear()
    bucket.upload("large", tmp_path / "file")
    assert not [method for method, _, _ in faults.seen if method in {"PUT", "POST"}]


def test_a_store_that_keeps_failing_is_an_error_without_secrets(
    bucket: Bucket, faults: Faults
) -> None:
    faults.add("denied", times=1000)
    with pytest.raises(PermissionError) as refused:
        bucket.read("x")
    faults.clear()
    faults.add("conflict", times=1000)
    with pytest.raises(OSError, match="status 409, ConditionalRequestConflict") as failed:
        bucket.replace("x", b"")
    for error in (refused.value, failed.value):
        assert error.filename == f"{bucket.url}/x"
        assert SECRET not in repr(error)
        assert "http://" not in str(error)


def test_of_twenty_creators_one_succeeds(bucket: Bucket) -> None:
    outcomes: Counter[str] = Counter()
    start = threading.Barrier(20)

    def create(number: int) -> None:
        start.wait()
        try:
            bucket.create("x", b"%d" % number)
            outcomes["created"] += 1
        except FileExistsError:
            outcomes["exists"] += 1

    threads = [threading.Thread(target=create, args=[number]) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == {"created": 1, "exists": 19}


def test_a_reader_reads_from_anywhere_and_notices_a_change(bucket: Bucket) -> None:
    content = os.urandom(100_000)
    bucket.create("x", content)
    stored = bucket.find("x")
    assert stored is not None
    reader = ObjectReader(bucket, stored)
    assert reader.read(10) == content[:10]
    reader.seek(-5, 2)
    assert reader.read() == content[-5:]
    assert reader.read() == b""
    reader.seek(50)
    buffer = bytearray(20)
    assert reader.readinto(buffer) == 20
    assert bytes(buffer) == content[50:70]
    bucket.replace("x", content + b"more")
    with pytest.raises(OSError, match="changed while it was read") as changed:
        reader.read(1)
    assert changed.value.errno == CHANGED


@pytest.mark.soak
def test_memory_does_not_grow_with_the_file(bucket: Bucket, tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("wb") as file:
        for _ in range(50):
            file.write(os.urandom(8 << 20))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    bucket.upload("large", path)
    after_upload = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after_upload - before < 120 << 10
