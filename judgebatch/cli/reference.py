"""The reference of all commands, as a page: ``python -m judgebatch.cli.reference``."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from judgebatch.cli.main import app
from judgebatch.cli.registry import ENTRIES

PAGE = Path("docs/commands.md")
_CODES = (
    "Exit codes: 0 done, or nothing to do; 1 writing failed, a store is down, or unexpected; "
    "2 usage, settings or credentials; 3 bad input; 4 warehouse conflict; 5 `verify` or `doctor` "
    "found something."
)
_EXAMPLE = re.compile(r"^(?: {4}.*\n?|\n)+", re.MULTILINE)


def reference() -> str:
    """Return the page."""
    lines = [
        "# Commands",
        "",
        "Generated from the commands' help by `python -m judgebatch.cli.reference`.",
        "",
        _CODES,
        "",
    ]
    group: Any = typer.main.get_command(app)
    context = typer.Context(group, info_name="judgebatch")
    panels = list(dict.fromkeys(entry.panel for entry in ENTRIES))
    for panel in panels:
        lines += [f"## {panel}", ""]
        for entry in ENTRIES:
            if entry.panel == panel:
                command = group.get_command(context, entry.name)
                lines += _section(command, f"judgebatch {entry.name}")
    return "\n".join(lines).rstrip() + "\n"


def _section(command: Any, name: str) -> Iterator[str]:
    yield f"### {name}"
    yield ""
    yield _help(command)
    yield ""
    subcommands = getattr(command, "commands", {})
    rows = [] if subcommands else [row for one in command.params for row in _parameter(one)]
    if rows:
        yield from ("| argument or option | |", "|---|---|")
        yield from rows
        yield ""
    for sub in subcommands.values():
        yield from _section(sub, f"{name} {sub.name}")


def _help(command: Any) -> str:
    """Return a command's help, its examples fenced."""
    text = inspect.cleandoc(command.help or "").split("\f")[0]

    def fenced(match: "re.Match[str]") -> str:
        lines = [line.strip() for line in match.group().splitlines() if line.strip()]
        return "\n```text\n" + "\n".join(lines) + "\n```\n\n" if lines else match.group()

    return _EXAMPLE.sub(fenced, text).strip()


def _parameter(parameter: Any) -> Iterator[str]:
    if parameter.name == "help":
        return
    if parameter.param_type_name == "argument":
        shown = f"`{parameter.metavar or parameter.name.upper()}`"
    else:
        names = ", ".join(f"`{one}`" for one in (*parameter.opts, *parameter.secondary_opts))
        shown = names + (f" `{parameter.metavar}`" if parameter.metavar else "")
    text = (parameter.help or "").replace("|", "\\|")
    default = parameter.default
    if (
        parameter.show_default
        and isinstance(default, str | int | Path)
        and default not in ("", False)
    ):
        text += f" Default: `{default}`."
    yield f"| {shown} | {text.strip()} |"


def main() -> None:
    """Write the page."""
    PAGE.write_text(reference(), encoding="utf-8")


if __name__ == "__main__":
    main()
