"""Servers that speak the protocols of object stores, started on the loopback for the tests.

moto comes with the tools of development. The others are looked for: ``weed`` of SeaweedFS on the
PATH or beside the interpreter, where ``make test`` puts it (install.sh), and ``azurite-blob`` on
the PATH or in the ``node_modules`` that JUDGEBATCH_NODE_MODULES names (``npm install azurite``).
"""

import base64
import hashlib
import hmac
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from email.utils import formatdate
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ACCOUNT = "AKIAIOSFODNN7EXAMPLE"
SECRET = "wJalrXUtnFEMI+K7MDENG+bPxRfiCYEXAMPLEKEY"
PATIENCE_SECONDS = 120


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """A server on the loopback that keeps everything in memory or in a folder of the tests."""

    scheme = "s3"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", self.port

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def command(self) -> list[str]:
        """Return the command line, or skip the test if the server is not installed."""
        return [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]

    def more_environment(self) -> Mapping[str, str]:
        """Return what the server itself is told."""
        return {}

    def environment(self, endpoint: str) -> Mapping[str, str]:
        """Return what leads a client to the server, or to what stands in front of it."""
        return {
            "AWS_ACCESS_KEY_ID": ACCOUNT,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": endpoint,
        }

    def translate(self, headers: dict[str, str]) -> dict[str, str]:
        """Return the headers of a request as the server understands them."""
        return headers

    def make_bucket(self, name: str) -> None:
        _s3_client(self.endpoint).create_bucket(Bucket=name)

    def wait(self, process: subprocess.Popen[bytes]) -> None:
        """Return once the server answers."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            with suppress(OSError):
                _answers(self.endpoint)
                return
            assert process.poll() is None, (self.folder / "log").read_text(errors="replace")
            assert time.monotonic() < deadline, (self.folder / "log").read_text(errors="replace")
            time.sleep(0.1)


class LikeGoogle(Server):
    """moto as a client of Google Cloud Storage sees it.

    The XML API's requests are those of S3 but for how they are signed and how a put is made
    conditional. No package holds a server that takes them: the emulators know the JSON API alone.
    """

    scheme = "gs"

    def environment(self, endpoint: str) -> Mapping[str, str]:
        return {"GOOGLE_BEARER_TOKEN": SECRET, "GOOGLE_BASE_URL": endpoint}

    def translate(self, headers: dict[str, str]) -> dict[str, str]:
        told = {name.lower(): value for name, value in headers.items()}
        assert told["authorization"] == f"Bearer {SECRET}"
        # moto reads from it which service is meant, and verifies nothing.
        scope = f"{ACCOUNT}/20260101/us-east-1/s3/aws4_request"
        told["authorization"] = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=, Signature="
        if told.pop("x-goog-if-generation-match", None) == "0":
            told["if-none-match"] = "*"
        return told


class Seaweed(Server):
    """SeaweedFS: master, volumes, names and the S3 gateway in one process; signatures count."""

    def command(self) -> list[str]:
        beside = str(Path(sys.executable).parent)
        found = shutil.which("weed", path=os.pathsep.join([os.environ.get("PATH", ""), beside]))
        if found is None:
            pytest.skip("SeaweedFS is not installed: tests/objects/install.sh python")
        keys = [{"accessKey": ACCOUNT, "secretKey": SECRET}]
        identity = {"name": "judgebatch", "credentials": keys, "actions": ["Admin"]}
        identities = self.folder / "identities.json"
        identities.write_text(json.dumps({"identities": [identity]}))
        data = self.folder / "data"
        data.mkdir()
        ports = {
            f"{part}.{kind}": free_port()
            for part in ("master", "volume", "filer")
            for kind in ("port", "port.grpc")
        }
        return [
            found,
            "-logtostderr",
            "server",
            "-master.telemetry=false",
            "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1",
            f"-dir={data}",
            "-master.volumeSizeLimitMB=64",
            "-volume.max=0",
            "-volume.preStopSeconds=0",
            "-s3",
            f"-s3.port={self.port}",
            f"-s3.port.grpc={free_port()}",
            f"-s3.config={identities}",
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
            *(f"-{name}={port}" for name, port in ports.items()),
        ]

    def wait(self, process: subprocess.Popen[bytes]) -> None:
        """Return once it takes an object: it answers before it has a volume to write to."""
        super().wait(process)
        client = _s3_client(self.endpoint)
        errors = import_module("botocore.exceptions")
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            with suppress(errors.ClientError, errors.BotoCoreError):
                client.create_bucket(Bucket="ready")
                client.put_object(Bucket="ready", Key="ready", Body=b"ready")
                return
            assert time.monotonic() < deadline, (self.folder / "log").read_text(errors="replace")
            time.sleep(0.5)


class Azurite(Server):
    """Azurite: the emulator of Azure Blob Storage by its makers."""

    scheme = "az"
    account = "gradingstore"

    def command(self) -> list[str]:
        places = [os.environ.get("PATH", "")]
        if "JUDGEBATCH_NODE_MODULES" in os.environ:
            places.append(str(Path(os.environ["JUDGEBATCH_NODE_MODULES"]) / ".bin"))
        found = shutil.which("azurite-blob", path=os.pathsep.join(places))
        if found is None:
            pytest.skip(
                "Azurite is not installed: npm install azurite, and name its node_modules in "
                "JUDGEBATCH_NODE_MODULES"
            )
        options = ["--inMemoryPersistence", "--silent", "--disableTelemetry"]
        # The client may speak a newer version of the protocol than the emulator knows by name.
        options += ["--skipApiVersionCheck"]
        return [found, "--blobHost", "127.0.0.1", "--blobPort", str(self.port), *options]

    def more_environment(self) -> Mapping[str, str]:
        return {"AZURITE_ACCOUNTS": f"{self.account}:{SECRET}"}

    def environment(self, endpoint: str) -> Mapping[str, str]:
        return {
            "AZURE_STORAGE_ACCOUNT_NAME": self.account,
            "AZURE_STORAGE_ACCOUNT_KEY": SECRET,
            "AZURE_STORAGE_ENDPOINT": f"{endpoint}/{self.account}",
        }

    def make_bucket(self, name: str) -> None:
        headers = {
            "x-ms-date": formatdate(usegmt=True),
            "x-ms-version": "2021-12-02",
        }
        signed = "PUT" + "\n" * 12 + "".join(f"{key}:{headers[key]}\n" for key in sorted(headers))
        signed += f"/{self.account}/{self.account}/{name}\nrestype:container"
        digest = hmac.new(base64.b64decode(SECRET), signed.encode(), hashlib.sha256).digest()
        headers["Authorization"] = f"SharedKey {self.account}:{base64.b64encode(digest).decode()}"
        headers["Content-Length"] = "0"
        url = f"{self.endpoint}/{self.account}/{name}?restype=container"
        urllib.request.urlopen(  # noqa: S310 - the loopback
            urllib.request.Request(url, method="PUT", headers=headers)  # noqa: S310
        ).close()


SERVERS: Mapping[str, type[Server]] = {
    "moto": Server,
    "moto as google": LikeGoogle,
    "seaweedfs": Seaweed,
    "azurite": Azurite,
}


@contextmanager
def serving(kind: str, folder: Path) -> Iterator[Server]:
    """Start a server; skip the test if it is not installed."""
    server = SERVERS[kind](folder)
    command = server.command()
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | server.more_environment(),
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        server.wait(process)
        yield server
    finally:
        process.kill()
        process.wait()


def _s3_client(endpoint: str) -> Any:
    return import_module("boto3").client(
        "s3",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id=ACCOUNT,
        aws_secret_access_key=SECRET,
    )


def _answers(endpoint: str) -> None:
    """Return if anything answers, be it a refusal."""
    with suppress(urllib.error.HTTPError):
        urllib.request.urlopen(endpoint, timeout=5).close()  # noqa: S310 - the loopback
