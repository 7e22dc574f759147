"""Small nights of policies, told in hours since the start."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from judgebatch import policies as p
from judgebatch.contracts.policies import AnswerRows
from judgebatch.contracts.table import schema_of
from judgebatch.policies.assignment import PolicyChoice
from judgebatch.policies.night import PolicyNight, PolicyState, judge_night, no_policies

START = datetime(2026, 3, 1, tzinfo=UTC)
HOUR_US = 3_600_000_000
QUESTIONS: dict[str, p.Question] = {
    "safe": p.Noul(),
    "kind": p.Noul(),
    "tone": p.Choice(criteria={"polite": "", "rude": ""}),
}
POLICIES = {
    "safety": p.validate_policy(p.Policy([p.NoulRule("safe", 0.5)]), QUESTIONS),
    "both": p.validate_policy(
        p.Policy([p.NoulRule("safe", 0.5), p.NoulRule("kind", 0.5)]), QUESTIONS
    ),
    "manners": p.validate_policy(p.Policy([p.ChoiceRule("tone", "polite")]), QUESTIONS),
}


def hour(hours: float) -> datetime:
    return START + timedelta(hours=hours)


def answer(
    episode: str,
    question: str,
    at: float,
    value: float | None = 0.9,
    *,
    tenant: str = "t",
    row: int = 0,
    file: str = "a.parquet",
    **fields: Any,
) -> dict[str, Any]:
    return {
        **dict.fromkeys(schema_of(AnswerRows)),
        "tenant_id": tenant,
        "episode_id": episode,
        "question": question,
        "answered_at": hour(at),
        "answer_type": "noul",
        "probability": value,
        "source_file": file,
        "source_row": row,
        **fields,
    }


def episode(name: str, at: float, *, tenant: str = "t", task: str = "k") -> dict[str, Any]:
    return {"tenant_id": tenant, "task_id": task, "episode_id": name, "arrived_at": hour(at)}


TIME = pl.Datetime("us", "UTC")
EPISODES_SCHEMA = {
    "tenant_id": pl.String,
    "task_id": pl.String,
    "episode_id": pl.String,
    "arrived_at": TIME,
    "effective_arrival": TIME,
}


class Warehouse:
    """Runs nights one after the other, as a pipeline does, and keeps what they published."""

    def __init__(
        self,
        choice: PolicyChoice | None = None,
        *,
        window: float | None = 36,
        tenants: tuple[str, ...] = ("t",),
    ) -> None:
        self.choice = choice or PolicyChoice(["safety"])
        self.window = window
        self.tenants = tenants
        self.state: PolicyState = no_policies()
        self.as_of: datetime | None = None
        self.policies = dict(POLICIES)
        self.seen: list[dict[str, Any]] = []
        self.pending: list[dict[str, Any]] = []
        self.results: list[dict[str, Any]] = []
        self.reports: list[dict[str, Any]] = []
        self.quarantined: list[dict[str, Any]] = []
        self.ended: dict[tuple[str, str], int] = {}

    def run(
        self, at: float, *, episodes: list[Any] | None = None, answers: list[Any] | None = None
    ) -> PolicyNight:
        now = hour(at)
        waiting = self.pending + (episodes or [])
        self.pending = [one for one in waiting if one["arrived_at"] > now]
        known = {one["tenant_id"] for one in self.seen}
        considered = [
            {**one, "effective_arrival": self._effective(one, known)}
            for one in waiting
            if one["arrived_at"] <= now
        ]
        tenants = pl.DataFrame(
            {
                "tenant_id": list(self.tenants),
                "accepting": [True] * len(self.tenants),
                "known": [tenant in known for tenant in self.tenants],
                "judging_window_us": [self._window_us()] * len(self.tenants),
                "unknown_episode_window_us": [168 * HOUR_US] * len(self.tenants),
            },
            schema={
                "tenant_id": pl.String,
                "accepting": pl.Boolean,
                "known": pl.Boolean,
                "judging_window_us": pl.Int64,
                "unknown_episode_window_us": pl.Int64,
            },
        )
        held_before = len(self.state.held)
        night = judge_night(
            pl.DataFrame(answers or [], schema=schema_of(AnswerRows)),
            self.state,
            pl.DataFrame(considered, schema=EPISODES_SCHEMA),
            pl.DataFrame(self.seen, schema=EPISODES_SCHEMA),
            tenants,
            self.policies,
            self.choice,
            previous_as_of=self.as_of,
            as_of=now,
        )
        read = len(answers or []) + held_before
        ended = int(night.ended["count"].sum())
        assert read == len(night.quarantined) + ended + len(night.state.held)
        self.state, self.as_of = night.state, now
        self.seen += considered
        self.results += night.results.to_dicts()
        self.reports += night.reports.to_dicts()
        self.quarantined += night.quarantined.to_dicts()
        for tenant, disposition, count in night.ended.rows():
            key = (tenant, disposition)
            self.ended[key] = self.ended.get(key, 0) + count
        return night

    def _effective(self, one: dict[str, Any], known: set[str]) -> datetime:
        if self.as_of is None or one["tenant_id"] not in known:
            return one["arrived_at"]
        return max(one["arrived_at"], self.as_of + timedelta(microseconds=1))

    def _window_us(self) -> int | None:
        return None if self.window is None else int(self.window * HOUR_US)

    def count(self, disposition: str, tenant: str = "t") -> int:
        return self.ended.get((tenant, disposition), 0)

    def passed(self) -> dict[tuple[str, str], bool | None]:
        return {(one["episode_id"], one["policy"]): one["policy_passed"] for one in self.results}
