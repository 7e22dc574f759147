"""Named places at which a run can be made to die or fail, so that tests can prove recovery.

``JUDGEBATCH_FAILPOINT=commit.renamed`` kills the process with SIGKILL when it gets there;
``commit.hash:3`` at the third time; ``pieces.write=ENOSPC`` raises that error instead;
``commit.rename=PAUSE`` waits there until somebody else ends the process. Without the variable a
failpoint does nothing.
"""

import errno
import os
import signal
import time
from collections import Counter

VARIABLE = "JUDGEBATCH_FAILPOINT"
PAUSE = "PAUSE"
_LONG = 3600.0

FAILPOINTS = (
    "lock.taken",
    "staging.sweep",
    "staging.swept",
    "staging.folder",
    "staging.locked",
    "staging.ready",
    "pieces.write",
    "pieces.written",
    "tables.write",
    "tables.group",
    "tables.written",
    "state.linked",
    "settings.write",
    "settings.stored",
    "commit.begin",
    "commit.hash",
    "commit.manifest",
    "commit.fsync",
    "commit.read_only",
    "commit.rename",
    "commit.renamed",
    "commit.durable",
    "commit.swept",
    "views.database",
    "views.rename",
    "views.renamed",
    "metrics.write",
    "metrics.rename",
)
"""Every failpoint of a run, in about the order in which a run meets them."""

GRADING_FAILPOINTS = (
    "state.identities",
    "spares.linked",
    "spares.write",
    "spares.packed",
    "hints.write",
)
"""Those that only a run that grades meets: its checkpoint, the spare copy, what it remembers."""

REBUILD_FAILPOINTS = (
    "rebuild.make",
    "rebuild.made",
    "rebuild.synced",
    "rebuild.renamed",
    "rebuild.durable",
)
"""Those of ``judgebatch rebuild-state``, for each file that it makes again."""

EXPORT_FAILPOINTS = (
    "export.folder",
    "export.table",
    "export.written",
    "export.synced",
    "export.renamed",
)
"""Those of ``judgebatch export``."""

GC_FAILPOINTS = ("gc.remove", "gc.removed")
"""Those of ``judgebatch gc``, for each thing that it removes."""

OBJECT_FAILPOINTS = (
    "copies.folder",
    "objects.announced",
    "objects.put",
    "objects.stored",
    "objects.settled",
    "objects.views",
)
"""Those that only a run into an object store meets."""

_hits: Counter[str] = Counter()


def failpoint(name: str) -> None:
    """Die or fail here if the environment names this place."""
    wanted = os.environ.get(VARIABLE)
    if not wanted:
        return
    place, _, error = wanted.partition("=")
    place, _, nth = place.partition(":")
    if place != name:
        return
    _hits[name] += 1
    if _hits[name] < int(nth or 1):
        return
    if error == PAUSE:
        time.sleep(_LONG)
    if error:
        number = getattr(errno, error)
        raise OSError(number, os.strerror(number), name)
    os.kill(os.getpid(), signal.SIGKILL)
