"""Rows for scenarios: what matters is said, the rest has a plain value."""

from datetime import UTC, datetime, timedelta
from typing import Any

START = datetime(2026, 3, 1, tzinfo=UTC)


def at(hours: float) -> datetime:
    """Return the instant so many hours after the start."""
    return START + timedelta(hours=hours)


def episode(episode_id: str, hours: float, **more: Any) -> dict[str, Any]:
    """Return an episode that arrived so many hours after the start."""
    return {
        "tenant_id": "acme",
        "episode_id": episode_id,
        "task_id": "checkout",
        "arrived_at": at(hours),
        "verifier_outcome": "passed",
        "cost_usd": 0.25,
        "latency_ms": 1200.0,
        "tool_calls": 4,
        "tool_errors": 1,
        "variant": None,
    } | more


def answer(episode_id: str, question: str, hours: float, **more: Any) -> dict[str, Any]:
    """Return an answer to a question, given so many hours after the start."""
    return {
        "tenant_id": "acme",
        "episode_id": episode_id,
        "question": question,
        "answered_at": at(hours),
        "answer_type": "noul",
        "probability": None,
        "choice": None,
        "confidence": None,
    } | more


def comparison(left: str, right: str, hours: float, outcome: str, **more: Any) -> dict[str, Any]:
    """Return a stored comparison, judged so many hours after the start."""
    return {
        "tenant_id": "acme",
        "verdict_id": f"{left}|{right}|{hours}",
        "task_id": "checkout",
        "episode_id": left,
        "compared_episode_id": right,
        "judged_at": at(hours),
        "outcome": outcome,
        "judge_id": "jury",
        "cost_usd": 0.01,
    } | more
