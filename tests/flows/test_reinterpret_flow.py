"""What the reinterpret flow does around its one stage; the stage is tested with the verdicts."""

import logging
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from flows import reinterpret as module
from flows.parameters import Reading
from judgebatch.contracts.interpretations import Interpretations
from judgebatch.pipeline.mapping import in_process
from tests.conformance.nights import Nights
from tests.scenarios.rows import at, comparison, episode


def test_the_flow_reads_again_once_per_logical_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nights = Nights(tmp_path)
    nights.configure({"acme": {"mode": "reference"}})
    nights.deliver("n", [episode("a", 1), episode("b", 1)], [comparison("a", "b", 2, "left")])
    nights.run(at(3))
    artifacts: list[Any] = []
    monkeypatch.setattr(module, "task_mapper", lambda *_: nullcontext(in_process))
    monkeypatch.setattr(module, "get_run_logger", lambda: logging.getLogger("flow"))
    monkeypatch.setattr(module, "create_markdown_artifact", lambda **given: artifacts.append(given))
    asked = Reading(settings=nights.settings, as_of=at(4))
    first = module.reinterpret_all.fn(asked)
    assert first == {"run": 2, "reading_version": 2, "verdicts": 1, "changed": 0}
    assert module.reinterpret_all.fn(asked) == first
    assert "1 verdicts read as reading version 2" in artifacts[0]["markdown"]
    assert nights.table(Interpretations).height == 2
