"""Finding the files of an input in an object store."""

import re
from fnmatch import translate
from glob import has_magic

from judgebatch.errors import InputError, StoreError
from judgebatch.inputs.spec import InputSpec
from judgebatch.objects.bucket import Bucket, Stored
from judgebatch.objects.url import ObjectUrl, parse_url

SUFFIX = ".parquet"


def is_hidden(name: str) -> bool:
    """Return whether a name is one that writers use for what is not finished."""
    return name.startswith((".", "_"))


def listed(spec: InputSpec) -> list[tuple[str, ObjectUrl, Stored]]:
    """Return an input's objects: the name in the input, where it is, and what is listed of it.

    A prefix stands for every ``*.parquet`` below it, a pattern for what it matches, the name of an
    object for that one. What has wildcards in its own name is taken by that name where it is
    there. An object store knows no folders: a prefix with nothing below it is empty.

    Raises
    ------
    InputError
        The URL names one Parquet file, which is not there.
    StoreError
        The store cannot be listed.
    """
    whole = parse_url(spec.path)
    parts = whole.prefix.split("/") if whole.prefix else []
    fixed = next((at for at, part in enumerate(parts) if has_magic(part)), len(parts))
    folder = ObjectUrl(whole.scheme, whole.bucket, "/".join(parts[:fixed]))
    pattern = "/".join(parts[fixed:])
    try:
        if whole.name.endswith(SUFFIX):
            single = Bucket(whole.parent).find(whole.name)
            if single is not None:
                return [(whole.name, whole.parent, single)]
        found = Bucket(whole).below()
        if pattern and found:
            folder, pattern = whole, ""
        elif pattern:
            found = Bucket(folder).below()
    except OSError as error:
        raise unreadable(whole, error) from None
    if not pattern and not found and whole.name.endswith(SUFFIX):
        raise InputError(
            f"The {spec.kind} input is not there: {whole} does not exist. Correct [{spec.table}] "
            "path in the settings."
        )
    wanted = (
        re.compile(_expression(pattern)) if pattern else re.compile(rf".*{SUFFIX}\Z", re.DOTALL)
    )
    return [
        (one.key, folder, one)
        for one in found
        if wanted.match(one.key) and not any(is_hidden(part) for part in one.key.split("/"))
    ]


def unreadable(where: object, error: OSError) -> InputError | StoreError:
    """Return the named error for what cannot be read; that of a store that fails is one already."""
    if isinstance(error, StoreError):
        return error
    return InputError(
        f"{where} cannot be read: {error.strerror or error}. Check that it is still there and "
        "that its permissions allow reading."
    )


def _expression(pattern: str) -> str:
    """Return a glob as a regular expression: ``*`` stays within a name, ``**`` does not."""
    parts = []
    for part in pattern.split("/"):
        if part == "**":
            parts.append(r"(?:[^/]+/)*")
        else:
            inner = translate(part).removeprefix("(?s:").removesuffix(r")\Z")
            parts.append(inner.replace(".*", "[^/]*") + "/")
    whole = "".join(parts)
    return whole.removesuffix("/") + r"\Z" if not pattern.endswith("**") else whole + r"[^/]+\Z"
