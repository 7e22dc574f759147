import os
from collections.abc import Callable

import pytest

from judgebatch.cli.main import run_command
from judgebatch.errors import UsageError
from judgebatch.objects import bucket as bucket_module
from judgebatch.objects.bucket import Bucket
from judgebatch.objects.environment import check_environment
from judgebatch.objects.faults import as_os_error
from judgebatch.objects.url import parse_url

URL = "s3://some-bucket/warehouse"
SECRET = "Secr3t/of+the-tests"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATESTS")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AWS_ENDPOINT_URL", "127.0.0.1:9000"),
        ("AWS_ENDPOINT_URL", "ht tp://x"),
        ("AWS_ENDPOINT_URL", f"http://me:{SECRET.replace('/', '')}@127.0.0.1:1"),
        ("AWS_ENDPOINT_URL", "http://"),
        ("AWS_ENDPOINT_URL", "http://host:port"),
        ("AWS_ENDPOINT_URL", f"http://host\n{SECRET}"),
        ("AWS_ACCESS_KEY_ID", "AKIA\n"),
        ("AWS_SECRET_ACCESS_KEY", f"{SECRET}\n"),
        ("AWS_SESSION_TOKEN", "a b"),
    ],
)
def test_a_variable_that_the_client_cannot_use_is_named_without_its_value(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, value)
    assert run_command(["history", "--warehouse", URL]) == 2
    said = capfd.readouterr().err
    assert name in said
    assert SECRET not in said
    assert SECRET.replace("/", "") not in said
    assert "panicked" not in said


def test_half_of_the_credentials_is_a_usage_error(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    assert run_command(["history", "--warehouse", URL]) == 2
    assert "SecretAccessKey is missing" in capfd.readouterr().err


def test_variables_of_other_stores_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "nowhere")
    check_environment("gs")
    with pytest.raises(UsageError):
        check_environment("s3")


def test_an_environment_without_credentials_is_told_from_a_refusal() -> None:
    asked = RuntimeError(
        "Error performing PUT http://169.254.169.254/latest/api/token - status code: 403"
    )
    error = as_os_error(asked, parse_url(URL))
    assert isinstance(error, PermissionError)
    assert "no credentials" in str(error)


def test_a_bucket_that_is_not_there_is_named(
    buckets: Callable[[], str], capfd: pytest.CaptureFixture[str]
) -> None:
    scheme = buckets().partition(":")[0]
    assert run_command(["history", "--warehouse", f"{scheme}://no-such-bucket/w"]) == 2
    said = " ".join(capfd.readouterr().err.split())
    assert "no-such-bucket/w" in said
    assert "its bucket is not there (NoSuchBucket)" in said


def test_a_peer_that_uses_up_the_patience_is_not_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bucket_module, "_PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(bucket_module, "_pause", lambda _: pytest.fail("it was going to ask again"))
    with pytest.raises(OSError, match="the connection is refused"):
        Bucket(parse_url(URL)).read("x")
