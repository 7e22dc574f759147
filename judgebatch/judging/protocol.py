"""What a judge attached to a run is, and what reduces its judgments."""

from typing import Protocol, runtime_checkable

import polars as pl

from judgebatch.vocabulary import JudgeOutcome


class MalformedAnswerError(Exception):
    """Raised by a judge that got an answer of which nothing can be made."""


@runtime_checkable
class Judge(Protocol):
    """Somebody who can be asked about pairs, or about single episodes.

    A judge may also have ``load()``, called once before it is first asked and never where
    nothing is asked; and ``close()``, called once afterwards if it was loaded.

    Attributes
    ----------
    name
        Who judges. Answers are remembered under it: a judge that would answer differently, with
        another model for instance, needs another name.
    cost_usd
        What one answer costs.
    may_exclude
        The condition under which a question should not have been asked; None for never.
    batch_size
        How many pairs it is asked about at a time. What is answered is safe after each batch.
    """

    name: str
    cost_usd: float
    may_exclude: str | None
    batch_size: int

    def judge(self, pairs: pl.DataFrame) -> pl.DataFrame | None:
        """Answer about pairs.

        Parameters
        ----------
        pairs
            tenant_id, task_id, episode_id, compared_episode_id (null for a question about one
            episode), ordinal, verdict_id, and what else the pairs came with.

        Returns
        -------
        DataFrame
            Judgments: ``verdict_id`` of the pair, ``status``, and whatever other columns of the
            ``judgments`` table are wanted. Without ``stage`` and ``position`` they stand at the
            root, position 0; without ``name`` they are of the judge's own name.
        """


class Reducer(Protocol):
    """Turns judgments into complete verdicts."""

    def checked(self, judgments: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return rows as the ``judgments`` table, and source_row and message of their faults."""

    def failed(self, keys: pl.DataFrame, outcome: JudgeOutcome) -> pl.DataFrame:
        """Return the judgments that stand for a judge that gave none, by its ``message``."""

    def verdicts(self, judgments: pl.DataFrame) -> tuple[pl.DataFrame, int]:
        """Return tenant_id, verdict_id and ``verdict`` (JSON text), and how many had no seat."""
