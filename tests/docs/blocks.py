"""The fenced blocks of a page, and what running one means."""

import contextlib
import io
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import orjson
import pytest

from judgebatch.cli.main import run_command
from judgebatch.settings import load_settings

_FENCE = re.compile(r"^```(\w*) *(.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r'title="([^"]+)"')
SHOWN = {"text", "cron", "ini", "yaml"}
"""Languages of blocks that show something and are not run."""
_ELSEWHERE = re.compile(r"^(pip install|make|git|systemctl|prefect) ")
"""Commands that set up an environment; the test run itself has done so."""

BASE = 'warehouse = "warehouse"\n[inputs.episodes]\npath = "episodes"\n[inputs.verdicts]\n'
"""What settings that show a part are completed by."""


class Block(NamedTuple):
    language: str
    title: str | None
    text: str
    line: int


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        title = _TITLE.search(match.group(2))
        line = text.count("\n", 0, match.start()) + 1
        name = title.group(1) if title else None
        found.append(Block(match.group(1), name, match.group(3), line))
    return found


class Reader:
    """Somebody who does what a page says, in a folder."""

    def __init__(self, folder: Path, names: dict[str, Any], patch: pytest.MonkeyPatch) -> None:
        self._names = names
        self._patch = patch
        self._root = folder
        patch.chdir(folder)

    def follow(self, block: Block) -> None:
        if block.language in SHOWN:
            return
        assert block.language, "the block names no language; text is one"
        getattr(self, f"_{block.language}")(block)

    def _console(self, block: Block) -> None:
        for command in block.text.replace("\\\n", " ").splitlines():
            if not command.strip() or command.startswith("#") or _ELSEWHERE.match(command):
                continue
            for part in command.split(" && "):
                self._command(part)

    def _command(self, command: str) -> None:
        words = shlex.split(command, comments=True)
        if words[0] == "cd":
            self._patch.chdir(words[1])
        elif words[0] == "export":
            for pair in words[1:]:
                self._patch.setenv(*pair.split("=", 1))
        elif words[0] == "judgebatch":
            out = io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                code = run_command(words[1:])
            assert code == 0, f"{command}\n{out.getvalue()}"
        else:
            subprocess.run(["bash", "-ec", command], check=True, capture_output=True)

    def _python(self, block: Block) -> None:
        exec(compile(block.text, "<page>", "exec"), self._names)  # noqa: S102 - our own page

    def _toml(self, block: Block) -> None:
        if block.title is None:
            tomllib.loads(block.text)
        elif block.title == "judgebatch.toml":
            whole = "[inputs.episodes]" in block.text
            target = Path(block.title if whole else ".part.toml")
            target.write_text(block.text if whole else BASE + block.text, encoding="utf-8")
            load_settings(target)
        else:
            self._write(block)

    def _json(self, block: Block) -> None:
        orjson.loads(block.text)
        if block.title is not None:
            self._write(block)

    def _write(self, block: Block) -> None:
        target = Path(block.title or "")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(block.text, encoding="utf-8")

    def _sql(self, block: Block) -> None:
        with duckdb.connect() as engine:
            for statement in duckdb.extract_statements(block.text):
                engine.execute(statement).fetchall()
