"""A random tenant whose verdicts are there already, and come in any night.

The instants cluster where the rules turn: at a run's as_of, at deadlines, at midnights, and one
microsecond beside them.
"""

from tests.conformance.nights import verdict_text
from tests.grading.stories import (
    CEILINGS,
    IDS,
    OUTCOMES,
    PERIODS,
    START,
    WINDOWS,
    Plan,
    Story,
    drawn_settings,
)
from tests.grading.terms import HOUR, Row, duration, iso, micros

MONTH_END = micros("2026-02-01T00:00:00Z")
MIDNIGHT = micros("2026-01-31T00:00:00Z")
EDGES = [(sign, one) for sign in (1, -1) for one in (0, 1, -1)]


class Recorded(Story):
    """A tenant whose verdicts are there, judged by whatever time, delivered in any night."""

    def tell(self) -> None:
        """Fill the nights."""
        draw = self.draw
        self._configure()
        self.slack = draw.choice([0, 0.1, 0.5])
        self._draw_episodes()
        for _ in range(int(len(self.episodes) * draw.choice([0.3, 1, 2, 4])) + 1):
            self._draw_verdict()
        if draw.random() < 0.4:
            self._judge_neighbours()
        for row in self.episodes:
            self._night(micros(row["arrived_at"])).episodes.append(row)
        for row in self.verdicts:
            self._night(micros(row["judged_at"])).verdicts.append(row)
        self._repeat_episodes()
        self._repeat_verdicts()

    def _configure(self) -> None:
        draw = self.draw
        present, calm = draw.random() < 0.88, draw.random() < 0.5
        current = drawn_settings(draw, tournament=draw.random() < 0.7)
        for number, night in enumerate(self.nights):
            if number and not calm:
                current = self._changed(current)
                present ^= draw.random() < 0.2
            if present:
                night.settings[self.name] = current
        spans = [
            duration(current.get(name, "36h"))
            for name in ("group_timeout", "judging_window", "unknown_episode_window")
        ]
        self.spans = [span for span in spans if span is not None]

    def _changed(self, current: Row) -> Row:
        draw = self.draw
        changes = [
            drawn_settings(draw, tournament=draw.random() < 0.7),
            {"grading_ceiling_usd": draw.choice(CEILINGS)},
            {"budget_period": draw.choice(PERIODS)},
            {"mode": draw.choice(["reference", "tournament"])},
            {"judging_window": draw.choice(WINDOWS)},
            {"unknown_episode_window": draw.choice(["0s", "6h", "2d", "7d"])},
            {},
        ]
        return current | draw.choices(changes, [5, 5, 2, 2, 2, 1, 3])[0]

    def _instant(self, near: list[int]) -> int:
        """Return an instant beside others, beside a run or a midnight, or anywhere."""
        draw = self.draw
        chance = draw.random()
        if near and chance < 0.55:
            beside = [sign * span + one for span in self.spans for sign, one in EDGES]
            return draw.choice(near) + draw.choice([0, 0, 1, -1, HOUR, 2 * HOUR, *beside])
        if chance < 0.75:
            turns = [night.as_of for night in self.nights] + [MIDNIGHT, MONTH_END]
            return draw.choice(turns) + draw.choice([0, 0, 1, -1, *self.spans])
        return START + draw.randrange(self.nights[-1].as_of - START + 12 * HOUR)

    def _night(self, at: int) -> Plan:
        """Return the first night that considers an instant, or now and then any."""
        if self.draw.random() < self.slack:
            return self.draw.choice(self.nights)
        return next((night for night in self.nights if night.as_of >= at), self.nights[-1])

    def _draw_episodes(self) -> None:
        draw = self.draw
        tasks = draw.choice([["k"], ["k"], ["k", "K"], ["k", "é", "x/y"], ["\u0000k"]])
        outcomes = draw.choice([["passed"], ["passed"], ["passed", "failed"], ["passed", "é"]])
        patterns = draw.sample(IDS, draw.choice([1, 2, 6]))
        burst = draw.random() < 0.5
        times: list[int] = []
        for _ in range(draw.choice([3, 6, 10, 15, 25, 35, 35])):
            if burst and times and draw.random() < 0.7:
                at = times[0] + draw.randrange(3) * draw.choice([0, 1, HOUR // 4])
            else:
                at = self._instant(times)
            times.append(at)
            names = (draw.choice(patterns), draw.choice(tasks), draw.choice(outcomes))
            self.episode(*names, at)

    def _draw_verdict(self) -> None:
        draw = self.draw
        one = draw.choice(self.episodes)
        alike = [row for row in self.episodes if row["task_id"] == one["task_id"]]
        other = draw.choice(alike if draw.random() < 0.95 else self.episodes)
        times = [micros(row["arrived_at"]) for row in (one, other)]
        ids = (one["episode_id"], other["episode_id"])
        if self.verdicts and draw.random() < 0.25:  # the same pair again
            again = draw.choice(self.verdicts)
            ids = (again["episode_id"], again["compared_episode_id"])
        odd = draw.random()
        if odd < 0.02:
            ids = (ids[0], "never")
        elif odd < 0.03:
            ids = ("never", ids[1])
        elif odd < 0.05:
            ids = (ids[0], None)
        task = "other" if 0.05 < odd < 0.07 else one["task_id"]
        outcome = "unreadable" if draw.random() < 0.02 else draw.choice(OUTCOMES)
        self.verdict(task, ids, self._instant([*times, max(times)]), outcome)

    def _judge_neighbours(self) -> None:
        """Judge every pair of neighbours, so that groups are satisfied early."""
        for number, one in enumerate(self.episodes):
            for other in self.episodes[number + 1 : number + 4]:
                if one["task_id"] == other["task_id"]:
                    last = max(micros(one["arrived_at"]), micros(other["arrived_at"]))
                    at = last + self.draw.choice([0, 1, HOUR, -HOUR])
                    ids = (one["episode_id"], other["episode_id"])
                    self.verdict(one["task_id"], ids, at, self.draw.choice(OUTCOMES))

    def _repeat_episodes(self) -> None:
        draw = self.draw
        for row in self.episodes:
            at = micros(row["arrived_at"])
            costs = [0.7, row["cost_usd"] + 1e-11, -1.0, float("nan"), float("inf")]
            changes = [
                {"arrived_at": iso(at + draw.choice([1, -1, HOUR]))},
                {"cost_usd": draw.choice(costs)},
                {"variant": "w"},
                {"task_id": draw.choice(["k", ""])},
                {"verifier_outcome": draw.choice(["passed", None])},
                {"tool_calls": draw.choice([5, 0])},
                {"latency_ms": 7.0},
            ]
            for copy in self._copies(row, changes):
                draw.choice(self.nights).episodes.append(copy)

    def _repeat_verdicts(self) -> None:
        draw = self.draw
        for row in self.verdicts:
            outcome = draw.choice([*OUTCOMES, *["unreadable"] * 4])
            at = micros(row["judged_at"])
            changes = [
                {"judged_at": iso(at + draw.choice([1, -1, HOUR, 30 * HOUR]))},
                {"cost_usd": 0.7},
                {"episode_id": draw.choice(self.episodes)["episode_id"]},
                {"outcome": outcome, "verdict": verdict_text(outcome)},
                {"judge_id": "z"},
                {"recorded_passed": False},
            ]
            for copy in self._copies(row, changes):
                draw.choice(self.nights).verdicts.append(copy)

    def _copies(self, row: Row, changes: list[Row]) -> list[Row]:
        """Return none, one or two later deliveries of a row, now and then changed."""
        draw = self.draw
        if draw.random() > (0.3 if row.get("outcome") == "unreadable" else 0.12):
            return []
        copy = row | (draw.choice(changes) if draw.random() < 0.5 else {})
        return [copy, dict(copy)] if draw.random() < 0.3 else [copy]
