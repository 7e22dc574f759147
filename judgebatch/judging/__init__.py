"""Judges attached to a run: asked, contained, and journaled before anything is made of them."""

from judgebatch.judging.asking import Asking, Counts, ask, pair_key
from judgebatch.judging.http import HttpJudge
from judgebatch.judging.journal import Journal
from judgebatch.judging.local import CallableJudge, ReplayJudge
from judgebatch.judging.protocol import Judge, MalformedAnswerError, Reducer
from judgebatch.judging.registry import make_judge

__all__ = [
    "Asking",
    "CallableJudge",
    "Counts",
    "HttpJudge",
    "Journal",
    "Judge",
    "MalformedAnswerError",
    "Reducer",
    "ReplayJudge",
    "ask",
    "make_judge",
    "pair_key",
]
