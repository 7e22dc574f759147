"""A judge attached to a run: who it is, what it is asked, and its answers as staged verdicts.

Which pairs grading wants is found in a first pass over the shards; the judge is asked about all of
them in one contiguous batch. With a promotion in the settings a second pass finds which tests its
answers leave undecided; then it is asked pair by pair until each is decided. One that holds a
model loads it once. Answers are journaled before they are used, and then graded like any verdict
of the run's files.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Self

import polars as pl

from judgebatch.contracts.judgments import WantedPairs
from judgebatch.contracts.rows import VerdictRows
from judgebatch.contracts.staged import StagedVerdicts
from judgebatch.contracts.table import conform, empty
from judgebatch.grading.admission import VERDICT_CONTENT, fingerprinted
from judgebatch.grading.clock import Clock
from judgebatch.judging import Asking, Counts, Journal, Judge, make_judge
from judgebatch.juries import Jury, JuryReducer, Reduction, SeatDefinition, SimpleJury, jury_of
from judgebatch.pipeline.jury_files import installed_strategies, load_jury
from judgebatch.pipeline.scratch import Scratch
from judgebatch.settings import Settings
from judgebatch.strengths import SequentialTest, decision_of
from judgebatch.verdicts import comparison_outcome, interpret_texts
from judgebatch.vocabulary import NotApplicablePolicy, Outcome, SequentialDecision, Strategy
from judgebatch.warehouse import Warehouse
from judgebatch.warehouse.sharding import shard_of

NANO = 1_000_000_000
ANSWERS = (9_000_000, 0)
"""Where answers stand among a shard's staged pieces: after every input file's."""
ANSWERS_IN_SEQUENCE = (9_000_000, 1)
"""Where those stand that were asked for one by one."""
SILENCES = 3
"""How many pairs in a row a judge may say nothing about before it counts as gone."""
_EPISODES = ["episode_id", "compared_episode_id"]


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


class JudgeAtWork:
    """The attached judge in a run: loaded once, when it is first needed.

    Parameters
    ----------
    attached
        The judge.
    warehouse
        Whose journal remembers the answers.
    scratch
        Where they are staged.
    clock
        The run's as_of is when they count as judged.
    """

    def __init__(
        self, attached: Attached, warehouse: Warehouse, scratch: Scratch, clock: Clock
    ) -> None:
        self._attached = attached
        self._warehouse = warehouse
        self._scratch = scratch
        self._clock = clock
        self._asking: Asking | None = None
        self._held = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._held.close()

    @property
    def counts(self) -> Counts:
        """What became of asking so far."""
        return Counts() if self._asking is None else self._asking.counts

    def answer(self, wanted: pl.DataFrame) -> None:
        """Ask about WantedPairs, all of them, and stage the answers."""
        if not wanted.is_empty():
            self._stage(self._at_work().ask(conform(wanted, WantedPairs)), ANSWERS)

    def answer_until_decided(
        self, pairs: pl.DataFrame, test: SequentialTest, told: Callable[[int, int], None]
    ) -> None:
        """Ask about PromotionPairs of each test until it is decided, and stage the answers.

        A test ends without a decision where its pairs end, or what its tenant's ceiling allows.
        A judge that says nothing about a few pairs in a row is asked about no more. ``told`` how
        many tests have ended, and how many there are.
        """
        if pairs.is_empty():
            return
        asking = self._at_work()
        spent = Counter[str]()
        answered = [empty(VerdictRows)]
        tests = pairs.partition_by("tenant_id", "scope_task_id", maintain_order=True)
        for done, part in enumerate(tests):
            told(done, len(tests))
            tenant = part["tenant_id"][0]
            allowed = part["affordable"][0]
            course = _Course(part, test, None if allowed is None else allowed - spent[tenant])
            rows = asking.ask_until(conform(part, WantedPairs), partial(course.ends, asking.counts))
            spent[tenant] += rows.height
            answered.append(rows)
            if course.silent:
                asking.counts.abandoned = len(tests) - done
                break
        told(len(tests), len(tests))
        self._stage(pl.concat(answered), ANSWERS_IN_SEQUENCE)

    def _at_work(self) -> Asking:
        if self._asking is None:
            journal = self._held.enter_context(Journal(*self._warehouse.storage.journal()))
            reducer = JuryReducer(self._attached.jury)
            self._asking = self._held.enter_context(
                Asking(self._attached.judge, reducer, journal, self._clock.as_of)
            )
        return self._asking

    def _stage(self, rows: pl.DataFrame, place: tuple[int, int]) -> None:
        rows = fingerprinted(rows, "verdict_id", VERDICT_CONTENT).with_columns(
            live=pl.lit(True), released=pl.lit(False)
        )
        rows = rows.with_columns(
            shard_of(rows["tenant_id"], self._warehouse.n_shards).alias("shard")
        )
        rows = rows.sort("tenant_id", "task_id", "verdict_id")
        for (shard,), part in rows.partition_by("shard", as_dict=True, include_key=False).items():
            self._scratch.write(StagedVerdicts, int(shard), place, part)


class _Course:
    """A sequential test while its pairs are asked about.

    Parameters
    ----------
    pairs
        PromotionPairs of the test.
    test
        Its bounds.
    allowed
        How many answers may still be paid for; None: any number.
    """

    def __init__(self, pairs: pl.DataFrame, test: SequentialTest, allowed: int | None) -> None:
        self._test = test
        self._allowed = allowed
        self._wins, self._losses = int(pairs["wins"][0]), int(pairs["losses"][0])
        # A pair stands under its episodes: the judge's identities order them anew.
        self._is_left = dict(
            zip(
                pairs.select("task_id", *_EPISODES).iter_rows(),
                pairs["variant_is_left"],
                strict=True,
            )
        )
        self._seen = self._unanswered = self._silences = 0
        self.silent = False

    def ends(self, counts: Counts, rows: pl.DataFrame) -> bool:
        """Return whether no further pair is to be asked about, after all ``rows`` so far."""
        if rows.height > self._seen:
            self._silences = self._silences + 1 if counts.unanswered > self._unanswered else 0
            self._add(rows.slice(self._seen))
        self._seen, self._unanswered = rows.height, counts.unanswered
        self.silent = self._silences >= SILENCES
        decision = decision_of(self._wins, self._losses, self._test)
        spent = self._allowed is not None and self._seen >= self._allowed
        return self.silent or spent or decision is not SequentialDecision.CONTINUE

    def _add(self, rows: pl.DataFrame) -> None:
        read = interpret_texts(rows["verdict"]).interpretations
        outcomes = read.select(comparison_outcome().alias("outcome"))["outcome"]
        pairs = rows.select("task_id", *_EPISODES).iter_rows()
        for pair, outcome in zip(pairs, outcomes, strict=True):
            won, lost = Outcome.LEFT, Outcome.RIGHT
            if not self._is_left[pair]:
                won, lost = lost, won
            self._wins += outcome == won.value
            self._losses += outcome == lost.value
