"""What to say of an input without any files: a night may have none, or its name is misspelt."""

from glob import has_magic

from judgebatch.inputs.object_files import SUFFIX, is_hidden
from judgebatch.inputs.spec import InputSpec
from judgebatch.objects.bucket import Bucket
from judgebatch.objects.url import parse_url


def said_of_nothing(spec: InputSpec) -> str:
    """Return the warning for an input in which no file was found."""
    if has_magic(spec.path) and (spec.is_remote or not (spec.root / spec.path).exists()):
        return (
            f"{spec.table}: nothing matches {spec.path}, in which *, ? and [\u2026] were read as a "
            "pattern: nothing of that very name is there. If that is not meant, mind the spelling."
        )
    other = _other_file(spec)
    if other is not None:
        return (
            f"{spec.table}: {spec.path} has files, such as {other}, and none is called {SUFFIX}, "
            "so that none is read. Inputs are Parquet files with that ending."
        )
    return (
        f"{spec.table}: nothing matches {spec.path}: no {SUFFIX} file is there. If that is not "
        "meant, mind the spelling."
    )


def _other_file(spec: InputSpec) -> str | None:
    """Return the first file of an input's folder or prefix, whatever it is called."""
    if spec.is_remote:
        names = [one.key for one in Bucket(parse_url(spec.path)).below()]
    else:
        folder = spec.root / spec.path
        there = folder.rglob("*") if folder.is_dir() else iter(())
        names = [one.relative_to(folder).as_posix() for one in there if one.is_file()]
    return min((one for one in names if not any(map(is_hidden, one.split("/")))), default=None)
