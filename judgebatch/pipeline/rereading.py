"""Rows of an input file that changed, and is read again: those that are known are taken once.

A row that an earlier run considered is known by its identity. One that earlier readings of the
file left waiting, or that was set aside, is not, and would be taken twice. It is known by the file
and by what it says, wherever in the file it stands now: of a row that was there twice and is there
three times, the third is new. Such rows count as already known.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from judgebatch.contracts.grading import Quarantine
from judgebatch.contracts.policies import AnswerRows, HeldAnswers, PendingAnswers
from judgebatch.contracts.rows import QuarantinedBefore, VerdictRows
from judgebatch.contracts.state import PendingEpisodes, PendingVerdicts
from judgebatch.contracts.table import conform, empty, schema_of
from judgebatch.grading.admission import DIGEST, EPISODE_CONTENT, ID, VERDICT_CONTENT, fingerprinted
from judgebatch.inputs import InputKind
from judgebatch.pipeline.arrow_files import mapped
from judgebatch.pipeline.checkpoint import Checkpoint
from judgebatch.pipeline.derived_identities import content_of
from judgebatch.pipeline.ingest import STAGED
from judgebatch.pipeline.scratch import Scratch
from judgebatch.pipeline.shard_policies import stored_policy_rows
from judgebatch.vocabulary import QuarantineReason
from judgebatch.warehouse import RunLog, Warehouse

_PLACE = ["source_file", "source_row"]
_SAYS: Mapping[InputKind, Sequence[str]] = {
    InputKind.EPISODES: ("source_file", *ID, *DIGEST),
    InputKind.VERDICTS: ("source_file", *ID, *DIGEST),
    InputKind.ANSWERS: ("source_file", "content"),
}
"""What two readings of one row have in common."""
_SET_ASIDE = ["input", "source_file", "tenant_id", "id", "reason", "content"]
"""The same of a row in quarantine."""
_ROW = ["input", *_PLACE, "tenant_id", "id"]


def already_there(rows: pl.DataFrame, before: pl.DataFrame, says: Sequence[str]) -> pl.Series:
    """Return which rows have a counterpart in an earlier reading, as a mask.

    Each row before is the counterpart of one row at most: of equal ones first the one with its
    row number, then those with the smallest.

    Parameters
    ----------
    rows, before
        Frames with ``source_row`` and the columns ``says``. No row stands twice in ``before``.
    says
        What must be equal, null with null.
    """
    exact = before.select(*says, "source_row", exact=pl.lit(True))
    times = before.group_by(says).len("times")
    paired = (
        rows.select(*says, "source_row")
        .with_row_index("at")
        .join(times, on=says, how="inner", nulls_equal=True)
        .join(exact, on=[*says, "source_row"], how="left", nulls_equal=True)
        .sort("exact", "source_row", "at", nulls_last=True)
        .with_columns(rank=pl.int_range(pl.len()).over(says))
    )
    return _mask(paired.filter(pl.col("rank") < pl.col("times"))["at"], rows.height)


def _mask(at: pl.Series, height: int) -> pl.Series:
    mask = np.zeros(height, dtype=bool)
    mask[at.to_numpy()] = True
    return pl.Series(mask)


def take_once(
    scratch: Scratch, checkpoints: Sequence[Checkpoint], changed: Sequence[str]
) -> dict[str, int]:
    """Drop staged rows that an earlier reading of their file left waiting.

    Parameters
    ----------
    scratch
        The rows that were read, and nothing else; what is dropped is dropped in place.
    checkpoints
        What the run before left, by shard.
    changed
        Names of the files that are read again, with their inputs.

    Returns
    -------
    dict[str, int]
        How many rows were dropped, by subject of the conservation law.
    """
    dropped = Counter[str]()
    for kind, files in _by_input(changed).items():
        for shard, checkpoint in enumerate(checkpoints):
            if scratch.paths(STAGED[kind], shard):
                dropped.update(_take_once(kind, files, scratch, checkpoint, shard))
    return dict(dropped)


def _by_input(changed: Sequence[str]) -> dict[InputKind, list[str]]:
    files: dict[InputKind, list[str]] = {}
    for name in changed:
        kind, _, file = name.partition("/")
        files.setdefault(InputKind(kind), []).append(file)
    return files


def _take_once(
    kind: InputKind, files: list[str], scratch: Scratch, checkpoint: Checkpoint, shard: int
) -> Counter[str]:
    waiting = _waiting(kind, files, checkpoint)
    if waiting.is_empty():
        return Counter()
    keys = [_keys(kind, path, files) for path in scratch.paths(STAGED[kind], shard)]
    staged = pl.concat(keys)
    known = staged.filter(already_there(staged, waiting, _SAYS[kind]))
    dropped = Counter[str]()
    for (path,), part in known.partition_by("path", as_dict=True, include_key=False).items():
        rows = mapped(Path(str(path)))
        at = part["at"]
        dropped.update(_subjects(kind, rows.select(pl.all().gather(at))))
        scratch.replace(STAGED[kind], Path(str(path)), rows.filter(~_mask(at, rows.height)))
    return dropped


def _keys(kind: InputKind, path: Path, files: list[str]) -> pl.DataFrame:
    """Return what the staged rows of some files say, with ``path`` and ``at``: where they lie."""
    if kind == InputKind.ANSWERS:
        rows = _with_content(mapped(path))
    else:
        rows = mapped(path, [*_PLACE, *ID, *DIGEST])
    return (
        rows.select("source_row", *_SAYS[kind])
        .with_row_index("at")
        .filter(pl.col("source_file").is_in(files))
        .with_columns(path=pl.lit(str(path)))
    )


def _waiting(kind: InputKind, files: list[str], checkpoint: Checkpoint) -> pl.DataFrame:
    """Return what earlier readings of some files left waiting, each row once."""
    if kind == InputKind.EPISODES:
        rows = checkpoint.pending(PendingEpisodes).of_files(files)
        rows = fingerprinted(rows, "episode_id", EPISODE_CONTENT)
    elif kind == InputKind.VERDICTS:
        # Those that wait for an episode are known by their identity.
        rows = checkpoint.pending(PendingVerdicts).of_files(files)
        rows = fingerprinted(rows, "verdict_id", VERDICT_CONTENT)
    else:
        held = stored_policy_rows(checkpoint.folder, HeldAnswers)
        held = held.filter(pl.col("source_file").is_in(files))
        pending = checkpoint.pending(PendingAnswers).of_files(files)
        rows = _with_content(pl.concat([conform(one, AnswerRows) for one in (held, pending)]))
    columns = [*_SAYS[kind], "source_row"]
    return rows.select(columns).unique(columns)


def _with_content(answers: pl.DataFrame) -> pl.DataFrame:
    says = [name for name in schema_of(AnswerRows) if name not in _PLACE]
    return answers.with_columns(content=pl.struct(says).struct.json_encode())


def _subjects(kind: InputKind, rows: pl.DataFrame) -> Counter[str]:
    counts = Counter({kind.value: rows.height})
    if kind == InputKind.VERDICTS:
        counts["comparisons"] = rows.height - rows["compared_episode_id"].null_count()
    return counts


def stage_set_aside(
    warehouse: Warehouse, log: RunLog, scratch: Scratch, changed: Sequence[str]
) -> None:
    """Stage what earlier runs set aside of files that changed, beside what was read of them."""
    if not changed:
        return
    parts = [empty(QuarantinedBefore)]
    files = _by_input(changed)
    wanted = pl.any_horizontal(
        (pl.col("input") == kind.value) & pl.col("source_file").is_in(names)
        for kind, names in files.items()
    )
    for path in warehouse.table_files(log, Quarantine):
        rows = pl.scan_parquet(path, hive_partitioning=False).filter(wanted)
        parts.append(conform(rows.collect(), QuarantinedBefore))
    # What was released and set aside again is one row of its file.
    before = pl.concat(parts).unique([*_SET_ASIDE, "source_row"])
    if before.is_empty():
        return
    shards = warehouse.shard_of(before["tenant_id"].fill_null(""))
    staged = before.sort(QuarantinedBefore.order, nulls_last=False).with_columns(shard=shards)
    of_shards = staged.partition_by("shard", as_dict=True, include_key=False, maintain_order=True)
    for (shard,), part in of_shards.items():
        scratch.write(QuarantinedBefore, int(shard), (0, 0), part)


class SetAside(NamedTuple):
    """What a run sets aside."""

    rows: pl.DataFrame
    """QuarantineRows."""
    known: dict[str, int]
    """Rows that were set aside before, by subject of the conservation law."""


def set_aside_once(rows: pl.DataFrame, before: pl.DataFrame, released: pl.DataFrame) -> SetAside:
    """Return what is to be set aside, without what was before.

    Parameters
    ----------
    rows
        QuarantineRows.
    before
        QuarantinedBefore: of files that are read again.
    released
        ReleasedRows of the run: set aside again, such a row is told of again.
    """
    if before.is_empty():
        return SetAside(rows, {})
    told = rows.join(
        released.select(_ROW, told=pl.lit(True)).unique(),
        on=_ROW,
        how="left",
        nulls_equal=True,
        maintain_order="left",
    ).with_columns(
        told=pl.col("told").fill_null(value=False)
        & pl.struct([*_SET_ASIDE, "source_row"]).is_first_distinct()
    )
    again = told.filter("told").drop("told")
    others = told.filter(~pl.col("told")).drop("told")
    says = [*_SET_ASIDE, "source_row"]
    counterparts = pl.concat([before.select(says), again.select(says)]).unique(says)
    known = already_there(others, counterparts, _SET_ASIDE)
    return SetAside(pl.concat([again, others.filter(~known)]), _known(others.filter(known)))


def _known(rows: pl.DataFrame) -> dict[str, int]:
    counts = Counter[str]()
    for (kind,), part in rows.partition_by("input", as_dict=True).items():
        counts[str(kind)] += part.height
    # Of a row that is malformed nobody asks whether it is a comparison.
    verdicts = rows.filter(
        pl.col("input") == InputKind.VERDICTS.value,
        pl.col("reason") != QuarantineReason.BAD_ROW.value,
    )
    compared = content_of(verdicts["content"], VerdictRows)["compared_episode_id"]
    counts["comparisons"] += len(compared) - compared.null_count()
    return dict(counts)
