from pathlib import Path

import pytest

from judgebatch.errors import SettingsError, UsageError
from judgebatch.objects.url import ObjectUrl, is_url, parse_url, without_credentials
from judgebatch.settings import load_settings
from tests.objects.servers import SECRET


@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
@pytest.mark.parametrize(
    ("rest", "bucket", "prefix"),
    [
        ("b", "b", ""),
        ("b/", "b", ""),
        ("b/x/y", "b", "x/y"),
        ("b/x/y/", "b", "x/y"),
        ("b/a b/ü", "b", "a b/ü"),
    ],
)
def test_a_url_names_a_bucket_and_a_prefix(
    scheme: str, rest: str, bucket: str, prefix: str
) -> None:
    url = parse_url(f"{scheme}://{rest}")
    assert url == ObjectUrl(scheme, bucket, prefix)
    assert parse_url(str(url)) == url
    assert (url / "z").name == "z"
    assert (url / "z").parent == url


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("s3a://b/x", "did you mean s3://"),
        ("gcs://b/x", "did you mean gs://"),
        ("https://b.s3.amazonaws.com/x", "allowed: s3://, gs://, az://"),
        ("s3://", "names no place"),
        ("s3:///x", "names no place"),
        ("s3://b/x//y", "without empty parts"),
        ("s3://b//x", "without empty parts"),
        ("s3://b/x//", "without empty parts"),
        ("s3:/b/x", r"did you mean s3://b/x\?"),
        ("GS:/b/x", r"did you mean GS://b/x\?"),
        ("s3://b/episode?/x.parquet", "no wildcard there: the wildcards are"),
        ("s3://b/night?.parquet", "no wildcard there"),
        ("s3://b/../x", "without empty parts"),
    ],
)
def test_another_url_is_refused_with_what_was_meant(text: str, told: str) -> None:
    assert is_url(text)
    with pytest.raises(UsageError, match=told):
        parse_url(text)


WITH_SECRET = [
    f"s3://AKIAIOSFODNN7EXAMPLE:{SECRET}@b/x",
    f"s3://b/x?secret_access_key={SECRET}",
    f"az://c/x?sig={SECRET}",
    f"s3://b/x?{SECRET}",
    f"gs://b/x#{SECRET}",
]


@pytest.mark.parametrize("text", WITH_SECRET)
def test_credentials_in_a_url_are_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(UsageError, match="credentials come from the environment") as refused:
        parse_url(text)
    assert SECRET not in str(refused.value)
    assert SECRET not in without_credentials(text)


@pytest.mark.parametrize("text", WITH_SECRET)
@pytest.mark.parametrize("setting", ["inputs.episodes.path", "inputs.answers.path"])
def test_settings_do_not_repeat_a_secret(tmp_path: Path, text: str, setting: str) -> None:
    path = tmp_path / "judgebatch.toml"
    path.write_text(f"{setting} = {text!r}\n")
    with pytest.raises(SettingsError, match="credentials come from the environment") as refused:
        load_settings(path, {})
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    "line",
    [
        f'aws_secret_access_key = "{SECRET}"',
        f'[inputs.episodes]\nsecret = "{SECRET}"',
        f'[inputs.verdicts]\naccount_key = "{SECRET}"',
    ],
)
def test_credentials_in_the_settings_are_refused_by_name(tmp_path: Path, line: str) -> None:
    path = tmp_path / "judgebatch.toml"
    path.write_text(line + "\n")
    with pytest.raises(SettingsError, match="credentials never stand in the settings") as refused:
        load_settings(path, {})
    assert SECRET not in str(refused.value)


def test_a_path_of_this_machine_is_asked_for_where_a_url_cannot_be(tmp_path: Path) -> None:
    path = tmp_path / "judgebatch.toml"
    path.write_text('metrics.textfile = "s3://b/x"\n')
    with pytest.raises(SettingsError, match="a path on this machine, not a URL"):
        load_settings(path, {})
