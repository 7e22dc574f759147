"""What goes wrong in an object store, as OSErrors that tell nothing secret.

The errors of the client repeat requests: their URLs may be signed. Only the server's address, the
status, the error code and the kind of failure are taken from them.
"""

import errno
import re

from judgebatch.errors import StoreError, StoreRefusedError, StoreUnreachableError
from judgebatch.objects.url import SCHEMES, ObjectUrl

CHANGED = errno.ESTALE
"""The number of the error for an object that is not the one that was listed."""

_METADATA_HOSTS = ("169.254.", "metadata.google.internal", "fd00:ec2::")
"""Where the client asks for the machine's own role when the environment has no credentials."""
_STATUS = re.compile(r"status code: (?P<status>[0-9]{3})")
_CODE = re.compile(r"<Code>(?P<code>[A-Za-z0-9]{1,60})</Code>")
_SERVER = re.compile(
    r"https?://(?:[^/?#\s]*@)?(?P<server>[A-Za-z0-9.\-_]+(?::[0-9]+)?|\[[^\]\s]+\](?::[0-9]+)?)"
)
_PAGE = re.compile(r"[0-9]{3} [A-Za-z ]+: *<(?:!doctype html|html)", re.IGNORECASE)
_LIST = "performing list request"
_NO_STORE = "what answers there is no object store"
_MISTAKEN = (
    ("builder error", "the request cannot be made; for a plain http endpoint say so with http://"),
    ("invalid list response", _NO_STORE),
    ("InvalidCertificate", "its certificate is not one that this machine trusts"),
    ("InvalidContentType", "what answers there does not speak TLS, which https:// asks for"),
)
"""Parts of errors that no further try mends, and what they say."""
_SEE = "; see that it is up, and that the environment names the right one"
_KINDS = (
    ("dns error", f"no server of that name is known{_SEE}"),
    ("ConnectionRefused", f"the connection is refused{_SEE}"),
    ("TimedOut", "it did not answer in time"),
    ("operation timed out", "it did not answer in time"),
    ("error sending request", f"the connection failed{_SEE}"),
    ("request or response body error", "the connection broke off"),
)
_NO_BUCKET = frozenset({"NoSuchBucket", "ContainerNotFound"})
_IN_FLIGHT = frozenset({"ConditionalRequestConflict", "OperationAborted"})
"""Codes of 409 that say that somebody else is at it just now; others say that it is there."""
_TRANSIENT = frozenset({"408", "425", "429", "500", "502", "503", "504"})
_LACKING = "501"
"""The one status of a server's own failures that says that it never will."""


def is_transient(error: BaseException) -> bool:
    """Return whether trying again may help: throttling, conflicts, broken connections."""
    status = _status(error)
    if status == "409":
        return _code(error) in _IN_FLIGHT
    if status is not None:
        return status in _TRANSIENT
    return _kind(error) in {"GenericError", "JoinError"} and _mistaken(error) is None


def is_already_there(error: BaseException) -> bool:
    """Return whether a put was refused because the object exists."""
    return _kind(error) == "AlreadyExistsError" and not is_transient(error)


def as_os_error(error: BaseException, where: ObjectUrl) -> OSError:
    """Return the failure of a request as an OSError about the object.

    Of a store that cannot be reached, or refuses, that is a :class:`StoreError`; the others are
    about the object: it is not there, is there already, or is another one.
    """
    if _is_refused(error):
        return StoreRefusedError(errno.EACCES, _refusal(error, where), str(where))
    if _kind(error) == "FileNotFoundError":
        return FileNotFoundError(errno.ENOENT, "it is not there", str(where))
    if is_already_there(error):
        return FileExistsError(errno.EEXIST, "it is there already", str(where))
    if _kind(error) == "PreconditionError":
        return OSError(CHANGED, "it changed while it was read", str(where))
    status = _status(error)
    failing = is_transient(error) or ((status or "").startswith("5") and status != _LACKING)
    kind: type[StoreError] = StoreUnreachableError if failing else StoreRefusedError
    return kind(errno.EIO, f"the object store{_at(error)} failed: {_what(error)}", str(where))


def _is_refused(error: BaseException) -> bool:
    return (
        _is_roleless(error)
        or _kind(error) in {"PermissionDeniedError", "UnauthenticatedError"}
        or _status(error) in {"401", "403"}
        or _code(error) in _NO_BUCKET
        or _is_no_store(error)
    )


def _refusal(error: BaseException, where: ObjectUrl) -> str:
    if _code(error) in _NO_BUCKET:
        return f"its bucket is not there ({_code(error)}); make it first"
    if _is_no_store(error):
        return (
            f"{_NO_STORE}: {_server(error) or 'the server'} gives status 404 and nothing that a "
            "store says. See that the environment names the right endpoint "
            f"({SCHEMES[where.scheme]}…)"
        )
    refusal = (
        "there are no credentials for it, and this machine has no role that gives any"
        if _is_roleless(error)
        else f"the object store{_at(error)} refuses it ({_what(error)})"
    )
    return f"{refusal}; credentials come from the environment ({SCHEMES[where.scheme]}…)"


def _is_roleless(error: BaseException) -> bool:
    return any(host in str(error) for host in _METADATA_HOSTS)


def _is_no_store(error: BaseException) -> bool:
    """Return whether a 404 is that of a web server: of a store, it has a code, and no page."""
    if _status(error) != "404" or _code(error) is not None:
        return False
    return _LIST in str(error) or _PAGE.search(str(error)) is not None


def _kind(error: BaseException) -> str:
    """Return the name of the error's class: the client need not be loaded to compare it."""
    return type(error).__name__


def _status(error: BaseException) -> str | None:
    match = _STATUS.search(str(error))
    return match["status"] if match else None


def _code(error: BaseException) -> str | None:
    match = _CODE.search(str(error))
    return match["code"] if match else None


def _server(error: BaseException) -> str:
    """Return the host and port that the request went to; nothing else of its URL."""
    match = _SERVER.search(str(error))
    return match["server"] if match else ""


def _at(error: BaseException) -> str:
    return f" at {server}" if (server := _server(error)) else ""


def _mistaken(error: BaseException) -> str | None:
    return next((said for part, said in _MISTAKEN if part in str(error)), None)


def _what(error: BaseException) -> str:
    status, code = _status(error), _code(error)
    if status is not None:
        return f"status {status}" + (f", {code}" if code else "")
    said = _mistaken(error)
    if said is not None:
        return f"{said}; see that the environment names the right endpoint"
    return next((said for part, said in _KINDS if part in str(error)), type(error).__name__)
