"""What spares a run to read all input files and all manifests again: ``views/inputs.json``."""

from typing import Self

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from judgebatch.errors import StoreError
from judgebatch.warehouse.durable import sha256_of_bytes, writing
from judgebatch.warehouse.failpoints import failpoint
from judgebatch.warehouse.layout import VIEWS
from judgebatch.warehouse.storage import Storage

KNOWN_INPUTS = f"{VIEWS}/inputs.json"
_CONSEQUENCE = "All committed runs are as they were; the next run makes it anew."


class KnownInputs(BaseModel):
    """The input files as they last were, and what the runs up to one consumed of them.

    Derived: where it is not there, or not as it was written, all input files are hashed and all
    manifests are read once more.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    files: dict[str, tuple[int, str, str]] = {}
    """By name: size, stamp and digest."""
    consumed: dict[str, str] = {}
    """By name, the digest with which it was last consumed."""
    run: int = 0
    """The run up to which ``consumed`` goes."""
    manifest: str = ""
    """That run's digest."""
    digest: str = ""
    """SHA-256 over the rest."""

    def sealed(self) -> Self:
        """Return it with its digest."""
        digest = sha256_of_bytes(_json(self.model_dump(exclude={"digest"})))
        return self.model_copy(update={"digest": digest})

    @classmethod
    def read(cls, storage: Storage) -> Self:
        """Return what was written.

        Raises
        ------
        OSError
            It cannot be read.
        ValueError
            It is not what was written.
        """
        try:
            known = cls.model_validate_json(storage.read(KNOWN_INPUTS))
        except ValidationError as error:
            raise ValueError("is not what was written") from error
        if known != known.sealed():
            raise ValueError("is not what was written")
        return known

    @classmethod
    def read_if_sound(cls, storage: Storage) -> Self:
        """Return what was written, or that nothing is known."""
        try:
            return cls.read(storage)
        except (OSError, ValueError):
            return cls()

    def write(self, storage: Storage) -> None:
        """Replace what is there; call it on what is sealed.

        Raises
        ------
        WarehouseWriteError
            There is no room or no permission, or a folder is in its place.
        """
        layout = storage.layout
        path = layout.shown(layout.root / KNOWN_INPUTS)
        with writing("what is known of the inputs", path, _CONSEQUENCE):
            failpoint("hints.write")
            storage.replace(KNOWN_INPUTS, _json(self.model_dump()))


def stale_known_inputs(storage: Storage) -> list[tuple[str, str]]:
    """Return the file and what is wrong with it, if anything is; one that is not there is well."""
    try:
        KnownInputs.read(storage)
    except FileNotFoundError:
        return []
    except StoreError:
        raise
    except OSError as error:
        return [(KNOWN_INPUTS, f"cannot be read: {error.strerror}")]
    except ValueError as error:
        return [(KNOWN_INPUTS, str(error))]
    return []


def _json(document: object) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
