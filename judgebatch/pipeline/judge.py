"""A judge attached to a run: who it is, what it is asked, and its answers as staged verdicts.

Which pairs are wanted is found in a first pass over the shards. The judge is asked once, in one
contiguous batch over all of them, so that one that holds a model loads it once; its answers are
journaled before they are used, and then graded like any verdict of the run's files.
"""

from dataclasses import dataclass

import polars as pl

from judgebatch.contracts.judgments import WantedPairs
from judgebatch.contracts.staged import StagedVerdicts
from judgebatch.contracts.table import conform
from judgebatch.grading.admission import VERDICT_CONTENT, fingerprinted
from judgebatch.grading.clock import Clock
from judgebatch.judging import Counts, Journal, Judge, ask, make_judge
from judgebatch.juries import Jury, JuryReducer, Reduction, SeatDefinition, SimpleJury, jury_of
from judgebatch.pipeline.jury_files import installed_strategies, load_jury
from judgebatch.pipeline.scratch import Scratch
from judgebatch.settings import Settings
from judgebatch.vocabulary import NotApplicablePolicy, Strategy
from judgebatch.warehouse import Warehouse
from judgebatch.warehouse.sharding import shard_of

NANO = 1_000_000_000
ANSWERS = (9_000_000, 0)
"""Where answers stand among a shard's staged pieces: after every input file's."""


@dataclass(frozen=True)
class Attached:
    """A judge and the jury that makes verdicts of its judgments."""

    judge: Judge
    jury: Jury

    @property
    def cost_nano_usd(self) -> int:
        """What the judge declares for a call, in nano-dollars."""
        return round(self.judge.cost_usd * NANO)


def attached_judge(settings: Settings) -> Attached | None:
    """Make the judge that the settings attach.

    Raises
    ------
    SettingsError
        There is no such judge or jury, or it cannot be made.
    """
    told = settings.judge
    if told is None:
        return None
    judge = make_judge(told.name, told.options)
    if told.jury is None:
        seat = SeatDefinition(name=judge.name, not_applicable_when=judge.may_exclude)
        excludes = NotApplicablePolicy.EXCLUDE if judge.may_exclude else NotApplicablePolicy.REFUSE
        reduction = Reduction(strategy=Strategy.CONSENSUS, not_applicable_policy=excludes)
        return Attached(judge, SimpleJury(reduction, (seat,)))
    if isinstance(told.jury, str):
        return Attached(judge, load_jury(settings.source.parent / told.jury))
    return Attached(judge, jury_of(told.jury, strategies=installed_strategies()))


def ask_judge(
    attached: Attached, wanted: pl.DataFrame, warehouse: Warehouse, scratch: Scratch, clock: Clock
) -> Counts:
    """Ask about the wanted pairs of all shards and stage the answers.

    Parameters
    ----------
    attached
        The judge.
    wanted
        WantedPairs.
    warehouse
        Whose journal remembers the answers.
    scratch
        Where they are staged.
    clock
        The run's as_of is when they count as judged.
    """
    if wanted.is_empty():
        return Counts()
    with Journal(warehouse.layout.journal) as journal:
        rows, counts = ask(
            attached.judge,
            JuryReducer(attached.jury),
            conform(wanted, WantedPairs),
            journal,
            judged_at=clock.as_of,
        )
    rows = fingerprinted(rows, "verdict_id", VERDICT_CONTENT).with_columns(
        live=pl.lit(True), released=pl.lit(False)
    )
    rows = rows.with_columns(shard_of(rows["tenant_id"], warehouse.n_shards).alias("shard"))
    for (shard,), part in rows.partition_by("shard", as_dict=True, include_key=False).items():
        scratch.write(StagedVerdicts, int(shard), ANSWERS, part)
    return counts
