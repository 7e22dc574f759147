"""The tables that users bring: episodes, verdicts and, optionally, answers.

A column that may be null here may also be missing from a file.
"""

from judgebatch.contracts import columns as c
from judgebatch.contracts.table import Table


class Episodes(Table):
    """One row per agent run that has ended."""

    name = "inputs/episodes"
    kind = "input"
    order = ("tenant_id", "episode_id")

    tenant_id = c.text("The isolation boundary.", key=True)
    episode_id = c.text("Identity inside the tenant.", key=True)
    task_id = c.text("What makes two episodes of a tenant comparable.")
    arrived_at = c.time("When the episode ended and arrived.")
    verifier_outcome = c.text("The deterministic verifier's result, such as passed or failed.")
    cost_usd = c.number("What the episode cost.")
    latency_ms = c.number("How long it took.")
    tool_calls = c.count("Tool calls.")
    tool_errors = c.count("Tool calls that failed.")
    variant = c.text("The agent version under test.", null=True)


class Verdicts(Table):
    """One row per stored verdict, of one episode or of a pair."""

    name = "inputs/verdicts"
    kind = "input"
    order = ("tenant_id", "verdict_id")

    tenant_id = c.text("The isolation boundary.", key=True)
    verdict_id = c.text("Identity inside the tenant.", key=True)
    task_id = c.text("The task that was judged.")
    episode_id = c.text("The judged episode; the left one of a comparison.")
    judged_at = c.time("When the jury answered.")
    verdict = c.text("The stored verdict as JSON text.")
    compared_episode_id = c.text(
        "The right episode; makes the verdict a comparison: is the left one better?", null=True
    )
    judge_id = c.text("Who judged.", null=True)
    cost_usd = c.number("What judging cost; nothing where null.", null=True)
    recorded_passed = c.flag("What an older pipeline recorded.", null=True)


class Answers(Table):
    """One row per answer to a question about an episode."""

    name = "inputs/answers"
    kind = "input"
    order = ("tenant_id", "episode_id", "question")

    tenant_id = c.text("The isolation boundary.", key=True)
    episode_id = c.text("The episode asked about.", key=True)
    question = c.text("The question's name.", key=True)
    answered_at = c.time("When the answer was given.")
    answer_type = c.text("noul, choice or score; anything else answers no question.", null=True)
    probability = c.number("Of a noul answer.", null=True)
    choice = c.text("The label of a choice answer.", null=True)
    confidence = c.number("Of a choice or score answer.", null=True)
    score = c.number("Expected score of a score answer.", null=True)
    probabilities = c.text(
        "Probability of each level of a score answer: JSON text, or a list of (level, "
        "probability), or a map.",
        null=True,
    )
