"""What goes wrong in an object store, as OSErrors that tell nothing secret.

The errors of the client repeat requests: their URLs may be signed. Only the status, the error
code and the kind of failure are taken from them.
"""

import errno
import re

from judgebatch.objects.url import SCHEMES, ObjectUrl

CHANGED = errno.ESTALE
"""The number of the error for an object that is not the one that was listed."""

_METADATA_HOSTS = ("169.254.", "metadata.google.internal", "fd00:ec2::")
"""Where the client asks for the machine's own role when the environment has no credentials."""
_STATUS = re.compile(r"status code: (?P<status>[0-9]{3})")
_CODE = re.compile(r"<Code>(?P<code>[A-Za-z0-9]{1,60})</Code>")
_KINDS = (
    ("builder error", "the request cannot be made; for a plain http endpoint say so with http://"),
    (
        "error sending request",
        "the connection failed; see that its server is up and that the environment names it",
    ),
    ("request or response body error", "the connection broke off"),
    ("operation timed out", "it did not answer in time"),
    ("dns error", "its name is not known"),
)
_NO_BUCKET = frozenset({"NoSuchBucket", "ContainerNotFound"})
_IN_FLIGHT = frozenset({"ConditionalRequestConflict", "OperationAborted"})
"""Codes of 409 that say that somebody else is at it just now; others say that it is there."""
_TRANSIENT = frozenset({"408", "425", "429", "500", "502", "503", "504"})


def is_transient(error: BaseException) -> bool:
    """Return whether trying again may help: throttling, conflicts, broken connections."""
    status = _status(error)
    if status == "409":
        return _code(error) in _IN_FLIGHT
    if status is not None:
        return status in _TRANSIENT
    return _kind(error) in {"GenericError", "JoinError"} and "builder error" not in str(error)


def is_already_there(error: BaseException) -> bool:
    """Return whether a put was refused because the object exists."""
    return _kind(error) == "AlreadyExistsError" and not is_transient(error)


def as_os_error(error: BaseException, where: ObjectUrl) -> OSError:
    """Return the failure of a request as an OSError about the object."""
    what = _what(error)
    kind = _kind(error)
    if kind == "FileNotFoundError" and _code(error) not in _NO_BUCKET:
        return FileNotFoundError(errno.ENOENT, "it is not there", str(where))
    roleless = any(host in str(error) for host in _METADATA_HOSTS)
    if roleless or kind in {"PermissionDeniedError", "UnauthenticatedError"}:
        refusal = (
            "there are no credentials for it, and this machine has no role that gives any"
            if roleless
            else f"the object store refuses it ({what})"
        )
        return PermissionError(
            errno.EACCES,
            f"{refusal}; credentials come from the environment ({SCHEMES[where.scheme]}…)",
            str(where),
        )
    if is_already_there(error):
        return FileExistsError(errno.EEXIST, "it is there already", str(where))
    if kind == "PreconditionError":
        return OSError(CHANGED, "it changed while it was read", str(where))
    return OSError(errno.EIO, f"the object store failed: {what}", str(where))


def _kind(error: BaseException) -> str:
    """Return the name of the error's class: the client need not be loaded to compare it."""
    return type(error).__name__


def _status(error: BaseException) -> str | None:
    match = _STATUS.search(str(error))
    return match["status"] if match else None


def _code(error: BaseException) -> str | None:
    match = _CODE.search(str(error))
    return match["code"] if match else None


def _what(error: BaseException) -> str:
    text = str(error)
    status, code = _status(error), _code(error)
    if code in _NO_BUCKET:
        return f"its bucket is not there ({code}); make it first"
    if status is not None:
        return f"status {status}" + (f", {code}" if code else "")
    return next((said for part, said in _KINDS if part in text), type(error).__name__)
