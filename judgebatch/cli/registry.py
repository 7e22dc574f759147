"""The commands by name, loaded only when they are called.

Starting must be quick, and most commands need libraries that others do without.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from judgebatch.cli.local_paths import LocalCommand


class Entry(NamedTuple):
    """A command: its name, where it stands (``module:function`` or ``module:app``), its summary."""

    name: str
    target: str
    summary: str
    panel: str


_START = "Start here"
_LOOK = "Look"
_KEEP = "Keep in order"
_RULES = "Policies and juries"

ENTRIES: Sequence[Entry] = (
    Entry("init", "init:init", "Make a settings file and a warehouse.", _START),
    Entry("check", "check:check", "Check settings and inputs without running.", _START),
    Entry("run", "run:run", "Do one night: read, grade, publish.", _START),
    Entry("backfill", "backfill:backfill", "Replay many nights in order.", _START),
    Entry("synth", "synth:synth", "Write a realistic corpus to try things on.", _START),
    Entry("import", "imports:app", "Bring in Inspect logs, arena votes, result files.", _START),
    Entry("explain", "explain:explain", "Tell one episode's whole story.", _LOOK),
    Entry("policy", "policy:app", "Check a policy, try it on answers, compare two.", _RULES),
    Entry("jury", "jury:app", "Describe a jury before anything runs.", _RULES),
    Entry("interpret", "interpret:interpret", "Say what stored verdicts mean.", _LOOK),
    Entry("recurate", "recurate:recurate", "Correct what legacy judges could not say.", _KEEP),
    Entry("rescore", "rescore:rescore", "See what another jury makes of judgments.", _RULES),
    Entry("history", "history:history", "List the runs.", _LOOK),
    Entry("show", "show:show", "Show what one run did.", _LOOK),
    Entry("report", "report:report", "Write a run's report as one HTML file.", _LOOK),
    Entry("sql", "sql:sql", "Query the published tables with SQL.", _LOOK),
    Entry("export", "export:export", "Copy one tenant's tables, or every view.", _LOOK),
    Entry("verify", "verify:verify", "Check that nothing published has changed.", _KEEP),
    Entry(
        "rebuild-state", "rebuild_state:rebuild_state", "Make a damaged checkpoint again.", _KEEP
    ),
    Entry("doctor", "doctor:doctor", "Find what needs attention.", _KEEP),
    Entry("release", "release:release", "Give quarantined rows to the next run.", _KEEP),
    Entry("gc", "gc:gc", "Remove what interrupted runs left.", _KEEP),
)


class LazyGroup(TyperGroup):
    """A group that knows its commands' names and loads one when it is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._listing = False
        for entry in ENTRIES:
            known = TyperCommand(entry.name, help=entry.summary, rich_help_panel=entry.panel)
            self.add_command(known, entry.name)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; for the list in the help text only its name and summary."""
        if self._listing:
            return super().get_command(ctx, cmd_name)
        entry = next((one for one in ENTRIES if one.name == cmd_name), None)
        return None if entry is None else load(entry)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help text without loading any command."""
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False


def load(entry: Entry) -> Any:
    """Import a command and return it as Typer runs it."""
    module, _, name = entry.target.partition(":")
    found = getattr(import_module(f"judgebatch.cli.{module}"), name)
    if isinstance(found, typer.Typer):
        group = typer.main.get_group(found)
        group.name = entry.name
        return group
    single = typer.Typer(add_completion=False, rich_markup_mode="markdown")
    single.command(entry.name, cls=LocalCommand)(found)
    return typer.main.get_command(single)
