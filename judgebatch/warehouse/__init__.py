"""The warehouse: write-once files, a log of runs, and what is derived from it."""

from judgebatch.warehouse.answers import Answer, Decision, decide_as_of
from judgebatch.warehouse.doctor import doctor
from judgebatch.warehouse.findings import Finding
from judgebatch.warehouse.manifest import (
    Conservation,
    FileEntry,
    InputFile,
    Manifest,
    RunFacts,
)
from judgebatch.warehouse.opening import (
    check_can_be_made,
    init,
    is_warehouse,
    open_or_init,
    open_warehouse,
    refuse_inside_another,
)
from judgebatch.warehouse.parquet import FileFacts, write_table
from judgebatch.warehouse.pieces import Pieces
from judgebatch.warehouse.publishing import connect, publish
from judgebatch.warehouse.runlog import RunLog
from judgebatch.warehouse.staging import Staging
from judgebatch.warehouse.store import Warehouse
from judgebatch.warehouse.verify import verify

__all__ = [
    "Answer",
    "Conservation",
    "Decision",
    "FileEntry",
    "FileFacts",
    "Finding",
    "InputFile",
    "Manifest",
    "Pieces",
    "RunFacts",
    "RunLog",
    "Staging",
    "Warehouse",
    "check_can_be_made",
    "connect",
    "decide_as_of",
    "doctor",
    "init",
    "is_warehouse",
    "open_or_init",
    "open_warehouse",
    "publish",
    "refuse_inside_another",
    "verify",
    "write_table",
]
