"""Judges inside the process: a callable, and answers that were given before."""

from collections.abc import Callable
from dataclasses import dataclass, field

import polars as pl

_QUESTION = ("tenant_id", "task_id", "episode_id", "compared_episode_id")
_EVERYTHING = 1 << 30


@dataclass
class CallableJudge:
    """A function over a frame of pairs; counts its calls and its pairs.

    The function gives what :meth:`judgebatch.judging.protocol.Judge.judge` gives.
    """

    name: str
    function: Callable[[pl.DataFrame], pl.DataFrame | None]
    cost_usd: float = 0.0
    may_exclude: str | None = None
    batch_size: int = _EVERYTHING
    loads: int = 0
    closes: int = 0
    calls: int = 0
    asked: list[str] = field(default_factory=list)

    def load(self) -> None:
        """Count that it was loaded."""
        self.loads += 1

    def close(self) -> None:
        """Count that it was closed."""
        self.closes += 1

    def judge(self, pairs: pl.DataFrame) -> pl.DataFrame | None:
        """Call the function."""
        self.calls += 1
        self.asked += pairs["verdict_id"].to_list()
        return self.function(pairs)


@dataclass
class ReplayJudge:
    """Answers what was answered before; silent about anything else.

    Parameters
    ----------
    answers
        Judgments with tenant_id, task_id, episode_id and compared_episode_id in place of a
        verdict_id; with ``ordinal``, one answer for each time the question was put.
    """

    name: str
    answers: pl.DataFrame
    cost_usd: float = 0.0
    may_exclude: str | None = None
    batch_size: int = _EVERYTHING

    def judge(self, pairs: pl.DataFrame) -> pl.DataFrame:
        """Look the pairs up."""
        keys = [*_QUESTION, *(["ordinal"] if "ordinal" in self.answers.columns else [])]
        answers = self.answers.drop("verdict_id", strict=False)
        return (
            pairs.select(*keys, "verdict_id")
            .join(answers, on=keys, how="inner", nulls_equal=True, maintain_order="left_right")
            .drop(name for name in keys if name != "tenant_id")
        )
