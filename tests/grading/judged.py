"""A random tenant with an outside judge that answers what the nights before requested."""

from tests.grading.model import World
from tests.grading.stories import COSTS, DECISIVE, IDS, OUTCOMES, PERIODS, START, WINDOWS, Story
from tests.grading.terms import HOUR, Row, duration, micros


class Judged(Story):
    """A tenant whose outside judge answers what is requested, at odd moments."""

    def tell(self) -> None:
        """Fill the nights, each after what the model published in the one before."""
        draw = self.draw
        self.costs = draw.choice(
            [[0.1], [0.1, 0.0], [0.1, 0.2, 0.3, 0.0], [5e-10, 1.5e-9, 2.5e-9, 0.0], COSTS[:-1]]
        )
        self.mix = draw.choice([OUTCOMES, OUTCOMES, DECISIVE, ["left", "error"], ["error"]])
        self.tasks = draw.choice([["k"], ["k", "l"]])
        self.outcomes = draw.choice([["p"], ["p"], ["p", "f"]])
        self.pattern, self.diligence = draw.choice(IDS), draw.choice([0.3, 0.7, 1, 1])
        self.budget = draw.random() < 0.6
        self.later = [([], []) for _ in range(len(self.nights) + 2)]
        current, present, world = self._first_settings(), True, World()
        for number, night in enumerate(self.nights):
            if number and draw.random() < 0.6:
                current = self._changed(current)
                present ^= draw.random() < 0.05
            if present:
                night.settings[self.name] = current
            new, verdicts = self.later[number]
            self._draw_episodes(number, current, new)
            self._judge_unasked(number, new)
            if new and draw.random() < 0.1:
                new.append(draw.choice(new) | {"variant": "other"})
            if verdicts and draw.random() < 0.1:
                verdicts.append(dict(draw.choice(verdicts)))
            night.episodes += new
            night.verdicts += verdicts
            own = {name: said for name, said in night.settings.items() if name == self.name}
            tables, _ = world.night(
                night.as_of, own, night.defaults, night.unknown_tenants, new, verdicts
            )
            self._answer(number, tables["comparison_requests"])

    def _ceiling(self) -> float | str:
        unit = max(self.costs)
        steps = [unit * factor for factor in (1, 2, 3, 6, 10, 15, 30, 60)]
        return self.draw.choice([0, "none", *steps, unit * 5 + 5e-10])

    def _first_settings(self) -> Row:
        draw = self.draw
        quorum = draw.choice([2, 3, 4, 5, 8, 12, 20, 30])
        first = {
            "mode": "tournament" if draw.random() < 0.65 else "reference",
            "quorum": quorum,
            "min_group_size": draw.randint(2, min(quorum, 3)),
            "group_timeout": draw.choice(["1h", "3h", "10h", "24h", "2d"]),
            "judging_window": draw.choice([*WINDOWS, "12h", "36h", "7d"]),
            "unknown_episode_window": draw.choice(["7d", "7d", "2d", "6h"]),
            "pair_degree": draw.choice([2, 2, 4, 4, 6, 8]),
            "comparisons_per_pair": draw.choice([1, 1, 2, 3]),
            "budget_period": draw.choice(PERIODS),
        }
        return first | ({"grading_ceiling_usd": self._ceiling()} if self.budget else {})

    def _changed(self, current: Row) -> Row:
        draw = self.draw
        window, per_pair = draw.choice(WINDOWS), draw.choice([1, 2])
        quorum = draw.choice([2, 4, 8, 16])
        changes = [
            {"grading_ceiling_usd": self._ceiling()} if self.budget else {},
            {"budget_period": draw.choice(PERIODS)},
            {"mode": draw.choice(["reference", "tournament"])},
            {"judging_window": window, "comparisons_per_pair": per_pair},
            {"quorum": quorum, "min_group_size": 2, "pair_degree": draw.choice([2, 4])},
        ]
        return current | draw.choices(changes, [5, 1, 1, 1, 1])[0]

    def _draw_episodes(self, number: int, current: Row, new: list[Row]) -> None:
        draw, as_of = self.draw, self.nights[number].as_of
        previous = self.nights[number - 1].as_of if number else START - 12 * HOUR
        for _ in range(draw.choice([0, 1, 3, 6, 12, 20, 31])):
            within = [previous + draw.randrange(as_of - previous) for _ in range(3)]
            turns = [previous, previous + 1, as_of, as_of, as_of - 1, as_of + 1]
            early = previous - HOUR * draw.randrange(30)
            times = [*within, *turns, early]
            if self.episodes:
                last = micros(self.episodes[-1]["arrived_at"])
                first = micros(self.episodes[0]["arrived_at"])
                times += [last, last + 1, first + duration(current["group_timeout"])]
            names = (self.pattern, draw.choice(self.tasks), draw.choice(self.outcomes))
            row = self.episode(*names, draw.choice(times))
            (new if draw.random() < 0.9 else self.later[number + 1][0]).append(row)

    def _judge(self, number: int, task: str, pair: tuple[str, str], at: int) -> None:
        row = self.verdict(task, self.sides(*pair), at, self.draw.choice(self.mix))
        row["cost_usd"] = self.draw.choice(self.costs)
        self.later[number][1].append(row)

    def _judge_unasked(self, number: int, new: list[Row]) -> None:
        draw = self.draw
        novel = {row["episode_id"] for row in new}
        for place, one in enumerate(self.episodes):
            if one["episode_id"] not in novel and draw.random() > 0.05:
                continue
            for other in self.episodes[max(0, place - 3) : place]:
                if one["task_id"] == other["task_id"] and draw.random() < 0.5:
                    last = max(micros(one["arrived_at"]), micros(other["arrived_at"]))
                    at = last + draw.choice([0, 1, 60, HOUR, -HOUR, 12 * HOUR])
                    ids = (one["episode_id"], other["episode_id"])
                    night = number + (draw.random() > 0.9)
                    self._judge(night, one["task_id"], ids, at)

    def _answer(self, number: int, requests: list[Row]) -> None:
        draw, as_of = self.draw, self.nights[number].as_of
        following = self.nights[number + 1 :]
        end = following[0].as_of if following else as_of + HOUR
        at_once = draw.choice([end, as_of, as_of + 1]) if draw.random() < 0.3 else None
        for request in requests:
            if draw.random() > self.diligence:
                continue
            deadline = micros(request["deadline"])
            times = [as_of - HOUR, as_of, as_of + 1, end, end, end - 1]
            times += [deadline, deadline, deadline - 1, deadline + 1]
            times += [as_of + draw.randrange(end - as_of) for _ in range(2)]
            wanted = request["wanted"] if draw.random() < 0.8 else draw.choice([1, 2, 3])
            ids = (request["episode_id"], request["compared_episode_id"])
            for _ in range(wanted):
                at = draw.choice(times) if at_once is None else at_once
                night = number + draw.choice([1, 1, 1, 1, 2])
                self._judge(night, request["task_id"], ids, at)
