"""Open a run: its settings, plan, judge and warehouse, and which input files are new."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from judgebatch.inputs import InputFile, InputKind, InputSpec, discover, said_of_nothing
from judgebatch.pipeline.judge import Attached, attached_judge
from judgebatch.pipeline.policy_plan import PolicyPlan, read_plan
from judgebatch.settings import Settings
from judgebatch.warehouse import RunLog, Warehouse, open_or_init
from judgebatch.warehouse.known_inputs import KnownInputs
from judgebatch.warehouse.manifest import InputFile as ConsumedFile


@dataclass(frozen=True)
class Found:
    """An input file as it is now."""

    kind: InputKind
    spec: InputSpec
    file: InputFile

    @property
    def name(self) -> str:
        """How manifests name it: the input, then the file inside it."""
        return f"{self.kind}/{self.file.path}"


@dataclass(frozen=True)
class NewFiles:
    """The files that a run reads."""

    new: list[Found]
    changed: list[str]
    """Names of those that an earlier run read with other content."""
    digests: dict[str, str]
    """SHA-256 of every file that is there, by name."""


class Hints:
    """What spares a run to read all input files and all manifests again.

    A file with the same size, times of change and inode (in an object store: tag) is taken for
    unchanged.
    """

    def __init__(self, warehouse: Warehouse) -> None:
        self._storage = warehouse.storage
        self._known = KnownInputs.read_if_sound(warehouse.storage)

    def consumed(self, log: RunLog) -> dict[str, str]:
        """Return the digest with which each input file was last consumed, by name."""
        known, run = self._known.consumed, self._known.run
        if not 0 < run <= log.newest or log[run - 1].digest != self._known.manifest:
            known, run = {}, 0
        newer = {name: file.digest for name, file in log.consumed(after=run).items()}
        return known | newer

    def digest(self, found: Found) -> str | None:
        """Return the digest that the file had when it last looked like this."""
        known = self._known.files.get(found.name)
        if known and known[:2] == (found.file.size, found.file.stamp):
            return known[2]
        return None

    def save(self, files: Iterable[Found], digests: Mapping[str, str], log: RunLog) -> None:
        """Remember the files as they are now, and what the committed runs consumed."""
        now = KnownInputs(
            files={one.name: (one.file.size, one.file.stamp, digests[one.name]) for one in files},
            consumed=self.consumed(log),
            run=log.newest,
            manifest=log.last.digest if log.last else "",
        ).sealed()
        if now != self._known:
            now.write(self._storage)


def find_files(settings: Settings) -> list[Found]:
    """Return all input files, in a fixed order.

    Raises
    ------
    InputError
        An input is not there or cannot be listed.
    """
    return [
        Found(kind, settings.inputs[kind], file)
        for kind in InputKind
        if kind in settings.inputs
        for file in discover(settings.inputs[kind])
    ]


def empty_inputs(settings: Settings, files: Iterable[Found]) -> list[str]:
    """Return a warning for each input that has no files at all."""
    there = {one.kind for one in files}
    return [said_of_nothing(spec) for kind, spec in settings.inputs.items() if kind not in there]


def new_files(files: list[Found], log: RunLog, hints: Hints) -> NewFiles:
    """Return the files that no run has read with the content they have now."""
    consumed = hints.consumed(log)
    digests = {one.name: hints.digest(one) or one.file.sha256 for one in files}
    new = [one for one in files if consumed.get(one.name) != digests[one.name]]
    return NewFiles(new, [one.name for one in new if one.name in consumed], digests)


def as_consumed(found: Found, digest: str, rows: int | None = None) -> ConsumedFile:
    """Return what a manifest remembers of a file."""
    return ConsumedFile(
        table=found.kind.value, path=found.name, size=found.file.size, digest=digest, rows=rows
    )


def settings_hash(settings: Settings) -> str:
    """Return the hash under which the warehouse keeps the effective settings."""
    return sha256(settings.effective_text().encode()).hexdigest()


@dataclass(frozen=True)
class Opened:
    """What a run starts from."""

    settings: Settings
    settings_hash: str
    plan: PolicyPlan
    judge: Attached | None
    warehouse: Warehouse
    log: RunLog
    files: list[Found]
    inputs: NewFiles
    hints: Hints


def open_run(settings: Settings) -> Opened:
    """Read the run log and find the new input files.

    Raises
    ------
    SettingsError
        A policy file is missing or wrong, or the judge cannot be made.
    UsageError
        The warehouse's folder holds something else.
    InputError
        An input is not there.
    """
    plan = read_plan(settings)
    judge = attached_judge(settings)
    warehouse = open_or_init(settings.warehouse, settings.scratch)
    log = warehouse.runs()
    files = find_files(settings)
    hints = Hints(warehouse)
    return Opened(
        settings,
        settings_hash(settings),
        plan,
        judge,
        warehouse,
        log,
        files,
        new_files(files, log, hints),
        hints,
    )
