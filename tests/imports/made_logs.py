"""Logs that Inspect writes, with its mock model: ``python -m tests.imports.made_logs DIR``."""

import sys
from typing import Any

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, Scorer, Target, accuracy, match, mean, scorer
from inspect_ai.solver import Solver, TaskState, generate, solver, use_tools
from inspect_ai.tool import Tool, ToolError, tool

MODEL = "mockllm/model"


@tool
def add() -> Tool:
    async def execute(x: int, y: int) -> str:
        """Add two numbers.

        Args:
            x: One.
            y: The other.
        """
        if x == 13:
            raise ToolError("no thirteen")
        return str(x + y)

    return execute


@scorer(metrics=[mean()])
def measures() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        number = {"s0": 1.0, "s1": 0.25, "s4": 7.5}.get(str(state.sample_id), 0.5)
        return Score(value={"quality": number, "tone": "formal"})

    return score


@scorer(metrics=[accuracy()])
def grader() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        known = {
            "s0": Score(value="P", explanation="half of it"),
            "s1": Score(value="N", reason="no_response"),
            "s2": Score(value="I", reason="grader_failed", explanation="not parseable"),
            "s4": Score(value=float("nan")),
        }
        return known.get(str(state.sample_id), Score(value="C", explanation="right"))

    return score


@solver
def crash() -> Solver:
    async def solve(state: TaskState, generate: Any) -> TaskState:
        if state.sample_id == "s3":
            raise RuntimeError("boom")
        return state

    return solve


def _answer(messages: Any, *_: Any) -> ModelOutput:
    if any(message.role == "tool" for message in messages):
        output = ModelOutput.from_content(MODEL, "the answer is 2")
    else:
        odd = "ü" in str(messages[0].content)
        output = ModelOutput.for_tool_call(MODEL, "add", {"x": 13 if odd else 1, "y": 1})
    # With a usage of its own the mock does not count tokens, for which it would need a download.
    output.usage = ModelUsage(input_tokens=1000, output_tokens=100, total_tokens=1100)
    return output


def write_logs(folder: str) -> None:
    """Run an evaluation of six samples, once in each form of log."""
    samples = [Sample(id=f"s{i}", input="1+1?", target="2" if i % 2 else "3") for i in range(5)]
    task = Task(
        name="arith",
        dataset=[*samples, Sample(id=7, input="ü", target="2")],
        solver=[use_tools(add()), crash(), generate()],
        scorer=[match(), measures(), grader()],
    )
    model = get_model(MODEL, custom_outputs=_answer, memoize=False)
    for form in ("eval", "json"):
        evaluate(
            task,
            model=model,
            log_dir=folder,
            log_format=form,
            fail_on_error=False,
            display="none",
        )


if __name__ == "__main__":
    write_logs(sys.argv[1])
