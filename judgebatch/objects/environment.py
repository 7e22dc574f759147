"""What the environment says about object stores, checked before the client reads it.

The client itself ends in a panic at an address that is none and at a key with a line break. Values
are never repeated: an address or a key may hold what is secret.
"""

import os
import re
from urllib.parse import urlsplit

from judgebatch.errors import UsageError
from judgebatch.objects.url import SCHEMES

ENDPOINTS = (
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT",
    "AZURE_STORAGE_ENDPOINT",
    "AZURE_ENDPOINT",
    "GOOGLE_BASE_URL",
    "AZURITE_BLOB_STORAGE_URL",
)
_PLAIN = ("AWS_ALLOW_HTTP", "AZURE_ALLOW_HTTP", "GOOGLE_ALLOW_HTTP")
_PREFIXES = {"s3": ("AWS_",), "gs": ("GOOGLE_",), "az": ("AZURE_", "AZURITE_")}
_KEYS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AZURE_STORAGE_ACCOUNT_NAME",
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "GOOGLE_BEARER_TOKEN",
)
_BLANK_OR_CONTROL = re.compile(r"[\x00-\x20\x7f]")
_MISSING = re.compile(r"Missing (?P<what>[A-Za-z]{1,60})")


def check_environment(scheme: str) -> None:
    """Check the addresses and keys that the client of a scheme would use.

    Raises
    ------
    UsageError
        An address is not an ``http://`` or ``https://`` one, or has a user in it; or a key has
        blanks or line breaks.
    """
    for name in ENDPOINTS:
        value = os.environ.get(name)
        if not value or not name.startswith(_PREFIXES[scheme]):
            continue
        if _is_address(value) and "@" in urlsplit(value).netloc:
            raise UsageError(
                f"The environment variable {name} has a user or a password in it. Take them out, "
                f"and treat them as disclosed: credentials have variables of their own "
                f"({SCHEMES[scheme]}\u2026)."
            )
        if not _is_address(value):
            raise UsageError(
                f"The environment variable {name} is no address of a server: expected "
                "http://host:port or https://host:port."
            )
    for name in _KEYS:
        value = os.environ.get(name, "")
        if name.startswith(_PREFIXES[scheme]) and _BLANK_OR_CONTROL.search(value):
            raise UsageError(
                f"The environment variable {name} has a blank or a line break in it, such as one "
                "at the end of a file that it was read from: take it out."
            )


def allows_http() -> bool:
    """Return whether the environment asks for a server without encryption."""
    plain = any(os.environ.get(name, "").lower().startswith("http://") for name in ENDPOINTS)
    return plain or any(os.environ.get(name, "").lower() == "true" for name in _PLAIN)


def cannot_connect(scheme: str, error: BaseException) -> UsageError:
    """Return what it means that the client cannot be made from the environment."""
    missing = _MISSING.search(str(error))
    what = f": {missing['what']} is missing" if missing else ""
    return UsageError(
        f"The environment does not say how to reach {scheme}://{what}. Credentials come from "
        f"environment variables ({SCHEMES[scheme]}…): set the ones that belong together."
    )


def _is_address(value: str) -> bool:
    try:
        parts = urlsplit(value)
        return (
            parts.scheme in {"http", "https"}
            and bool(parts.hostname)
            and parts.port != 0
            and not _BLANK_OR_CONTROL.search(value)
        )
    except ValueError:
        return False
