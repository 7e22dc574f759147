"""Where objects are: ``s3://bucket/prefix``, ``gs://bucket/prefix``, ``az://container/prefix``.

A URL never carries credentials: those come from the environment alone.
"""

import re
from dataclasses import dataclass

from judgebatch.errors import UsageError, did_you_mean

SCHEMES = {"s3": "AWS_", "gs": "GOOGLE_", "az": "AZURE_STORAGE_"}
"""The schemes, and how the environment variables start that hold their credentials."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_ALIASES = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "azure": "az", "abfs": "az", "abfss": "az"}
_ONE_SLASH = re.compile(rf"({'|'.join([*SCHEMES, *_ALIASES])}):/", re.IGNORECASE)
_USER = re.compile(r"(?<=:/)(/?)[^/@]*@")
_WILDCARD = re.compile(r"\?[^=&@#]*/[^=&@#]*\Z|\?[^=&@#/]*\.parquet\Z|\?\Z")
"""A question mark with nothing like a query behind it."""
_QUERY = re.compile(r"[?#].*", re.DOTALL)


@dataclass(frozen=True)
class ObjectUrl:
    """A place in an object store; ``prefix`` neither starts nor ends with a slash."""

    scheme: str
    bucket: str
    prefix: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}" + (f"/{self.prefix}" if self.prefix else "")

    def __truediv__(self, name: str) -> "ObjectUrl":
        """Return the place with a further name below it."""
        prefix = f"{self.prefix}/{name}" if self.prefix else name
        return ObjectUrl(self.scheme, self.bucket, prefix)

    @property
    def name(self) -> str:
        """The last part."""
        return self.prefix.rpartition("/")[2]

    @property
    def parent(self) -> "ObjectUrl":
        """The place above."""
        return ObjectUrl(self.scheme, self.bucket, self.prefix.rpartition("/")[0])


def is_url(text: str) -> bool:
    """Return whether a text is meant as a URL and not as a path."""
    return _SCHEME.match(text) is not None or _ONE_SLASH.match(text) is not None


def parse_url(text: str) -> ObjectUrl:
    """Return the place that a URL names.

    Raises
    ------
    UsageError
        The scheme is unknown, there is no bucket, or the URL carries credentials or a query. The
        message never repeats them.
    """
    match = _SCHEME.match(text)
    if match is None:
        shown = without_credentials(text)
        meant = shown.replace(":/", "://", 1)
        raise UsageError(
            f"{shown} is no URL of an object store: two slashes follow its scheme (did you mean "
            f"{meant}?). A folder of that name is ./{shown}."
        )
    scheme, rest = match[1].lower(), text[match.end() :]
    if scheme not in SCHEMES:
        meant = f" (did you mean {_ALIASES[scheme]}://?)" if scheme in _ALIASES else ""
        meant = meant or did_you_mean(scheme, SCHEMES)
        raise UsageError(
            f"{scheme}:// is no object store that is known here{meant}; allowed: "
            f"{', '.join(f'{name}://' for name in SCHEMES)}, or a path."
        )
    if _WILDCARD.search(rest):
        raise UsageError(
            f"{without_credentials(text)} has a ?, which begins a query in a URL and is no "
            "wildcard there: the wildcards are * (inside a name), ** (over several) and [...]."
        )
    if _USER.search(text) or _QUERY.search(text):
        raise UsageError(
            f"{without_credentials(text)} carries a user, a query or a fragment. A URL is "
            f"{scheme}://bucket/prefix alone, and credentials come from the environment "
            f"({SCHEMES[scheme]}…): take them out of the URL, and treat them as disclosed."
        )
    bucket, _, prefix = rest.partition("/")
    parts = prefix.removesuffix("/").split("/") if prefix else []
    if not bucket or any(part in {"", ".", ".."} for part in parts):
        raise UsageError(
            f"{text} names no place in an object store: expected {scheme}://bucket/prefix, without "
            "empty parts."
        )
    return ObjectUrl(scheme, bucket, "/".join(parts))


def without_credentials(text: str) -> str:
    """Return a text as it may be shown: what could be a secret in a URL is left out."""
    return _QUERY.sub("?…", _USER.sub(r"\1…@", text)) if is_url(text) else text
